"""Progress where there is no terminal."""

from itertools import pairwise

from surefind.interfaces.cli.console import PlainLines
from surefind.services.generations.index_building import Progress


def test_progress_lines_become_rarer() -> None:
    now, lines = 0.0, list[tuple[float, str]]()
    report = PlainLines(lambda: now, lambda line: lines.append((now, line)))
    for second in range(3600):
        now = float(second)
        report(Progress("embedding", second, 3600))
    assert [at for at, _ in lines[:6]] == [10, 20, 40, 80, 160, 320]
    assert lines[0][1] == "embedding: 10 of 3600"
    assert len(lines) < 20
    assert max(later - at for (at, _), (later, _) in pairwise(lines)) <= 300
