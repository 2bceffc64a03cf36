"""The corpora beside the project; their absence is a failure, never a skip."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def data() -> Path:
    folder = Path(os.environ.get("SUREFIND_DATA", PROJECT / ".." / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.fail(
            f"the corpora are not at {folder}: set SUREFIND_DATA to the folder that holds "
            "docs-sample/ and squad-dev-even/"
        )
    return folder
