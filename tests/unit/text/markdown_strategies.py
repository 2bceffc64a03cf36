"""Generated Markdown: what people write, and what they write by accident."""

from hypothesis import strategies as st

words = st.text(
    alphabet=st.sampled_from("abcdefg ABC 0123 äöü 漢字 é.,;:!?()'\"-_*`<>&|/\\ 😀"),
    min_size=1,
    max_size=30,
).map(lambda text: text.strip() or "word")
titles = st.text(alphabet=st.sampled_from("abc XYZ 12 äé"), min_size=1, max_size=20).map(
    lambda text: " ".join(text.split()) or "title"
)
atx_headings = st.tuples(st.integers(1, 6), titles).map(lambda h: f"{'#' * h[0]} {h[1]}")
setext_headings = st.tuples(titles, st.sampled_from(["===", "---"])).map("\n".join)
paragraphs = st.lists(words, min_size=1, max_size=4).map("\n".join)
bullet_lists = st.lists(words, min_size=1, max_size=4).map(
    lambda items: "\n".join(f"- {item}" for item in items)
)
fences = st.tuples(st.sampled_from(["```", "~~~", "````"]), st.lists(words, max_size=3)).map(
    lambda fence: f"{fence[0]}python\n# no heading\n" + "\n".join(fence[1]) + f"\n{fence[0]}"
)
quotes = words.map(lambda text: f"> {text}\n> # quoted")
tables = st.just("| a | b |\n| - | - |\n| 1 | 2 |")
rules = st.sampled_from(["---", "***", "- - -"])
blank = st.just("")
html = st.tuples(
    st.sampled_from(
        [
            "<div>",
            "</div>",
            '<p class="x">',
            "<Tabs a='b' c>",
            "<b/>",
            "</b >",
            "<b",
            "<div",
            "<x>y",
        ]
    ),
    st.sampled_from(["", "\n# inside", "\n---", "\n```", "\nwords\n==="]),
).map("".join)

blocks = st.one_of(
    atx_headings,
    setext_headings,
    paragraphs,
    bullet_lists,
    fences,
    quotes,
    tables,
    rules,
    blank,
    html,
)
pages = st.lists(blocks, max_size=12).map("\n\n".join)
any_text = st.one_of(pages, st.text(max_size=300), st.lists(blocks, max_size=8).map("\n".join))
