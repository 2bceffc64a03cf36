"""The properties of components that readers see."""

import pytest

from surefind.text.markdown.mdx import read_mdx


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('<Q question="Why?" />', "Why?"),
        ("<Q question={`Why is it\n  so?`} />", "Why is it so?"),
        ("<Q hints={['First one.', \"Second one.\"]} />", "First one.\n\nSecond one."),
        ("<Q solution={`a --b\nc --d`} />", "```\na --b\nc --d\n```"),
        ('<Q title="T" answer="Because." />', "T\n\nBecause."),
        ('<Q command="a --b" />', "a --b"),
        ('<Q tip="Several words here." />', "Several words here."),
        ("<Q items={[{head: 'A head', text: <>The <b>text</b>.</>}]} />", "A head\n\nThe text."),
        ("<Q answer={<p>Some <em>text</em>{' and more'}.</p>} />", "Some text and more."),
        ("<Q items={[<li>unclosed, 'and a text'} />", "and a text"),
        ('<Q tip="这是一个提示" />', "这是一个提示"),
        ('<Q note="# not a heading" />', "\\# not a heading"),
        (
            '<Q title="T" tip="Some more words.">\n\nContent.\n\n</Q>',
            "T\n\nSome more words.\n\nContent.",
        ),
        ('- <Q tip="Words in a list." />\n- b', "-\n\nWords in a list.\n\n- b"),
        ("export const name = 'Ada'\n\nHello {name}, {`dear ${name}`}.", "Hello Ada, dear Ada."),
        ("export const a = 'one', b = 2\n\n<Q label={a} />", "one"),
        ('<Q.R question="Why?" />', "Why?"),
    ],
)
def test_text_in_properties_is_kept(source: str, text: str) -> None:
    assert read_mdx(source)[0].strip() == text


@pytest.mark.parametrize(
    "source",
    [
        '<Q className="quiz wide large" style="margin auto" iconColor="dark blue" />',
        '<Q href="https://x.org/a page" src="/a/b.png" answer="./file.md" note="#anchor" />',
        '<Q data-text="Several words here" aria-label="More words here" onClick="go there now" />',
        '<Q t="a > b" x="word" size="10 20" grid="1fr 2fr" />',
        "<Q count={3} on={true} items={[1, 2]} data={rows} />",
        '<div data="Several words here" />',
        "<Q {...rest} />",
    ],
)
def test_other_properties_are_dropped(source: str) -> None:
    assert read_mdx(source) == ("", ())


@pytest.mark.parametrize(
    ("source", "left_out"),
    [
        ("<Q rows={list.map(row => <R {...row} />)} />", "<Q rows>"),
        ("{list.map(row => <R {...row} />)}", "{list.map(row => <R {...row} />)}"),
        ("{rows.map(\n" + "  row => row,\n" * 9 + ")}", None),
        ('A <Term tip="Explained in some words">word</Term> here.', "<Term>"),
    ],
)
def test_what_may_be_visible_is_named(source: str, left_out: str | None) -> None:
    [named] = read_mdx(source)[1]
    assert named == left_out if left_out else named.endswith("…}")


def test_a_property_never_cuts_a_sentence() -> None:
    text, _ = read_mdx('A <Term tip="Explained in some words">word</Term> here.')
    assert text == "A word here."
    text, _ = read_mdx('<Term tip="Explained in some words">A word</Term> at the start.')
    assert text == "A word at the start."


def test_a_tag_that_is_text_keeps_no_properties() -> None:
    assert read_mdx('A <Q tip="Several words here."> is open')[0] == (
        'A <Q tip="Several words here."> is open'
    )
    assert read_mdx('<Q tip="Several words here.">\n\nopen')[0].count("Several") == 1


def test_hostile_properties_take_linear_time() -> None:
    many = "".join(f"<t{number}> 'a b' " for number in range(3_000))
    assert read_mdx(f"<Q items={{[{many}]}} />")[0] == ""
    assert read_mdx("<Q items={[" + "<a> " * 4_000 + "]} />")[0] == ""
