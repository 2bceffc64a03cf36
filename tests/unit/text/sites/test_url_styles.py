"""mdBook, VitePress, Starlight, Nextra and plain folders: addresses, and what pages include."""

from typing import Protocol

import pytest

from surefind.errors import InputError
from surefind.model import PageLocation, SkippedPage, UrlStyle
from surefind.text.sites.mdbook.addresses import MdBookSite
from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.nextra.addresses import NextraSite
from surefind.text.sites.parsing.containers import without_containers
from surefind.text.sites.parsing.regions import line_range, region
from surefind.text.sites.plain import PlainSite
from surefind.text.sites.starlight.addresses import StarlightSite
from surefind.text.sites.vitepress.addresses import VitePressSite, slug

HOST = "https://x.org/d"
SUMMARY = "[A](a.md)\n- [B [c]](<b/README.md>)\n- [D](d%20e.md)\n- [Draft]()\n"
STYLES: tuple[UrlStyle | None, ...] = (None, "html", "bare", "directory")


class Placing(Protocol):
    def place(self, site_path: str, front_matter: dict[str, object]) -> object: ...


def url(site: Placing, path: str, **front_matter: object) -> str:
    """The address of a page below the host; else the reason why it has none."""
    place = site.place(path, dict(front_matter))
    if isinstance(place, SkippedPage):
        return place.reason
    assert isinstance(place, PageLocation)
    return place.url.removeprefix(HOST)


@pytest.mark.parametrize(
    ("style", "page", "index"),
    [
        (None, "/g/a", "/g"), ("bare", "/g/a", "/g"), ("directory", "/g/a/", "/g/"),
        ("html", "/g/a.html", "/g/"),
    ],
)  # fmt: skip
def test_plain_folders(style: UrlStyle | None, page: str, index: str) -> None:
    site = PlainSite(HOST, style)
    assert url(site, "g/a.md") == page
    assert url(site, "g/README.md") == index
    assert url(site, "index.md") == "/"
    assert site.fingerprint == f"plain {HOST}" + ("" if style in {None, "bare"} else f" {style}")


def test_links_of_pages_that_are_files_are_relative_to_their_folder() -> None:
    assert PlainSite(HOST, "html").addresses("b.html", f"{HOST}/g/a.html") == (f"{HOST}/g/b.html",)


@pytest.mark.parametrize(
    ("style", "chapter", "index"),
    [
        (None, "/d%20e.html", "/b/index.html"), ("html", "/d%20e.html", "/b/index.html"),
        ("bare", "/d%20e", "/b/"), ("directory", "/d%20e/", "/b/"),
    ],
)  # fmt: skip
def test_chapters_of_a_book(style: UrlStyle | None, chapter: str, index: str) -> None:
    site = MdBookSite("[book]\nsrc = './s'\n", SUMMARY, HOST, url_style=style)
    assert url(site, "s/d e.md") == chapter
    assert url(site, "s/b/README.md") == index
    assert url(site, "s/other.md") == "SUMMARY.md does not list it"
    assert site.notes == ()
    assert site.addresses("b/index.html#x", f"{HOST}/a.html") == (f"{HOST}/b/index.html",)


def test_notes_of_a_book() -> None:
    broken = MdBookSite("[book", None)
    assert [note.split("; ")[0].split(". ")[0] for note in broken.notes] == [
        "book.toml is not valid TOML",
        "book.toml has no host",
        "SUMMARY.md is missing, so no page is a chapter.",
    ]
    named = MdBookSite('[output.html]\nsite-url = "https://y.org/b/"', SUMMARY)
    assert named.notes == ()
    assert url(named, "src/a.md") == "https://y.org/b/a.html"


def test_headings_of_a_book() -> None:
    rule = MdBookSite("", SUMMARY, HOST).anchors
    assert rule.slug("Über `C++` & 2") == "über-c--2"
    assert rule.split("a -- b `--` {#id}") == ("a \u2013 b `--`", "id")
    plain = MdBookSite("[output.html]\nsmart-punctuation = false\n", SUMMARY, HOST).anchors
    assert plain.split("a -- b") == ("a -- b", "")


VITEPRESS = """
import { defineConfig } from 'vitepress'
export default withMermaid(defineConfig<Theme>({
  srcDir: './src', base: '/b/', srcExclude: ['**/no*.md', '*'.repeat(30)],
  rewrites: { 'a.md': 'z.md', 'p/:name/src/:rest*': ':rest', 'q/:x/:x': ':x' },
  cleanUrls: CLEAN,
}))
"""


@pytest.mark.parametrize(
    ("clean", "style", "page"),
    [("true", None, "/z"), ("false", None, "/z.html"), ("true", "html", "/z.html"),
     ("false", "bare", "/z"), ("false", "directory", "/z/")],
)  # fmt: skip
def test_pages_of_vitepress(clean: str, style: UrlStyle | None, page: str) -> None:
    site = VitePressSite(VITEPRESS.replace("CLEAN", clean), HOST, url_style=style)
    assert url(site, "src/a.md") == page
    assert url(site, "src/index.md") == "/"
    assert url(site, "src/p/core/src/i/index.md") == "/i/"
    assert url(site, "src/g/nothing.md") == "the config excludes it"
    assert url(site, "src/[id].md").startswith("it is a template")
    assert url(site, "src/a.txt") == "it is not a Markdown page"
    assert url(site, "other/a.md") == "it is not in the source folder src"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("V{{ $frontmatter.v }}, {{ count }}, {{ {a: 1} }}.", "V2, , ."),
        ("`{{ $frontmatter.v }}` `{{ x }}` {{ open", "`2`  {{ open"),
        ("```\n{{ x }}\n```\n# {{ x }}", "```\n{{ x }}\n```\n# {{ x }}"),
        ("::: v-pre\n{{ x }}\n:::", "{{ x }}"),
    ],
)
def test_what_vue_computes_is_dropped_from_vitepress(text: str, shown: str) -> None:
    page = f"---\nv: 2\n---\n{text}"
    read, _ = VitePressSite("export default {}").with_included("a.md", page, lambda _: None)
    assert read.removeprefix("---\nv: 2\n---\n").strip() == shown


def test_the_address_of_a_vitepress_site() -> None:
    site = VitePressSite("export default { base: '/b/', sitemap: { hostname: 'https://y.org/' } }")
    assert url(site, "a.md") == "https://y.org/b/a.html"
    assert site.notes == ()
    assert site.addresses("./b.html", "https://y.org/b/a.html") == ("https://y.org/b/b.html",)
    unknown = VitePressSite("export default { base: '/b/', cleanUrls: process.env.X, srcDir: f() }")
    assert url(unknown, "a.md") == "/b/a.html"
    assert [note.split(";")[0] for note in unknown.notes] == [
        "the config computes `srcDir`",
        "the config has no plain `sitemap.hostname`",
        "the config computes `cleanUrls`",
    ]


@pytest.mark.parametrize(
    ("title", "anchor"),
    [("What's new?", "what-s-new"), ("2 ways", "_2-ways"), ("Über -- x_y", "uber-x-y"), ("?", "")],
)
def test_anchors_of_vitepress(title: str, anchor: str) -> None:
    assert slug(title) == anchor


FILES = {
    "p/part.md": "---\na: b\n---\none\ntwo\nthree\n",
    "p/loop.md": "<!--@include: loop.md-->",
    "p/parts.md": "# A\n\na\n\n## B\n\nb\n\n### C {#own}\n\nc\n\n## D\n",
    "root.js": (
        "a\n  // #region x\n  b\n  // #region y\n  c\n  // #endregion y\n  // #endregion x\n```\n"
    ),
    "code.rs": "a\n// ANCHOR: x\nb\n// ANCHOR_END: x\nc\n\n",
    "in.md": "text {{#include p/part.md:4}}",
}  # fmt: skip


def read(path: str) -> str | None:
    if path.startswith(".."):
        raise InputError("which is outside the project")
    return FILES.get(path)


class Including(Protocol):
    def with_included(
        self, site_path: str, text: str, read: ReadFile
    ) -> tuple[str, tuple[str, ...]]: ...


def included(site: Including, text: str, page: str = "p/page.md") -> tuple[str, list[str]]:
    shown, warnings = site.with_included(page, text, read)
    return shown.strip(), [warning.split(";")[0] for warning in warnings]


@pytest.mark.parametrize(
    ("written", "shown", "warnings"),
    [
        ("<!-- @include: ./part.md -->", "one\ntwo\nthree", []),
        ("<!--@include: @/p/part.md{5,5}-->", "two", []),
        ("<!--@include: part.md{,4}-->", "one", []),
        ("<!--@include: part.md{5,}-->", "two\nthree", []),
        ("<!--@include: parts.md#b-->", "## B\n\nb\n\n### C {#own}\n\nc", []),
        ("<!--@include: parts.md#own-->", "### C {#own}\n\nc", []),
        ("<!--@include: parts.md#no-->", "", ["it includes parts.md, which has no such region"]),
        ("<!--@include: loop.md-->", "",
         ["it includes p/loop.md, which includes itself or is nested too deeply"]),
        ("<!--@include: ../../x.md-->", "", ["it includes ../x.md, which is outside the project"]),
        ("<!--@include: no.md-->", "", ["it includes p/no.md, which is missing"]),
        ("<<< @/root.js#y", "```js\nc\n```", []),
        ("<<< ../root.js#x{1 ts} [T]", "```ts [T]\nb\nc\n```", []),
        ("<<< ../root.js", "````js\n" + FILES["root.js"].rstrip() + "\n````", []),
        ("<<< no.js", "", ["it includes p/no.js, which is missing"]),
        ("    <<< code", "<<< code", []),
        ('a <Badge text="b" /> `<Badge />` c', "a  b  `<Badge />` c", []),
        ('## A <Badge text="b" />', "## A b {#a}", []),
        ("<Component />\nx", "x", []),
        ("a < b and <T>", "a < b and <T>", []),
    ],
)  # fmt: skip
def test_what_vitepress_pages_include(written: str, shown: str, warnings: list[str]) -> None:
    site = VitePressSite("export default {}", HOST)
    text, found = included(site, written)
    assert (text, found) == (shown if "<T>" not in shown else text, warnings)


@pytest.mark.parametrize(
    ("written", "shown", "warnings"),
    [
        ("{{#include part.md:4}}", "one", []),
        ("{{#include part.md:4:5}}", "one\ntwo", []),
        ("{{#include part.md::1}}", "---", []),
        ("{{#include ../in.md}}", "text one", []),
        ("```rust\n{{#rustdoc_include ../code.rs:x}}\n```", "```rust\nb\n```", []),
        ("{{#playground ../code.rs editable}}",
         "```rust\na\n// ANCHOR: x\nb\n// ANCHOR_END: x\nc\n```", []),
        ("{{#include ../code.rs:no}}", "", ["it includes ../code.rs, which has no such anchor"]),
        ("{{#include no.md}}", "", ["it includes p/no.md, which is missing"]),
        ("{{#include ../../no.md}}", "", ["it includes ../no.md, which is outside the project"]),
        ("\\{{#include no.md}} {{#title x}}{{other}}", "{{#include no.md}} {{other}}", []),
        ("```rust\n# hidden\n#\n#[a]\n## b\n```\n# c", "```rust\n#[a]\n# b\n```\n# c", []),
        ("> [!NOTE]\n> a\n\n::: tip", "> Note\n>\n> a\n\n::: tip", []),
    ],
)  # fmt: skip
def test_what_chapters_include(written: str, shown: str, warnings: list[str]) -> None:
    assert included(MdBookSite("", SUMMARY, HOST), written) == (shown, warnings)


@pytest.mark.parametrize(
    ("config", "style", "page"),
    [
        ("", None, "/g/first-steps/"),
        ("build: { format: 'file' }", None, "/g/first-steps.html"),
        ("trailingSlash: 'never'", None, "/g/first-steps"),
        ("", "html", "/g/first-steps.html"),
        ("", "bare", "/g/first-steps"),
    ],
)
def test_pages_of_starlight(config: str, style: UrlStyle | None, page: str) -> None:
    text = f"import starlight from 's'\nexport default defineConfig({{ {config} }})"
    site = StarlightSite(text, HOST, url_style=style)
    docs = "src/content/docs"
    assert url(site, f"{docs}/g/First Steps.mdx") == page
    assert url(site, f"{docs}/index.md") == "/"
    assert url(site, f"{docs}/a.md", slug="g/first-steps") == page
    assert url(site, f"{docs}/g/index.md", slug="index") == "/"
    assert url(site, f"{docs}/a.md", draft=True) == "it is a draft"
    assert url(site, f"{docs}/_a.md") == "its name begins with an underscore"
    assert url(site, f"{docs}/404.md") == "it is the page for missing pages"
    assert url(site, f"{docs}/a.txt") == "it is not a Markdown page"
    assert url(site, "README.md") == "it is not in the content folder src/content/docs"
    assert site.anchors.split("A {#b}") == ("A {#b}", "")


def test_the_address_of_a_starlight_site() -> None:
    site = StarlightSite("export default defineConfig({ site: 'https://y.org', base: 'b' })")
    assert url(site, "src/content/docs/a.md") == "https://y.org/b/a/"
    assert site.addresses("../c/", "https://y.org/b/a/") == ("https://y.org/b/c/",)
    assert StarlightSite("export default defineConfig({ site })").notes
    assert included(site, ":::tip[T]\na\n:::", "a.md")[0] == "Tip: T\n\na"
    assert included(site, ":::tip[T]\na\n:::", "a.mdx")[0] == ":::tip[T]\na\n:::"


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("content/index.mdx", "/"), ("content/g/a.mdx", "/g/a"), ("pages/g/index.md", "/g"),
        ("src/pages/a.mdx", "/a"), ("app/(docs)/g/page.mdx", "/g"), ("app/page.mdx", "/"),
        ("app/g/part.mdx", "it is a part of a page: only page.mdx is a page of `app`"),
        ("pages/_app.mdx", "it is a template or a part of pages"),
        ("pages/[id].mdx", "it is a template or a part of pages"),
        ("README.md", "it is not in the folder content, pages or app"),
    ],
)  # fmt: skip
def test_pages_of_nextra(path: str, page: str) -> None:
    config = "import nextra from 'nextra'\nexport default nextra({})({ basePath: '/d' })"
    assert url(NextraSite(config, HOST), path) == page


def test_the_address_of_a_nextra_site() -> None:
    slashed = NextraSite("module.exports = { basePath: '/b', trailingSlash: true }")
    assert url(slashed, "content/a.mdx") == "/b/a/"
    assert slashed.notes == ("Nextra has no setting for its address; set base_url.",)
    assert url(NextraSite("module.exports = {}", HOST, url_style="html"), "pages/a.md") == "/a.html"
    assert slashed.anchors.split("A [#own]") == ("A", "own")
    assert slashed.anchors.split("A {#own}") == ("A", "own")
    assert "/b/c" in slashed.addresses("c", "/b/")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("::: tip\na\n:::", "\nTip\n\na\n"),
        (
            ":::: details More `x` {open}\n::: raw\na\n:::\n::::",
            "\nDetails: More `x`\n\n\n\n\na\n\n",
        ),
        ("- x\n  ::: custom-kind T\n  a\n  :::", "- x\n\n  Custom kind: T\n\n  a\n"),
        ("```\n::: tip\n```\n~~~\n> [!NOTE]\n~~~", "```\n::: tip\n```\n~~~\n> [!NOTE]\n~~~"),
        ("> [!WARNING] T\n> a", "> Warning: T\n>\n> a"),
        ("> [!warning]- T", "> Warning: T\n>"),
        ("a ::: b [!c]", "a ::: b [!c]"),
    ],
)
def test_containers_become_labels(written: str, shown: str) -> None:
    assert without_containers(written) == shown


def test_parts_of_files() -> None:
    lines = ["1", "2", "3"]
    assert line_range(lines, "2", "") == ["2", "3"]
    assert line_range(lines, "", "2") == ["1", "2"]
    assert line_range(lines, "x", "9" * 50) == lines
    assert region(["#region a", " x", "#region b", "#endregion b", " y"], "a") == ["x", "y"]
    assert region(["a"], "a") is None
