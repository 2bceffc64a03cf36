"""mdBook: every link and every sentence of a book that uses its rules.

No package index has mdBook's binary, so the rendered book is here, too: `rendered` has the content
of the pages that mdBook 0.5.4 made of `book`.
"""

import shutil
from pathlib import Path

from support.rendered_site import Differences, Rendering, compare

FOLDER = Path(__file__).parent / "mdbook"
MDBOOK = Rendering(
    content="main",
    furniture=("span.boring", ".footnote-reference"),
)


async def test_every_link_and_sentence_is_that_of_the_book(tmp_path: Path) -> None:
    source = shutil.copytree(FOLDER / "book", tmp_path / "book")
    (source / ".git").mkdir()
    found = await compare(source, FOLDER / "rendered", MDBOOK, path="/product/")
    assert found == Differences()
