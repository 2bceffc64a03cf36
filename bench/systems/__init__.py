"""The compared systems: their names, environments and abilities.

Each system is a class in a module here. bench/support/worker.py runs it in a process and an
environment of its own. The module names its configuration and the documentation page it follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from bench.support.dataset import Dataset

DENSE, HYBRID = "dense", "hybrid"


@runtime_checkable
class VectorSystem(Protocol):
    """Holds a dataset's chunks with precomputed vectors."""

    def build(self, dataset: Dataset, store: Path) -> None:
        """Everything on disk, ready to be opened by another process."""
        ...

    def open(self, dataset: Dataset, store: Path) -> None: ...

    def search(self, question: int, mode: str) -> list[int]:
        """The numbers of the ten best chunks, after their texts were fetched too."""
        ...


@runtime_checkable
class AsyncVectorSystem(Protocol):
    """The same, for one whose own face is asynchronous."""

    def build(self, dataset: Dataset, store: Path) -> None: ...

    async def open_soon(self, dataset: Dataset, store: Path) -> None: ...

    async def search_soon(self, question: int, mode: str) -> list[int]: ...


@runtime_checkable
class PageSystem(Protocol):
    """Takes a folder of Markdown, with the same embedder as all others."""

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        """`chunks` that are searchable now, and how many were `embedded` for it."""
        ...

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        """For each question the pages (as below the folder) of the best hundred chunks."""
        ...


@dataclass(frozen=True)
class Contender:
    """`vectors` and `pages`: its modes for chunks with vectors, and for a folder of Markdown.

    `opens`: whose store it searches, where it does not build one.
    """

    name: str
    module: str
    environment: str
    packages: tuple[str, ...]
    vectors: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    note: str = ""
    opens: str = ""

    def make(self) -> object:
        module, name = self.module.split(":")
        return getattr(import_module(f"bench.systems.{module}"), name)()


OURS = "surefind"
CONTENDERS = (
    Contender(
        OURS,
        "embedded:Surefind",
        "surefind",
        ("surefind", "qdrant-edge-py"),
        (DENSE, HYBRID),
        (DENSE, HYBRID),
        "callers are tasks of one event loop; a hit is a complete record from the catalog",
    ),
    Contender(
        "surefind, synchronous",
        "embedded:SynchronousSurefind",
        "surefind",
        ("surefind",),
        (DENSE, HYBRID),
        (),
        "the synchronous client `surefind.open()`; callers are threads",
        opens=OURS,
    ),
    Contender(
        "Qdrant Edge",
        "edge:QdrantEdge",
        "engines",
        ("qdrant-edge-py",),
        (DENSE, HYBRID),
        (),
        "the engine that surefind embeds; each hit has its text as payload, hybrid by its own RRF",
    ),
    Contender(
        "hnswlib",
        "graphs:Hnswlib",
        "engines",
        ("hnswlib",),
        (DENSE,),
        (),
        "returns numbers only; no texts, few filters, no keyword search",
    ),
    Contender(
        "FAISS",
        "graphs:Faiss",
        "engines",
        ("faiss-cpu",),
        (DENSE,),
        (),
        "returns numbers only; no texts, no keyword search; efSearch 64 instead of its "
        "default 16, which is faster but finds 1 % less",
    ),
    Contender(
        "Chroma",
        "chroma:Chroma",
        "chroma",
        ("chromadb",),
        (DENSE,),
        (DENSE,),
        "no keyword ranking outside its cloud, so no hybrid search",
    ),
    Contender(
        "LanceDB",
        "lance:LanceDB",
        "lancedb",
        ("lancedb",),
        (DENSE, HYBRID),
        (DENSE, HYBRID),
        "scans all rows: its documentation recommends an index above about 100,000 rows",
    ),
    Contender(
        "LanceDB, indexed",
        "lance:IndexedLanceDB",
        "lancedb",
        ("lancedb",),
        (DENSE,),
        (),
        "with an IVF_HNSW_SQ index",
    ),
    Contender(
        "txtai",
        "texts:Txtai",
        "txtai",
        ("txtai", "faiss-cpu", "torch"),
        (DENSE,),
        (DENSE,),
        "with content stored; its process crashes unless the sixteen callers take turns",
    ),
    Contender(
        "txtai, hybrid",
        "texts:HybridTxtai",
        "txtai",
        ("txtai",),
        (HYBRID,),
        (HYBRID,),
        "a separate index with keyword search",
    ),
    Contender(
        "LlamaIndex",
        "llama:LlamaIndex",
        "llamaindex",
        ("llama-index-core", "llama-index-retrievers-bm25"),
        (DENSE, HYBRID),
        (DENSE, HYBRID),
        "default store, which scans all rows; hybrid by QueryFusionRetriever with BM25Retriever",
    ),
    Contender(
        "LlamaIndex, Qdrant local",
        "llama:LlamaIndexQdrant",
        "llamaindex",
        ("llama-index-core", "llama-index-vector-stores-qdrant", "qdrant-client"),
        (DENSE,),
        (DENSE,),
        "local mode scans all rows; its hybrid search needs a sparse model from a hub",
    ),
    Contender(
        "Haystack",
        "hay:Haystack",
        "haystack",
        ("haystack-ai",),
        (DENSE, HYBRID),
        (DENSE, HYBRID),
        "InMemoryDocumentStore, which scans all rows; hybrid by DocumentJoiner with RRF",
    ),
    Contender(
        "Haystack, Qdrant local",
        "hay:HaystackQdrant",
        "haystack",
        ("haystack-ai", "qdrant-haystack", "qdrant-client"),
        (DENSE,),
        (DENSE,),
        "local mode scans all rows; its hybrid search needs a sparse model from a hub",
    ),
)
QUANTIZED = Contender(
    "surefind, quantized",
    "quantized:QuantizedSurefind",
    "surefind",
    ("surefind",),
    (DENSE, HYBRID),
    note="experimental; surefind has no such setting",
)
BY_NAME = {contender.name: contender for contender in (*CONTENDERS, QUANTIZED)}
