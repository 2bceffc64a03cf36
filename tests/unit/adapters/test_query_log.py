"""The query log: bounded, private, and never in the way of a request."""

import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from surefind.adapters.sqlite.query_log import NAME, QueryLogFile, QueryLogWriter
from surefind.errors import StoreError
from surefind.model import LoggedSearch

NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=3650)
_WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from surefind.adapters.sqlite.query_log import QueryLogFile, QueryLogWriter
from surefind.model import LoggedSearch

log = QueryLogWriter(QueryLogFile(Path(sys.argv[1]), 30))
for number in range(100):
    text = f"{sys.argv[2]} {number}"
    log.add(LoggedSearch(datetime.now(UTC), "docs", text, "hybrid", 1, 0.9, 0.8))
log.close()
"""


def search(text: str = "why", at: datetime = NOW, client: str = "") -> LoggedSearch:
    return LoggedSearch(at, "docs", text, "hybrid", 3, 0.2, 0.5, url="/a", title="A", client=client)


def texts(log: QueryLogFile) -> list[str]:
    return [one.text for one in log.read("docs", LONG_AGO)]


def test_searches_are_read_as_they_were_logged(tmp_path: Path) -> None:
    log = QueryLogFile(tmp_path / NAME, 30)
    assert log.read("docs", LONG_AGO) == []
    log.add([search("one"), search("two")])
    assert log.read("docs", LONG_AGO) == [search("one"), search("two")]
    assert log.read("other", LONG_AGO) == []
    assert log.read("docs", NOW + timedelta(days=1)) == []
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_old_searches_leave_no_trace_in_the_file(tmp_path: Path) -> None:
    QueryLogFile(tmp_path / NAME, 30).add([search("my secret illness", NOW - timedelta(days=8))])
    QueryLogFile(tmp_path / NAME, 7).add([search("new")])
    assert texts(QueryLogFile(tmp_path / NAME, 7)) == ["new"]
    assert b"illness" not in (tmp_path / NAME).read_bytes()


def test_the_log_keeps_the_latest_searches_and_cuts_long_ones(tmp_path: Path) -> None:
    log = QueryLogFile(tmp_path / NAME, 30, most=3)
    for number in range(5):
        log.add([search(f"{number} " + "x" * 5000)])
    assert [text[:2] for text in texts(log)] == ["2 ", "3 ", "4 "]
    assert {len(text) for text in texts(log)} == {1000}


def test_clients_are_only_kept_as_hashes_whose_salt_is_deleted(tmp_path: Path) -> None:
    log = QueryLogFile(tmp_path / NAME, 30)
    log.add([search(client="203.0.113.7"), search(client="203.0.113.7"), search(client="other")])
    first, second, other = (one.client for one in log.read("docs", LONG_AGO))
    assert first == second != other
    assert b"203.0.113.7" not in (tmp_path / NAME).read_bytes()
    with sqlite3.connect(tmp_path / NAME) as connection:  # as on the next day
        connection.execute("UPDATE salt SET day = '2000-01-01'")
    connection.close()
    log.add([search(client="203.0.113.7")])
    assert log.read("docs", LONG_AGO)[-1].client != first
    with sqlite3.connect(tmp_path / NAME) as connection:
        assert connection.execute("SELECT count(*) FROM salt").fetchall() == [(1,)]
    connection.close()


def test_several_processes_log_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / NAME
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, path, name], stderr=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=120)
        assert (writer.returncode, said) == (0, b"")
    logged = texts(QueryLogFile(path, 30))
    assert sorted(logged) == sorted(f"{name} {n}" for name in "abc" for n in range(100))


def test_a_damaged_log_is_moved_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"this is no database, " * 500)
    log = QueryLogFile(path, 30)
    with pytest.raises(StoreError, match="delete it"):
        log.read("docs", LONG_AGO)
    log.add([search("after")])
    assert texts(log) == ["after"]
    assert (tmp_path / "queries.damaged").exists()
    assert "moved to queries.damaged" in caplog.text


def test_a_log_that_cant_be_written_is_reported_once_and_stops_no_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / NAME
    path.mkdir()
    writer = QueryLogWriter(QueryLogFile(path, 30))
    for _ in range(3000):  # more than the queue holds
        writer.add(search())
    writer.close()
    assert caplog.text.count("searches are not logged") == 1
