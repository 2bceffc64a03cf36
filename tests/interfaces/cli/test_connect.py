"""`surefind connect` and what works on a connected collection, as a user meets it."""

import hashlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from qdrant_client import models

from support.commands import serving
from support.foreign import client_of, plain_payload
from support.payload_shapes import book
from support.qdrant.http_server import running
from support.qdrant.service import REAL_KEY, Address, unique
from support.terminal import at_a_terminal
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.interfaces.cli import main
from surefind.settings import load

PASSAGES = book(12)


@pytest.fixture(scope="module")
async def stranger(bge: BgeSmallEmbedder, anyio_backend: str) -> AsyncIterator[tuple[Address, str]]:
    """A collection that the real model's vectors are in, and its server."""
    with running() as address:
        client, name = client_of(address), unique("handbook")
        params = models.VectorParams(size=384, distance=models.Distance.COSINE)
        await client.create_collection(name, vectors_config=params)
        rows = await bge.embed_passages([one.text for one in PASSAGES])
        points: list[Any] = [
            models.PointStruct(
                id=one.uuid, vector=row.tolist(), payload=dict(plain_payload(one) or {})
            )
            for one, row in zip(PASSAGES, rows, strict=True)
        ]
        await client.upsert(name, points, wait=True)
        yield address, name
        await client.delete_collection(name)
        await client.close()


@pytest.fixture(scope="module")
async def two_models(
    bge: BgeSmallEmbedder, stranger: tuple[Address, str], anyio_backend: str
) -> AsyncIterator[str]:
    """A collection in which another model made every second vector."""
    address, _ = stranger
    client, name = client_of(address), unique("mixed")
    params = models.VectorParams(size=384, distance=models.Distance.COSINE)
    await client.create_collection(name, vectors_config=params)
    passages = book(24)
    rows = await bge.embed_passages([one.text for one in passages])
    points: list[Any] = [
        models.PointStruct(
            id=one.uuid,
            vector=(np.roll(row, 7) if at % 2 else row).tolist(),
            payload=dict(plain_payload(one) or {}),
        )
        for at, (one, row) in enumerate(zip(passages, rows, strict=True))
    ]
    await client.upsert(name, points, wait=True)
    yield name
    await client.delete_collection(name)
    await client.close()


@pytest.fixture(scope="module")
async def in_html(
    bge: BgeSmallEmbedder, stranger: tuple[Address, str], anyio_backend: str
) -> AsyncIterator[str]:
    """A collection whose texts are HTML, with the hashes of what is stored."""
    address, _ = stranger
    client, name = client_of(address), unique("html")
    params = models.VectorParams(size=384, distance=models.Distance.COSINE)
    await client.create_collection(name, vectors_config=params)
    stored = [f"<div class='x'><p>{one.text}</p></div>" for one in PASSAGES]
    rows = await bge.embed_passages(stored)
    points: list[Any] = [
        models.PointStruct(
            id=one.uuid,
            vector=row.tolist(),
            payload={
                "body": text,
                "url": one.url,
                "title": one.title,
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            },
        )
        for one, row, text in zip(PASSAGES, rows, stored, strict=True)
    ]
    await client.upsert(name, points, wait=True)
    yield name
    await client.delete_collection(name)
    await client.close()


@pytest.fixture
def home(tmp_path: Path, stranger: tuple[Address, str]) -> Path:
    address, _ = stranger
    key = f"QDRANT_API_KEY={REAL_KEY}\n" if REAL_KEY else ""
    (tmp_path / ".env").write_text(f"QDRANT_URL={address.url}\n{key}")
    (tmp_path / "surefind.toml").write_text("# mine\nport = 9000  # as always\n")
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """(exit code, stdout, stderr) of the command, in this process."""

    def running_command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["surefind", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return running_command


def test_a_collection_is_connected_searched_validated_and_audited(
    home: Path, stranger: tuple[Address, str], run: Any
) -> None:
    _, name = stranger
    code, out, err = run("connect", "--collection", name, "--as", "handbook", "--yes")
    assert code == 0, err
    assert "chunk_index" in out
    assert "model: same" in out
    text = (home / "surefind.toml").read_text()
    assert text.startswith("# mine\nport = 9000  # as always\n")
    assert load().port == 9000
    [connection] = load().connected
    assert (connection.name, connection.collection) == ("handbook", name)

    code, out, err = run("search", "-c", "handbook", "--json", "what is a topic?")
    found = json.loads(out)
    assert code == 0, err
    assert found["mode"] == "dense"
    assert found["status"] == "success"
    assert "no lexical index" in found["notes"][0]
    assert found["hits"][0]["url"].startswith("https://example.org/docs/")
    assert found["hits"][0]["flaws"] == []

    code, out, err = run("search", "-c", "handbook", "what is a topic?", "--expand", "document")
    assert code == 0, err
    assert "semantic search only" in err

    code, out, err = run("audit", "-c", "handbook", "--json")
    report = json.loads(out)
    assert code == 0, (out, err)
    assert report["sound"] is True
    assert report["read"] == len(PASSAGES)

    questions = home / "questions.txt"
    questions.write_text("what is a topic?\n")
    code, out, err = run("validate", "-c", "handbook", str(questions), "--json")
    assert code in {0, 3}, err
    assert json.loads(out)["totals"]["total"] == 1

    code, _, err = run("ingest", "docs", "-c", "handbook")
    assert code == 2
    assert "only reads it" in err
    code, out, err = run("settings")
    assert code == 0
    assert "handbook" in out

    with (
        serving("-c", "handbook", cwd=home) as (address, _),
        httpx2.Client(base_url=address, timeout=30) as client,
    ):
        answer = client.post("/retrieve", json={"query": "what is a topic?"}).json()
        assert answer["hits"]
        assert client.get("/ready").status_code == 200
        listed = client.get("/documents").json()
        assert (listed["total"], len(listed["documents"])) == (None, 6)
        assert client.post("/search", json={"query": "what is a topic?"}).json()["results"]
        refused = client.post("/retrieve", json={"query": "x", "mode": "lexical"})
        assert refused.status_code == 400
        assert client.get("/collections").status_code == 200


def test_a_dry_run_shows_all_and_saves_nothing(
    home: Path, stranger: tuple[Address, str], run: Any
) -> None:
    _, name = stranger
    before = (home / "surefind.toml").read_text()
    code, out, _ = run("connect", "-c", name, "--dry-run", "--json", "--map", "title=section")
    shown = json.loads(out)
    assert code == 0
    assert shown["map"]["text"]["keys"] == ["text"]
    assert shown["map"]["title"]["given"] is True
    assert shown["model"]["verdict"] == "same"
    assert shown["map"]["document"] is None
    assert (home / "surefind.toml").read_text() == before


@pytest.mark.parametrize("option", ["--yes", "--dry-run"])
def test_a_collection_of_two_models_is_not_saved_unawares(
    home: Path, two_models: str, run: Any, option: str
) -> None:
    code, out, err = run("connect", "-c", two_models, option)
    assert code == 1
    assert "model: mixed: " in out
    assert "not made from their text" in out
    assert "  point " in out
    assert "--allow-mixed" in err
    assert "connected" not in (home / "surefind.toml").read_text()


def test_a_mixed_collection_is_connected_on_demand_and_its_audit_fails(
    home: Path, two_models: str, run: Any
) -> None:
    code, out, err = run("connect", "-c", two_models, "--as", "mixed", "--yes", "--allow-mixed")
    assert code == 0, err
    code, out, err = run("audit", "-c", "mixed", "--json")
    report = json.loads(out)
    assert code == 1, err
    assert 9 <= report["vectors"]["strangers"] <= 12
    assert report["vectors"]["compared"] == 24
    assert report["vectors"]["examples"][0]["cosine"] < 0.5
    code, out, err = run("audit", "-c", "mixed")
    assert "problem" in out
    assert ": cosine " in out
    code, out, err = run("audit", "-c", "mixed", "--certainty", "0")
    assert code == 0, err
    assert "no problems found; the vectors were not checked" in out
    code, out, err = run("audit", "-c", "mixed", "--certainty", "1")
    assert code == 2
    assert "--all" in err


def test_html_is_shown_as_text_and_kept_as_stored(home: Path, in_html: str, run: Any) -> None:
    code, _, err = run("connect", "-c", in_html, "--as", "html", "--yes")
    assert code == 0, err
    for command in (
        ("search", "-c", "html", "what is a topic?"),
        ("query", "-c", "html", "topics"),
    ):
        code, out, err = run(*command)
        assert code == 0, err
        assert "<p>" not in out
        assert "See chapter" in " ".join(out.split())
    code, out, err = run("search", "-c", "html", "--json", "what is a topic?")
    assert json.loads(out)["hits"][0]["text"].startswith("<div class='x'><p>")
    code, out, err = run("audit", "-c", "html", "--json")
    assert "all 12 hashes match" in out
    assert json.loads(out)["vectors"]["same"] == 12


def test_a_person_is_asked_whether_a_mixed_collection_will_do(home: Path, two_models: str) -> None:
    ended, screen = at_a_terminal(
        "connect", "-c", two_models, question=b"Save it anyway? [y/N]: ", keys=b"\n", cwd=home
    )
    assert ended == 1, screen
    assert "nothing was saved" in screen
    assert "connected" not in (home / "surefind.toml").read_text()


def test_without_a_terminal_an_open_choice_is_a_mistake_of_the_caller(
    home: Path, stranger: tuple[Address, str], run: Any
) -> None:
    code, _, err = run("connect", "-c", stranger[1])
    assert code == 2
    assert "--yes" in err
    assert "connected" not in (home / "surefind.toml").read_text()


@pytest.mark.parametrize(
    ("keys", "code", "said"),
    [
        (b"\n", 0, "saved as [connected."),
        (b"\x03", 130, "stopped; nothing was changed"),
    ],
    ids=["Enter", "Ctrl-C"],
)
def test_a_person_at_a_terminal_is_asked(
    home: Path, stranger: tuple[Address, str], keys: bytes, code: int, said: str
) -> None:
    ended, screen = at_a_terminal(
        "connect", "-c", stranger[1], question=b"[Y/n]: ", keys=keys, cwd=home
    )
    assert ended == code, screen
    assert said in screen.partition("Save this in surefind.toml? [Y/n]: ")[2]
    assert "Traceback" not in screen
    saved = "connected" in (home / "surefind.toml").read_text()
    assert saved == (keys == b"\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--map", "text"), "write text=KEY"),
        (("--map", "color=x"), "roles: text, url"),
        (("--map", "text=no.such"), "none of the 12 points"),
        (("--vector", "other"), "has no 'other'"),
    ],
)
def test_what_can_not_be_is_refused_with_the_reason(
    home: Path, stranger: tuple[Address, str], run: Any, options: tuple[str, ...], said: str
) -> None:
    code, _, err = run("connect", "-c", stranger[1], "--yes", *options)
    assert code == 2
    assert said in err


def test_without_an_address_it_says_where_to_put_one(tmp_path: Path, run: Any) -> None:
    code, _, err = run("connect", "-c", "x", "--yes")
    assert code == 2
    assert "QDRANT_URL" in err


def test_a_server_that_is_unavailable_is_reported_by_its_name(tmp_path: Path, run: Any) -> None:
    code, _, err = run("connect", "-c", "x", "--yes", "--url", "http://127.0.0.1:9")
    assert code == 4
    assert "127.0.0.1:9" in err
    assert "Traceback" not in err


def test_a_broken_file_of_settings_is_not_touched(
    home: Path, stranger: tuple[Address, str], run: Any
) -> None:
    (home / "surefind.toml").write_text("port = \n")
    code, _, err = run("connect", "-c", stranger[1], "--yes")
    assert code == 2
    assert "not valid TOML" in err
    assert (home / "surefind.toml").read_text() == "port = \n"
