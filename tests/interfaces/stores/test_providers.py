"""Embedding and reranking services, as a user of the command line meets them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import surefind
from support.embedding_service import KEY, TOO_MANY, Service, Trouble, serve
from surefind.bootstrap import Application, IngestRequest
from surefind.errors import InputError
from surefind.interfaces.http.app import create_app
from surefind.services.encoding.circuit_breaker import FAILURES, PAUSE_S
from surefind.settings import load

pytestmark = pytest.mark.thorough

WRONG_KEY = "wrong-secret-key"
PAGES = 120  # one passage each: more than one batch of 96


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(PAGES):
        (docs / f"page{number:03}.md").write_text(
            f"# Page {number}\n\nThe teapot of kind {number}."
        )
    return tmp_path


def cohere(service: Service, key: str = KEY, **more: str) -> dict[str, str]:
    return {
        "SUREFIND_EMBEDDER": "cohere",
        "SUREFIND_EMBED_URL": service.url,
        "COHERE_API_KEY": key,
        **more,
    }


def passages_sent(service: Service) -> list[str]:
    """Those that were answered, without the questions that a collection is calibrated with."""
    return [text for text in service.answered if "The teapot of kind" in text and "# Page" in text]


def as_json(home: Path, *arguments: str, **environment: str) -> Any:
    done = surefind(*arguments, "--json", cwd=home, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- 429 and 401 ------------------------------------------------------------------------------


def test_a_service_that_is_busy_is_waited_for_and_nothing_is_embedded_twice(
    home: Path, service: Service
) -> None:
    service.troubles = [Trouble(429, {"Retry-After": "3"}), TOO_MANY, Trouble(), TOO_MANY]
    done = surefind("ingest", "docs", cwd=home, **cohere(service))
    assert done.returncode == 0, done.stderr
    assert f"{PAGES} embedded" in done.stdout
    assert "Cohere: 429" in done.stderr
    assert "retrying in 3 s" in done.stderr
    assert KEY not in done.stdout + done.stderr
    sent = passages_sent(service)
    assert len(sent) == len(set(sent)) == PAGES


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(home: Path, service: Service) -> None:
    service.troubles = [Trouble(), Trouble(400)]
    stopped = surefind("ingest", "docs", cwd=home, **cohere(service))
    assert stopped.returncode == 4
    assert len(passages_sent(service)) in {24, 96}
    done = surefind("ingest", "docs", cwd=home, **cohere(service))
    assert done.returncode == 0, done.stderr
    sent = passages_sent(service)
    assert len(sent) == len(set(sent)) == PAGES


def test_a_wrong_key_stops_at_once_is_named_and_never_printed(home: Path, service: Service) -> None:
    done = surefind("ingest", "docs/page000.md", cwd=home, **cohere(service, WRONG_KEY))
    assert done.returncode == 4
    assert "COHERE_API_KEY" in done.stderr
    assert WRONG_KEY not in done.stdout + done.stderr
    assert len(service.requests) == 1
    shown = surefind("settings", cwd=home, **cohere(service, WRONG_KEY))
    assert "COHERE_API_KEY" in shown.stdout
    assert WRONG_KEY not in shown.stdout + shown.stderr


def test_the_questions_of_a_validation_go_out_96_at_a_time_and_a_failing_service_ends_it(
    home: Path, service: Service
) -> None:
    as_json(home, "ingest", "docs", **cohere(service))
    questions = [f"Which teapot is of kind {number}?" for number in range(200)]
    (home / "questions.txt").write_text("\n".join(questions))
    before = len(service.requests)
    report = as_json(home, "validate", "questions.txt", **cohere(service))
    asked = [request.texts for request in service.requests[before:]]
    assert sorted(len(texts) for texts in asked) == [8, 96, 96]
    assert sorted(text for texts in asked for text in texts) == sorted(questions)
    assert report["totals"]["passed"] == 200
    assert report["latency"]["p50_ms"] > 0
    service.troubles = [Trouble(401)] * 300
    done = surefind("validate", "questions.txt", "--json", cwd=home, **cohere(service))
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    assert told["store_away"]
    assert "COHERE_API_KEY" in told["interrupted"]
    service.troubles = [Trouble(422)] * 300
    before = len(service.requests)
    refused = surefind("validate", "questions.txt", cwd=home, **cohere(service))
    assert refused.returncode == 4, refused.stderr
    assert len(service.requests) - before <= 20


def test_without_a_key_nothing_is_tried(home: Path, service: Service) -> None:
    done = surefind("ingest", "docs", cwd=home, **cohere(service, key=""))
    assert done.returncode == 2
    assert "COHERE_API_KEY is not set" in done.stderr
    assert service.requests == []


async def test_without_the_extra_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cohere", None)
    for choice in ({"embedder": "cohere"}, {"reranker": "cohere"}):
        application = Application(load(cohere_api_key=KEY, **choice))
        with pytest.raises(InputError, match=r"pip install 'surefind\[cohere\]'"):
            await (
                application.parts.embedder()
                if "embedder" in choice
                else application.parts.searcher()
            )
        await application.close()


def test_a_key_that_nothing_uses_is_reported(home: Path) -> None:
    done = surefind("ingest", "docs/page000.md", cwd=home, COHERE_API_KEY=KEY)
    assert "COHERE_API_KEY is set but not used" in done.stderr


# --- searching --------------------------------------------------------------------------------


def test_a_collection_is_searched_and_reranked_by_cohere(home: Path, service: Service) -> None:
    environment = cohere(service, SUREFIND_RERANKER="cohere", SUREFIND_RERANK_URL=service.url)
    assert surefind("ingest", "docs", cwd=home, **environment).returncode == 0
    plain = as_json(home, "search", "teapot of kind 77", **environment)
    assert "page077" in plain["hits"][0]["source_path"]
    reranked = as_json(home, "search", "teapot of kind 77", "--rerank", **environment)
    assert "page077" in reranked["hits"][0]["source_path"]
    assert reranked["hits"][0]["reranking"]["score"] == 1.0
    assert [request.path for request in service.requests].count("/v2/rerank") == 1


def test_a_reranker_that_is_unavailable_is_reported(home: Path, service: Service) -> None:
    environment = cohere(service, SUREFIND_RERANKER="cohere", SUREFIND_RERANK_URL=service.url)
    assert surefind("ingest", "docs/page000.md", cwd=home, **environment).returncode == 0
    service.always = Trouble(404)
    done = surefind("search", "teapot", "--mode", "lexical", "--rerank", cwd=home, **environment)
    assert done.returncode == 4
    assert "Cohere rejected the request: 404" in done.stderr


def test_a_service_that_speaks_as_openai_serves_too(home: Path, service: Service) -> None:
    environment = {
        "SUREFIND_EMBEDDER": "openai",
        "SUREFIND_EMBED_URL": f"{service.url}/v1",
        "SUREFIND_EMBED_MODEL": "all-minilm",
        "OPENAI_API_KEY": KEY,
    }
    done = surefind("ingest", "docs", cwd=home, **environment)
    assert done.returncode == 0, done.stderr
    assert "cost" not in done.stdout
    found = as_json(home, "search", "teapot of kind 77", **environment)
    assert "page077" in found["hits"][0]["source_path"]
    unpriced = surefind("ingest", "docs", "--max-cost", "1", cwd=home, **environment)
    assert unpriced.returncode == 2
    assert "embed_price_per_million_tokens" in unpriced.stderr


async def test_searches_stop_calling_a_service_that_keeps_failing(
    home: Path, service: Service
) -> None:
    settings = {"embedder": "openai", "embed_url": f"{service.url}/v1", "embed_model": "all-minilm"}
    opened = Application(load(data_dir=home / ".surefind", openai_api_key=KEY, **settings))
    await opened.ingesting.ingest(IngestRequest(paths=(home / "docs" / "page000.md",)))
    transport = httpx2.ASGITransport(create_app(opened))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        service.always = Trouble(404)
        before = len(service.requests)
        answers = [await client.post("/search", json={"query": f"tea {n}"}) for n in range(9)]
        body = {"query": "teapot", "mode": "lexical"}
        lexical = await client.post("/search", json=body)
    await opened.close()
    assert [answer.status_code for answer in answers] == [502] * 9
    assert len(service.requests) - before == FAILURES
    assert 1 <= int(answers[-1].headers["retry-after"]) <= PAUSE_S
    assert lexical.status_code == 200


def test_openai_needs_an_address(home: Path) -> None:
    done = surefind("ingest", "docs", cwd=home, SUREFIND_EMBEDDER="openai")
    assert (done.returncode, "embed_url is not set" in done.stderr) == (2, True)


def test_a_collection_of_one_embedder_is_refused_to_another(home: Path, service: Service) -> None:
    page = "docs/page000.md"
    assert surefind("ingest", page, cwd=home, **cohere(service)).returncode == 0
    light = cohere(service, SUREFIND_EMBED_MODEL="embed-english-light-v3.0")
    for command in (("ingest", page), ("search", "teapot")):
        done = surefind(*command, cwd=home, **light)
        assert done.returncode == 2
        assert "cohere/embed-english-v3.0 (1024 dimensions" in done.stderr
        assert "cohere/embed-english-light-v3.0 (384 dimensions" in done.stderr


# --- what it costs ----------------------------------------------------------------------------


def test_a_rehearsal_shows_the_cost_and_spends_nothing(home: Path, service: Service) -> None:
    done = surefind("ingest", "docs", "--dry-run", cwd=home, **cohere(service))
    assert done.returncode == 0, done.stderr
    assert "  cost     about 0.0001 for about" in done.stdout
    report = as_json(home, "ingest", "docs", "--dry-run", **cohere(service))
    assert report["cost"]["price_per_million_tokens"] == 0.1
    assert report["cost"]["tokens"] == report["new_tokens"] > PAGES
    assert report["cost"]["estimated"] == pytest.approx(report["new_tokens"] / 1e7, abs=1e-6)
    assert service.requests == []
    assert not (home / ".surefind").exists()


def test_the_price_may_be_said(home: Path, service: Service) -> None:
    environment = cohere(service, SUREFIND_EMBED_PRICE_PER_MILLION_TOKENS="1000")
    report = as_json(home, "ingest", "docs", "--dry-run", **environment)
    assert report["cost"]["estimated"] == pytest.approx(report["new_tokens"] / 1000)


def test_a_run_that_would_cost_too_much_embeds_nothing(home: Path, service: Service) -> None:
    environment = cohere(service, SUREFIND_EMBED_PRICE_PER_MILLION_TOKENS="1000")
    for options in ((), ("--dry-run",)):
        done = surefind("ingest", "docs", "--max-cost", "1", *options, cwd=home, **environment)
        assert done.returncode == 1
        assert "more than --max-cost 1" in done.stderr
    assert service.requests == []
    assert surefind("search", "tea", cwd=home, **environment).returncode == 2
    done = surefind("ingest", "docs", "--max-cost", "100", cwd=home, **environment)
    assert done.returncode == 0, done.stderr


def test_what_was_paid_for_once_costs_nothing_again(home: Path, service: Service) -> None:
    assert surefind("ingest", "docs", cwd=home, **cohere(service)).returncode == 0
    again = ("ingest", "docs", "--collection", "again")
    assert as_json(home, *again, "--dry-run", **cohere(service))["cost"]["tokens"] == 0
    assert as_json(home, *again, "--max-cost", "0", **cohere(service))["cost"]["estimated"] == 0
    rebuilt = as_json(home, "ingest", "docs", "--rebuild", "--max-cost", "0", **cohere(service))
    assert (rebuilt["embedded"], rebuilt["from_cache"]) == (0, PAGES)


def test_a_lost_cache_is_part_of_the_cost(home: Path, service: Service) -> None:
    """The index has to be written anew, so all of it is to be paid again."""
    assert surefind("ingest", "docs", cwd=home, **cohere(service)).returncode == 0
    for file in (home / ".surefind" / "cache").iterdir():
        file.unlink()
    done = surefind("ingest", "docs", "--rebuild", "--max-cost", "0", cwd=home, **cohere(service))
    assert done.returncode == 1
    assert "--max-cost" in done.stderr


def test_the_local_model_costs_nothing_and_says_nothing_of_it(home: Path) -> None:
    done = surefind("ingest", "docs/page000.md", "--max-cost", "0", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "cost" not in done.stdout
    assert "cost" not in as_json(home, "ingest", "docs/page000.md", "--dry-run")
