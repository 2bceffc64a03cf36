"""Links to pages that are published nowhere lead to the server that was asked."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest

from support.commands import serving
from support.homes import copy_home


@pytest.fixture(scope="module")
def client(ingested: Path) -> Iterator[httpx2.Client]:
    with serving(cwd=ingested) as (address, _), httpx2.Client(base_url=address) as client:
        yield client


PAGE = "/read/docs/docs/reference/errors.md"
ROUTES = [
    ("/retrieve", {"query": "error E42"}),
    ("/query", {"query_text": "error E42"}),
    ("/api/v1/search", {"query_text": "what is error E42?", "similarity_threshold": 0}),
    ("/retrieve/batch", {"queries": ["error E42"]}),
    ("/retrieve/why-not", {"query": "error E42", "wanted": f"http://localhost:1{PAGE}#e42"}),
    ("/documents", None),
    ("/documents/docs/reference/errors.md/chunks", None),
]


def body(
    client: httpx2.Client,
    path: str,
    sent: Mapping[str, object] | None,
    headers: Mapping[str, str] | None = None,
) -> str:
    if sent is None:
        return client.get(path, headers=headers).raise_for_status().text
    return client.post(path, json=sent, headers=headers).raise_for_status().text


@pytest.mark.parametrize(("path", "sent"), ROUTES)
def test_every_route_links_to_the_server_that_was_asked(
    client: httpx2.Client, path: str, sent: Mapping[str, object] | None
) -> None:
    address = str(client.base_url).rstrip("/")
    answer = body(client, path, sent)
    assert f'"{address}{PAGE}' in answer
    assert "surefind://" not in answer
    name = address.replace("127.0.0.1", "localhost")
    assert f'"{name}{PAGE}' in body(client, path, sent, {"Host": name.removeprefix("http://")})


def test_a_trusted_proxy_says_what_its_clients_call_the_server(
    ingested: Path, tmp_path: Path
) -> None:
    copy_home(ingested, tmp_path / "home")
    proxied = {"X-Forwarded-Host": "docs.example.com, inner:81", "X-Forwarded-Proto": "https"}
    bad = {"X-Forwarded-Host": "docs.example.com/path?"}
    search = ("/retrieve", {"query": "error E42"})
    with (
        serving(cwd=tmp_path / "home", SUREFIND_TRUSTED_PROXIES="127.0.0.1") as (address, _),
        httpx2.Client(base_url=address) as client,
    ):
        assert f'"https://docs.example.com{PAGE}#e42"' in body(client, *search, proxied)
        assert f'"{address}{PAGE}#e42"' in body(client, *search, bad)
        assert f'"{address}{PAGE}#e42"' in body(client, *search)


def test_other_clients_cannot_choose_the_name_of_the_server(client: httpx2.Client) -> None:
    answer = body(client, "/retrieve", {"query": "E42"}, {"X-Forwarded-Host": "evil.example"})
    assert "evil.example" not in answer
