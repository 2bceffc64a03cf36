"""Learns a similarity threshold from golden tests, and stores it with the generation."""

from dataclasses import replace

from surefind.errors import NotComparable
from surefind.evaluation.report.report import Report
from surefind.model import GenerationRef, Threshold
from surefind.ports import CatalogStore

FEWEST_NEGATIVES = 12


async def learn_threshold(
    report: Report, catalogs: CatalogStore, *, force: bool = False
) -> Threshold:
    """Learn and store a threshold. Raises NotComparable if the tests don't suffice.

    `force` accepts fewer than FEWEST_NEGATIVES negatives.
    """
    threshold = threshold_of(report, force=force)
    subject = report.subject
    ref = GenerationRef(subject.collection, subject.generation)
    async with catalogs.writing("ingest"):
        manifest = await catalogs.manifest(ref)
        await catalogs.seal(replace(manifest, threshold=threshold))
        if await catalogs.current(ref.collection) == ref.number:
            # Rewriting the pointer makes readers reload the generation.
            await catalogs.point_to(ref)
    return threshold


def threshold_of(report: Report, *, force: bool = False) -> Threshold:
    separation = report.separation
    if report.interrupted:
        raise NotComparable(f"no threshold was saved: the run ended early: {report.interrupted}")
    if separation is None:
        raise NotComparable(
            "no threshold was saved: the run needs tests with an answer, tests with "
            "`expect: none`, and mode hybrid or dense"
        )
    if separation.negatives < FEWEST_NEGATIVES and not force:
        high = separation.false_accepts.high
        tests = "test" if separation.negatives == 1 else "tests"
        raise NotComparable(
            f"no threshold was saved: with only {separation.negatives} negative {tests}, up to "
            f"{high:.0%} of questions without an answer might still get one; write at least "
            f"{FEWEST_NEGATIVES} tests with `expect: none`, or use --force"
        )
    if separation.similarity is None or separation.slope is None:
        raise NotComparable(f"no threshold was saved: {separation.message}")
    return Threshold(
        similarity=separation.similarity,
        slope=separation.slope,
        false_accepts=separation.false_accepts,
        false_rejects=separation.false_rejects,
        false_accept_cost=separation.false_accept_cost,
        golden=report.golden,
        golden_digest=report.golden_digest,
        calibrated_at=report.completed_at,
        chunks=report.subject.chunks,
    )
