"""Hugo: every link and every sentence of sites that use its rules."""

import shutil
from pathlib import Path

import pytest

from sites.conftest import generate
from support.rendered_site import Differences, Rendering, compare

SITES = Path(__file__).parent / "hugo"
HUGO = Rendering(content="main")
SERVED_AT = {"addresses": "/product/"}


@pytest.mark.parametrize("name", sorted(site.name for site in SITES.iterdir()))
async def test_every_link_and_sentence_is_that_of_the_site(name: str, tmp_path: Path) -> None:
    source = shutil.copytree(SITES / name, tmp_path / name)
    generate(["hugo", "--quiet", "--destination", tmp_path / "built"], source)
    found = await compare(source, tmp_path / "built", HUGO, path=SERVED_AT.get(name, "/"))
    assert found == Differences()
