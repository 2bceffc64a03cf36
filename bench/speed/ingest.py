"""A folder of Markdown made searchable, by surefind and by what people would pick instead.

Everybody gets the same folder and the same embedder (surefind's, see embedding.py), and reads,
cuts, embeds and stores as their documentation has it. Three runs each, every one by a new process:
the first; a second one with nothing changed; a third with one page changed. Systems take turns,
round by round.

The embedder alone, with surefind's chunks, is the lower bound for all that embed every chunk.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.support.corpora import folder_of
from bench.support.drawing import Chart
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say, spread
from bench.support.workers import Failed, Worker, installed, machine, versions
from bench.systems import CONTENDERS, DENSE, OURS, Contender
from bench.systems.splitting import pages_below

RUNS = ("first", "unchanged", "one page changed")
NOTES = [
    "All systems use the same embedder with the same number of threads.",
    "Systems split pages differently, so chunks/s refers to each system's own chunks; "
    "compare the seconds. LlamaIndex splits at 1,024 tokens of tiktoken, more than the "
    "embedder reads (512): the rest is not embedded and costs nothing.",
    "Chroma, LanceDB and txtai have no chunker, so LangChain's splitter is used, with 1,000 "
    "characters and an overlap of 200.",
    "Only surefind and LlamaIndex check whether a page has changed. For the others a second "
    "run repeats the first; detecting changes is up to their users.",
    "None of the other tools notices a deleted page, keeps the old state readable until the "
    "new one is complete, or can roll back. surefind's times include all of that.",
    "Peak memory is that of the first run's process; for txtai it includes torch, which it "
    "imports.",
]


def plant(folder: Path, copies: int, most: int | None) -> int:
    """Pages of docs-sample alone, each copy with a word of its own: the same text is paid once."""
    source = folder_of("docs-sample")
    pages = pages_below(source)
    if most and most < len(pages):
        pages = [pages[number * len(pages) // most] for number in range(most)]
    for number in range(copies):
        for page in pages:
            path = folder / f"copy-{number + 1}" / page.relative_to(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = page.read_text()
            path.write_text(text if number == 0 else _marked(text, f"Edition {number + 1}."))
    return copies * len(pages)


def _marked(text: str, words: str) -> str:
    """Every paragraph of prose ends with the words, so that no chunk is the like of another's."""
    return "\n\n".join(
        part + " " + words if part[:1].isalpha() and part.rstrip().endswith(".") else part
        for part in text.split("\n\n")
    )


def change(folder: Path) -> None:
    page = pages_below(folder)[0]
    page.write_text(page.read_text() + "\n\nA sentence that was not there before.\n")


def one_round(contender: Contender, tree: Path, root: Path, number: int) -> dict[str, Row]:
    """Three runs on a store of its own; the tree is put back as it was."""
    store = root / f"store-{number}-{contender.module.replace(':', '-')}"
    page = pages_below(tree)[0]
    text, runs = page.read_text(), {}
    try:
        for run in RUNS:
            if run == RUNS[-1]:
                change(tree)
            with Worker(contender) as worker:
                runs[run] = worker.ask("ingest", 1800, pages=tree, store=store)
    finally:
        page.write_text(text)
        shutil.rmtree(store, ignore_errors=True)
    return runs


def bare(tree: Path, root: Path) -> tuple[int, float]:
    """surefind's chunks of the tree, embedded and nothing else: how many, in what time."""
    import asyncio
    import os

    from bench.support.embedding import SameEmbedder
    from surefind.adapters.embedders.model_files import locate
    from surefind.bootstrap import Application, IngestRequest
    from surefind.settings import load

    async def passages() -> list[str]:
        application = Application(load(data_dir=root / "bare"))
        try:
            await application.ingesting.ingest(IngestRequest(paths=[tree]))
            async with application.parts.reader.lease() as generation:
                assert generation.catalog is not None
                return [record.chunk.passage async for record in generation.catalog.chunks()]
        finally:
            await application.close()

    chunks = asyncio.run(passages())
    os.environ["BENCH_MODEL"] = str(locate(None, load().cache_dir, print))
    embedder = SameEmbedder()
    embedder.passages(chunks[:20])
    began = time.perf_counter()
    embedder.passages(chunks)
    return len(chunks), time.perf_counter() - began


def row_of(contender: Contender, rounds: Sequence[dict[str, Row]], ours: Sequence[float]) -> Row:
    def of(run: str, name: str) -> list[float]:
        return [float(str(one[run][name])) for one in rounds]

    first = of("first", "seconds")
    chunks = of("first", "chunks")[-1]
    return {
        "system": contender.name,
        "first run, s": statistics.median(first),
        "× surefind's time": statistics.median(
            theirs / mine for theirs, mine in zip(first, ours, strict=False)
        ),
        "chunks": f"{chunks:,.0f}",
        "chunks/s": statistics.median(chunks / seconds for seconds in first),
        "peak memory MB": statistics.median(of("first", "peak_mb")),
        "disk MB": statistics.median(of("first", "disk_mb")),
        "unchanged, s": statistics.median(of("unchanged", "seconds")),
        "embedded again": f"{of('unchanged', 'embedded')[-1]:,.0f}",
        "one page changed, s": statistics.median(of("one page changed", "seconds")),
        "embedded then": f"{of('one page changed', 'embedded')[-1]:,.0f}",
    }


def measure(tree: Path, root: Path, here: Sequence[Contender], rounds: int, result: Result) -> None:
    measured: dict[str, list[dict[str, Row]]] = {one.name: [] for one in here}
    alone = []
    for number in range(rounds):
        turned = [*here[number % len(here) :], *here[: number % len(here)]]
        for contender in turned:
            try:
                runs = one_round(contender, tree, root, number)
            except Failed as error:
                result.notes.append(f"{contender.name} failed: {error}.")
                say(result.notes[-1])
                continue
            measured[contender.name].append(runs)
            spent = ", ".join(f"{run} {float(str(runs[run]['seconds'])):.1f} s" for run in RUNS)
            say(f"round {number + 1}, {contender.name}: {spent}")
        alone.append(bare(tree, root / f"bare-{number}"))
    ours = [float(str(one["first"]["seconds"])) for one in measured[OURS]]
    done = [one for one in here if measured[one.name]]
    chunks, seconds = alone[-1][0], statistics.median(spent for _, spent in alone)
    title = f"{result.settings['pages']} pages"
    result.tables[title] = [row_of(one, measured[one.name], ours) for one in done]
    result.tables[title].append(
        {
            "system": "the embedder alone",
            "first run, s": seconds,
            "× surefind's time": seconds / statistics.median(ours),
            "chunks": f"{chunks:,}",
            "chunks/s": chunks / seconds,
        }
    )
    bars = []
    for one in done:
        values = spread([float(str(runs["first"]["seconds"])) for runs in measured[one.name]])
        bars.append((one.name, values["median"], values["low"], values["high"]))
    bars.sort(key=lambda bar: bar[1])
    chart = Chart(
        "first",
        f"A first run over {title}",
        "seconds, fewer are better",
        bars,
        [OURS],
        logarithmic=False,
    )
    result.charts.append(chart)
    result.measured += [{"system": name, "rounds": runs} for name, runs in measured.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=1, help="of docs-sample's 239 pages")
    parser.add_argument("--pages", type=int, help="number of pages, spread over docs-sample")
    parser.add_argument("--quick", action="store_true", help="20 pages")
    parser.add_argument("--only", nargs="+", default=[], help="systems, by name, besides surefind")
    options = parser.parse_args()
    most = 20 if options.quick else options.pages
    chosen = [one for one in CONTENDERS if DENSE in one.pages]
    chosen = [one for one in chosen if not options.only or one.name in (*options.only, OURS)]
    here, away = installed(chosen)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "pages"
        pages = plant(tree, options.copies, most)
        result = Result(
            "ingest",
            "Ingest, compared with other tools",
            f"{pages} pages of docs-sample, a Docusaurus tree; with several copies, each paragraph "
            "of a later copy is marked so that all texts differ.",
            {"rounds": options.rounds, "copies": options.copies, "pages": pages},
            versions(here),
            machine(),
            notes=[*NOTES, *(f"{name} took no part: {why}." for name, why in away.items())],
        )
        measure(tree, Path(scratch), here, options.rounds, result)
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
