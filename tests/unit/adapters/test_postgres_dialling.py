"""How long the hosts of an address may take to answer."""

import pytest

from surefind.adapters.postgres.address import address_of
from surefind.adapters.postgres.pool import attempt_timeout_s
from surefind.errors import InputError

NAME, TWO = "postgresql://h/d", "postgresql://h,i/d"


@pytest.mark.parametrize(
    ("url", "setting_s", "each_s"),
    [
        (TWO, 5.0, 5),
        (TWO, 4.5, 5),
        (TWO, 1.0, 2),  # psycopg gives each two seconds at least
        (NAME, 5.0, 5),  # a name may have several addresses
        ("postgresql://10.0.0.1,10.0.0.2/d", 5.0, 5),
        ("postgresql://10.0.0.1/d?target_session_attrs=prefer-standby", 5.0, 5),
        (f"{TWO}?target_session_attrs=read-write", 5.0, 5),
        (f"{TWO}?connect_timeout=10", 5.0, 10),
        (f"{NAME}?connect_timeout=10", 5.0, 10),
        ("postgresql://10.0.0.1/d?connect_timeout=10", 5.0, 10),
        (f"{NAME}?connect_timeout=1", 5.0, 2),
        (f"{TWO}?connect_timeout=0", 5.0, 5),
    ],
)
def test_every_attempt_has_its_time(url: str, setting_s: float, each_s: int) -> None:
    assert attempt_timeout_s(address_of(url), setting_s) == each_s


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://10.0.0.1/d",
        "postgresql://[::1]/d",
        "postgresql://10.0.0.1/d?connect_timeout=-1",
        "host=/run/postgresql dbname=d",
        "dbname=d",
        "host=db.example hostaddr=10.0.0.1 dbname=d",
    ],
)
def test_a_single_attempt_ends_exactly_as_the_setting_says(url: str) -> None:
    assert attempt_timeout_s(address_of(url), 0.25) is None


@pytest.mark.parametrize("written", ["soon", "nan", "inf"])
def test_an_invalid_connect_timeout_is_the_callers_mistake(written: str) -> None:
    with pytest.raises(InputError, match="connect_timeout in DATABASE_URL"):
        address_of(f"{NAME}?connect_timeout={written}")
