"""llms.txt, llms-full.txt, and pages as Markdown over HTTP."""

from pathlib import Path

import httpx2
import pytest

from support.commands import serving, surefind
from surefind.text.links import markdown_links


def test_every_link_is_a_page_as_markdown(contracts: httpx2.Client) -> None:
    answer = contracts.get("/llms.txt")
    assert (answer.status_code, answer.headers["content-type"]) == (
        200,
        "text/plain; charset=utf-8",
    )
    assert answer.text.startswith("# Teapot\n")
    assert f"All pages in one file: {contracts.base_url}llms-full.txt" in answer.text.replace(
        f"{contracts.base_url}/", f"{contracts.base_url}"
    )
    links = list(markdown_links(answer.text))
    assert len(links) == 4
    for link in links:
        page = contracts.get(link)
        assert page.status_code == 200, link
        assert page.headers["content-type"] == "text/markdown; charset=utf-8"
        assert page.text.startswith("# ")


def test_all_pages_come_in_one_file(contracts: httpx2.Client) -> None:
    answer = contracts.get("/llms-full.txt?collection=docs")
    assert answer.status_code == 200
    assert answer.text.count("\nSource: http://") == 4
    assert "Descale the teapot" in answer.text
    assert answer.text.index("# Teapot") < answer.text.index("# Installing")


@pytest.mark.parametrize("path", ["/llms.txt", "/llms-full.txt"])
def test_head_sends_no_body(contracts: httpx2.Client, path: str) -> None:
    answer = contracts.head(path)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", ["/llms.txt", "/llms-full.txt"])
def test_an_unknown_collection_is_named(contracts: httpx2.Client, path: str) -> None:
    answer = contracts.get(path, params={"collection": "attic"})
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert "attic" in answer.json()["message"]
    assert contracts.get(path, params={"colection": "docs"}).status_code == 400


def test_markdown_can_be_requested_for_any_page(contracts: httpx2.Client) -> None:
    path = "/read/docs/docs/guide/cleaning.md"
    assert contracts.get(path).headers["content-type"].startswith("text/html")
    markdown = contracts.get(path, headers={"Accept": "text/markdown, text/html;q=0.5"})
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert markdown.text == contracts.get(f"{path}.md").text
    assert contracts.get("/read/docs/docs/none.md.md").status_code == 404


def test_links_between_pages_lead_to_markdown(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("[b](b.md#part), [c](c.png), [x](https://example.com/b.md)")
    (tmp_path / "docs/b.md").write_text("# B\n\n## Part\n\nText.")
    assert surefind("ingest", "docs", cwd=tmp_path).returncode == 0
    with serving(cwd=tmp_path) as (address, _):
        page = httpx2.get(f"{address}/read/docs/docs/a.md.md", timeout=30).text
        assert page == (
            f"# a\n\n[b]({address}/read/docs/docs/b.md.md#part), [c](c.png), "
            "[x](https://example.com/b.md)\n"
        )
        full = httpx2.get(f"{address}/llms-full.txt", timeout=30).text
        assert f"[b]({address}/read/docs/docs/b.md.md#part)" in full


def test_a_key_is_required_where_there_are_keys(home: Path) -> None:
    key = surefind("keys", "create", "--name", "reader", cwd=home).stdout.strip()
    with serving(cwd=home) as (address, _):
        for path in ("/llms.txt", "/llms-full.txt", "/read/docs/docs/index.md.md"):
            refused = httpx2.get(f"{address}{path}", timeout=30)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Basic")
            assert httpx2.get(f"{address}{path}", auth=("", key), timeout=30).status_code == 200
