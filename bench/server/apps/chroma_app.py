"""Chroma as a service that takes questions: what its users write around it, as short as can be."""

import os
from pathlib import Path

import chromadb
from fastapi import FastAPI
from pydantic import BaseModel

from bench.support.embedding import SameEmbedder

app = FastAPI()
embedder = SameEmbedder()
collection = chromadb.PersistentClient(path=str(Path(os.environ["BENCH_STORE"]))).get_collection(
    "docs"
)


class Asked(BaseModel):
    query: str
    top_k: int = 10


@app.get("/ready")
def ready() -> dict[str, int]:
    return {"chunks": collection.count()}


@app.post("/query")
def query(asked: Asked) -> list[dict[str, object]]:
    """Not `async`: FastAPI gives it to a thread, so that callers do not wait for each other."""
    found = collection.query(
        query_embeddings=[embedder.query(asked.query)],
        n_results=asked.top_k,
        include=["documents", "distances"],
    )
    rows = zip(found["ids"][0], found["documents"][0], found["distances"][0], strict=True)
    return [{"id": one, "text": text, "distance": distance} for one, text, distance in rows]
