"""Keys: what a server asks for, and of whom."""

import base64
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.commands import serving, surefind, surefind_json
from support.homes import copy_home

QUESTION = {"query": "vinegar"}
OPEN = [
    "/",
    "/live",
    "/ready",
    "/health",
    "/api/v1/health",
    "/embed.js",
    "/static/styles/style.css",
]
CLOSED = ["/openapi.json", "/read/docs/docs/index.md", "/nothing", "/health/", "/static"]


@pytest.fixture(scope="module")
def home(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("guarded") / "home"
    copy_home(ingested, home)
    return home


def create(home: Path, name: str, *more: str) -> str:
    made = surefind("keys", "create", "--name", name, *more, cwd=home)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("surefind_")
    assert made.stdout.strip() not in made.stderr
    return made.stdout.strip()


@pytest.fixture(scope="module")
def guarded(home: Path) -> Iterator[tuple[httpx2.Client, str]]:
    """A server with a key, on all addresses of the machine."""
    key = create(home, "first")
    with (
        serving("--host", "0.0.0.0", cwd=home) as (address, _),
        httpx2.Client(base_url=address.replace("0.0.0.0", "127.0.0.1"), timeout=30) as client,
    ):
        yield client, key


def refused(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
    assert set(answer.json()) == {"error", "message"}
    assert answer.headers["www-authenticate"]
    assert answer.headers["x-request-id"]


def test_a_key_is_needed_for_all_but_probes_and_the_page(
    guarded: tuple[httpx2.Client, str],
) -> None:
    client, _ = guarded
    for path in OPEN:
        assert client.get(path).status_code != 401, path
    for path in CLOSED:
        refused(client.get(path))
    for path in ("/search", "/retrieve", "/query", "/api/v1/search", "/generations/rollback"):
        refused(client.post(path, json=QUESTION))


def test_a_key_can_be_shown_in_two_ways(guarded: tuple[httpx2.Client, str]) -> None:
    client, key = guarded
    for headers in (
        {"Authorization": f"Bearer {key}"},
        {"authorization": f"bearer  {key}"},
        {"X-API-Key": key},
    ):
        assert client.post("/search", json=QUESTION, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "{key}"},
        {"Authorization": "Basic {basic}"},
        {"X-API-Key": ""},
        {"X-API-Key": "{key}x"},
        {"X-API-Key": "{key}, {key}"},
        {"Cookie": "key={key}"},
    ],
)
def test_anything_else_is_not_a_key(
    guarded: tuple[httpx2.Client, str], headers: dict[str, str]
) -> None:
    client, key = guarded
    basic = base64.b64encode(f"me:{key}".encode()).decode()
    sent = {name: value.format(key=key, basic=basic) for name, value in headers.items()}
    refused(client.post("/search", json=QUESTION, headers=sent))


@pytest.mark.parametrize(
    "header",
    [
        b"X-API-Key: {key} ",
        b"X-API-Key: {key}\t",
        b"X-API-Key: {key}\xa0",
        b"X-API-Key: {key}\xc2\xa0",
        b"X-API-Key: {key}\x00",
        b'X-API-Key: "{key}"',
        b"X-API-Key: {split}",
        b"X-API-Key: {encoded}",
        b"X-API-Key: {key}\r\nX-API-Key: {key}",
        b"X-API-Key: {key}\r\nX-API-Key: x",
        b"Authorization: Bearer {key} ",
        b"Authorization: Bearer {key}\xa0",
        b"Authorization: Bearer {key}\x85",
        b"Authorization: Bearer {split}",
        b"Authorization: Bearer {key} x",
        b"Authorization: Bearer\t{key}",
    ],
)
def test_a_key_counts_only_as_it_was_made(
    guarded: tuple[httpx2.Client, str], header: bytes
) -> None:
    """Byte for byte over a socket: a client would tidy its headers up."""
    client, key = guarded
    split, encoded = f"{key[:20]} {key[20:]}", key.replace("_", "%5F")
    for name, value in (("key", key), ("split", split), ("encoded", encoded)):
        header = header.replace(f"{{{name}}}".encode(), value.encode())
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
        raw.settimeout(30)
        raw.sendall(
            b"GET /documents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%b\r\n\r\n"
            % header
        )
        answer = raw.makefile("rb").read()
    status = int(answer.split()[1])
    assert status in {400, 401}, answer
    if b" \r\n" in header + b"\r\n":
        assert b"contains whitespace" in answer


def test_two_authorizations_or_a_key_in_the_address_are_refused(
    guarded: tuple[httpx2.Client, str],
) -> None:
    client, key = guarded
    twice = [("Authorization", f"Bearer {key}"), ("Authorization", "Bearer x")]
    refused(client.post("/search", json=QUESTION, headers=twice))
    refused(client.post(f"/search?key={key}&api_key={key}", json=QUESTION))


def test_a_browser_may_give_the_key_as_a_password_to_read_a_page(
    guarded: tuple[httpx2.Client, str],
) -> None:
    client, key = guarded
    page = "/read/docs/docs/index.md"
    assert client.get(page).headers["www-authenticate"].startswith("Basic ")
    assert client.get(page, auth=("anybody", key)).status_code == 200
    refused(client.get(page, auth=("anybody", "wrong")))
    for damaged in ("Basic", "Basic !", "Basic /w=="):
        refused(client.get(page, headers={"Authorization": damaged}))


def test_a_key_is_refused_as_soon_as_it_is_revoked(
    guarded: tuple[httpx2.Client, str], home: Path
) -> None:
    client, _ = guarded
    key = create(home, "second", "--scope", "admin")
    listed = surefind_json("keys", "list", cwd=home)
    assert [(row["name"], row["scope"]) for row in listed] == [
        ("first", "read"),
        ("second", "admin"),
    ]
    assert "second" in surefind("keys", "list", cwd=home).stdout
    assert client.post("/search", json=QUESTION, headers={"X-API-Key": key}).status_code == 200
    assert "revoked second" in surefind("keys", "revoke", "second", cwd=home).stdout
    refused(client.post("/search", json=QUESTION, headers={"X-API-Key": key}))


def test_a_damaged_file_of_keys_closes_the_server(
    guarded: tuple[httpx2.Client, str], home: Path
) -> None:
    client, key = guarded
    path = home / ".surefind" / "keys.json"
    kept = path.read_text()
    try:
        path.write_text("{")
        answer = client.post("/search", json=QUESTION, headers={"X-API-Key": key})
        assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
        assert "keys.json" not in answer.text
        path.unlink()
        refused(client.post("/search", json=QUESTION, headers={"X-API-Key": key}))
        refused(client.post("/search", json=QUESTION))
    finally:
        path.write_text(kept)
    assert client.post("/search", json=QUESTION, headers={"X-API-Key": key}).status_code == 200


def test_other_machines_are_served_with_keys_or_on_request(ingested: Path) -> None:
    refused_start = surefind("serve", "--host", "0.0.0.0", "--port", "0", cwd=ingested)
    assert refused_start.returncode == 2
    assert "surefind keys create" in refused_start.stderr
    with serving("--host", "0.0.0.0", "--allow-open", cwd=ingested) as (address, _):
        local = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx2.post(f"{local}/search", json=QUESTION, timeout=30).status_code == 200


def test_the_last_key_that_goes_is_reported(tmp_path: Path) -> None:
    create(tmp_path, "only")
    again = surefind("keys", "create", "--name", "only", cwd=tmp_path)
    assert (again.returncode, "already" in again.stderr) == (2, True)
    gone = surefind("keys", "revoke", "only", cwd=tmp_path)
    assert "don't require one" in gone.stderr
    assert surefind("keys", "revoke", "only", cwd=tmp_path).returncode == 2
