"""DATABASE_URL, as people have it."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from surefind.adapters.postgres_address import address_of
from surefind.adapters.postgres_connection import Database
from surefind.adapters.postgres_faults import fault_of


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
