"""Writes docs/how-fast-how-good.md and its plots from the results that are there.

Numbers and the sentences about who wins are taken from the results; what a reader should make of
them is said here. The results that the page was made from are kept beside its plots: a table that
was measured again takes the place of the one before, and the others stay. A table that was never
measured is not on the page.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from results import Result, Row, read, table
from rooms import RESULTS
from systems import OURS

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PLOTS = DOCS / "how-fast-how-good.md", DOCS / "how-fast-how-good"
MARGIN = 1.1
RECALL, ALIKE_RECALL = "recall@10", 0.005
ALIKE = (
    ("Chroma in FastAPI", "surefind, dense"),
    ("Chroma's server, vectors", "surefind, dense, vectors known"),
)
INTRODUCTION = """\
# How fast, how good

"Fast" and "good" are claims until they stand beside the alternatives, on the same work in the same
run. This page is written by `make bench-page` from what the benchmarks of this repository measured;
each of them is one command, and the section about it says which.
"""
CONCLUSIONS = """\
## What should I conclude, and what not?

- Trust ratios, not milliseconds: the machine was a small one and shared. Within one table all
  systems took turns, so that they met the same weather.
- A difference below 10 % is none.
- The speed of a search rarely matters as much as it looks here: embedding a question with the local
  model takes several milliseconds, more than most of these searches.
- The vectors of the speed tables are made up, scattered around a thousand centres. The recall of an
  approximate index on them is not its recall on yours.
- What counts are your documents: [validate](commands/validate.md) measures them.
- Peers have their defaults, and what their documentation says where `bench/systems` cites it; where
  a setting is ours, it says so. A peer that is tuned for a task will do better at it, and so will
  surefind.
"""
CHUNKS = (
    "How pages are cut changes answers as much as the system does: [chunks](chunks.md) compares "
    "strategies and sizes, by how much of the text that is needed comes back and how much else "
    "comes with it (`make bench-chunking`)."
)
EMBEDS = (
    "Nearly all of the time is the embedder's, for everybody, so who has less to embed is done "
    "earlier: Haystack cuts every 200 words, LlamaIndex leaves out what the embedder does not "
    "read. surefind begins a chunk at every heading, and each of them carries its headings."
)
LIMITS = """\
Up to some 100,000 chunks, more than most documentation has, nothing speaks against the embedded
engine. With a million it still answers within milliseconds; but to rebuild its index takes two
cores half an hour and nearly all of the memory of a machine with 24 GB, mapped files included, and
one in a hundred dense searches waits, probably for vectors that are not in memory any more:
quantized ones, which are four times smaller, do not.

It answers all callers of a process with one core, is read on one machine, and a rebuild of its
index needs room on the disk for two generations. What a filter leaves is compared one by one where
it is less than a third: 10 ms at most with 100,000 chunks
([decision 18](decisions/0018-filters-are-looked-at.md)), and longer the more there are. Where one
process can't answer all who ask, where the index no longer fits into memory, or where building it
takes longer than you can wait, the embedded engine is no longer the right choice: use
[a Qdrant server](qdrant.md).
"""


def wins(rows: Sequence[Row], column: str, name: str = "system") -> str:
    """Who is ahead of surefind by more than the margin, in a column of ratios to it."""
    [ours] = (row for row in rows if row[name] == OURS)
    ahead = [
        f"{row[name]} ({float(str(row[column])):.1f} ×{finding_less(row, ours)})"
        for row in rows
        if not str(row[name]).startswith(OURS) and float(str(row[column])) > MARGIN
    ]
    return ", ".join(ahead) if ahead else "nobody"


def finding_less(row: Row, ours: Row) -> str:
    """Where it is faster since it finds less."""
    recall, our_recall = row.get(RECALL), ours.get(RECALL)
    if recall is None or our_recall is None:
        return ""
    is_less = float(str(recall)) < float(str(our_recall)) - ALIKE_RECALL
    return f", with a recall of {recall} instead of {our_recall}" if is_less else ""


def trimmed(rows: Sequence[Row], names: Sequence[str]) -> str:
    return table([{name: row.get(name) for name in names} for row in rows])


def plots(result: Result, slugs: Sequence[str]) -> str:
    shown = []
    for chart in result.charts:
        if chart.slug in slugs:
            (PLOTS / result.file_of(chart)).write_text(chart.svg())
            shown.append(f"![{chart.title}]({PLOTS.name}/{result.file_of(chart)})")
    return "\n\n".join(shown)


def notes(result: Result) -> str:
    return "\n".join(f"- {note}" for note in result.notes)


def search(result: Result) -> list[str]:
    dense, hybrid = result.tables["Dense"], result.tables["Hybrid"]
    sizes = list(dict.fromkeys(str(row["chunks"]) for row in dense))
    largest = sizes[-1]
    columns = ("chunks", "system", "answers/s", "× surefind", "16 callers, × surefind")
    parts = [
        "## How fast is a search beside other libraries?",
        f"{result.data} `make bench-search` measures it.",
        trimmed(dense, (*columns, "p50 ms", "p99 ms", RECALL, "memory MB", "disk MB")),
        plots(result, [f"dense-{largest.replace(',', '')}-1"]),
        "With hybrid search, where a system has it:",
        trimmed(hybrid, (*columns, "p50 ms", "p99 ms")),
        plots(result, [f"hybrid-{largest.replace(',', '')}-1"]),
        "### Who is faster than surefind at searching?",
    ]
    for title, rows in (("dense", dense), ("hybrid", hybrid)):
        for size in sizes:
            those = [row for row in rows if row["chunks"] == size]
            alone, many = wins(those, "× surefind"), wins(those, "16 callers, × surefind")
            parts.append(
                f"- {title}, {size} chunks: {alone} for one caller; {many} for sixteen at once."
            )
    listed = parts[: parts.index("### Who is faster than surefind at searching?") + 1]
    return [*listed, "\n".join(parts[len(listed) :]), "### What is not comparable?", notes(result)]


def http(result: Result) -> list[str]:
    [rows] = result.tables.values()
    ahead = []
    for connections in dict.fromkeys(row["connections"] for row in rows):
        those = [row for row in rows if row["connections"] == connections]
        ahead.append(f"- connections, {connections}: {wins(those, '× surefind', 'server')}")
    return [
        "## How fast is the server beside other servers?",
        f"{result.data} `make bench-http` measures it.",
        table(rows),
        plots(result, ["32"]),
        "Ahead of surefind by more than a tenth:",
        "\n".join(ahead),
        *(like_with_like(rows, *pair) for pair in ALIKE),
        notes(result),
    ]


def like_with_like(rows: Sequence[Row], peer: str, ours: str) -> str:
    """A peer that is dense, beside surefind in that mode: both embed, or neither does."""
    speeds = {(row["server"], row["connections"]): float(str(row["answers/s"])) for row in rows}
    ratios = [
        f"{speeds[peer, count] / speeds[ours, count]:.2f} × with {count}"
        for count in dict.fromkeys(row["connections"] for row in rows)
        if {(peer, count), (ours, count)} <= speeds.keys()
    ]
    if not ratios:
        return ""
    return f"Like with like, {peer} beside {ours}: {', '.join(ratios)} connections."


def ingest(result: Result) -> list[str]:
    rows = [row for table_ in result.tables.values() for row in table_]
    times = "× surefind's time"
    faster = [
        f"{row['system']} ({1 / float(str(row[times])):.1f} ×)"
        for row in rows
        if row["system"] not in {OURS, "the embedder alone"} and float(str(row[times])) * MARGIN < 1
    ]
    return [
        "## How long does an ingest take beside others?",
        f"{result.data} `make bench-ingest` measures it.",
        table(rows),
        plots(result, ["first"]),
        f"A first run is faster by more than a tenth with {', '.join(faster) or 'nobody'}. "
        + EMBEDS,
        notes(result),
    ]


def quality(result: Result) -> list[str]:
    parts = [
        "## How good are the answers beside others?",
        f"{result.data} `make bench-quality` measures it.",
    ]
    for title, rows in result.tables.items():
        best = max(rows, key=lambda row: float(str(row["nDCG@10"])))
        parts += [f"### {title}", table(rows), plots(result, [title.partition(",")[0]])]
        parts.append(f"The highest nDCG@10 is that of {best['system']}.")
    parts.append(CHUNKS)
    return [*parts, "### What is not comparable about it?", notes(result)]


def grown(rows: Sequence[Row]) -> str:
    """What the largest collection takes, beside the smallest."""
    plain = [row for row in rows if row[""] == OURS]
    small, large = plain[0], plain[-1]

    def both(column: str, form: str, unit: float = 1.0) -> str:
        few, many = (float(str(row[column])) / unit for row in (small, large))
        return f"{many:{form}} instead of {few:{form}}"

    minutes, peak = both("built in s", ".1f", 60), both("peak MB while building", ".1f", 1024)
    return (
        f"With {large['chunks']} chunks instead of {small['chunks']}, the median hybrid search "
        f"takes {both('hybrid p50 ms', '.1f')} ms and the slowest of a hundred "
        f"{both('hybrid p99 ms', '.1f')} ms. The index is built in {minutes} minutes, with {peak} "
        f"GB of memory, and takes {both('disk MB', '.1f', 1024)} GB of the disk."
    )


def scale(result: Result) -> list[str]:
    [rows] = result.tables.values()
    return [
        "## How far does the embedded engine go?",
        f"{result.data} `make bench-scale` measures it.",
        table(rows),
        plots(result, ["dense", "hybrid"]),
        grown(rows),
        LIMITS.strip(),
        notes(result),
    ]


def origin(results: Sequence[Result]) -> list[str]:
    versions: dict[str, str] = {}
    for result in results:
        versions |= result.versions
    last = results[-1]
    lines = [
        f"- {result.title}: {result.made_at}, "
        + ", ".join(f"{name} {value}" for name, value in result.settings.items())
        + f", load average {float(str(result.machine['load_average'])):.1f} at its start"
        for result in results
    ]
    listed = ", ".join(f"{name} {value}" for name, value in sorted(versions.items()))
    return [
        "## With what was it measured?",
        f"A machine with {last.machine['cores']} cores ({last.machine['processor']}), shared with "
        "other work.",
        "\n".join(lines),
        f"Versions: {listed}.",
    ]


SECTIONS = {
    "search": search,
    "peers-http": http,
    "ingest": ingest,
    "quality": quality,
    "scale": scale,
}


def main() -> None:
    results = {name: read(RESULTS, name) or read(PLOTS, name) for name in SECTIONS}
    found = [(result, SECTIONS[name]) for name, result in results.items() if result]
    if not found:
        sys.exit("there are no results yet: run make bench-search or another of them first")
    shutil.rmtree(PLOTS, ignore_errors=True)
    for result, _ in found:
        result.keep(PLOTS)
    parts = [INTRODUCTION.strip(), CONCLUSIONS.strip()]
    for result, section in found:
        parts += section(result)
    parts += origin([result for result, _ in found])
    missing = [name for name, result in results.items() if result is None]
    if missing:
        print(f"never measured, and so not on the page: {', '.join(missing)}", file=sys.stderr)
    PAGE.write_text("\n\n".join(part for part in parts if part) + "\n")
    print(f"{PAGE} is written, of {', '.join(result.name for result, _ in found)}")


if __name__ == "__main__":
    main()
