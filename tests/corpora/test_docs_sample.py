"""A real documentation tree, whole."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from support.commands import surefind, surefind_json
from surefind.adapters.embedders.bge_small import MAX_TOKENS
from surefind.adapters.sources.filesystem import sources_of
from surefind.model import Chunk, ChunkerSettings, Document, SourcePage
from surefind.text.chunking import chunk_document
from surefind.text.documents import ReadPage, read_document
from surefind.text.sites.plain import ReaderSite

Pages = list[tuple[Document, list[Chunk]]]


@pytest.fixture(scope="module")
async def pages(data: Path, model_files: Path, anyio_backend: str) -> Pages:
    tokenizer = Tokenizer.from_file(str(model_files / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    read = []
    async for page in sources_of([data / "docs-sample" / "docusaurus" / "website"], "docs", None)[
        0
    ].pages():
        assert isinstance(page, SourcePage), page
        found = read_document(page, ReaderSite("docs", "website"))
        assert isinstance(found, ReadPage)
        chunks = chunk_document(found.document, found.structure, ChunkerSettings(), count)
        read.append((found.document, chunks))
    return read


def test_every_page_is_read(pages: Pages) -> None:
    assert len(pages) == 238
    empty = [document.source_path for document, chunks in pages if not chunks]
    assert len(empty) < 20, empty  # pages that only import others


def test_every_character_is_in_exactly_one_chunk(pages: Pages) -> None:
    for document, chunks in pages:
        covered = 0
        for chunk in chunks:
            assert chunk.text == document.text[chunk.start : chunk.end]
            assert not document.text[covered : chunk.start].strip()
            assert chunk.start >= covered
            covered = chunk.end
        assert not document.text[covered:].strip()


def test_every_chunk_is_within_the_budget_of_the_real_tokenizer(pages: Pages) -> None:
    for _, chunks in pages:
        for chunk in chunks:
            assert chunk.tokens <= ChunkerSettings().max_tokens < MAX_TOKENS
            assert len(chunk.text) < 2000


def test_ids_are_unique_over_the_whole_tree(pages: Pages) -> None:
    ids = [chunk.id for _, chunks in pages for chunk in chunks]
    assert len(set(ids)) == len(ids) > 1000
    assert all(len(name) <= 50 for name in ids)


def test_a_part_of_it_is_ingested_and_answers(data: Path, tmp_path: Path) -> None:
    folder = data / "docs-sample" / "docusaurus" / "website" / "community"
    done = surefind("ingest", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = surefind_json("chunks", "count", cwd=tmp_path)
    assert counts["catalog"] == counts["index"] > 30
    questions = {
        "Where can I ask for support from the community?": "community/0-support.mdx",
        "How often are new versions released?": "community/5-release-process.mdx",
        "Who are the members of the team?": "community/1-team.mdx",
    }
    for question, page in questions.items():
        found = surefind_json("search", question, "-k", "5", cwd=tmp_path)
        assert page in [hit["source_path"] for hit in found["hits"]][:3], question
