"""Starlight: every link and every sentence of sites that use its rules."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sites.conftest import GENERATORS, generate
from support.rendered_site import Differences, Rendering, compare

SITE = Path(__file__).parent / "starlight" / "product"
INSTALLED = GENERATORS.parent / "starlight" / "node_modules"
STARLIGHT = Rendering(
    content=".sl-markdown-content",
    furniture=(".sl-anchor-link", "[role=tablist] svg", ".copy", "figcaption .sr-only"),
)
FALLBACKS = ["de/guides/first-steps/index.html", "de/guides/parts-of-it/index.html"]


@pytest.fixture
def source() -> Iterator[Path]:
    """A copy of the site below the installed packages, where Astro finds them."""
    with TemporaryDirectory(dir=INSTALLED.parent) as folder:
        copy = shutil.copytree(SITE, Path(folder) / "product")
        (copy / ".git").mkdir()
        yield copy


async def test_every_link_and_sentence_is_that_of_the_site(source: Path) -> None:
    program = INSTALLED / "astro" / "bin" / "astro.mjs"
    generate(["node", program, "build"], source)
    found = await compare(source, source / "dist", STARLIGHT, path="/product/")
    assert found == Differences(unread_pages=FALLBACKS), "pages without a translation, again"
