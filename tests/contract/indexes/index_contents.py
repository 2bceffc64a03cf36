"""What the suites of indexes write into them."""

from support.fakes import WordEmbedder, record, word_terms
from surefind.model import GenerationRef, Ranking
from surefind.ports import IndexEntry, IndexStore

ONE, TWO = GenerationRef("docs", 1), GenerationRef("docs", 2)
DIMENSIONS = 32
NOTHING = Ranking([], [])
TEXTS = [
    "install the program on linux",
    "install the program on windows",
    "uninstall everything again",
    "search for passages with words",
    "cats sleep in the sunshine",
]


def entries(texts: list[str], first: int = 0) -> list[IndexEntry]:
    embedder = WordEmbedder(DIMENSIONS)
    return [
        IndexEntry(record(number, text), embedder.embed(text), word_terms(text))
        for number, text in enumerate(texts, start=first)
    ]


async def build(
    store: IndexStore,
    ref: GenerationRef,
    content: list[IndexEntry],
    copy_of: GenerationRef | None = None,
) -> int:
    writer = await store.create(ref, DIMENSIONS, copy_of)
    if content:
        await writer.upsert(content)
    return await writer.finish()
