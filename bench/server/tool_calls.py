"""What a search costs an assistant: `search_docs` over MCP, beside the same `POST /retrieve`.

One connection, one call at a time, in turns of a few calls each, and every question once, so that
nothing comes from the answer cache. Besides the time of a call, the processor time of the server is
measured, which other work on the machine does not change.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx2

from bench.server.load_test import serving
from bench.support.corpora import texts_of
from bench.support.dataset import dataset_of
from bench.support.folders import RESULTS
from bench.support.results import table
from bench.support.stored import build
from surefind.adapters.embedders.model_files import FINGERPRINT
from surefind.adapters.files.data_folder import DataFolder

AIM = 1.15
_TURN = 20
_OPTIONS = {"top_k": 5, "max_tokens": 3000}
_VERSION = "2026-07-28"
_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": _VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "search_docs",
}
_CLIENT = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_ms(process: int) -> float:
    """User and system time of the process so far."""
    fields = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS_PER_S


def measure(options: argparse.Namespace, scratch: Path) -> dict[str, dict[str, list[float]]]:
    folder = DataFolder(scratch / "data")
    folder.prepare()
    asyncio.run(build(folder, dataset_of(options.chunks), FINGERPRINT))
    address = f"http://127.0.0.1:{options.port}"
    questions = itertools.cycle(texts_of("squad-dev-even", "queries.jsonl"))
    found: dict[str, dict[str, list[float]]] = {}
    with (
        serving(folder.root, options.port) as (process, _),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):

        def retrieve(question: str) -> int:
            answer = client.post("/retrieve", json={"query": question, **_OPTIONS})
            return len(answer.raise_for_status().json()["hits"])

        def tool_call(question: str) -> int:
            arguments = {"query": question, **_OPTIONS}
            params = {"name": "search_docs", "arguments": arguments, "_meta": _CLIENT}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = client.post("/mcp", json=body, headers=_HEADERS)
            result = answer.raise_for_status().json()["result"]
            return len(result["structuredContent"]["results"])

        calls: dict[str, Callable[[str], int]] = {"retrieve": retrieve, "tool call": tool_call}
        found = {name: {"ms": [], "processor_ms": []} for name in calls}
        for turn in range(-1, options.turns):  # the first one warms up
            order = list(calls.items())
            for name, call in order if turn % 2 else reversed(order):
                before = processor_ms(process.pid)
                for question in itertools.islice(questions, _TURN):
                    began = time.perf_counter()
                    if not call(question):
                        sys.exit(f"{name}: no hits for {question!r}")
                    if turn >= 0:
                        found[name]["ms"].append((time.perf_counter() - began) * 1000)
                if turn >= 0:
                    spent = processor_ms(process.pid) - before
                    found[name]["processor_ms"].append(spent / _TURN)
    return found


def shown(found: dict[str, dict[str, list[float]]]) -> str:
    rows: list[dict[str, object]] = [
        {
            "what": name,
            "p50_ms": statistics.median(values["ms"]),
            "processor_ms": statistics.fmean(values["processor_ms"]),
        }
        for name, values in found.items()
    ]
    retrieve, call = rows
    ratios: list[dict[str, object]] = [
        {
            "what": f"tool call / retrieve, {name}",
            "ratio": float(str(call[name])) / float(str(retrieve[name])),
            "aim at most": AIM,
        }
        for name in ("p50_ms", "processor_ms")
    ]
    return f"{table(rows)}\n\n{table(ratios)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--port", type=int, default=8766)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(options, Path(scratch))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "tool-calls.json").write_text(json.dumps(found, indent=2))
    text = shown(found)
    (RESULTS / "tool-calls.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
