"""Bulk upload into a Qdrant server: the index writer, beside a bare client that writes the same.

The server is the one of the tests, in a process of its own: it speaks Qdrant's REST interface, and
the real engine keeps what it is sent. SUREFIND_TEST_QDRANT_URL names another one. The bare client
sends the same points in parts of the same size, one after the other, and waits for each. What both
are given is ready: vectors, terms, and for the bare client the payloads too. Neither time holds the
building of the graph. The two take turns, so that a busy machine is busy for both.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import time
from multiprocessing.connection import Connection
from uuid import uuid4

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from support.fakes import record
from support.qdrant.http_server import serve
from surefind.adapters.qdrant.payload import to_payload
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.index_writer import POINTS_PER_PART
from surefind.adapters.qdrant.server.schema import (
    CollectionShape,
    dense_params,
    lexical_params,
)
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy
from surefind.model import GenerationRef, SparseVector
from surefind.ports import IndexEntry

DIMENSIONS, TERMS = 384, 60
TARGET = 0.8
TEXT = "Words of a passage that is as long as passages of documentation mostly are. " * 12


def entries(points: int) -> list[IndexEntry]:
    random = np.random.default_rng(7)
    vectors = random.standard_normal((points, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = []
    for number in range(points):
        ids = tuple(sorted({int(term) for term in random.integers(1, 2**31, TERMS)}))
        terms = SparseVector(ids, (1.0,) * len(ids))
        made.append(IndexEntry(record(number, f"{number} {TEXT}"), vectors[number], terms))
    return made


async def by_the_writer(url: str, key: str | None, content: list[IndexEntry], step: int) -> float:
    """Seconds until all is written; handed over as an ingest does, `step` at a time."""

    async def owner() -> str:
        return "bench"

    store = QdrantIndexStore(
        ServerAddress(url, key), CallPolicy(print), owner, prefix=f"bench-{uuid4().hex}-"
    )
    ref = GenerationRef("docs", 1)
    writer = await store.create(ref, DIMENSIONS, None)
    await writer.upsert(content[:1])  # its front matter's indexes are made then
    began = time.perf_counter()
    for start in range(0, len(content), step):
        await writer.upsert(content[start : start + step])
    await writer._settle()  # noqa: SLF001 - without the graph, which a bare client would not build
    took = time.perf_counter() - began
    await store.drop(ref)
    await store.close()
    return took


async def by_a_bare_client(url: str, key: str | None, content: list[IndexEntry]) -> float:
    client = AsyncQdrantClient(url=url, api_key=key, check_compatibility=False, timeout=60)
    name = f"bench-{uuid4().hex}"
    shape = CollectionShape()
    await client.create_collection(
        name,
        dense_params(DIMENSIONS, shape),
        sparse_vectors_config=lexical_params(shape),
        hnsw_config=models.HnswConfigDiff(m=0),
    )
    payloads = [to_payload(entry.record) for entry in content]
    began = time.perf_counter()
    for start in range(0, len(content), POINTS_PER_PART):
        part = range(start, min(start + POINTS_PER_PART, len(content)))
        points = [
            models.PointStruct(
                id=str(content[n].record.chunk.point_id),
                vector={
                    "dense": content[n].vector.tolist(),
                    "terms": models.SparseVector(
                        indices=list(content[n].terms.ids), values=list(content[n].terms.weights)
                    ),
                },
                payload=payloads[n],
            )
            for n in part
        ]
        await client.upsert(name, points, wait=True)
    took = time.perf_counter() - began
    await client.delete_collection(name)
    await client.close()
    return took


def _serve(pipe: Connection) -> None:
    with serve() as service:
        pipe.send(service.url)
        pipe.recv()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2560)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--step", type=int, default=512, help="points handed over at a time")
    options = parser.parse_args()
    content = entries(options.points)
    url, key = os.environ.get("SUREFIND_TEST_QDRANT_URL"), None
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs,))
    if url:
        key = os.environ.get("SUREFIND_TEST_QDRANT_API_KEY")
    else:
        process.start()
        url = str(ours.recv())
    try:
        _measure(url, key, content, options)
    finally:
        if process.is_alive():
            ours.send("end")
            process.join()


def _measure(
    url: str, key: str | None, content: list[IndexEntry], options: argparse.Namespace
) -> None:
    print("repetition  bare client  writer       ratio")
    ratios = []
    for number in range(options.repetitions + 1):
        bare = asyncio.run(by_a_bare_client(url, key, content))
        written = asyncio.run(by_the_writer(url, key, content, options.step))
        if number == 0:
            continue  # files and imports were cold
        ratios.append(bare / written)
        rates = [f"{len(content) / seconds:>7.0f}/s" for seconds in (bare, written)]
        print(f"{number:>10}  {rates[0]:>11}  {rates[1]:<11}  {ratios[-1]:.2f}")
    print(
        f"the writer's rate is {statistics.median(ratios):.2f} of the bare client's "
        f"(from {min(ratios):.2f} to {max(ratios):.2f}; wanted: {TARGET})"
    )


if __name__ == "__main__":
    main()
