"""Whatever is ingested, broken off, rolled back or searched, in whatever order: readers see the
last published state, whole, in both stores."""

import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from surefind.errors import EmbeddingError, GuardStopped
from unit.installation import Crash, Installation

pytestmark = pytest.mark.thorough

T = TypeVar("T")
PATHS = st.sampled_from(["a.md", "b.md", "guide/c.md", "guide/d.md", "0.md"])
TEXTS = st.sampled_from(
    [
        "# One\n\nfirst words",
        "# One\n\nfirst words\n\n## Two\n\nsecond words",
        "# One\n\nother words\n\n## Two\n\nsecond words\n\n## Three\n\n" + "long text " * 300,
        "",
        "no heading at all",
    ]
)


class Generations(RuleBasedStateMachine):
    """The model: what each generation holds, which one is current, what the source says now."""

    @initialize()
    def install(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._loop = asyncio.new_event_loop()
        self.home = Installation(Path(self._folder.name) / "data")
        self.source: dict[str, str] = {"a.md": "# Start\n\nhello"}
        self.published: dict[int, dict[str, str]] = {}
        self.current = 0

    def teardown(self) -> None:
        self._loop.run_until_complete(self.home.close())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._folder.cleanup()

    @rule(path=PATHS, text=TEXTS)
    def write(self, path: str, text: str) -> None:
        self.source[path] = text

    @precondition(lambda self: len(self.source) > 1)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        del self.source[data.draw(st.sampled_from(sorted(self.source)))]

    @rule()
    def ingest(self) -> None:
        if not any(self.source.values()):
            with pytest.raises(GuardStopped, match="no page has text"):
                self._run(self.home.ingest(self.source, allow_shrink=True))
            return
        report = self._run(self.home.ingest(self.source, allow_shrink=True, keep_generations=3))
        changed = self.published.get(self.current) != self.source
        assert report.published == changed
        if changed:
            self.current = report.generation
            self.published[self.current] = dict(self.source)
            for number in report.pruned:
                del self.published[number]

    @rule(moment=st.integers(1, 12))
    def crash(self, moment: int) -> None:
        """Broken off at a moment it reports; what it had not published never happened."""
        try:
            report = self._run(
                self.home.ingest(
                    self.source, crash_at=moment, allow_shrink=True, keep_generations=9
                )
            )
        except (Crash, GuardStopped):
            return
        if report.published:
            self.current = report.generation
            self.published[self.current] = dict(self.source)

    @rule(call=st.integers(1, 2))
    def fail_to_embed(self, call: int) -> None:
        self.home.embedder.calls, self.home.embedder.fail_at = 0, call
        try:
            self.ingest()
        except EmbeddingError:
            pass
        finally:
            self.home.embedder.fail_at = None

    @precondition(lambda self: len(self.published) > 1)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        self.current = data.draw(st.sampled_from(sorted(self.published)))
        self._run(self.home.generations.rollback(to=self.current))

    @precondition(lambda self: self.current)
    @rule()
    def search(self) -> None:
        result = self._run(self.home.search("words hello text", top_k=1000))
        assert result.generation == self.current
        pages = self.published[self.current]
        for hit in result.hits:
            page = pages[hit.record.chunk.source_path.removeprefix("docs/")]
            assert hit.record.chunk.text in page
        assert len(result.hits) == result.chunks

    @invariant()
    def readers_see_exactly_what_was_published(self) -> None:
        if not self.current:
            return
        seen = self._run(self.home.texts())
        pages = self.published[self.current]
        assert {path.removeprefix("docs/") for path in seen} == {p for p, t in pages.items() if t}
        for path, texts in seen.items():
            whole = "".join("".join(text.split()) for text in texts)
            assert whole == "".join(pages[path.removeprefix("docs/")].split())

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(work)


Generations.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestGenerations = pytest.mark.timeout(170)(Generations.TestCase)
