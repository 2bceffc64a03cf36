"""The examples of docs/library.md and docs/providers.md run, and print what the pages say."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.commands import surefind
from support.homes import copy_home

DOCS = Path(__file__).parents[3] / "docs"
NOT_RUN = "# not run"  # it needs a website


class Example(NamedTuple):
    heading: str
    code: str
    output: str | None


def examples(page: str) -> Iterator[Example]:
    """Each example, with the block right below it if that is its output."""
    text = (DOCS / page).read_text()
    found = re.finditer(
        r"^```python\n(?P<code>.+?)^```\n(?:\n```\n(?P<output>.+?)^```)?",
        text,
        re.MULTILINE | re.DOTALL,
    )
    for block in found:
        heading = re.findall(r"^## (.+)$", text[: block.start()], re.MULTILINE)[-1]
        yield Example(heading, block["code"], block["output"])


def handbook(target: Path) -> None:
    """The pages that the tutorial makes."""
    tutorial = (DOCS / "tutorial.md").read_text()
    for path, text in re.findall(
        r"^cat > (\S+) <<'END'\n(.+?)^END", tutorial, re.MULTILINE | re.DOTALL
    ):
        if path.startswith("handbook/"):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text)


@pytest.fixture(scope="session")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("tutorial")
    handbook(home)
    done = surefind("ingest", "handbook", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


OF_PROVIDERS = [one for one in examples("providers.md") if "surefind.open(" in one.code]
RUNNABLE = [one for one in examples("library.md") if NOT_RUN not in one.code] + OF_PROVIDERS


def test_the_page_has_examples() -> None:
    assert len(RUNNABLE) > 10
    assert len(OF_PROVIDERS) == 1
    assert sum(one.output is not None for one in RUNNABLE) > 8


@pytest.mark.thorough
@pytest.mark.parametrize("example", RUNNABLE, ids=lambda one: one.heading)
def test_the_example_prints_what_the_page_says(
    example: Example, tutorial: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    copy_home(tutorial, home)
    (home / "example.py").write_text(example.code)
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if example.output is not None:
        assert done.stdout == example.output
