"""Chunks cover the text exactly, stay within the budget, and keep their identity."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import WORDS
from surefind.model import Chunk, ChunkerSettings, Document, SourcePage
from surefind.text.chunking import chunk_document, has_words
from surefind.text.documents import ReadPage, read_document
from surefind.text.sites.plain import ReaderSite
from unit.text.markdown_strategies import any_text, titles

SMALL = ChunkerSettings(max_tokens=12, max_chars=80)


def count_words(text: str) -> int:
    return len(WORDS.findall(text))


def read(text: str, path: str = "guide/page.md") -> tuple[Document, list[Chunk]]:
    return chunked(text, ChunkerSettings(), path)


def chunked(
    text: str, settings: ChunkerSettings, path: str = "guide/page.md"
) -> tuple[Document, list[Chunk]]:
    page = SourcePage(f"docs/{path}", path, text.replace("\0", "").encode("utf-8", "replace"))
    read = read_document(page, ReaderSite("docs", "docs"))
    assert isinstance(read, ReadPage)
    return read.document, chunk_document(read.document, read.structure, settings, count_words)


@given(any_text, st.sampled_from([SMALL, ChunkerSettings(), ChunkerSettings(32, 120)]))
def test_every_character_is_in_exactly_the_chunk_that_claims_it(
    text: str, settings: ChunkerSettings
) -> None:
    """Offsets slice back to the source; only what has no words is outside, nothing is twice."""
    document, chunks = chunked(text, settings)
    covered = 0
    for position, chunk in enumerate(chunks):
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.position == position
        assert chunk.start >= covered
        assert not has_words(document.text[covered : chunk.start])
        covered = chunk.end
    assert not has_words(document.text[covered:])


@given(any_text)
def test_no_chunk_is_over_the_budget(text: str) -> None:
    _, chunks = chunked(text, SMALL)
    for chunk in chunks:
        assert len(chunk.text) <= SMALL.max_chars
        assert chunk.tokens <= SMALL.max_tokens
        assert chunk.tokens >= count_words(chunk.passage) - 1


@given(any_text)
def test_ids_are_unique_printable_and_short(text: str) -> None:
    _, chunks = chunked(text, SMALL)
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    assert all(len(name) <= 50 and name.isprintable() and name.isascii() for name in ids)


def page_of(parts: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"## {title}\n\n{body}" for title, body in parts)


bodies = st.lists(
    st.sampled_from(["some words here", "- a\n- b", "```\ncode\n```", "x " * 40]), max_size=3
)


@given(
    st.lists(
        st.tuples(titles, bodies), min_size=2, max_size=5, unique_by=lambda part: part[0].lower()
    ),
    st.data(),
)
def test_editing_one_section_changes_no_other_sections_ids(
    parts: list[tuple[str, list[str]]], data: st.DataObject
) -> None:
    """A section keeps its anchor, so its chunks keep their ids, whatever happens to the others."""
    numbered = [
        (f"{title} {n}", "\n\n".join(["intro", *body])) for n, (title, body) in enumerate(parts)
    ]
    edited = data.draw(st.integers(0, len(numbered) - 1))
    after = list(numbered)
    after[edited] = (after[edited][0], data.draw(st.sampled_from(["new", "new words " * 30])))
    _, old = chunked(page_of(numbered), SMALL)
    _, new = chunked(page_of(after), SMALL)
    anchor = next(chunk.anchor for chunk in new if chunk.heading_path[-1] == after[edited][0])
    kept = [(chunk.id, chunk.text, chunk.passage) for chunk in old if chunk.anchor != anchor]
    assert kept == [
        (chunk.id, chunk.text, chunk.passage) for chunk in new if chunk.anchor != anchor
    ]


@given(any_text, any_text)
def test_ids_depend_on_the_pages_own_path_alone(one: str, other: str) -> None:
    """Adding a page changes no other page's ids; renaming one changes only its own."""
    one = f"---\ntitle: Fixed\n---\n{one}"  # else a page is called by its file's name
    _, first = chunked(one, SMALL, "a.md")
    _, again = chunked(one, SMALL, "a.md")
    _, second = chunked(other, SMALL, "0-new.md")
    _, renamed = chunked(one, SMALL, "b.md")
    assert [c.id for c in first] == [c.id for c in again]
    assert not {c.id for c in first} & {c.id for c in second}
    assert not {c.id for c in first} & {c.id for c in renamed}
    assert [c.text for c in first] == [c.text for c in renamed]


def test_a_section_is_one_chunk_with_its_heading_path() -> None:
    text = "intro\n\n# Guide\n\nwelcome\n\n## Install\n\n### Linux\n\nrun it\n\n## Use\n\nuse it"
    _, chunks = read(text)
    assert [(c.heading_path, c.context, c.anchor, c.text) for c in chunks] == [
        (("Guide",), "Guide", "", "intro"),
        (("Guide",), "", "guide", "# Guide\n\nwelcome"),
        (
            ("Guide", "Install", "Linux"),
            "Guide",
            "linux",
            "## Install\n\n### Linux\n\nrun it",
        ),
        (("Guide", "Use"), "Guide", "use", "## Use\n\nuse it"),
    ]
    assert chunks[2].passage == "Guide\n\n## Install\n\n### Linux\n\nrun it"
    assert chunks[1].passage == chunks[1].text


def test_the_pieces_of_a_long_section_all_have_their_heading_path() -> None:
    text = "# Guide\n\n## Long\n\n" + "\n\n".join(f"paragraph {n} of some words" for n in range(12))
    _, chunks = chunked(text, ChunkerSettings(max_tokens=20, max_chars=400))
    assert len(chunks) > 2
    assert chunks[0].context == ""
    assert all(chunk.context == "Guide > Long" for chunk in chunks[1:])
    assert [chunk.anchor for chunk in chunks] == ["long"] * len(chunks)


def test_a_table_that_is_cut_repeats_its_head_in_what_is_embedded() -> None:
    rows = "\n".join(f"| option {n} | what it does |" for n in range(30))
    text = f"# Options\n\n| name | meaning |\n|------|---------|\n{rows}\n\nafter"
    document, chunks = chunked(text, ChunkerSettings(max_tokens=40, max_chars=1999))
    assert len(chunks) > 3
    assert chunks[0].context == ""
    for chunk in chunks[1:-1]:
        assert chunk.context == "Options\n\n| name | meaning |\n|------|---------|"
        assert chunk.text.startswith("| option")
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.tokens <= 40


def test_code_that_is_cut_repeats_its_fence_and_what_follows_does_not() -> None:
    code = "\n".join(f"call number {n}" for n in range(30))
    _, chunks = chunked(
        f"# Code\n\n```python\n{code}\n```\n\n" + "words after it. " * 20,
        ChunkerSettings(max_tokens=30, max_chars=1999),
    )
    assert chunks[1].context == "Code\n\n```python"
    assert chunks[-1].context == "Code"
    assert all(chunk.tokens <= 30 for chunk in chunks)


def test_a_head_that_would_fill_the_budget_is_not_repeated() -> None:
    head = " | ".join(f"column {n}" for n in range(20))
    rule = "|".join(["---"] * 20)
    _, chunks = chunked(
        f"{head}\n{rule}\n" + "a | b | c\n" * 30, ChunkerSettings(max_tokens=45, max_chars=1999)
    )
    assert len(chunks) > 2
    assert all("column" not in chunk.context for chunk in chunks[1:])


def test_a_list_is_whole_where_it_fits() -> None:
    items = "\n\n".join(f"- item number {n}" for n in range(3))
    _, chunks = chunked(f"some words before it\n\n{items}\n\nand some after", SMALL)
    assert [chunk.text for chunk in chunks] == [
        "some words before it",
        items,
        "and some after",
    ]


def test_a_page_of_headings_alone_is_still_found() -> None:
    _, chunks = read("# One\n\n## Two\n\n### Three")
    assert [chunk.text for chunk in chunks] == ["# One\n\n## Two\n\n### Three"]


def test_two_headings_without_letters_have_different_ids() -> None:
    _, chunks = read("before\n\n# 🎉\n\nparty\n\n# 🎉\n\nagain")
    assert len({chunk.id for chunk in chunks}) == 3


def test_a_heading_without_letters_keeps_its_ids_when_the_start_of_the_page_grows() -> None:
    _, before = chunked("words\n\n# !!!\n\nparty", SMALL)
    _, after = chunked("words " * 40 + "\n\n# !!!\n\nparty", SMALL)
    assert len(after) > len(before) == 2
    assert before[-1].anchor == ""
    assert (before[-1].id, before[-1].text) == (after[-1].id, after[-1].text)


def test_code_is_distinguished_from_text() -> None:
    text = (
        "# A\n\nwords\n\n# B\n\nwords before\n\n```\nx\n```\n\n# C\n\n```\n" + "code\n" * 20 + "```"
    )
    _, chunks = read(text)
    assert [(c.has_code, c.content_type) for c in chunks] == [
        (False, "text"),
        (True, "mixed"),
        (True, "code"),
    ]


def test_indentation_is_kept_where_a_block_begins() -> None:
    _, chunks = chunked("a b c d e f g h i j\n\n    indented = code", SMALL)
    assert chunks[-1].text == "    indented = code"


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "word " * 30_000, "a.\n" * 20_000, "- item\n" * 20_000, "\n" * 50_000 + "end"],
    ids=["one word", "one line", "short lines", "one list", "blank lines"],
)
def test_a_huge_page_is_cut_to_measure(text: str) -> None:
    settings = ChunkerSettings()
    document, chunks = chunked(text, settings)
    assert all(len(c.text) <= settings.max_chars for c in chunks)
    assert "".join("".join(c.text.split()) for c in chunks) == "".join(document.text.split())


def test_headings_longer_than_their_share_lose_their_beginning() -> None:
    deep = "\n\n".join(f"{'#' * n} {'long title ' * 4}{n}" for n in range(1, 7))
    _, chunks = chunked(f"{deep}\n\n" + "words and more words\n\n" * 6, SMALL)
    assert all(count_words(chunk.context) <= SMALL.max_tokens // 4 for chunk in chunks)


def test_empty_pages_have_no_chunks() -> None:
    for text in ("", " \n\t\n", "---\ntitle: Only\n---\n"):
        assert read(text)[1] == []


def test_a_chunk_knows_its_point() -> None:
    _, [chunk] = read("words")
    assert chunk.point_id == replace(chunk, text="other").point_id
    assert chunk.point_id.version == 5


@pytest.mark.parametrize(
    "text",
    [
        *("एक वाक्य यहाँ है। ", "یہ ایک جملہ ہے۔ ", "هل هذه جملة؟ ", "A sentence is here… "),
        *("これは文です。", "「これは文です。」", "这是一句话！", "What is this?! ", '"It is." '),
    ],
)
def test_sentences_of_every_script_stay_whole(text: str) -> None:
    _, chunks = chunked(text * 12, ChunkerSettings(max_tokens=1000, max_chars=60))
    assert len(chunks) > 1
    for chunk in chunks:
        assert not len(chunk.text.strip()) % len(text.strip()) or text.strip() * 2 not in chunk.text
        assert chunk.text.startswith(text.strip())
        assert chunk.text.endswith(text.strip())


def test_a_paragraph_is_cut_at_sentences_before_lines() -> None:
    sentences = [f"Sentence {n} continues\non another line." for n in range(8)]
    _, chunks = chunked(" ".join(sentences), ChunkerSettings(max_tokens=12, max_chars=80))
    assert len(chunks) > 2
    assert all(chunk.text.startswith("Sentence") for chunk in chunks)
    assert all(chunk.text.endswith("line.") for chunk in chunks)


def test_items_rows_and_lines_of_code_are_cut_before_sentences() -> None:
    items = "\n".join(f"- Item {n} is here. It has two." for n in range(8))
    _, chunks = chunked(items, ChunkerSettings(max_tokens=12, max_chars=80))
    assert all(chunk.text.startswith("- Item") for chunk in chunks)
    code = "```\n" + "\n".join(f"call {n}. then {n}" for n in range(8)) + "\n```"
    _, chunks = chunked(code, ChunkerSettings(max_tokens=12, max_chars=80))
    assert all(chunk.text.startswith(("call", "```")) for chunk in chunks)


@pytest.mark.parametrize(
    "text", ["---", "***\n", "&nbsp;", "<br/>", "<div>\n</div>", "![](a.png)", "🎉", "{#id}"]
)
def test_no_chunk_is_made_without_a_word(text: str) -> None:
    _, chunks = read(f"{text}\n\n# Guide\n\nwords")
    assert [chunk.text for chunk in chunks] == ["# Guide\n\nwords"]
    assert read(text)[1] == []


def test_code_without_letters_is_kept() -> None:
    _, chunks = read("`<br>`\n\n# Guide\n\nwords")
    assert [chunk.text for chunk in chunks] == ["`<br>`", "# Guide\n\nwords"]
