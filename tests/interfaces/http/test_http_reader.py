"""Rendered passages and the reader, over HTTP."""

from collections.abc import Iterator

import httpx2
import pytest

from support.commands import serving, surefind

PAGES = {
    "guide/start.md": (
        "---\nlang: de\n---\n# Start\n\nRead [setup](setup#first), [deep](../deep/page.md), "
        "[gone](gone.md), [web](https://example.com/x?a=1&b=2) and [mail](mailto:a@b.c).\n"
    ),
    "guide/setup.md": "# Setup\n\n## First\n\n- turn the **wheel**\n",
    "deep/page.md": "# Deep\n\nBack to [start](/docs/guide/start.md) or [up](#deep).\n",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    home = tmp_path_factory.mktemp("home")
    for name, text in PAGES.items():
        (home / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "docs" / name).write_text(text)
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    with serving(cwd=home) as (address, _), httpx2.Client(base_url=address) as client:
        yield client


def test_passages_are_rendered_on_request(client: httpx2.Client) -> None:
    request = {"query": "turn the wheel", "top_k": 1}
    [plain] = client.post("/retrieve", json=request).raise_for_status().json()["hits"]
    assert "rendered" not in plain
    wanted = {**request, "rendered": True}
    [hit] = client.post("/retrieve", json=wanted).raise_for_status().json()["hits"]
    item = [["li", {}, "turn the ", ["strong", {}, "wheel"]]]
    assert hit["rendered"] == [["ul", {}, *item]]
    wanted = {"queries": ["turn the wheel"], "top_k": 1, "rendered": True, "highlight": True}
    [found] = client.post("/retrieve/batch", json=wanted).raise_for_status().json()["results"]
    [[_, _, [*_, (_, _, wheel)]]] = found["hits"][0]["rendered"]
    assert wheel == ["mark", {}, "wheel"]


def test_links_between_pages_stay_in_the_reader(client: httpx2.Client) -> None:
    page = client.get("/read/docs/docs/guide/start.md").raise_for_status().text
    assert '<a href="/read/docs/docs/guide/setup.md#first">setup</a>' in page
    assert '<a href="/read/docs/docs/deep/page.md">deep</a>' in page
    assert 'href="https://example.com/x?a=1&amp;b=2"' in page
    assert "gone," in page
    assert "gone.md" not in page
    assert "mailto" not in page
    deep = client.get("/read/docs/docs/deep/page.md").raise_for_status().text
    assert '<a href="#deep">up</a>' in deep


def test_a_passage_is_marked_and_an_unknown_one_is_not(client: httpx2.Client) -> None:
    request = {"query": "turn the wheel", "top_k": 1}
    [hit] = client.post("/retrieve", json=request).json()["hits"]
    path, anchor = hit["read_path"].split("#")
    assert anchor == "first"
    page = client.get(path, params={"passage": hit["chunk_id"]}).raise_for_status().text
    assert '<section id="first"><h2 class="found">First</h2><ul class="found">' in page
    other = client.get(path, params={"passage": "</script><b>"}).raise_for_status().text
    assert 'class="found"' not in other
    assert "<b>" not in other


def test_a_page_that_is_not_there_is_explained_to_people_and_programs(
    client: httpx2.Client,
) -> None:
    shown = client.get("/read/docs/docs/no.md", headers={"Accept": "text/html"})
    assert shown.status_code == 404
    assert "Page unavailable" in shown.text
    assert client.get("/read/docs/docs/no.md").json()["error"] == "not_found"
