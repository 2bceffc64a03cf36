"""Numbers about the server, in the text format that Prometheus reads."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from surefind.bootstrap import Application
from surefind.errors import SurefindError
from surefind.interfaces.http.middleware.requests import RequestRecord
from surefind.interfaces.json_output import documents_of
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._latencies: dict[str, list[int]] = {}
        self._searches = 0
        self._remembered = 0

    def observe(self, record: RequestRecord) -> None:
        self._requests[record.method, record.route, record.status] += 1
        latencies = self._latencies.setdefault(record.route, [0] * (len(_BUCKETS_S) + 1))
        latencies[bisect_left(_BUCKETS_S, record.seconds)] += 1
        self._seconds[record.route] += record.seconds
        self._searches += len(record.searches)
        self._remembered += sum(result.remembered for result in record.searches)

    def requests(self) -> Iterable[str]:
        yield from _head("surefind_requests_total", "counter", "Requests that were answered.")
        for (method, route, status), number in sorted(self._requests.items()):
            labels = {"method": method, "route": route, "status": str(status)}
            yield _line("surefind_requests_total", number, labels)
        name = "surefind_request_seconds"
        yield from _head(name, "histogram", "How long answers took.")
        for route, latencies in sorted(self._latencies.items()):
            total = 0
            for limit, number in zip((*_BUCKETS_S, "+Inf"), latencies, strict=True):
                total += number
                yield _line(f"{name}_bucket", total, {"route": route, "le": str(limit)})
            yield _line(f"{name}_sum", round(self._seconds[route], 6), {"route": route})
            yield _line(f"{name}_count", total, {"route": route})
        yield from _head("surefind_searches_total", "counter", "Searches that were answered.")
        yield _line("surefind_searches_total", self._searches)
        name = "surefind_searches_remembered_total"
        yield from _head(name, "counter", "Those of them that had been found before.")
        yield _line(name, self._remembered)


async def render(metrics: Metrics, application: Application, limiter: ConcurrencyLimiter) -> str:
    lines = [*metrics.requests()]
    embedder = await application.embedder()
    for name, value, text in (
        ("surefind_searches_running", limiter.inside, "Searches that run now."),
        ("surefind_searches_queued", limiter.queued, "Searches that wait for their turn."),
    ):
        lines += [*_head(name, "gauge", text), _line(name, value)]
    for name, value, text in (
        ("surefind_query_cache_hits_total", embedder.query_hits, "Questions embedded before."),
        ("surefind_query_cache_misses_total", embedder.query_misses, "Questions embedded anew."),
    ):
        lines += [*_head(name, "counter", text), _line(name, value)]
    return "\n".join([*lines, *await _collection(application)]) + "\n"


async def _collection(application: Application) -> list[str]:
    collection = {"collection": application.settings.collection}
    values: list[tuple[str, float, str]] = []
    try:
        async with application.reader.lease() as generation:
            manifest = generation.manifest
            values = [
                ("surefind_generation", manifest.number, "The generation that readers see."),
                ("surefind_chunks", manifest.chunks, "The chunks of that generation."),
            ]
            documents = documents_of(manifest)
            if documents is not None:
                told = ("surefind_documents", documents, "The pages of that generation.")
                values.append(told)
            await generation.index.count()
        ready = 1
    except SurefindError:
        ready = 0
    values.append(("surefind_ready", ready, "Whether the collection can be searched."))
    return [
        line
        for name, value, text in values
        for line in (*_head(name, "gauge", text), _line(name, value, collection))
    ]


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _line(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    if not labels:
        return f"{name} {value}"
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
