"""Data that was ingested once, copied for tests that change or serve it."""

import shutil
from pathlib import Path

from surefind.adapters.files.data_folder import copy_sparse


def copy_home(home: Path, target: Path) -> None:
    """Without what belongs to a running process. A copy without holes would have 160 MB."""
    shutil.copytree(
        home,
        target,
        ignore=shutil.ignore_patterns("views", "*.lock"),
        copy_function=lambda source, copy: copy_sparse(Path(source), Path(copy)),
    )
