"""Writes docs/how-fast-how-good.md and its plots from the available results.

The numbers and the sentences about the fastest systems come from the results; this file adds how to
read them. The results are stored next to the plots. A new measurement replaces its old table, the
others stay. A table without results is left out.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence

from bench.support.folders import RESULTS, ROOT
from bench.support.results import Result, Row, read, table
from bench.systems import OURS

DOCS = ROOT / "docs"
PAGE, PLOTS = DOCS / "how-fast-how-good.md", DOCS / "how-fast-how-good"
MARGIN = 1.1
RECALL, ALIKE_RECALL = "recall@10", 0.005
ALIKE = (
    ("Chroma in FastAPI", "surefind, dense"),
    ("Chroma's server, vectors", "surefind, dense, vectors known"),
)
INTRODUCTION = """\
# How fast, how good

This page compares surefind with other tools on the same work in the same run. `make bench-page`
writes it from measured results. Each section names the command that reproduces it.
"""
CONCLUSIONS = """\
## How should I read these results?

- Trust ratios, not milliseconds: the machine was small and shared. Within a table, all systems
  took turns, so they met the same conditions.
- Ignore differences below 10 %.
- Search speed rarely matters as much as it seems here: embedding a question with the local model
  takes several milliseconds, more than most of these searches.
- The vectors of the speed tables are synthetic, scattered around a thousand centres. Recall of an
  approximate index on them is not recall on your data.
- Your own documents matter most: [validate](commands/validate.md) measures them.
- Other tools run with their defaults and the settings their documentation recommends, cited in
  `bench/systems`. A tool that is tuned for a task will do better at it, and so will surefind.
"""
CHUNKS = (
    "Chunking affects answers as much as the system does: [Chunks](chunks.md) compares strategies "
    "and sizes by how much of the needed text comes back, and how much other text comes with it "
    "(`make bench-chunking`)."
)
EMBEDS = (
    "Embedding takes nearly all of the time in every system, so a system with less text to embed "
    "finishes earlier: Haystack splits every 200 words, and LlamaIndex omits what the embedder "
    "can't read. surefind starts a chunk at every heading, and each chunk includes its headings."
)
LIMITS = """\
The embedded engine is a good choice up to some 100,000 chunks, more than most documentation has.
With a million, it still answers within milliseconds, but a rebuild takes two cores half an hour
and nearly all memory of a machine with 24 GB, including mapped files. One in a hundred dense
searches is slow, probably because its vectors are no longer in memory; quantized vectors, four
times smaller, avoid this.

One core serves all callers of a process, only one machine can read the index, and a rebuild needs
disk space for two generations. Filters that pass less than a third of the chunks use exact
search: at most 10 ms with 100,000 chunks ([decision
18](decisions/0018-selective-filters-use-exact-search.md)), and more for larger collections. Use
[a Qdrant server](qdrant.md) if one process can't serve all requests, if the index does not fit
into memory, or if rebuilding takes too long.
"""


def wins(rows: Sequence[Row], column: str, name: str = "system") -> str:
    """The systems that are ahead of surefind by more than the margin, in a column of ratios."""
    [ours] = (row for row in rows if row[name] == OURS)
    ahead = [
        f"{row[name]} ({float(str(row[column])):.1f} ×{finding_less(row, ours)})"
        for row in rows
        if not str(row[name]).startswith(OURS) and float(str(row[column])) > MARGIN
    ]
    return ", ".join(ahead) if ahead else "none"


def finding_less(row: Row, ours: Row) -> str:
    """A note on systems that are faster because they find less."""
    recall, our_recall = row.get(RECALL), ours.get(RECALL)
    if recall is None or our_recall is None:
        return ""
    is_less = float(str(recall)) < float(str(our_recall)) - ALIKE_RECALL
    return f", with a recall of {recall} against {our_recall}" if is_less else ""


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
        "## How fast is a search compared with other libraries?",
        f"{result.data} Reproduce with `make bench-search`.",
        trimmed(dense, (*columns, "p50 ms", "p99 ms", RECALL, "memory MB", "disk MB")),
        plots(result, [f"dense-{largest.replace(',', '')}-1"]),
        "Hybrid search, for systems that support it:",
        trimmed(hybrid, (*columns, "p50 ms", "p99 ms")),
        plots(result, [f"hybrid-{largest.replace(',', '')}-1"]),
        "### Which systems search faster than surefind?",
    ]
    for title, rows in (("dense", dense), ("hybrid", hybrid)):
        for size in sizes:
            those = [row for row in rows if row["chunks"] == size]
            alone, many = wins(those, "× surefind"), wins(those, "16 callers, × surefind")
            parts.append(
                f"- {title}, {size} chunks: {alone} for one caller; {many} for 16 callers."
            )
    listed = parts[: parts.index("### Which systems search faster than surefind?") + 1]
    return [
        *listed,
        "\n".join(parts[len(listed) :]),
        "### Limits of the search comparison",
        notes(result),
    ]


def http(result: Result) -> list[str]:
    [rows] = result.tables.values()
    ahead = []
    for connections in dict.fromkeys(row["connections"] for row in rows):
        those = [row for row in rows if row["connections"] == connections]
        ahead.append(f"- with {connected(connections)}: {wins(those, '× surefind', 'server')}")
    return [
        "## How fast is the server compared with other servers?",
        f"{result.data} Reproduce with `make bench-http`.",
        table(rows),
        plots(result, ["32"]),
        "More than 10 % faster than surefind:",
        "\n".join(ahead),
        *(like_with_like(rows, *pair) for pair in ALIKE),
        notes(result),
    ]


def connected(count: object) -> str:
    return f"{count} connection{'' if count in {1, '1'} else 's'}"


def like_with_like(rows: Sequence[Row], peer: str, ours: str) -> str:
    """Compare a dense-only system with surefind in dense mode."""
    speeds = {(row["server"], row["connections"]): float(str(row["answers/s"])) for row in rows}
    ratios = [
        f"{speeds[peer, count] / speeds[ours, count]:.2f} × with {connected(count)}"
        for count in dict.fromkeys(row["connections"] for row in rows)
        if {(peer, count), (ours, count)} <= speeds.keys()
    ]
    if not ratios:
        return ""
    return f"On equal work, {peer} / {ours}: {', '.join(ratios)}."


def ingest(result: Result) -> list[str]:
    rows = [row for table_ in result.tables.values() for row in table_]
    times = "× surefind's time"
    faster = [
        f"{row['system']} ({1 / float(str(row[times])):.1f} ×)"
        for row in rows
        if row["system"] not in {OURS, "the embedder alone"} and float(str(row[times])) * MARGIN < 1
    ]
    return [
        "## How long does an ingest take compared with other tools?",
        f"{result.data} Reproduce with `make bench-ingest`.",
        table(rows),
        plots(result, ["first"]),
        f"More than 10 % faster in the first run: {', '.join(faster) or 'none'}. " + EMBEDS,
        notes(result),
    ]


def quality(result: Result) -> list[str]:
    parts = [
        "## How good are the answers compared with other tools?",
        f"{result.data} Reproduce with `make bench-quality`.",
    ]
    for title, rows in result.tables.items():
        best = max(rows, key=lambda row: float(str(row["nDCG@10"])))
        parts += [f"### Quality on {title}", table(rows), plots(result, [title.partition(",")[0]])]
        parts.append(f"Highest nDCG@10: {best['system']}.")
    parts.append(CHUNKS)
    return [*parts, "### Limits of the quality comparison", notes(result)]


def grown(rows: Sequence[Row]) -> str:
    """The cost of the largest collection compared with the smallest."""
    plain = [row for row in rows if row[""] == OURS]
    small, large = plain[0], plain[-1]

    def both(column: str, form: str, unit: float = 1.0) -> str:
        few, many = (float(str(row[column])) / unit for row in (small, large))
        return f"{many:{form}} against {few:{form}}"

    minutes, peak = both("built in s", ".1f", 60), both("peak MB while building", ".1f", 1024)
    return (
        f"With {large['chunks']} chunks against {small['chunks']}, the median hybrid search "
        f"takes {both('hybrid p50 ms', '.1f')} ms and the slowest of a hundred "
        f"{both('hybrid p99 ms', '.1f')} ms. The index is built in {minutes} minutes, with {peak} "
        f"GB of memory, and takes {both('disk MB', '.1f', 1024)} GB of disk space."
    )


def scale(result: Result) -> list[str]:
    [rows] = result.tables.values()
    return [
        "## How far does the embedded engine go?",
        f"{result.data} Reproduce with `make bench-scale`.",
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
        + f", load average {float(str(result.machine['load_average'])):.1f} at the start"
        for result in results
    ]
    listed = ", ".join(f"{name} {value}" for name, value in sorted(versions.items()))
    return [
        "## Test environment",
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
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = {name: read(RESULTS, name) or read(PLOTS, name) for name in SECTIONS}
    found = [(result, SECTIONS[name]) for name, result in results.items() if result]
    if not found:
        sys.exit("no results yet: run make bench-search or another benchmark first")
    shutil.rmtree(PLOTS, ignore_errors=True)
    for result, _ in found:
        result.keep(PLOTS)
    parts = [INTRODUCTION.strip(), CONCLUSIONS.strip()]
    for result, section in found:
        parts += section(result)
    parts += origin([result for result, _ in found])
    missing = [name for name, result in results.items() if result is None]
    if missing:
        print(f"not measured and therefore not on the page: {', '.join(missing)}", file=sys.stderr)
    PAGE.write_text("\n\n".join(part for part in parts if part) + "\n")
    print(f"wrote {PAGE} from {', '.join(result.name for result, _ in found)}")


if __name__ == "__main__":
    main()
