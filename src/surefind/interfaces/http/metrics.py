"""The metrics of a server, at `/metrics` in Prometheus text format."""

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from surefind.bootstrap import Application
from surefind.errors import SurefindError
from surefind.interfaces.http.middleware.request_log import RequestRecord
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests as they are answered; reads everything else when scraped.

    Each application has its own registry, so two in one process don't share counts.
    """

    def __init__(self, limiter: ConcurrencyLimiter) -> None:
        registry = CollectorRegistry()
        self._registry = registry
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
        self._searches = Counter("surefind_searches", "Answered searches.", registry=registry)
        self._remembered = Counter(
            "surefind_searches_remembered",
            "Searches answered from the answer cache.",
            registry=registry,
        )
        self._tool_calls = Counter(
            "surefind_tool_calls",
            "Tools that assistants called.",
            ("tool", "outcome"),
            registry=registry,
        )
        running = Gauge("surefind_searches_running", "Searches running now.", registry=registry)
        running.set_function(lambda: limiter.inside)
        queued = Gauge("surefind_searches_queued", "Searches waiting now.", registry=registry)
        queued.set_function(lambda: limiter.queued)

    def observe(self, record: RequestRecord) -> None:
        self._requests.labels(record.method, record.route, str(record.status)).inc()
        self._seconds.labels(record.route).observe(record.seconds)
        self._searches.inc(len(record.searches))
        self._remembered.inc(sum(result.remembered for result in record.searches))
        if record.tool is not None:
            outcome = "error" if record.tool_failed else "ok"
            self._tool_calls.labels(record.tool, outcome).inc()

    async def render(self, application: Application) -> bytes:
        counted = list(self._registry.collect())
        for family in counted:  # the library can only disable these series globally
            family.samples = [
                sample for sample in family.samples if not sample.name.endswith("_created")
            ]
        read_now = [*await _query_cache(application), *await _collection(application)]
        return generate_latest(_Families([*counted, *read_now]))


@dataclass(frozen=True, slots=True)
class _Families(Collector):
    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


async def _query_cache(application: Application) -> list[Metric]:
    embedder = await application.parts.embedder()
    return [
        CounterMetricFamily(
            "surefind_query_cache_hits",
            "Queries whose vector was in the cache.",
            value=embedder.query_hits,
        ),
        CounterMetricFamily(
            "surefind_query_cache_misses",
            "Queries that had to be embedded.",
            value=embedder.query_misses,
        ),
    ]


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
