"""What golden tests teach about a generation is kept with it, and its readers go by it."""

from dataclasses import replace

from surefind.errors import NotComparable
from surefind.evaluation.report.report import Report
from surefind.model import GenerationRef, Threshold
from surefind.ports import CatalogStore

FEWEST_NEGATIVES = 12


async def learn_threshold(
    report: Report, catalogs: CatalogStore, *, force: bool = False
) -> Threshold:
    """NotComparable, with the reason, where the tests do not teach any; nothing is stored then.

    `force` accepts fewer than FEWEST_NEGATIVES negatives.
    """
    threshold = threshold_of(report, force=force)
    subject = report.subject
    ref = GenerationRef(subject.collection, subject.generation)
    async with catalogs.writing("ingest"):
        manifest = await catalogs.manifest(ref)
        await catalogs.seal(replace(manifest, threshold=threshold))
        if await catalogs.current(ref.collection) == ref.number:
            # Readers look at a generation again when the pointer was written, if to the same one.
            await catalogs.point_to(ref)
    return threshold


def threshold_of(report: Report, *, force: bool = False) -> Threshold:
    told = report.separation
    if report.interrupted:
        raise NotComparable(f"no threshold was learned: the run ended early, {report.interrupted}")
    if told is None:
        raise NotComparable(
            "no threshold was learned: it takes tests that have an answer, tests with "
            "`expect: none`, and a mode that embeds questions"
        )
    if told.negatives < FEWEST_NEGATIVES and not force:
        high = told.false_accepts.high
        raise NotComparable(
            f"no threshold was learned: too few negatives ({told.negatives}): up to {high:.0%} of "
            "the questions without an answer might still be given one; write at "
            f"least {FEWEST_NEGATIVES} tests with `expect: none`, or give --force"
        )
    if told.similarity is None or told.slope is None:
        raise NotComparable(f"no threshold was learned: {told.message}")
    return Threshold(
        similarity=told.similarity,
        slope=told.slope,
        false_accepts=told.false_accepts,
        false_rejects=told.false_rejects,
        false_accept_cost=told.false_accept_cost,
        golden=report.golden,
        golden_digest=report.golden_digest,
        calibrated_at=report.completed_at,
        chunks=report.subject.chunks,
    )
