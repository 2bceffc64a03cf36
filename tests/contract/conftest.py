"""What the contract suites share."""

from collections.abc import Iterator

import pytest

from local_site import Site, serve


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as served:
        yield served
