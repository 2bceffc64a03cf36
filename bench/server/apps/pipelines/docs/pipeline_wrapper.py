"""Hybrid retrieval as a Haystack service."""

import os
from pathlib import Path

from hayhooks import BasePipelineWrapper

from bench.support.embedding import SameEmbedder
from bench.systems import HYBRID
from bench.systems.hay import Haystack


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self._embedder = SameEmbedder()
        self._ask = Haystack().search_function(Path(os.environ["BENCH_STORE"]))

    def run_api(self, query: str) -> list[dict[str, object]]:
        hits = self._ask(query, self._embedder.query(query).tolist(), HYBRID)
        return [{"text": hit.content, "score": hit.score, **hit.meta} for hit in hits]
