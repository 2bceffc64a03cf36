"""What `surefind validate` measures beyond the tests: the index, a load, a threshold."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.errors import InputError, NotComparable
from surefind.interfaces.cli.console import note
from surefind.interfaces.failures import INCONCLUSIVE

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.report.report import Report
    from surefind.services.validation.validate import ValidateOptions

Duration = Annotated[
    float | None,
    typer.Option(help="Put a load on for so many seconds, --concurrency searches at a time."),
]
RateOption = Annotated[
    float | None,
    typer.Option(help="Searches a second under load. [default: as fast as they are answered]"),
]
IndexRecallOption = Annotated[
    bool,
    typer.Option("--index-recall", help="Hold the approximate index against an exact search."),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate", help="Keep the threshold that the tests teach with the collection."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="With --calibrate: fewer than 12 negatives will do.")
]
FalseAcceptCost = Annotated[
    float,
    typer.Option(help="Cost of a false accept relative to a false reject, for the threshold."),
]
TestsOut = Annotated[
    Path | None,
    typer.Option("--tests-out", help="Write the tests with their results, to be run again."),
]
Generation = Annotated[
    int | None, typer.Option(help="The generation to ask, also one that a gate held back.")
]


@dataclass(slots=True)
class ExtraOptions:
    duration_s: float | None
    rate_per_s: float | None
    index_recall: bool
    calibrate: bool
    force: bool
    false_accept_cost: float
    generation: int | None
    not_learned: str = field(default="", init=False)

    def added_to(self, options: "ValidateOptions") -> "ValidateOptions":
        return replace(
            options,
            duration_s=self.duration_s,
            rate_per_s=self.rate_per_s,
            index_recall=self.index_recall,
            false_accept_cost=self.false_accept_cost,
        )

    def check(self) -> None:
        if self.force and not self.calibrate:
            raise InputError("--force goes with --calibrate")

    async def learn(self, application: "Application", report: "Report") -> None:
        """Whatever the verdict: tests fail for want of a threshold, too."""
        if not self.calibrate:
            return
        from surefind.interfaces.reports.extra_checks import rate

        try:
            threshold = await application.learn_threshold(report, force=self.force)
        except NotComparable as error:
            self.not_learned = str(error)
            note(f"{error}. Nothing was stored")
            return
        note(
            f"generation {report.subject.generation} of {report.subject.collection} now uses the "
            f"threshold {threshold.similarity:.3f}; false accepts {rate(threshold.false_accepts)}, "
            f"false rejects {rate(threshold.false_rejects)}, with 95 % confidence"
        )

    def exit_code(self, of_report: int) -> int:
        return of_report or (INCONCLUSIVE if self.not_learned else 0)
