"""How long the hosts of an address may take to answer."""

import pytest

from surefind.adapters.postgres.address import address_of
from surefind.adapters.postgres.connect_timeout import connect_timeouts, count_addresses
from surefind.errors import InputError

ONE, TWO = "postgresql://h/d", "postgresql://h,i/d"


@pytest.mark.parametrize(
    ("url", "setting_s", "addresses", "attempts", "each_s"),
    [
        (TWO, 5.0, 2, 2, 5),
        (TWO, 4.5, 2, 2, 5),
        (TWO, 1.0, 2, 2, 2),  # psycopg gives each two seconds at least
        (TWO, 5.0, 4, 4, 5),  # each name has an address of both kinds
        (f"{TWO}?target_session_attrs=prefer-standby", 5.0, 2, 4, 5),
        (f"{ONE}?target_session_attrs=prefer-standby", 5.0, 1, 2, 5),
        (f"{TWO}?target_session_attrs=read-write", 5.0, 2, 2, 5),
        (f"{TWO}?connect_timeout=10", 5.0, 2, 2, 10),
        (f"{ONE}?connect_timeout=10", 5.0, 1, 1, 10),
        (f"{ONE}?connect_timeout=1", 5.0, 1, 1, 2),
        (f"{TWO}?connect_timeout=0", 5.0, 2, 2, 5),
    ],
)
def test_all_attempts_have_their_time(
    url: str, setting_s: float, addresses: int, attempts: int, each_s: int
) -> None:
    plan = connect_timeouts(address_of(url), setting_s, addresses)
    assert plan.options == {"connect_timeout": each_s}
    assert plan.limit_s >= attempts * each_s


@pytest.mark.parametrize(
    ("url", "addresses"), [(ONE, 1), (f"{ONE}?connect_timeout=-1", 1), (TWO, 1), (TWO, 0)]
)
def test_one_attempt_alone_ends_as_the_setting_says(url: str, addresses: int) -> None:
    plan = connect_timeouts(address_of(url), 0.25, addresses)
    assert (plan.limit_s, plan.options) == (0.25, {})


@pytest.mark.parametrize(
    ("url", "count"),
    [
        ("postgresql://127.0.0.1/d", 1),
        ("host=::1,127.0.0.1,/run/postgresql dbname=d", 3),
        ("dbname=d", 1),
        ("host=nowhere.invalid dbname=d", 0),
        (f"host={'x' * 70}.invalid,127.0.0.1 dbname=d", 1),
        ("host=nowhere.invalid hostaddr=127.0.0.1 dbname=d", 1),
    ],
)
async def test_addresses_are_counted_and_looked_up_only_where_there_is_a_name(
    url: str, count: int
) -> None:
    assert await count_addresses(address_of(url), 20.0) == count


async def test_a_name_has_as_many_addresses_as_it_has() -> None:
    once = await count_addresses(address_of("host=localhost dbname=d"), 20.0)
    assert once >= 1
    assert await count_addresses(address_of("host=localhost,localhost dbname=d"), 20.0) == 2 * once


async def test_a_name_that_nobody_tells_in_time_counts_as_one() -> None:
    assert await count_addresses(address_of("host=localhost,127.0.0.1 dbname=d"), 0.0) == 2


@pytest.mark.parametrize("written", ["soon", "nan", "inf"])
def test_a_time_that_is_none_is_the_callers_mistake(written: str) -> None:
    with pytest.raises(InputError, match="connect_timeout in DATABASE_URL is no number"):
        address_of(f"{ONE}?connect_timeout={written}")
