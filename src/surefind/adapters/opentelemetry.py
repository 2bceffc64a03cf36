"""OpenTelemetry: a search as spans, one for each stage.

This uses only the API; the surrounding program configures the exporter
(`opentelemetry-instrument surefind serve`). Without an exporter nothing is recorded, because even
unused spans would take 5 % of a search.
"""

import time

from opentelemetry import trace

from surefind.model import SearchResult

_NANOSECONDS_A_MS = 1_000_000


def write_spans(result: SearchResult) -> None:
    """Record spans after the search, from its timings, which keeps tracing out of the search.

    The query text is not recorded, because it may be confidential.
    """
    if isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider
    ):
        return
    tracer = trace.get_tracer("surefind")
    ended = time.time_ns()
    began = ended - int(result.timings.total_ms * _NANOSECONDS_A_MS)
    span = tracer.start_span(
        "surefind.search",
        start_time=began,
        attributes={
            "surefind.collection": result.query.collection,
            "surefind.generation": result.generation,
            "surefind.mode": result.query.mode.value,
            "surefind.top_k": result.query.top_k,
            "surefind.hits": len(result.hits),
            "surefind.status": result.status.value,
        },
    )
    context = trace.set_span_in_context(span)
    moment = began
    for stage, spent in result.timings.stages:
        child = tracer.start_span(f"surefind.{stage}", context=context, start_time=moment)
        moment += int(spent * _NANOSECONDS_A_MS)
        child.end(moment)
    span.end(ended)
