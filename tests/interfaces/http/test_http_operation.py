"""What a platform asks of a server, and how it ends."""

import http.client
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from support.commands import log_of, serving
from support.fakes import WatchedEmbedder
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.bootstrap import Application
from surefind.interfaces.http.app import create_app
from surefind.settings import load

pytestmark = pytest.mark.thorough

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"]*",?)*)\})? ([0-9.e+-]+)')

METRIC_TYPES = {
    ("surefind_requests_total", "counter"),
    ("surefind_request_seconds", "histogram"),
    ("surefind_searches_total", "counter"),
    ("surefind_searches_remembered_total", "counter"),
    ("surefind_tool_calls_total", "counter"),
    ("surefind_searches_running", "gauge"),
    ("surefind_searches_queued", "gauge"),
    ("surefind_workers", "gauge"),
    ("surefind_embedder_failing", "gauge"),
    ("surefind_query_cache_hits_total", "counter"),
    ("surefind_query_cache_misses_total", "counter"),
    ("surefind_ready", "gauge"),
    ("surefind_generation", "gauge"),
    ("surefind_chunks", "gauge"),
    ("surefind_documents", "gauge"),
}


@pytest.fixture
async def application(ingested: Path) -> AsyncIterator[Application]:
    application = Application(load(data_dir=ingested / ".surefind"))
    yield application
    await application.close()


def client_of(application: Application) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(create_app(application))
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


def samples(text: str) -> dict[str, float]:
    """Every sample in Prometheus' text format, with its labels in the order of their names."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            matched = SAMPLE.fullmatch(line)
            assert matched, line
            name, labels, value = matched.groups()
            found[f"{name}{{{labels}}}" if labels else name] = float(value)
    return found


async def test_a_server_is_live_before_it_is_ready(tmp_path: Path) -> None:
    empty = Application(load(data_dir=tmp_path / "none"))
    async with client_of(empty) as client:
        assert (await client.get("/live")).json() == {"status": "live"}
        answer = await client.get("/ready")
        assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
        assert "surefind ingest" in answer.json()["message"]
        assert (
            samples((await client.get("/metrics")).text)['surefind_ready{collection="docs"}'] == 0
        )


async def test_probes_embed_nothing(ingested: Path, bge: BgeSmallEmbedder) -> None:
    embedded: list[str] = []

    async def note(query: str) -> None:
        embedded.append(query)

    settings = load(data_dir=ingested / ".surefind")
    application = Application(settings, embedder=WatchedEmbedder(bge, note))
    async with client_of(application) as client:
        for path in ("/live", "/ready", "/health", "/api/v1/health", "/metrics"):
            for _ in range(100):
                assert (await client.get(path)).status_code == 200
        assert (await client.head("/ready")).status_code == 200
        assert embedded == []
        assert (await client.post("/search", json={"query": "vinegar"})).status_code == 200
        assert embedded == ["vinegar"]
    await application.close()


async def test_metrics_count_what_happened(application: Application) -> None:
    async with client_of(application) as client:
        for query in ("vinegar", "vinegar", "voltage"):
            assert (await client.post("/search", json={"query": query})).status_code == 200
        await client.post("/search", json={"query": ""})
        await client.get("/read/docs/docs/index.md")
        await client.get("/read/docs/none.md")
        await client.get("/nothing")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    numbers = samples(answer.text)
    total = "surefind_requests_total"
    read = "/read/{name}/{source_path:path}"
    assert numbers[f'{total}{{method="POST",route="/search",status="200"}}'] == 3
    assert numbers[f'{total}{{method="POST",route="/search",status="400"}}'] == 1
    assert numbers[f'{total}{{method="GET",route="{read}",status="200"}}'] == 1
    assert numbers[f'{total}{{method="GET",route="{read}",status="404"}}'] == 1
    assert numbers[f'{total}{{method="GET",route="(none)",status="404"}}'] == 1
    seconds = "surefind_request_seconds"
    assert numbers[f'{seconds}_count{{route="/search"}}'] == 4
    assert numbers[f'{seconds}_bucket{{le="+Inf",route="/search"}}'] == 4
    buckets = [
        value
        for name, value in numbers.items()
        if name.startswith(f"{seconds}_bucket") and name.endswith('route="/search"}')
    ]
    assert len(buckets) == 14
    assert buckets == sorted(buckets)
    assert numbers[f'{seconds}_sum{{route="/search"}}'] > 0
    assert numbers["surefind_searches_total"] == 3
    assert numbers["surefind_searches_remembered_total"] == 1
    assert numbers["surefind_query_cache_hits_total"] == 0
    assert numbers["surefind_query_cache_misses_total"] == 2
    assert numbers["surefind_searches_running"] == numbers["surefind_searches_queued"] == 0
    assert numbers['surefind_generation{collection="docs"}'] == 1
    assert numbers['surefind_chunks{collection="docs"}'] > 4
    assert numbers['surefind_ready{collection="docs"}'] == 1
    assert set(re.findall(r"^# TYPE (\S+) (\S+)$", answer.text, re.MULTILINE)) == METRIC_TYPES


async def test_two_servers_in_one_process_count_apart(
    application: Application, tmp_path: Path
) -> None:
    idle = Application(load(data_dir=tmp_path / "none"))
    async with client_of(application) as busy_client, client_of(idle) as idle_client:
        await busy_client.post("/search", json={"query": "vinegar"})
        busy_numbers = samples((await busy_client.get("/metrics")).text)
        idle_numbers = samples((await idle_client.get("/metrics")).text)
    assert busy_numbers["surefind_searches_total"] == 1
    assert idle_numbers["surefind_searches_total"] == 0
    await idle.close()


def test_a_server_that_is_stopped_refuses_new_requests_and_waits_only_so_long(home: Path) -> None:
    """One request never sends its body: it is answered when the time is up."""
    settings = {"SUREFIND_SHUTDOWN_TIMEOUT_S": "2", "SUREFIND_BODY_TIMEOUT_S": "100"}
    with serving(cwd=home, **settings) as (address, process):
        host, port = address.removeprefix("http://").split(":")
        idle = http.client.HTTPConnection(host, int(port), timeout=30)
        idle.request("GET", "/live")
        assert idle.getresponse().read() == b'{"status":"live"}'
        endless = http.client.HTTPConnection(host, int(port), timeout=30)
        endless.putrequest("POST", "/search")
        endless.putheader("content-length", "10")
        endless.endheaders(b"{")
        assert httpx2.get(f"{address}/live").status_code == 200  # so the other one has arrived
        process.send_signal(signal.SIGTERM)
        assert idle.sock.recv(1) == b""
        with pytest.raises(OSError), socket.create_connection((host, int(port)), timeout=5):  # noqa: PT011
            pass
        answer = endless.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]) == (503, "service_unavailable")
        assert process.wait(timeout=30) == 0
        idle.close()
        endless.close()
    assert not [line for line in log_of(process) if "exception" in line], process.said
