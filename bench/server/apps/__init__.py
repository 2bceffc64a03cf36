"""Servers of the peers: how each is started, asked, and known to be ready.

Chroma's server (`chroma run`) embeds nothing: its clients do. It gets precomputed vectors;
and chroma_app.py is a service around Chroma that embeds. txtai's API, as in
https://neuml.github.io/txtai/api/, and hayhooks (https://haystack.deepset.ai/docs/hayhooks) with a
PipelineWrapper embed the question as surefind does, with the same code.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
FEW = 400


@dataclass(frozen=True)
class Service:
    """`command` and `settings` (environment variables) may hold {port}, {store} and {here}.

    `few`: the number of different questions; once warm, their vectors are cached.
    """

    name: str
    contender: str
    command: tuple[str, ...]
    path: str
    ready: str
    key: str = "query"
    takes_list: bool = False
    takes_vectors: bool = False
    few: int = 0
    body: dict[str, object] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    address_of: Callable[[Path], str] = lambda _store: ""
    prepare: Callable[[Path], None] = lambda _store: None

    def filled(self, texts: tuple[str, ...], port: int, store: Path) -> list[str]:
        return [one.format(port=port, store=store, here=HERE) for one in texts]


def chroma_collection(store: Path) -> str:
    """The collection's id, which its own database knows."""
    import sqlite3

    with sqlite3.connect(store / "chroma.sqlite3") as database:
        [number] = database.execute("select id from collections where name = 'docs'").fetchone()
    base = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    return f"{base}/{number}/query"


def name_the_embedder(store: Path) -> None:
    """txtai keeps the name of the function that embeds; here it is one that a server can import."""
    path = store / "config.json"
    config = json.loads(path.read_text())
    config["transform"] = "bench.server.apps.embedder.Embed"
    path.write_text(json.dumps(config))
    (store.parent / "txtai.yml").write_text(f"path: {store}\nwritable: false\nembeddings:\n")


SERVICES = (
    Service(
        "surefind",
        "surefind",
        ("surefind", "serve", "--port", "{port}", "--data-dir", "{store}"),
        "/retrieve",
        "/ready",
        body={"top_k": 10},
    ),
    Service(
        "surefind, dense",
        "surefind",
        ("surefind", "serve", "--port", "{port}", "--data-dir", "{store}"),
        "/retrieve",
        "/ready",
        body={"top_k": 10, "mode": "dense"},
    ),
    Service(
        "surefind, dense, vectors known",
        "surefind",
        ("surefind", "serve", "--port", "{port}", "--data-dir", "{store}"),
        "/retrieve",
        "/ready",
        few=FEW,
        body={"top_k": 10, "mode": "dense"},
    ),
    Service(
        "Chroma's server, vectors",
        "Chroma",
        ("chroma", "run", "--path", "{store}", "--port", "{port}", "--host", "127.0.0.1"),
        "",
        "/api/v2/heartbeat",
        "query_embeddings",
        takes_list=True,
        takes_vectors=True,
        body={"n_results": 10, "include": ["documents", "distances"]},
        address_of=chroma_collection,
    ),
    Service(
        "Chroma in FastAPI",
        "Chroma",
        ("uvicorn", "services.chroma_app:app", "--port", "{port}", "--log-level", "warning"),
        "/query",
        "/ready",
        body={"top_k": 10},
        settings={"BENCH_STORE": "{store}"},
    ),
    Service(
        "txtai",
        "txtai, hybrid",
        ("uvicorn", "txtai.api:app", "--port", "{port}", "--log-level", "warning"),
        "/batchsearch",
        "/count",
        "queries",
        takes_list=True,
        body={"limit": 10},
        settings={"CONFIG": "{store}/../txtai.yml", "ALLOW_RESOLVE_TRANSFORM": "True"},
        prepare=name_the_embedder,
    ),
    Service(
        "Haystack, hayhooks",
        "Haystack",
        ("hayhooks", "run", "--port", "{port}", "--pipelines-dir", "{here}/pipelines"),
        "/docs/run",
        "/status",
        settings={"BENCH_STORE": "{store}", "LOG": "WARNING"},
    ),
)
