"""What the services ask of the outside world. Each port has a contract suite in tests/contract."""

from surefind.ports.catalog import (
    Catalog,
    CatalogStore,
    CatalogWriter,
    MovedPage,
    PublishedCatalogs,
    WholeCatalog,
)
from surefind.ports.foreign import Alternatives, ForeignCollection, ForeignPoint, Wanted
from surefind.ports.index import (
    Begun,
    DenseProbe,
    IndexEntry,
    IndexStore,
    IndexWriter,
    Reranker,
    StoreFacts,
    TermProbe,
    VectorIndex,
)
from surefind.ports.reading import (
    Analyzer,
    EmbeddedQuery,
    Embedder,
    EmbeddingCache,
    Matrix,
    QueryEmbedder,
    Site,
    Source,
    Vector,
)
from surefind.ports.server import KeyStore

__all__ = [
    "Alternatives",
    "Analyzer",
    "Begun",
    "Catalog",
    "CatalogStore",
    "CatalogWriter",
    "DenseProbe",
    "EmbeddedQuery",
    "Embedder",
    "EmbeddingCache",
    "ForeignCollection",
    "ForeignPoint",
    "IndexEntry",
    "IndexStore",
    "IndexWriter",
    "KeyStore",
    "Matrix",
    "MovedPage",
    "PublishedCatalogs",
    "QueryEmbedder",
    "Reranker",
    "Site",
    "Source",
    "StoreFacts",
    "TermProbe",
    "Vector",
    "VectorIndex",
    "Wanted",
    "WholeCatalog",
]
