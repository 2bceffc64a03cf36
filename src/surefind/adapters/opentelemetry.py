"""OpenTelemetry: a search as spans, one for each stage of its life.

Only the API is used; which exporter there is, is the business of the program around us
(`opentelemetry-instrument surefind serve`). Without one nothing is written: spans that go nowhere
still cost a twentieth of a search.
"""

import time

from opentelemetry import trace

from surefind.model import SearchResult

_NANOSECONDS_A_MS = 1_000_000


def write_spans(result: SearchResult) -> None:
    """Afterwards, from the timings, so that a search itself knows nothing of them.

    The words of the question are not written: they may be anybody's secret.
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
