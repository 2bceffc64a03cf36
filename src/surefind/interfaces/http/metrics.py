"""The metrics of a server, at `/metrics` in Prometheus text format."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from surefind.bootstrap import Application
from surefind.errors import SurefindError
from surefind.interfaces.http.middleware.request_log import RequestRecord
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter
from surefind.services.serving.worker import Worker

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EMBEDDER_FAILING = "embedder_failing"


class Metrics:
    """Counts requests as they are answered; reads everything else when scraped.

    Each application has its own registry, so two in one process don't share counts. Workers count
    in files in their shared folder, which PROMETHEUS_MULTIPROC_DIR names for prometheus-client, so
    every worker reports the sums, including the counts of workers that have ended.
    """

    def __init__(
        self, application: Application, limiter: ConcurrencyLimiter, worker: Worker
    ) -> None:
        self._application = application
        self._limiter = limiter
        registry = CollectorRegistry()
        self._collected: Collector = registry
        if worker.shared is not None:
            self._collected = MultiProcessCollector(  # type: ignore[no-untyped-call]
                None, str(worker.shared)
            )
        self._requests = Counter(
            "surefind_requests",
            "Answered requests.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "surefind_request_seconds",
            "Time to answer a request.",
            ("route",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._tool_calls = Counter(
            "surefind_tool_calls",
            "Tools that assistants called.",
            ("tool", "outcome"),
            registry=registry,
        )

        def counter(name: str, text: str) -> Counter:
            return Counter(f"surefind_{name}", text, registry=registry)

        def gauge(name: str, text: str, mode: Literal["livesum", "livemax"] = "livesum") -> Gauge:
            return Gauge(f"surefind_{name}", text, registry=registry, multiprocess_mode=mode)

        self._searches = counter("searches", "Answered searches.")
        self._remembered = counter(
            "searches_remembered", "Searches answered from the answer cache."
        )
        self._query_hits = counter("query_cache_hits", "Queries whose vector was in the cache.")
        self._query_misses = counter("query_cache_misses", "Queries that had to be embedded.")
        self._counted_queries = (0, 0)
        self._running = gauge("searches_running", "Searches running now.")
        self._queued = gauge("searches_queued", "Searches waiting now.")
        self._embedder_failing = gauge(
            _EMBEDDER_FAILING,
            "1 if the last call of the embedding service failed, less than a minute ago.",
            "livemax",
        )
        gauge("workers", "Processes that answer requests.").set(1)

    def observe(self, record: RequestRecord) -> None:
        self._requests.labels(record.method, record.route, str(record.status)).inc()
        self._seconds.labels(record.route).observe(record.seconds)
        self._searches.inc(len(record.searches))
        self._remembered.inc(sum(result.remembered for result in record.searches))
        if record.tool is not None:
            outcome = "error" if record.tool_failed else "ok"
            self._tool_calls.labels(record.tool, outcome).inc()

    async def refresh(self) -> None:
        """Read the numbers that are not counted with the requests. Workers do so regularly."""
        self._running.set(self._limiter.inside)
        self._queued.set(self._limiter.queued)
        self._embedder_failing.set(self._application.parts.embedding_breaker.failing)
        embedder = await self._application.parts.embedder()
        counted = embedder.query_hits, embedder.query_misses
        self._query_hits.inc(counted[0] - self._counted_queries[0])
        self._query_misses.inc(counted[1] - self._counted_queries[1])
        self._counted_queries = counted

    async def embedder_failing(self) -> bool:
        """Whether the embedding service fails for any worker."""
        self._embedder_failing.set(self._application.parts.embedding_breaker.failing)
        families = {family.name: family for family in self._collected.collect()}
        return any(sample.value for sample in families[f"surefind_{_EMBEDDER_FAILING}"].samples)

    async def render(self) -> bytes:
        await self.refresh()
        counted = list(self._collected.collect())
        for family in counted:  # the library can only disable these series globally
            family.samples = [
                sample for sample in family.samples if not sample.name.endswith("_created")
            ]
        return generate_latest(_Families([*counted, *await _collection(self._application)]))


@dataclass(frozen=True, slots=True)
class _Families(Collector):
    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


async def _collection(application: Application) -> list[Metric]:
    families: list[Metric] = []

    def add(name: str, text: str, value: float) -> None:
        family = GaugeMetricFamily(name, text, labels=["collection"])
        family.add_metric([application.settings.collection], value)
        families.append(family)

    try:
        async with application.parts.reader.lease() as generation:
            manifest = generation.manifest
            add("surefind_generation", "Number of the current generation.", manifest.number)
            add("surefind_chunks", "Chunks in the current generation.", manifest.chunks)
            documents = manifest.counted_documents
            if documents is not None:
                add("surefind_documents", "Documents in the current generation.", documents)
            await generation.index.count()
        ready = 1
    except SurefindError:
        ready = 0
    add("surefind_ready", "1 if the collection can be searched, otherwise 0.", ready)
    return families
