"""Sphinx with both of its builders: every link and every sentence of sites that use its rules."""

import shutil
from pathlib import Path

import pytest

from sites.conftest import generate
from support.rendered_site import MARKUP, Differences, Rendering, compare

SITES = Path(__file__).parent / "sphinx"
SPHINX = Rendering(
    content="div.body",
    furniture=(
        *("a.headerlink", ".toctree-wrapper", ".linenos", "a.footnote-reference", "div.sourcelink"),
        *("nav.contents", "span.linenos"),
    ),
    not_pages=r"(?:genindex|search|py-modindex|genindex/index|search/index|py-modindex/index)"
    r"(?:\.html)?",
    markup=[*MARKUP, r"^\.\. ", r":[a-z]+:`"],
)


@pytest.mark.parametrize("builder", ["html", "dirhtml"])
@pytest.mark.parametrize("name", sorted(site.name for site in SITES.iterdir()))
async def test_every_link_and_sentence_is_that_of_the_site(
    name: str, builder: str, tmp_path: Path
) -> None:
    source = shutil.copytree(SITES / name, tmp_path / name)
    (source / ".git").mkdir()
    (source / ".readthedocs.yaml").write_text(f"sphinx: {{builder: {builder}}}\n")
    built = tmp_path / "built"
    generate(["sphinx-build", "-q", "-b", builder, source / "docs", built], source)
    found = await compare(source / "docs", built, SPHINX, path="/kiosk/")
    assert found == Differences()
