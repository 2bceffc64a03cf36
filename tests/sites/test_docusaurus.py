"""Docusaurus: every link and every sentence of sites that use its rules."""

import os
import shutil
from pathlib import Path

import pytest

from sites.conftest import GENERATORS, generate
from support.rendered_site import Differences, Rendering, compare

SITES = Path(__file__).parent / "docusaurus"
INSTALLED = GENERATORS.parent / "docusaurus" / "node_modules"
CONTENT = "article"
FURNITURE = (
    *("nav.theme-doc-breadcrumbs", ".theme-doc-version-badge", ".theme-doc-toc-mobile"),
    *(".theme-doc-footer", "a.hash-link", "[class*=buttonGroup]"),
    "#footnote-label",  # for screen readers only
    "header h1",  # the title of a page without a heading: every chunk has it in its path
)
MADE = r"404\.html|(?:.*/)?(?:category|tags|blog)(?:/.*)?(?:\.html)?"


def built(name: str, site: str, folder: Path) -> tuple[Path, Path]:
    """(the copy of a fixture, the folder that its site is built into)."""
    source = shutil.copytree(SITES / name, folder / name)
    (source / site / "node_modules").symlink_to(INSTALLED)
    program = os.fspath(INSTALLED / "@docusaurus" / "core" / "bin" / "docusaurus.mjs")
    options = ("--no-minify", "--out-dir", os.fspath(folder / "built"))
    generate(["node", program, "build", *options], source / site, timeout_s=500)
    return source, folder / "built"


@pytest.mark.timeout(600)
async def test_pages_beside_the_site_are_read_with_their_partials(tmp_path: Path) -> None:
    """The docs folder, the folder of the site and the root of the repository find the same site."""
    source, rendered = built("beside", "website", tmp_path)
    rendering = Rendering(CONTENT, FURNITURE, MADE)
    assert await compare(source, rendered, rendering) == Differences()
    assert await compare(source / "website", rendered, rendering) == Differences()
    docs = await compare(source / "docs", rendered, rendering)
    assert docs == Differences(unread_pages=["about/index.html"]), "it is a page of the site"


@pytest.mark.timeout(600)
async def test_versions_locales_and_other_instances_have_their_addresses(tmp_path: Path) -> None:
    source, rendered = built("product", ".", tmp_path)
    fallbacks = r"|de/(?!docs/next/intro\.html).*"  # pages without a translation, again
    rendering = Rendering(CONTENT, FURNITURE, MADE + fallbacks)
    found = await compare(source, rendered, rendering, path="/product/")
    assert found == Differences(unread_pages=["docs/next/guides/hidden.html"]), "it is unlisted"
