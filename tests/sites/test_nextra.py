"""Nextra: every link and every sentence of a site that uses its rules.

Nextra with Next.js takes 690 MB, so the rendered pages are here, too: `rendered` has what
`compileMdx` of Nextra 4.6.1 made of `product`, without the theme around it.
"""

import shutil
from pathlib import Path

from support.rendered_site import Differences, Rendering, compare

FOLDER = Path(__file__).parent / "nextra"
NEXTRA = Rendering(content="main")


async def test_every_link_and_sentence_is_that_of_the_site(tmp_path: Path) -> None:
    source = shutil.copytree(FOLDER / "product", tmp_path / "product")
    (source / ".git").mkdir()
    found = await compare(source, FOLDER / "rendered", NEXTRA, path="/product/")
    assert found == Differences()
