"""What every store of token buckets promises, and what several processes may rely on."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefind.adapters.files.shared_buckets import SharedBuckets
from surefind.ports import Bucket, TokenBuckets
from surefind.services.serving.rate_limiter import BucketsInMemory, RateLimiter


def replaced(buckets: TokenBuckets, client: str, bucket: Bucket) -> Bucket | None:
    """Replace a bucket, and return the one before."""
    before: list[Bucket | None] = []

    def change(one: Bucket | None) -> Bucket:
        before.append(one)
        return bucket

    buckets.update(client, change)
    return before[0]


class TokenBucketsContract:
    @pytest.fixture
    def buckets(self) -> TokenBuckets:
        raise NotImplementedError

    def test_a_change_sees_the_one_before(self, buckets: TokenBuckets) -> None:
        seen: list[Bucket | None] = []

        def taking_one(bucket: Bucket | None) -> Bucket:
            seen.append(bucket)
            return Bucket(5.0, 1.5) if bucket is None else bucket._replace(tokens=bucket.tokens - 1)

        for client in ("a", "a", "b", "", "2001:db8::/64", "a"):
            buckets.update(client, taking_one)
        assert seen == [None, Bucket(5.0, 1.5), None, None, None, Bucket(4.0, 1.5)]

    def test_a_change_that_fails_changes_nothing(self, buckets: TokenBuckets) -> None:
        buckets.update("a", lambda _: Bucket(3.0, 1.0))

        def failing(_bucket: Bucket | None) -> Bucket:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            buckets.update("a", failing)
        assert replaced(buckets, "a", Bucket(0.0, 2.0)) == Bucket(3.0, 1.0)

    def test_very_many_clients_do_not_fill_it(self, buckets: TokenBuckets) -> None:
        """The least recent ones are forgotten, and the newest ones are not."""
        for number in range(30_000):
            replaced(buckets, f"client {number}", Bucket(1.0, float(number)))
        newest = [f"client {number}" for number in range(29_900, 30_000)]
        kept = [replaced(buckets, client, Bucket(0.0, 1e6)) for client in newest]
        assert sum(one is not None for one in kept) >= 95


class TestBucketsInMemory(TokenBucketsContract):
    @pytest.fixture
    def buckets(self) -> TokenBuckets:
        return BucketsInMemory()


class TestSharedBuckets(TokenBucketsContract):
    @pytest.fixture
    def buckets(self, tmp_path: Path) -> Iterator[TokenBuckets]:
        with SharedBuckets(tmp_path / "rates") as buckets:
            yield buckets


TAKING = """
import sys
from pathlib import Path
from surefind.adapters.files.shared_buckets import SharedBuckets
from surefind.services.serving.rate_limiter import RateLimiter

rates = RateLimiter(500, lambda: 7.0, SharedBuckets(Path(sys.argv[1])))
print(sum(rates.take("a") == 0 for _ in range(400)))
"""


def test_processes_share_one_allowance(tmp_path: Path) -> None:
    path = tmp_path / "rates"
    command = [sys.executable, "-c", TAKING, str(path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    allowed = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(allowed) == 500
    with SharedBuckets(path) as buckets:
        assert RateLimiter(500, lambda: 7.0, buckets).take("a") == 1, "the allowance is used up"
