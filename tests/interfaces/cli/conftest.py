"""What several tests of the command line share."""

from collections.abc import Iterator

import pytest

from support.search_service import Service, search_service


@pytest.fixture
def service() -> Iterator[Service]:
    with search_service() as running:
        yield running
