"""What the unit suites share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from unit.installation import Installation


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    yield installation
    await installation.close()
