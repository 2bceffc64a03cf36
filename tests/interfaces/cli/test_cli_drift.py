"""`surefind drift`, on a query log of several weeks."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.commands import surefind, surefind_json
from surefind.adapters.sqlite.query_log import NAME, QueryLogFile
from surefind.model import LoggedSearch


def logged(home: Path, days_ago: int, confidence: float, searches: int = 60) -> None:
    start = datetime.now(UTC) - timedelta(days=days_ago)
    QueryLogFile(home / ".surefind" / NAME, days=90).add(
        [
            LoggedSearch(
                start + timedelta(minutes=number),
                "docs",
                f"question {days_ago} {number}",
                "hybrid",
                5,
                confidence,
                confidence - 0.1,
            )
            for number in range(searches)
        ]
    )


def test_drift_raises_alerts_and_exits_with_1(tmp_path: Path) -> None:
    logged(tmp_path, 20, 0.9)
    logged(tmp_path, 3, 0.2)
    done = surefind("drift", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "60 searches, 100% with thin evidence, mean similarity 0.100" in done.stdout
    assert "ALERT thin_rate_rise > 0.05: it is at least 1.000" in done.stdout
    told = surefind_json("drift", "--alert-if", "no_hits_rate > 0.1", cwd=tmp_path)
    assert told["alerts"] == []
    assert told["thin_rate"]["value"] == 1.0
    assert told["now"]["searches"] == told["before"]["searches"] == 60


def test_without_a_log_there_is_no_alert(tmp_path: Path) -> None:
    done = surefind("drift", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 searches, too few to judge" in done.stdout
    assert done.stdout.endswith("no alert\n")
    wrong = surefind("drift", "--alert-if", "luck > 1", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "invalid rule 'luck > 1'" in wrong.stderr
