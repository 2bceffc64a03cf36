"""One suite for the library and for its client: code moves from one to the other unchanged."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import surefind
from support.commands import serving
from support.commands import surefind as run
from surefind.interfaces.library.served.served_client import AsyncServedSurefind

PAGES = [
    surefind.Page(
        "wiki/install.md",
        "---\ntags: [setup, power]\nlevel: 2\n---\n# Installing\n\nPut the teapot on a table.\n\n"
        "## Power > voltage\n\nPlug the cable into a socket of 230 volts.\n\n"
        "### Cable\n\nThe cable is one metre long.\n\n## First brew\n\nFill in one litre of water.",
        url="https://docs.example.com/install",
        version="2.0",
        locale="en",
    ),
    surefind.Page(
        "wiki/old install.md",
        "# Installing\n\nPut the teapot on a table.",
        url="https://docs.example.com/1/install",
        version="1.0",
        locale="en",
    ),
    surefind.Page(
        "wiki/cleaning.md",
        "# Cleaning\n\nDescale the teapot with vinegar every month. Ä 日本 \U0001f375",
        url="https://docs.example.com/cleaning",
    ),
]
KETTLE = surefind.Page("api/kettle.md", "# Kettle\n\nIt boils water.", url="https://k.example.com")
QUESTIONS = ["which voltage?", "how do I descale it?", "quantum chromodynamics", "E42"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"top_k": 1},
    {"mode": "dense", "threshold": 0.3},
    {"mode": surefind.Mode.LEXICAL},
    {"where": {"version": "2.0", "source_path": {"under": "wiki"}, "tokens": {"gte": 1, "lt": 90}}},
    {"where": {"tags": ["setup", "none"], "level": 2, "has_code": False}},
    {"where": ["version!=1.0", "tokens>1", "tokens<=500", "created_at>=2020-01-01"]},
    {"where": {"created_at": {"gt": datetime(2020, 1, 1, tzinfo=UTC)}}},
    {"group_by": "document", "group_size": 2},
    {"group_by": surefind.GroupBy.SECTION},
    {"diversity": 0.5},
    {"collapse": "off"},
    {"collapse": surefind.Collapse.NEAR},
    {"expand": "section"},
    {"expand": "neighbours", "neighbours": 2},
    {"expand": "document", "max_tokens": 30},
    {"highlight": True},
    {"collection": "api"},
    {"collections": ["docs", "api"]},
]


@dataclass(frozen=True)
class Scene:
    """The same data folder, opened and served. The client may not change it; the admin may."""

    library: surefind.Surefind
    client: surefind.Surefind
    admin: surefind.Surefind
    address: str
    key: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp("served")
    with surefind.open(data_dir=home / ".surefind", collection="api") as docs:
        docs.ingest(pages=[KETTLE])
    with surefind.open(data_dir=home / ".surefind") as docs:
        docs.ingest(pages=PAGES[:1])
        docs.ingest(pages=PAGES)
    keys = [
        run("keys", "create", "--name", scope, "--scope", scope, cwd=home).stdout.strip()
        for scope in ("read", "admin")
    ]
    with ExitStack() as opened:
        address, _ = opened.enter_context(serving(cwd=home))
        library = opened.enter_context(surefind.open(data_dir=home / ".surefind"))
        client, admin = (
            opened.enter_context(surefind.connect_to(address, key=key)) for key in keys
        )
        yield Scene(library, client, admin, address, keys[0])


@pytest.fixture(params=["library", "client"])
def docs(request: pytest.FixtureRequest, scene: Scene) -> surefind.Surefind:
    opened: surefind.Surefind = getattr(scene, request.param)
    return opened


def untimed(result: surefind.SearchResult) -> surefind.SearchResult:
    """Without what differs from call to call."""
    return replace(result, timings=surefind.Timings(0, 0, 0, 0, 0), remembered=False)


# --- both give the same ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "defaults")
def test_searches_are_equal_to_the_last_digit(scene: Scene, options: dict[str, Any]) -> None:
    for question in QUESTIONS:
        here = scene.library.search(question, **options)
        there = scene.client.search(question, **options)
        assert untimed(there) == untimed(here)
    many = scene.client.search_many(QUESTIONS, **options)
    assert list(map(untimed, many)) == [
        untimed(scene.library.search(question, **options)) for question in QUESTIONS
    ]


READS: list[Callable[[surefind.Surefind], object]] = [
    lambda docs: docs.why_not("which voltage?", "wiki/cleaning.md", top_k=1),
    lambda docs: docs.why_not("which voltage?", "https://docs.example.com/cleaning", mode="dense"),
    lambda docs: docs.why_not("which voltage?", "wiki/none.md"),
    lambda docs: docs.why_not("voltage", "wiki/cleaning.md", where={"version": "2.0"}),
    lambda docs: docs.document("wiki/install.md"),
    lambda docs: docs.document("wiki/old install.md"),
    lambda docs: docs.document("api/kettle.md", collection="api"),
    lambda docs: docs.chunk(voltage(docs)),
    lambda docs: docs.section(voltage(docs)),
    lambda docs: docs.neighbours(voltage(docs)),
    lambda docs: docs.neighbours(voltage(docs), before=0, after=2),
    lambda docs: docs.collections(),
    lambda docs: docs.generations(),
    lambda docs: docs.changes(2),
    lambda docs: docs.changes(1),
]


def voltage(docs: surefind.Surefind) -> str:
    return docs.search("which voltage?", top_k=1)[0].record.chunk.id


@pytest.mark.parametrize("read", READS)
def test_reads_are_equal(scene: Scene, read: Callable[[surefind.Surefind], object]) -> None:
    assert read(scene.client) == read(scene.library)


def test_the_validation_contract_is_equal(scene: Scene) -> None:
    for mode in ("dense", "hybrid"):
        query = surefind.RetrievalQuery("which voltage?", top_k=3)
        here, there = (docs.retrieve(query, mode=mode) for docs in (scene.library, scene.client))
        assert len(there) == 3
        assert there == here


# --- both behave as promised ----------------------------------------------------------------------


def test_a_search_finds_and_reads_on(docs: surefind.Surefind) -> None:
    result = docs.search("which voltage?", top_k=2, highlight=True)
    assert isinstance(result, surefind.SearchResult)
    assert result[0].record.section == "Power > voltage"
    assert result[0].record.chunk.heading_path == ("Installing", "Power > voltage")
    assert result[0].record.attributes == {"tags": ("setup", "power"), "level": 2}
    sections = [one.section for one in docs.section(result[0].record.chunk.id)]
    assert sections == ["Power > voltage", "Cable"]


def test_batches_of_any_length_come_in_order(docs: surefind.Surefind) -> None:
    questions = [f"voltage {number}" for number in range(230)]
    results = docs.search_many(questions, mode="lexical")
    assert [result.query.text for result in results] == questions
    assert docs.search_many([]) == []


def test_collections_and_changes_are_typed(docs: surefind.Surefind) -> None:
    api, served = docs.collections()
    assert (api.name, api.served, api.documents) == ("api", False, 1)
    assert (served.name, served.served, served.generation) == ("docs", True, 2)
    changes = docs.changes(2)
    assert changes.pages.added == ["wiki/cleaning.md", "wiki/old install.md"]
    assert (changes.compared_with, changes.pages.unchanged) == (1, 1)


WRONG: list[tuple[type[Exception], str, Callable[[Any], object]]] = [
    (surefind.InputError, "query", lambda docs: docs.search("")),
    (surefind.InputError, "query", lambda docs: docs.search("x" * 10_000)),
    (surefind.InputError, "query", lambda docs: docs.search("half \ud800")),
    (surefind.InputError, "query", lambda docs: docs.search_many(["tea", "a\0b"])),
    (surefind.InputError, "at most 1000", lambda docs: docs.search_many(["tea"] * 1001)),
    (surefind.InputError, "top_k", lambda docs: docs.search("tea", top_k=0)),
    (surefind.InputError, "top_k", lambda docs: docs.search("tea", top_k="5")),
    (surefind.InputError, "mode", lambda docs: docs.search("tea", mode="magic")),
    (surefind.InputError, "where", lambda docs: docs.search("tea", where={"color": "red"})),
    (surefind.InputError, "where", lambda docs: docs.search("tea", where="version=1")),
    (surefind.InputError, "not both", lambda d: d.search("t", collection="a", collections=["b"])),
    (surefind.InputError, "rerank", lambda docs: docs.search("tea", rerank=True)),
    (TypeError, "limit", lambda docs: docs.search("tea", limit=3)),
    (surefind.UnknownCollection, "none", lambda docs: docs.search("tea", collection="none")),
    (surefind.UnknownCollection, "none", lambda docs: docs.chunk("x", collection="none")),
    (surefind.UnknownChunk, "none", lambda docs: docs.chunk("none")),
    (surefind.UnknownChunk, "a/b", lambda docs: docs.section("a/b?c#d")),
    (surefind.InputError, "chunk_id", lambda docs: docs.chunk("a\0b")),
    (surefind.InputError, "before", lambda docs: docs.neighbours("x", before=-1)),
    (surefind.UnknownDocument, "none.md", lambda docs: docs.document("wiki/none.md")),
    (surefind.InputError, "source_path", lambda docs: docs.document("x" * 5000)),
    (surefind.UnknownGeneration, "99", lambda docs: docs.changes(99)),
    (surefind.InputError, "generation", lambda docs: docs.changes("x")),
    (surefind.InputError, "why_not", lambda docs: docs.why_not("tea", "")),
    (surefind.InputError, "query_text", lambda d: d.retrieve(surefind.RetrievalQuery("  "))),
]


@pytest.mark.parametrize(("kind", "named", "call"), WRONG)
def test_mistakes_raise_the_same_errors(
    docs: surefind.Surefind,
    kind: type[Exception],
    named: str,
    call: Callable[[Any], object],
) -> None:
    with pytest.raises(kind, match=named) as raised:
        call(docs)
    assert type(raised.value) is kind


# --- the client itself ----------------------------------------------------------------------------


def test_the_client_overrides_every_method() -> None:
    """Else a method would look for a data folder that a client does not have."""
    for name, _ in inspect.getmembers(surefind.AsyncSurefind):
        if not name.startswith("_"):
            assert name in vars(AsyncServedSurefind), name


def test_what_needs_the_data_folder_says_so(scene: Scene) -> None:
    with pytest.raises(surefind.InputError, match="a client can't ingest; run `surefind ingest`"):
        scene.client.ingest("docs", rebuild=True)
    with pytest.raises(surefind.InputError, match="a client can't validate; run"):
        scene.client.validate("golden.yaml", top_k=3)
    with pytest.raises(surefind.InputError, match="a client can't compare; run"):
        scene.client.compare(["a.json", "b.json"], "golden.yaml")
    with pytest.raises(surefind.InputError, match=r"can't embed; use search\(\)"):
        scene.client.generate_query_embedding("tea")
    with pytest.raises(surefind.InputError, match="can't search by a vector"):
        scene.client.retrieve_content_chunks([0.1])
    with pytest.raises(surefind.InputError, match="a client has no settings"):
        _ = scene.client.settings


async def test_async_code_awaits_the_same(scene: Scene) -> None:
    async with surefind.aconnect_to(scene.address, key=scene.key, collection="api") as docs:
        result = await docs.search("boil", mode="lexical")
        assert (result[0].title, result[0].collection) == ("Kettle", "api")
        assert (await docs.search("vinegar", collection="docs"))[0].title == "Cleaning"
        both = await docs.search("water", collections=["docs", "api"], mode="lexical")
        assert {hit.collection for hit in both} == {"docs", "api"}
        assert [one.number for one in await docs.generations()] == [1]


def test_links_of_unpublished_pages_open_in_the_reader_of_the_server(ingested: Path) -> None:
    with (
        serving(cwd=ingested) as (address, _),
        surefind.connect_to(address + "/") as client,
    ):
        hit = client.search("vinegar", mode="lexical")[0]
        assert hit.url == f"{address}/read/docs/docs/guide/cleaning.md#cleaning"
        why = client.why_not("vinegar", hit.url, mode="lexical")
        assert why.cause is surefind.Cause.FOUND


def test_only_an_admin_rolls_back(scene: Scene) -> None:
    with pytest.raises(surefind.StoreRefused, match=r"refused the request \(403\).*admin scope"):
        scene.client.rollback()
    with pytest.raises(surefind.UnknownGeneration, match="99"):
        scene.admin.rollback(99)
    assert scene.admin.rollback(1).number == 1
    assert scene.library.search("teapot").generation == 1
    assert scene.admin.rollback(2) == scene.library.generations()[1]
