"""Embedders and rerankers of a caller's own, and those of installed packages."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefind
from support.fakes import WordEmbedder

PACKAGE = {
    "word_models.py": """
import surefind
from support.fakes import WordEmbedder

made = []


def embedder(settings):
    made.append(WordEmbedder(settings.embed_dimensions or 32))
    return made[-1]


def refusing(settings):
    raise surefind.InputError("embedder is refusing, but ACME_KEY is not set")


def broken(settings):
    raise OSError("no such file: model.bin")


def incomplete(settings):
    return object()


class Shortest:
    name = "word-models/shortest"

    async def rerank(self, query, passages):
        return [1 / (1 + len(passage)) for passage in passages]

    async def close(self):
        pass


def reranker(settings):
    return Shortest()
""",
    "word_models-1.5.dist-info/METADATA": """\
Metadata-Version: 2.1
Name: word-models
Version: 1.5
""",
    "word_models-1.5.dist-info/entry_points.txt": """
[surefind.embedders]
words = word_models:embedder
refusing = word_models:refusing
broken = word_models:broken
absent = word_models:nothing_of_that_name
incomplete = word_models:incomplete
local = word_models:broken

[surefind.rerankers]
shortest = word_models:reranker
""",
}
PAGES = [
    surefind.Page("wiki/tea.md", "# Tea\n\nBrew the tea for three minutes in a warm pot."),
    surefind.Page("wiki/lid.md", "# Lid\n\nClose the lid."),
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution, in a folder of its own."""
    folder = tmp_path / "site-packages"
    for path, content in PACKAGE.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "word_models", raising=False)
    return folder


class ClosedOnce(WordEmbedder):
    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


class Reversing:
    name = "reversing"

    def __init__(self, scores: Sequence[float] | None = None) -> None:
        self.scores = scores
        self.closed = 0

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        if self.scores is not None:
            return list(self.scores)
        return [at / len(passages) for at in range(len(passages))]

    async def close(self) -> None:
        self.closed += 1


# --- objects ------------------------------------------------------------------------------------


def test_an_embedder_of_the_callers_own_makes_and_searches_a_collection() -> None:
    own = ClosedOnce()
    with surefind.open(embedder=own) as docs:
        docs.ingest(pages=PAGES)
        assert docs.search("close the lid", mode="dense")[0].title == "Lid"
        [manifest] = docs.generations()
        assert manifest.embedder == own.fingerprint
        assert set(own.passages) >= {"# Lid\n\nClose the lid."}
        assert own.closed == 0
    assert own.closed == 1


async def test_its_fingerprint_decides_what_it_may_search() -> None:
    async with surefind.aopen(embedder=WordEmbedder()) as docs:
        await docs.ingest(pages=PAGES)
    for other in (WordEmbedder(weights="words-2"), WordEmbedder(dimensions=16)):
        async with surefind.aopen(embedder=other) as docs:
            with pytest.raises(surefind.InputError, match="was built with fake/words"):
                await docs.search("tea", mode="dense")
            with pytest.raises(surefind.InputError, match="rebuild"):
                await docs.ingest(pages=PAGES)
            assert (await docs.ingest(pages=PAGES, rebuild=True)).published


def test_the_cache_is_used_by_embedders_of_one_fingerprint() -> None:
    with surefind.open(embedder=WordEmbedder()) as docs:
        docs.ingest(pages=PAGES)
    again = WordEmbedder()
    with surefind.open(embedder=again) as docs:
        report = docs.ingest(pages=PAGES, rebuild=True)
    assert (report.embedded, report.from_cache) == (0, 2)


def test_its_price_is_unknown_unless_the_settings_name_it() -> None:
    with (
        surefind.open(embedder=WordEmbedder()) as docs,
        pytest.raises(surefind.InputError, match="price of words is unknown"),
    ):
        docs.ingest(pages=PAGES, max_cost=1.0)
    with surefind.open(embedder=WordEmbedder(), embed_price_per_million_tokens=2.0) as docs:
        with pytest.raises(surefind.GuardStopped, match="would cost about"):
            docs.ingest(pages=PAGES, max_cost=1e-9)
        report = docs.ingest(pages=PAGES, dry_run=True)
        assert report.cost is not None
        assert report.cost.price_per_million_tokens == 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "1 vectors for 2 texts"),
        (lambda rows: rows[:, :5], "5 dimensions instead of 32"),
        (lambda rows: rows * np.nan, "not finite"),
        (lambda rows: rows * 0, "zero or not finite"),
        (lambda rows: "vectors", "did not return vectors"),
    ],
)
def test_bad_vectors_are_refused_and_nothing_is_published(change: Any, message: str) -> None:
    class Bad(WordEmbedder):
        async def embed_passages(self, passages: Sequence[str]) -> Any:
            return change(await super().embed_passages(passages))

    with surefind.open(embedder=Bad()) as docs:
        with pytest.raises(surefind.EmbeddingError, match=message):
            docs.ingest(pages=PAGES)
        with pytest.raises(surefind.UnknownCollection):
            docs.generations()


def test_vectors_are_scaled_to_unit_length() -> None:
    class Long(WordEmbedder):
        def embed(self, text: str) -> surefind.Vector:
            longer: surefind.Vector = super().embed(text) * 7
            return longer

    with surefind.open(embedder=Long()) as docs:
        docs.ingest(pages=PAGES)
        similarity = docs.search("# Lid\n\nClose the lid.", mode="dense")[0].similarity
        assert similarity == pytest.approx(1.0, abs=1e-5)


def test_its_own_exceptions_become_embedding_errors() -> None:
    class Broken(WordEmbedder):
        async def embed_query(self, query: str) -> surefind.Vector:
            raise KeyError("model")

    class Uncounting(WordEmbedder):
        def count_tokens(self, passage: str) -> int:
            raise RuntimeError("no tokenizer")

    with surefind.open(embedder=Broken()) as docs:
        docs.ingest(pages=PAGES)
        with pytest.raises(surefind.EmbeddingError, match="fake/words failed: KeyError: 'model'"):
            docs.search("tea", mode="dense")
    with (
        surefind.open(embedder=Uncounting(), collection="other") as docs,
        pytest.raises(surefind.EmbeddingError, match="no tokenizer"),
    ):
        docs.ingest(pages=PAGES)


@pytest.mark.parametrize("options", [{"embedder": object()}, {"reranker": object()}])
def test_an_object_that_lacks_members_is_refused_at_once(options: Any) -> None:
    name = next(iter(options))
    lacks = {"embedder": "count_tokens", "reranker": "rerank"}[name]
    with (
        pytest.raises(surefind.InputError, match=f"{name}: object has no .*{lacks}"),
        surefind.open(**options),
    ):
        pass


def test_a_fingerprint_must_be_one() -> None:
    class Nameless(WordEmbedder):
        fingerprint: Any = "words"

    with (
        pytest.raises(surefind.InputError, match="fingerprint of Nameless"),
        surefind.open(embedder=Nameless()),
    ):
        pass


def test_a_reranker_of_the_callers_own_decides_the_order() -> None:
    own = Reversing()
    with surefind.open(embedder=WordEmbedder(), reranker=own) as docs:
        docs.ingest(pages=PAGES)
        plain = [hit.title for hit in docs.search("tea in a pot")]
        reranked = docs.search("tea in a pot", rerank=True)
        assert [hit.title for hit in reranked] == plain[::-1]
        assert reranked[0].reranking == surefind.Reranking(0.5, 2)
    assert own.closed == 1


@pytest.mark.parametrize(
    ("scores", "message"), [([0.5], "1 scores for 2"), ([0.1, 1.5], "between 0 and 1")]
)
def test_bad_scores_are_refused(scores: list[float], message: str) -> None:
    with surefind.open(embedder=WordEmbedder(), reranker=Reversing(scores)) as docs:
        docs.ingest(pages=PAGES)
        with pytest.raises(surefind.RerankingError, match=f"the reranker reversing .*{message}"):
            docs.search("tea", rerank=True)


# --- packages -----------------------------------------------------------------------------------


def test_a_package_provides_an_embedder_and_a_reranker(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFIND_EMBEDDER", "words")
    with surefind.open(reranker="shortest", embed_dimensions=48) as docs:
        docs.ingest(pages=PAGES)
        assert docs.settings.embedder == "words"
        assert docs.generations()[0].embedder.dimensions == 48
        hits = docs.search("tea in a warm pot", rerank=True)
        assert [hit.title for hit in hits] == ["Lid", "Tea"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refusing", "ACME_KEY is not set"),
        ("broken", "word-models 1.5 failed to make it .*no such file: model.bin"),
        ("absent", "word-models 1.5 failed to make it .*nothing_of_that_name"),
        ("incomplete", "embedder: object has no"),
    ],
)
def test_a_package_that_fails_is_named(package: Path, name: str, message: str) -> None:
    with (
        surefind.open(embedder=name) as docs,
        pytest.raises(surefind.InputError, match=message),
    ):
        docs.ingest(pages=PAGES)


def test_two_packages_of_one_name_are_refused(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "more" / "other_models-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-models\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[surefind.embedders]\nwords = other:embedder\n")
    monkeypatch.syspath_prepend(tmp_path / "more")
    with (
        surefind.open(embedder="words") as docs,
        pytest.raises(surefind.InputError, match=re.escape("other-models 2.0, word-models 1.5")),
    ):
        docs.ingest(pages=PAGES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedder": "wrods"}, "no embedder 'wrods'; choose one of local, onnx, cohere, openai"),
        (
            {"reranker": "words"},
            "no reranker 'words'; choose one of none, onnx, http, cohere, shortest",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_there_are(
    package: Path, options: Any, message: str
) -> None:
    with pytest.raises(surefind.InputError, match=message), surefind.open(**options):
        pass


def test_no_package_replaces_a_name_of_surefind(package: Path, home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind", embedder="local") as docs:
        assert docs.search("vinegar", mode="dense")[0].title == "Cleaning"
