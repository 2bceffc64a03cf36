"""A small generation, for the suites of catalogs."""

from dataclasses import replace

from support.fakes import NOW, document, record
from surefind.model import (
    ChunkerSettings,
    EmbedderFingerprint,
    GenerationRef,
    LexicalSettings,
    Manifest,
)
from surefind.ports import CatalogStore

ONE, TWO = GenerationRef("docs", 1), GenerationRef("docs", 2)


def manifest(ref: GenerationRef) -> Manifest:
    return Manifest(
        collection=ref.collection,
        number=ref.number,
        created_at=NOW,
        surefind_version="0.1.0",
        embedder=EmbedderFingerprint("fake", "words", 32, "w", ""),
        chunker=ChunkerSettings(),
        lexical=LexicalSettings("words", 12.5),
        sources=("docs",),
        sites=("reader docs",),
        source_digest="d",
        documents=1,
        chunks=3,
        based_on=None,
    )


async def build(store: CatalogStore, ref: GenerationRef = ONE) -> int:
    writer = await store.create(ref, None)
    await writer.put(document(), [record(0, "eins zwei"), record(1), record(2)])
    other = [record(7, "other", "docs/a.md"), record(8, "other", "docs/a.md")]
    moved = [replace(r, chunk=replace(r.chunk, position=n)) for n, r in enumerate(other)]
    await writer.put(document("docs/a.md", "other"), moved)
    await writer.put(document("docs/empty.md", ""), [])
    return await writer.finish()
