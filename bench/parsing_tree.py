"""A large tree of pages, made from docs-sample."""

import os
import shutil
import sys
from pathlib import Path

DATA = Path(os.environ.get("SUREFIND_DATA", "../shared/data")) / "docs-sample"


def plant(tree: Path, copies: int) -> None:
    """Below `tree`: `copy-1`, `copy-2` …, each with every page and the site's configuration."""
    if not DATA.exists():
        sys.exit(f"{DATA} is missing: set SUREFIND_DATA to the folder that holds docs-sample/")
    for number in range(copies):
        shutil.copytree(DATA, tree / f"copy-{number + 1}")
