"""What documentation says about itself, as tests."""

from datetime import UTC, datetime

import pytest

from surefind.evaluation.golden.label_free import (
    VALIDITY,
    LabelFreeKind,
    SelfDescription,
    default_kinds,
)
from surefind.model import Chunk, ChunkRecord

BODY = "This paragraph is long enough to count as the body of a section, whatever it is about."


def record(path: str, text: str, heading: str = "", anchor: str = "") -> ChunkRecord:
    title = path.rpartition("/")[2].partition(".")[0].capitalize()
    headings = (title, heading) if heading else (title,)
    chunk = Chunk(f"{path}-{heading}", path, 0, text, 0, len(text), headings, "", anchor, 9, "h",
                  has_code=False, content_type="text")  # fmt: skip
    url = "https://example.com/" + path.removesuffix(".md")
    return ChunkRecord(chunk, url, path, title, datetime.now(UTC))


def made_from(kind: LabelFreeKind, *records: ChunkRecord) -> dict[str, list[str]]:
    description = SelfDescription()
    for one in records:
        description.add(one)
    return {one.query_text: [*map(str, one.expected)] for one in description.tests(kind, 100)}


@pytest.mark.parametrize(
    "target", ["../b/keys.md#new", "/b/keys#new", "https://example.com/b/keys/#new"]
)
def test_a_link_asks_for_the_section_that_it_leads_to(target: str) -> None:
    found = made_from(
        LabelFreeKind.LINKS,
        record("a/start.md", f"First [create a **secret** key]({target})."),
        record("b/keys.md", BODY, "Add one", "new"),
    )
    assert found == {"create a secret key": ["b/keys.md under 'Add one'"]}


@pytest.mark.parametrize(
    "link",
    [
        "[click here](keys.md)",
        "[Keys](keys.md)",
        "[the keys of it](https://other.example/keys)",
        "[the keys of it](gone.md)",
        "[the keys of it](#local)",
        "![the keys of it](keys.md)",
        "```\n[the keys of it](keys.md)\n```",
        "[the keys of it](http://[broken)",
        "[the own page](start.md)",
    ],
)
def test_links_that_say_nothing_make_no_tests(link: str) -> None:
    page = record("a/start.md", f"See {link} now.")
    assert made_from(LabelFreeKind.LINKS, page, record("a/keys.md", BODY)) == {}


def test_a_text_with_two_targets_makes_no_test() -> None:
    page = record("a/start.md", "[rotate all keys](keys.md) and [rotate all keys](other.md)")
    others = (record("a/keys.md", BODY), record("a/other.md", BODY))
    assert made_from(LabelFreeKind.LINKS, page, *others) == {}


def test_headings_ask_for_their_sections_unless_they_are_ambiguous_or_empty() -> None:
    found = made_from(
        LabelFreeKind.HEADINGS,
        record("a/keys.md", f"## Rotation\n\n{BODY}", "Rotation"),
        record("b/keys.md", f"## Example\n\n{BODY}", "Example"),
        record("c/keys.md", f"## Example\n\n{BODY}", "Example"),
        record("d/keys.md", "## Empty\n\nSee above.", "Empty"),
    )
    assert found == {"Keys: Rotation": ["a/keys.md under 'Rotation'"]}


def test_symbols_ask_for_the_only_page_that_defines_them() -> None:
    found = made_from(
        LabelFreeKind.SYMBOLS,
        record("a/settings.md", f"## max_size\n\n{BODY}", "max_size"),
        record("a/cli.md", "| `--dry-run` | does nothing |\n| `plain` | is no symbol |", "Options"),
        record("a/errors.md", "- `E1042`: the lid is open", "Errors"),
        record("a/guide.md", "Set max_size, or use --dry-run. After E1042, close the lid."),
        record("a/other.md", "- `only_here` is mentioned once"),
    )
    assert found == {
        "max_size": ["a/settings.md under 'max_size'"],
        "--dry-run": ["a/cli.md under 'Options'"],
        "E1042": ["a/errors.md under 'Errors'"],
    }


def test_questions_of_an_faq_ask_for_their_answers() -> None:
    bold = f"**Can I brew coffee in it?**\n\n{BODY}\n"
    found = made_from(
        LabelFreeKind.FAQ,
        record("a/faq.md", f"## Is it safe to drink?\n\n{BODY}", "Is it safe to drink?"),
        record("a/more.md", bold, "More"),
        record("a/why.md", f"## Why?\n\n{BODY}", "Why?"),
    )
    assert list(found) == ["Is it safe to drink?", "Can I brew coffee in it?"]
    assert found["Can I brew coffee in it?"][0].startswith("the text 'This paragraph")


def test_tests_are_spread_over_the_collection_and_reproducible() -> None:
    description = SelfDescription()
    for number in range(100):
        description.add(record(f"a/p{number:03}.md", f"## H\n\n{BODY}", f"Heading {number}"))
    tests = description.tests(LabelFreeKind.HEADINGS, 4)
    assert tests == description.tests(LabelFreeKind.HEADINGS, 4)
    expected = [str(test.expected[0]) for test in tests]
    assert expected == [f"a/p{n:03}.md under 'Heading {n}'" for n in (0, 25, 50, 75)]
    assert [test.test_id for test in tests] == [f"headings-{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("hostile", ["[" * 50_000, "**" * 50_000, "`" * 50_000, "a_" * 50_000])
def test_hostile_texts_end_without_tests(hostile: str) -> None:
    for kind in set(LabelFreeKind) - {LabelFreeKind.HEADINGS}:
        assert made_from(kind, record("a/start.md", hostile)) == {}


def test_the_default_kinds_are_those_that_are_valid() -> None:
    assert set(VALIDITY) == set(LabelFreeKind)
    assert default_kinds() == tuple(kind for kind in LabelFreeKind if VALIDITY[kind].low > 0)
