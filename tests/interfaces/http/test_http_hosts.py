"""Which names the server answers to: a site must not reach it through its visitors' browsers."""

from pathlib import Path

import httpx2
import pytest

from surefind.bootstrap import Application
from surefind.interfaces.http.app import create_app
from surefind.settings import load


async def status_of(ingested: Path, host: str, *, public: bool = False, names: str = "") -> int:
    settings = load(data_dir=ingested / ".surefind", allowed_hosts=names)
    transport = httpx2.ASGITransport(create_app(Application(settings), public=public))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/live", headers={"Host": host})
    if answer.status_code == 400:
        assert answer.json()["error"] == "validation_error"
        assert answer.json()["message"].startswith("Host: ")
        assert "allowed_hosts" in answer.json()["message"]
        assert answer.headers["x-request-id"]
    return answer.status_code


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "localhost.",
        "docs.localhost:8000",
        "127.0.0.1",
        "127.0.0.1:9000",
        "127.0.0.2",
        "[::1]",
        "[::1]:8000",
    ],
)
async def test_this_machine_is_answered(ingested: Path, host: str) -> None:
    assert await status_of(ingested, host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "notlocalhost",
        "127.0.0.1.evil.example",
        "[::1].evil.example",
        "[localhost]",
        "",
        "xn--4ca.example",
    ],
)
async def test_a_host_name_of_another_site_is_refused(ingested: Path, host: str) -> None:
    assert await status_of(ingested, host) == 400


async def test_names_of_ones_own_are_settings(ingested: Path) -> None:
    names = "docs.example.com, Search.example.com"
    for host in ("docs.example.com", "SEARCH.example.com:443", "localhost", "127.0.0.1"):
        assert await status_of(ingested, host, names=names) == 200
    assert await status_of(ingested, "example.com", names=names) == 400


async def test_a_public_server_has_any_name_unless_its_names_are_set(ingested: Path) -> None:
    assert await status_of(ingested, "docs.example.com", public=True) == 200
    assert await status_of(ingested, "docs.example.com", public=True, names="x.org") == 400
    assert await status_of(ingested, "10.0.0.7:8000", public=True, names="x.org") == 200, "a probe"


async def test_two_names_must_both_be_known(ingested: Path) -> None:
    settings = load(data_dir=ingested / ".surefind")
    transport = httpx2.ASGITransport(create_app(Application(settings)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        hosts = [("Host", "localhost"), ("Host", "evil.example")]
        assert (await client.get("/live", headers=hosts)).status_code == 400
