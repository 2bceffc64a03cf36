"""A search as spans, in the SDK's own memory exporter."""

from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from surefind.adapters.opentelemetry import write_spans
from unit.installation import Installation


async def test_every_stage_is_a_span_inside_the_search(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    home = Installation(tmp_path / "data")
    await home.ingest({"a.md": "cats sleep all day"})
    result = await home.search("secret cats")
    write_spans(result)
    *stages, whole = exporter.get_finished_spans()
    assert whole.name == "surefind.search"
    assert [span.name for span in stages] == [
        f"surefind.{name}" for name, _ in result.timings.stages
    ]
    for span in stages:
        assert span.parent is not None
        assert span.parent.span_id == whole.context.span_id
        assert (whole.start_time or 0) <= (span.start_time or 0) <= (span.end_time or 0)
    assert whole.attributes is not None
    assert whole.attributes["surefind.hits"] == 1
    assert "secret" not in str([span.to_json() for span in (*stages, whole)])
    await home.close()
