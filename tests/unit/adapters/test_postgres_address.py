"""DATABASE_URL, as people have it."""

import pytest
from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict

from surefind.adapters.postgres.address import address_of
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.errors import fault_of


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pa%2Fss@db.example.com:5433/docs",
        "postgres://me:pa%2Fss@db.example.com:5433/docs",
        " POSTGRESQL://me:pa%2Fss@db.example.com:5433/docs\n",
        "postgresql+asyncpg://me:pa%2Fss@db.example.com:5433/docs",
        "postgresql+psycopg://me:pa%2Fss@db.example.com:5433/docs?schema=public&pool_timeout=3",
        "host=db.example.com port=5433 user=me password=pa/ss dbname=docs",
    ],
)
def test_every_way_to_write_an_address_leads_to_the_same_place(url: str) -> None:
    address = address_of(url)
    found = conninfo_to_dict(address.conninfo)
    assert address.where == "db.example.com:5433/docs"
    assert (found["user"], found["password"], found["dbname"]) == ("me", "pa/ss", "docs")
    assert found["application_name"] == "surefind"
    assert "pa/ss" not in repr(address)


def test_what_the_address_says_itself_is_kept() -> None:
    address = address_of(
        "postgresql://me@h/d?sslmode=require&channel_binding=require&application_name=mine"
        "&options=endpoint%3Dep-1"
    )
    found = conninfo_to_dict(address.conninfo)
    assert found["sslmode"] == found["channel_binding"] == "require"
    assert found["application_name"] == "mine"
    assert found["options"] == "endpoint=ep-1"


def test_what_another_driver_calls_otherwise_is_understood() -> None:
    assert conninfo_to_dict(address_of("postgresql://h/d?ssl=require").conninfo)["sslmode"] == (
        "require"
    )


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgresql://me@a:1,b:2/d", "a:1,b:2/d"),
        ("postgresql://me@a,b/d", "a:5432,b:5432/d"),
        ("postgresql://me@a,b:2/d", "a:5432,b:2/d"),
        ("host=a,b port=7 dbname=d user=me", "a:7,b:7/d"),
        ("host=/run/pg,b dbname=d user=me", "/run/pg,b:5432/d"),
    ],
)
def test_several_hosts_are_named_with_their_ports(url: str, where: str) -> None:
    assert address_of(url).where == where


def test_several_hosts_are_one_place_in_whatever_order_they_are_tried() -> None:
    """So readers may prefer the replica, and the ingest the primary, and share one index."""
    places = {
        Database(f"postgresql://me@{hosts}/d?target_session_attrs={options}", "s").place_name
        for hosts, options in (("a:1,b:2", "read-write"), ("b:2,a:1", "prefer-standby"))
    }
    assert len(places) == 1


@pytest.mark.parametrize(
    ("url", "pooled"),
    [
        ("postgresql://me@ep-cool-1-pooler.eu-central-1.aws.neon.tech/d", True),
        ("postgresql://me@h:6432/d", True),
        ("postgresql://me@h/d?pgbouncer=true", True),
        ("postgresql://me@ep-cool-1.eu-central-1.aws.neon.tech/d", False),
        ("postgresql://me@h/d", False),
    ],
)
def test_a_pooler_is_recognised_where_it_shows(url: str, *, pooled: bool) -> None:
    assert address_of(url).pooled is pooled


def test_each_database_and_schema_has_a_folder_of_its_own() -> None:
    places = [
        ("postgresql://me:x@h/d", "surefind"),
        ("postgresql://me:x@h/e", "surefind"),
        ("postgresql://me:x@h:5433/d", "surefind"),
        ("postgresql://me:x@h/d", "other"),
        ("postgresql://me:x@/d?host=/a/very/long/path" + "/x" * 100, "surefind"),
    ]
    names = [Database(url, schema).place_name for url, schema in places]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 80 and "/" not in name for name in names)
    assert Database("postgres://you:y@h:5432/d", "surefind").place_name == names[0]
    direct, pooled = (
        Database(f"postgresql://me@ep-1{part}.neon.tech/d", "s") for part in ("", "-pooler")
    )
    assert direct.place_name == pooled.place_name


def test_a_secret_that_somebody_repeats_is_taken_out() -> None:
    address = address_of("postgresql://me:s3cr3t@h/d")
    assert "s3cr3t" not in str(fault_of(OSError("what is s3cr3t doing here"), address))


def test_the_most_informative_of_several_errors_is_reported() -> None:
    """As standbys first, then as whatever they are: that they are none is not what is wrong."""
    attempts = [
        ("1", "server is not in hot standby mode"),
        ("2", "connection timeout expired"),
        ("1", "server closed the connection unexpectedly\n\tThis probably means more"),
        ("2", "Connection refused"),
    ]
    for ordered in (attempts, attempts[::-1]):
        failures = "\n".join(
            f"- host: 'h', port: '{port}', hostaddr: '::1': "
            f'connection to server at "h", port {port} failed: {said}'
            for port, said in ordered
        )
        error = OperationalError(
            f"{ordered[-1][1]}\nMultiple connection attempts failed. All failures were:\n{failures}"
        )
        url = "host=h,h port=1,2 dbname=d target_session_attrs="
        preferring = str(fault_of(error, address_of(f"{url}prefer-standby")))
        assert "the connection failed (server closed the connection unexpectedly)" in preferring
        insisting = str(fault_of(error, address_of(f"{url}standby")))
        assert "none of its hosts is a replica now" in insisting


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('root certificate file "/x/root.crt" does not exist', "its certificate is not trusted"),
        ("SSL error: certificate verify failed", "its certificate is not trusted; set sslr"),
        (
            'server certificate for "a" does not match host name "b"',
            "its certificate is for another host",
        ),
        ("server does not support SSL, but SSL was required", "it does not support TLS"),
        ("session is read-only", "none of its hosts accepts writes now"),
        ("SSL error: unexpected eof", "the TLS handshake failed; check sslmode"),
    ],
)
def test_connections_that_are_refused_have_a_next_step(said: str, told: str) -> None:
    error = OperationalError(f'connection to server at "h", port 5432 failed: {said}')
    message = str(fault_of(error, address_of("postgresql://me@h/d")))
    assert message.startswith(f"the catalog in PostgreSQL at h:5432/d: {told}")
    assert message.endswith(f"({said})")
