"""A large tree of pages, made from docs-sample."""

import shutil
from pathlib import Path

from bench.support.corpora import folder_of


def plant(tree: Path, copies: int) -> None:
    """Below `tree`: `copy-1`, `copy-2` …, each with every page and the site's configuration."""
    for number in range(copies):
        shutil.copytree(folder_of("docs-sample"), tree / f"copy-{number + 1}")
