"""MkDocs with Material: every link and every sentence of sites that use its rules."""

import shutil
from pathlib import Path

import pytest

from sites.conftest import generate
from support.rendered_site import Differences, Rendering, compare

SITES = Path(__file__).parent / "mkdocs"
MKDOCS = Rendering(
    content="article.md-content__inner, [role=main]",
    furniture=("a.headerlink", ".md-content__button", ".linenos", ".footnote-ref", ".doc-labels"),
)


def built(name: str, folder: Path) -> tuple[Path, Path]:
    """(the source of a site, the folder it is built into)."""
    source = shutil.copytree(SITES / name, folder / name)
    (source / ".git").mkdir()
    generate(["mkdocs", "build", "--quiet", "--strict", "--site-dir", folder / "built"], source)
    return source, folder / "built"


@pytest.mark.parametrize("name", sorted(site.name for site in SITES.iterdir()))
async def test_every_link_and_sentence_is_that_of_the_site(name: str, tmp_path: Path) -> None:
    source, rendered = built(name, tmp_path)
    found = await compare(source / "docs", rendered, MKDOCS, path=f"/{name}/")
    assert found == Differences()
