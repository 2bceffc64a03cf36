"""A `.env` that surefind shares with a team's own application."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import surefind as package
from support.commands import surefind

_RUN = "import sys; from surefind.interfaces.cli import main; main()"


@pytest.fixture(scope="module")
def without_drivers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python that has everything but the drivers of the servers."""
    folder = tmp_path_factory.mktemp("packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("psycopg", "qdrant_client")):
            (folder / path.name).symlink_to(path)
    source = Path(package.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{source}", "COLUMNS": "100"}


def run(
    *arguments: str, cwd: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-c", _RUN, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_addresses_in_dotenv_are_ignored_without_their_drivers(
    home: Path, without_drivers: dict[str, str]
) -> None:
    (home / ".env").write_text("DATABASE_URL=postgresql://u:secret@h/d\nQDRANT_URL=http://q:6333\n")
    done = run("ingest", "docs", cwd=home, environment=without_drivers)
    assert done.returncode == 0, done.stderr
    for name, extra in (("DATABASE_URL", "postgres"), ("QDRANT_URL", "qdrant")):
        assert f"surefind: {name} in .env is ignored: " in done.stderr
        assert f"pip install 'surefind[{extra}]'" in done.stderr
    again = run("ingest", "docs", cwd=home, environment=without_drivers)
    assert (again.returncode, again.stderr) == (0, "")
    found = run("search", "vinegar", "--mode", "lexical", cwd=home, environment=without_drivers)
    assert "Descale" in found.stdout
    assert "ignored" not in found.stderr
    missing = run("search", "vinegar", "-c", "other", cwd=home, environment=without_drivers)
    assert "DATABASE_URL in .env is ignored" in missing.stderr
    doctor = run("doctor", "--quick", cwd=home, environment=without_drivers)
    assert doctor.returncode == 0
    assert "warning  settings  DATABASE_URL in .env is ignored" in doctor.stdout


def test_the_doctor_reports_a_missing_driver_instead_of_dying(
    home: Path, without_drivers: dict[str, str]
) -> None:
    environment = {**without_drivers, "DATABASE_URL": "postgresql://u:secret@h/d"}
    done = run("doctor", "--quick", cwd=home, environment=environment)
    assert done.returncode == 1
    assert "PROBLEM  stores    DATABASE_URL is set, but the PostgreSQL driver" in done.stdout
    assert "SUREFIND_STORES=embedded" in done.stdout
    refused = run("search", "tea", cwd=home, environment=environment)
    assert (refused.returncode, "SUREFIND_STORES=embedded" in refused.stderr) == (2, True)
    environment["SUREFIND_STORES"] = "embedded"
    assert run("doctor", "--quick", cwd=home, environment=environment).returncode == 0


def test_a_server_is_named_with_the_variable_that_leads_to_it(home: Path) -> None:
    (home / ".env").write_text("DATABASE_URL=postgresql://me:secret@127.0.0.1:1/app\n")
    done = surefind("search", "tea", cwd=home)
    named = "surefind: catalog: PostgreSQL at 127.0.0.1:1/app (DATABASE_URL in .env)\n"
    assert done.returncode == 4
    assert done.stderr.startswith(named)
    assert "secret" not in done.stderr


def test_an_unused_key_is_mentioned_once_with_the_setting_to_set(home: Path) -> None:
    (home / ".env").write_text("COHERE_API_KEY=abc\n")
    notice = "surefind: COHERE_API_KEY is set but not used; to use it, set SUREFIND_EMBEDDER=cohere"
    assert surefind("search", "tea", cwd=home).stderr.count("COHERE") == 0
    assert surefind("ingest", "docs", cwd=home).stderr.startswith(notice)
    assert surefind("ingest", "docs", cwd=home).stderr == ""
    assert "COHERE_API_KEY is set but not used" in surefind("doctor", "--quick", cwd=home).stdout
