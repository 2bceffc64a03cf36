"""Which gaps does the query log show? Precision and recall after a tenth of the pages is deleted.

A documentation is ingested without a tenth of its pages. Label-free questions about the deleted
pages are replayed among those about the others, and among judged questions about unrelated
subjects. A question is found if `surefind gaps` lists it. Questions about deleted pages are right
to be found, even if another page answers them too; so are unrelated ones.

Judged questions about the same documentation show the false alarms: no page that answers them is
deleted.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from bench.quality.judged import read
from bench.quality.ranking_sets import CACHE, TREES, ingested, judged_pages
from bench.support.corpora import folder_of
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.adapters.sqlite.query_log import NAME
from surefind.bootstrap import Application, IngestRequest
from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.label_free import LabelFreeKind, SelfDescription
from surefind.interfaces.http.middleware.query_log import logged_search
from surefind.model import LoggedSearch, Query, question_key
from surefind.services.demand.gaps import GapOptions
from surefind.settings import load

BELOW = (0.5, 0.8, 0.95)
_UNRELATED = 30
_BY_DEFAULT = 0.5


@dataclass(frozen=True)
class Asked:
    """`kind` is links, headings or judged; `about` is kept, deleted or unrelated."""

    kind: str
    about: str
    page: str
    text: str


async def replayed(tree: str, seed: int, most: int) -> tuple[list[Asked], list[Row]]:
    collection = await asyncio.to_thread(ingested, tree)
    records = sorted(
        collection.records, key=lambda one: (one.chunk.source_path, one.chunk.position)
    )
    pages = sorted({one.chunk.source_path for one in records})
    deleted = set(random.Random(seed).sample(pages, len(pages) // 10))
    description = SelfDescription()
    for record in records:
        description.add(record)
    asked = [
        Asked(
            kind.value,
            "deleted" if one.source_path in deleted else "kept",
            one.source_path,
            test.query_text,
        )
        for kind in (LabelFreeKind.LINKS, LabelFreeKind.HEADINGS)
        for test in description.tests(kind, most)
        for one in test.expected
        if isinstance(one, BySource)
    ]
    asked += [
        Asked("judged", "kept", "", question.text)
        for question in judged_pages(tree, collection)
        if not deleted & question.gains.keys()
    ]
    unrelated = read("squad-dev-even", _UNRELATED).questions
    asked += [Asked("judged", "unrelated", "", text) for text, _ in unrelated[:_UNRELATED]]
    folder, base_url = TREES[tree]
    name = f"{tree}-gaps-{seed}"
    application = Application(load(data_dir=CACHE / "data", collection=name, base_url=base_url))
    try:
        request = IngestRequest(
            paths=[folder_of(folder)],
            exclude=[page.partition("/")[2] for page in sorted(deleted)],
            allow_shrink=True,
        )
        await application.ingesting.ingest(request)
        (CACHE / "data" / NAME).unlink(missing_ok=True)
        application.parts.query_log_file.add(
            [await _search(application, name, one.text) for one in asked]
        )
        rows = [await _measured(application, asked, below) for below in BELOW]
        rows.append(await _measured(application, asked, _BY_DEFAULT, possible=True))
        return asked, rows
    finally:
        await application.close()


async def _search(application: Application, collection: str, text: str) -> LoggedSearch:
    result = await application.searching.search(Query(text, collection=collection))
    return logged_search(result, collection, client="")


async def _measured(
    application: Application, asked: Sequence[Asked], below: float, *, possible: bool = False
) -> Row:
    now = datetime.now(UTC)
    options = GapOptions(now - timedelta(days=1), now, below, possible=possible)
    begun = time.perf_counter()
    report = await application.maintenance.gaps(options)
    seconds = time.perf_counter() - begun
    gaps = [*report.gaps, *report.possible]
    found = {question_key(text) for gap in gaps for text in gap.questions}
    listed = [one for one in asked if question_key(one.text) in found]
    row: Row = {"gaps": f"below {below}" + (", and possible" if possible else "")}
    for kind in ("links", "headings"):
        row |= _rates(kind, [one for one in asked if one.kind == kind], listed)
    missing = {one.page for one in asked if one.about == "deleted"}
    row["deleted pages, recall"] = _share(
        len({one.page for one in listed if one.about == "deleted"}), len(missing)
    )
    answered = [one for one in asked if one.kind == "judged" and one.about == "kept"]
    row["judged, false alarms"] = _share(sum(one in listed for one in answered), len(answered))
    unrelated = [one for one in asked if one.about == "unrelated"]
    row["unrelated, recall"] = _share(sum(one in listed for one in unrelated), len(unrelated))
    row["all, precision"] = _share(sum(one.about != "kept" for one in listed), len(listed))
    return row | {"seconds": seconds}


def _rates(kind: str, asked: Sequence[Asked], listed: Sequence[Asked]) -> Row:
    missing = [one for one in asked if one.about == "deleted"]
    found = [one for one in asked if one in listed]
    right = sum(one.about == "deleted" for one in found)
    return {
        f"{kind}, precision": _share(right, len(found)),
        f"{kind}, recall": _share(right, len(missing)),
    }


def _share(part: int, whole: int) -> str | None:
    return f"{part / whole:.2f}" if whole else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300, help="maximum number of each kind")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--trees", choices=sorted(TREES), nargs="+", default=["docusaurus", "vite"])
    options = parser.parse_args()
    result = Result(
        "gaps",
        "Gaps found in a query log",
        f"The documentation of {', '.join(options.trees)}, without a tenth of its pages.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=["A page with a link to a deleted page still has the text of the link."],
    )
    for tree in options.trees:
        for seed in options.seeds:
            asked, rows = asyncio.run(replayed(tree, seed, options.questions))
            deleted = sum(one.about == "deleted" for one in asked)
            kept = sum(one.about == "kept" for one in asked)
            title = f"{tree}, choice {seed}: {deleted} questions about deleted pages, {kept} others"
            say(title)
            result.tables[title] = rows
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
