"""HTML pages give their own text as Markdown, without the site around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.text.html.to_markdown import html_to_markdown, readable
from surefind.text.markdown.blocks import outline


def markdown(body: str) -> str:
    return html_to_markdown(body).text.rstrip("\n")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One\n  two</p><p>three</p>", "One two\n\nthree"),
        ("bare <b>bold</b> <i>it</i>alic", "bare bold italic"),
        ("a<br>b<br/><br>c", "a\nb\nc"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("<h1 id=top>Top</h1><h2>Plain</h2>", "# Top {#top}\n\n## Plain"),
        ("<h2 id='a b'>No id</h2><h3></h3>", "## No id"),
        ("<h2>C #</h2>", "## C \\#"),
        ("<h2>The &lt;div&gt; and <code>&lt;p&gt;</code></h2>", "## The \\<div> and `<p>`"),
        ("<h2 id=x>X<a class=headerlink href=#x>\u00b6</a></h2>", "## X {#x}"),
        ("<h2 id=x>X <a href=#x aria-label='Link to X'>#</a></h2>", "## X {#x}"),
        ("<h2><a id=x></a>X</h2><h2><a name=y></a>Y</h2>", "## X {#x}\n\n## Y {#y}"),
        ("<section id=s>\n<h2>S</h2><p>a</p><h3>T</h3></section>", "## S {#s}\n\na\n\n### T"),
        ("<section id=s><span id=r></span><h2>S</h2></section>", "## S {#s}"),
        ("<h2>over<br>lines</h2>", "## over lines"),
        ("<p># no heading</p><p>```</p><p>a<br>---</p>", "\\# no heading\n\n\\```\n\na\n\\---"),
        ("<p>&lt;pre&gt; is a tag</p>", "\\<pre> is a tag"),
        ("<code>x</code>, <code>a`b</code>, <code> </code>!", "`x`, `` a`b ``, !"),
        ("<pre>one\n  two</pre>", "```\none\n  two\n```"),
        ("<pre> \n</pre>a", "a"),
        ("<pre><code class=language-py>x</code></pre>", "```py\nx\n```"),
        ("<pre class='code rust literal-block'>x</pre>", "```rust\nx\n```"),
        ("<div class='highlight-default'><div><pre>x</pre></div></div>", "```\nx\n```"),
        ("<pre><span>a<br></span><span>b</span></pre>", "```\na\nb\n```"),
        ("<pre>```\n</pre>", "````\n```\n````"),
        ("<pre><button>Copy</button><i class=lineno>1</i>x<img alt=i><!-- c --></pre>",
         "```\nxi\n```"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ol><li>a<li>b</ol><ol start=9><li>c<li>d</ol>", "1. a\n2. b\n\n9. c\n10. d"),
        ("<ol start=-1><li><p>a</p><p>b</p></ol>", "1. a\n\n   b"),
        ("<ul><li><pre>x</pre></ul>", "- ```\n  x\n  ```"),
        ("<ul><li></li><li>a</ul>", "- a"),
        ("<li>alone</li>", "- alone"),
        ("<dl><dt>t<dd>d<dd><p>e</p><p>f</p></dl>", "t\n: d\n: e\n\n  f"),
        ("a<blockquote><p>b</p><p>c</p></blockquote>d", "a\n\n> b\n>\n> c\n\nd"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
        ("<table><caption>Cap</caption><tr><th>A<th>B<tr><td>1|2<td><p>x</p><p>y</p></table>",
         "Cap\n\n| A | B |\n| --- | --- |\n| 1\\|2 | x y |"),
        ("<table><tr><td colspan=2>a<tr><td>b<td>c<td>d</table>",
         "| a |  |  |\n| --- | --- | --- |\n| b | c | d |"),
        ("<table><tr><td>a<ul><li>b<li>c</ul><pre>d\ne</pre><br>f<h2>g</h2>",
         "| a b c `d e` f g |\n| --- |"),
        ("<table><tr><td><blockquote>h</blockquote><dl><dt>i<dd>j</dl></table>",
         "| h i j |\n| --- |"),
        ("<table><tr><td>a<table><tr><td>b<td>c</table></table>", "| a b c |\n| --- |"),
        ("<table></table><table><tr><td></table>a", "a"),
        ("<table class=highlighttable><tr><td class=linenos>1<td><pre>x</pre></table>",
         "```\nx\n```"),
        ("<div class='admonition note'><p class=admonition-title>Note</p><p>t</p></div>",
         "Note\n\nt"),
        ("<aside class='admonition'>kept</aside><aside class=x>a</aside><aside>b</aside>", "kept"),
        ("<details><summary>Sum</summary>more</details>", "Sum\n\nmore"),
        ("a <img alt='A  picture'> <img> b", "a A picture b"),
        ("<p hidden>a</p><p aria-hidden=true>b</p><p style='display: none'>c</p>d", "d"),
        ("<div role=tabpanel hidden>kept</div>", "kept"),
        ("<header><nav>a</nav></header><header class=x>b</header><header><h1>T</h1></header>c",
         "# T\n\nc"),
        ("<a href=/e>Edit this page</a><a href=#c>Skip to content</a><a href=#x>\u00b6</a>a", "a"),
        ("<div class=breadcrumbs>a</div><div id=toc>b</div><ul class=pagination>c</ul>d", "d"),
        ("<div class='contents topic'>a</div><div role=search>b</div>c", "c"),
        ("<div id=cookie-banner>a</div><div class='cookie-consent-x'>b</div>c", "c"),
        ("<div class=section id=toc><h2>TOC</h2></div>", "## TOC {#toc}"),
        ("<script>a</script><style>b</style><button>c</button><template>d</template>e", "e"),
        ("שלום 😀 \u202bא\u202c &nbsp;x", "שלום 😀 \u202bא\u202c \xa0x"),
        ("<pre><div>a</div><div>b\n</div><div>c</div></pre>", "```\na\nb\nc\n```"),
        ("<frameset><frame></frameset>", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_elements_become_markdown(html: str, text: str) -> None:
    assert markdown(html) == text


LONG = " ".join(["words"] * 30)


@pytest.mark.parametrize(
    "content",
    [
        f"<main>{LONG}</main>",
        f"<div role=main>{LONG}</div>",
        f"<article>{LONG}</article>",
        f"<div class='theme-doc-markdown markdown'>{LONG}</div>",
        f"<div class=md-content>{LONG}</div>",
        f"<div itemprop=articleBody>{LONG}</div>",
        f"<div class=document><div class=body>{LONG}</div></div>",
        f"<main><article>{LONG}</article> outside</main>",
    ],
)
def test_the_content_is_found_in_the_page_of_every_tool(content: str) -> None:
    page = f"<nav>a</nav><div>site outside</div>{content}<footer>b</footer>"
    assert markdown(page) == LONG


def test_a_content_root_with_little_in_it_is_not_believed() -> None:
    assert markdown(f"<main>little</main><div>{LONG}</div>") == f"little\n\n{LONG}"
    assert markdown("<article>a</article><article>b</article>") == "a\n\nb"


def test_a_page_describes_itself() -> None:
    page = html_to_markdown(
        "<html lang=en><title>Name |\n Site</title><link rel=canonical href=' https://x.org/a '>"
        "<meta name=description content='About it'><nav><a href=/n>n</a></nav>"
    )
    assert page.title == "Name | Site"
    assert page.canonical_url == "https://x.org/a"
    assert page.description == "About it"
    assert page.language == "en"
    assert html_to_markdown("<title>Site</title><h2>a</h2><h1>Own <code>x</code></h1>").title == (
        "Own x"
    )
    assert html_to_markdown("a").title == html_to_markdown("a").canonical_url == ""


def test_a_tag_that_a_heading_speaks_of_is_in_its_title() -> None:
    page = html_to_markdown("<h1>The &lt;br&gt; tag</h1><p>a</p>")
    assert page.title == outline(page.text).headings[0].title == "The <br> tag"


words = st.text(alphabet=st.sampled_from("abc äé漢😀"), min_size=1, max_size=12).map(
    lambda text: text.strip() or "word"
)
trees = st.recursive(
    words.map(lambda text: f"<p>{text}</p>"),
    lambda inner: st.tuples(
        st.sampled_from(
            ["div", "section", "blockquote", "ul", "ol", "li", "td", "pre", "em", "dl"]
        ),
        st.lists(inner, max_size=3),
    ).map(lambda node: f"<{node[0]}>{''.join(node[1])}</{node[0]}>"),
    max_leaves=12,
)


@given(st.lists(trees, max_size=4).map("".join))
def test_every_word_survives_in_order(html: str) -> None:
    said = html.replace("<", " <").replace(">", "> ").split()
    expected = [word for word in said if not word.startswith("<")]
    marks = {"-", ">", ":", "```"} | {f"{number}." for number in range(1, 10)}
    assert [word for word in markdown(html).split() if word not in marks] == expected


@given(st.text(alphabet="<>/abdhlipu12 =\"'#`\n-", max_size=80))
def test_nothing_breaks_it(html: str) -> None:
    text = html_to_markdown(html).text
    assert all(text[heading.start : heading.end].strip() for heading in outline(text).headings)


@given(st.text(alphabet="#`~=-<>!pre ab\n", max_size=40))
def test_text_never_becomes_a_heading(said: str) -> None:
    escaped = said.replace("<", "&lt;").replace("\n", "<br>")
    assert outline(markdown(f"<p>{escaped}</p><h2>End</h2>")).headings[-1].title == "End"
    assert len(outline(markdown(f"<p>{escaped}</p><h2>End</h2>")).headings) == 1


@pytest.mark.parametrize(
    "tag", ["div", "span", "blockquote", "ul><li", "table><tr><td", "code", "header", "section"]
)
def test_ten_thousand_elements_inside_each_other(tag: str) -> None:
    assert "deep" in markdown(f"<{tag}>" * 10_000 + "deep<h1>")


def test_five_megabytes_are_read_in_seconds() -> None:
    page = "<p>word <b>x</b> and <a href='/a'>more</a> <code>y</code></p>" * 80_000
    assert html_to_markdown(page).text.count("word") == 80_000


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("<p>Plug the <b>cable</b> in.</p>", "Plug the cable in."),
        ("<div><h2>Power</h2><ul><li>one</li></ul></div>\n", "## Power\n\n- one"),
        ('<p class="x">a &amp; b</p><script>alert(1)</script><p>c</p>', "a & b\n\nc"),
        ("a < b and c > d", "a < b and c > d"),
        ("Write `<p>` and `</p>`", "Write `<p>` and `</p>`"),
        ("<Tabs>\n\n# Markdown\n\n</Tabs>", "<Tabs>\n\n# Markdown\n\n</Tabs>"),
        ("<p></p>", "<p></p>"),
        ("", ""),
        (
            "it off.</p><p>Plug the <b>cable</b> in.</p><p>Then",
            "it off.\n\nPlug the cable in.\n\nThen",
        ),
        (
            "Plug the <b>cable</b> in<br>now.\n\nThen &amp; there.",
            "Plug the cable in\nnow.\n\nThen & there.",
        ),
        ("<li>one</li><li>two</li>", "- one\n- two"),
        ("<!-- x --><h2>Power</h2> on", "## Power\n\non"),
        ("Use `<b>` and <b>bold</b>", "Use `<b>` and <b>bold</b>"),
        ("# Power\n\nPlug <b>it</b> in", "# Power\n\nPlug <b>it</b> in"),
        ("- one <b>x</b>\n- two", "- one <b>x</b>\n- two"),
        ("the tags <b></b> and List<T>", "the tags <b></b> and List<T>"),
    ],
)
def test_a_passage_that_was_stored_as_html_is_shown_as_text(stored: str, shown: str) -> None:
    assert readable(stored) == shown


@pytest.mark.parametrize("stored", ["<div>" * 60_000 + "x</div>", "<b>" * 60_000 + "x</b>"])
def test_a_passage_that_is_nested_too_deeply_is_shown_as_it_is(stored: str) -> None:
    assert readable(stored) == stored
