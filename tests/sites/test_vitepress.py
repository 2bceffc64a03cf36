"""VitePress: every link and every sentence of sites that use its rules."""

import shutil
from pathlib import Path

import pytest

from sites.conftest import GENERATORS, generate
from support.rendered_site import Differences, Rendering, compare

SITES = Path(__file__).parent / "vitepress"
INSTALLED = GENERATORS.parent / "vitepress" / "node_modules"
VITEPRESS = Rendering(
    content=".vp-doc",
    furniture=("a.header-anchor", "nav.table-of-contents", "button.copy", "span.lang"),
)


@pytest.mark.parametrize("clean", [False, True], ids=["html", "clean"])
async def test_every_link_and_sentence_is_that_of_the_site(clean: bool, tmp_path: Path) -> None:
    source = shutil.copytree(SITES / "product", tmp_path / "product")
    (source / ".git").mkdir()
    (source / "node_modules").symlink_to(INSTALLED)
    config = source / "docs" / ".vitepress" / "config.mts"
    value = "true" if clean else "false"
    written = config.read_text().replace("title: name", f"cleanUrls: {value}, title: name")
    config.write_text(written)
    program = INSTALLED / "vitepress" / "bin" / "vitepress.js"
    generate(["node", program, "build", "docs", "--outDir", tmp_path / "built"], source)
    found = await compare(source / "docs", tmp_path / "built", VITEPRESS, path="/product/")
    assert found == Differences()
