"""A killed ingest embeds nothing twice; `tests/drill` checks what readers see."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from support.commands import start, surefind, surefind_json
from support.qdrant.http_server import serve
from support.qdrant.service import SILENT

pytestmark = pytest.mark.thorough


def test_what_was_embedded_before_a_kill_is_not_embedded_again(tmp_path: Path) -> None:
    docs, data = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    for number in range(160):
        (docs / f"{number:03}.md").write_text(f"# Page {number}\n\n" + f"sentence {number} " * 20)
    process = start("ingest", docs, "--data-dir", data, cwd=tmp_path, SUREFIND_THREADS="1")
    cache = data / "cache" / "embeddings.sqlite-wal"
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and process.poll() is None:
        if cache.exists() and cache.stat().st_size > 64 * 1536:  # the first part is written
            break
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=30)
    report = surefind_json("ingest", docs, "--data-dir", data, cwd=tmp_path)
    assert report["chunks"] == 160
    assert report["from_cache"] >= 32
    assert report["embedded"] + report["from_cache"] == 160


def test_a_killed_upload_is_repeated_without_embedding_anything_twice(
    tmp_path: Path,
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(200):
        (docs / f"{number:03}.md").write_text(f"# Page {number}\n\nall of page {number}")
    with serve() as service:
        service.always = replace(SILENT, on="PUT .*/points$", after=1)
        arguments = ("ingest", docs, "--data-dir", tmp_path / "data")
        process = start(*arguments, cwd=tmp_path, QDRANT_URL=service.url)
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline and service.asked("PUT .*/points$") < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=30)
        service.always = None
        held = service.collections["docs--0001"].count({})["count"]
        assert 0 < held < 200
        done = surefind(*arguments, "--json", cwd=tmp_path, QDRANT_URL=service.url)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["generation"], report["index_points"]) == (1, 200)
        assert report["from_cache"] >= held
        assert report["embedded"] + report["from_cache"] == 200
        assert list(service.collections) == ["docs--0001"]
