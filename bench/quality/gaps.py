"""Which gaps does the query log show? Precision and recall after a tenth of the pages is deleted.

Docusaurus' documentation is ingested without a tenth of its pages. Label-free questions about the
deleted pages are replayed among those about the others, and among judged questions about unrelated
subjects. A question is found if `surefind gaps` lists it. Questions about deleted pages are right
to be found, even if another page answers them too; so are unrelated ones.
"""

import argparse
import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from bench.quality.judged import read
from bench.quality.ranking_sets import CACHE, ingested
from bench.support.corpora import folder_of
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.bootstrap import Application, IngestRequest
from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.label_free import LabelFreeKind, SelfDescription
from surefind.interfaces.http.middleware.query_log import logged_search
from surefind.model import LoggedSearch, Query, question_key
from surefind.services.maintenance.gaps import GapOptions, find_gaps
from surefind.settings import load

COLLECTION = "docusaurus"
SITE = "docs-sample/docusaurus/website"
BASE_URL = "https://docusaurus.io"
BELOW = (0.5, 0.8, 0.95)
_UNRELATED = 30


@dataclass(frozen=True)
class Asked:
    kind: str
    about: str
    """kept, deleted or unrelated."""
    search: LoggedSearch


async def replayed(seed: int, most: int) -> tuple[list[Asked], list[Row]]:
    records = sorted(
        (await asyncio.to_thread(ingested, COLLECTION)).records,
        key=lambda one: (one.chunk.source_path, one.chunk.position),
    )
    pages = sorted({one.chunk.source_path for one in records})
    deleted = set(random.Random(seed).sample(pages, len(pages) // 10))
    description = SelfDescription()
    for record in records:
        description.add(record)
    questions = [
        (kind.value, "deleted" if one.source_path in deleted else "kept", test.query_text)
        for kind in (LabelFreeKind.LINKS, LabelFreeKind.HEADINGS)
        for test in description.tests(kind, most)
        for one in test.expected
        if isinstance(one, BySource)
    ]
    unrelated = read("squad-dev-even", _UNRELATED).questions
    questions += [("judged", "unrelated", text) for text, _ in unrelated[:_UNRELATED]]
    name = f"{COLLECTION}-gaps-{seed}"
    application = Application(load(data_dir=CACHE / "data", collection=name, base_url=BASE_URL))
    try:
        root = folder_of(SITE)
        excluded = [page.partition("/")[2] for page in sorted(deleted)]
        request = IngestRequest(paths=[root], exclude=excluded, allow_shrink=True)
        await application.ingesting.ingest(request)
        asked = [
            Asked(kind, about, await _search(application, name, text))
            for kind, about, text in questions
        ]
        return asked, [await _measured(application, name, asked, below) for below in BELOW]
    finally:
        await application.close()


async def _search(application: Application, collection: str, text: str) -> LoggedSearch:
    result = await application.searching.search(Query(text, collection=collection))
    return logged_search(result, collection, client="")


async def _measured(
    application: Application, collection: str, asked: Sequence[Asked], below: float
) -> Row:
    now = datetime.now(UTC)
    options = GapOptions(now - timedelta(days=1), now, below)
    report = await find_gaps(
        collection, [one.search for one in asked], application.parts.query_embedder, options
    )
    found = {question_key(text) for gap in report.gaps for text in gap.questions}
    row: Row = {"below": f"{below}", "gaps": len(report.gaps)}
    listed = [one for one in asked if question_key(one.search.text) in found]
    for kind in ("links", "headings"):
        row |= _rates(kind, [one for one in asked if one.kind == kind], listed)
    unrelated = [one for one in asked if one.about == "unrelated"]
    row["unrelated, recall"] = f"{sum(one in listed for one in unrelated) / len(unrelated):.2f}"
    right = sum(one.about != "kept" for one in listed)
    row["all, precision"] = f"{right / len(listed):.2f}" if listed else None
    return row


def _rates(kind: str, asked: Sequence[Asked], listed: Sequence[Asked]) -> Row:
    missing = [one for one in asked if one.about == "deleted"]
    found = [one for one in asked if one in listed]
    right = sum(one.about == "deleted" for one in found)
    return {
        f"{kind}, precision": f"{right / len(found):.2f}" if found else None,
        f"{kind}, recall": f"{right / len(missing):.2f}" if missing else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300, help="maximum number of each kind")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    result = Result(
        "gaps",
        "Gaps found in a query log",
        "Docusaurus' documentation without a tenth of its pages.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=["A page with a link to a deleted page still has the text of the link."],
    )
    for seed in options.seeds:
        asked, rows = asyncio.run(replayed(seed, options.questions))
        counts = {about: sum(one.about == about for one in asked) for about in ("kept", "deleted")}
        say(f"seed {seed}: {counts}")
        title = f"Seed {seed}: {counts['deleted']} deleted, {counts['kept']} kept"
        result.tables[title] = rows
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
