"""The options of a validation run, and their validation."""

from collections.abc import Callable
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import GoldenSet
from surefind.evaluation.measures.ranking import Measure, MeasureKind
from surefind.model import DEFAULT_COLLECTION, Collapse, Mode
from surefind.services.search.query_checks import MAX_TOP_K
from surefind.services.validation.extra.load_test import LoadOptions

DEFAULT_TOP_K = 5
MAX_CONCURRENCY = 64
MAX_COST = 1000.0


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RunRequest:
    """`None` takes the value from the golden set, or the default.

    - `generation`: validate this generation, published or not, instead of the current one.
    - `index_recall`: compare the approximate index with exact search. A rule about
    `index_recall` in the golden set has the same effect.
    - `load`: after the tests, measure latencies under load, `concurrency` searches at a time.
    - `false_accept_cost`: relative to a false reject, for the suggested threshold.
    - `partial`: report what was measured when the run is cancelled.
    - `stop_requested`: polled between queries, because a cancellation alone may get lost.
    """

    collection: str = DEFAULT_COLLECTION
    generation: int | None = None
    top_k: int | None = None
    mode: Mode | None = None
    collapse: Collapse | None = None
    concurrency: int = 8
    index_recall: bool = False
    load: LoadOptions | None = None
    false_accept_cost: float = 1.0
    partial: bool = True
    stop_requested: Callable[[], bool] = _never

    def top_k_for(self, golden: GoldenSet) -> int:
        top_k = golden.top_k if self.top_k is None else self.top_k
        return DEFAULT_TOP_K if top_k is None else top_k

    def measures_for(self, golden: GoldenSet) -> tuple[Measure, ...]:
        """The measures of the golden set, or the default ones, and those of its rules.

        Raises InputError if the golden set can't run as requested.
        """
        self._check(golden)
        top_k = self.top_k_for(golden)
        default = (
            Measure(MeasureKind.NDCG, top_k),
            Measure(MeasureKind.RECALL, top_k),
            Measure(MeasureKind.PRECISION, top_k),
            Measure(MeasureKind.HIT, top_k),
            Measure(MeasureKind.RECIPROCAL_RANK),
            Measure(MeasureKind.AVERAGE_PRECISION),
        )
        of_rules = (rule.measure for rule in golden.gates if rule.measure is not None)
        measures = (*(golden.measures or default), *of_rules)
        for measure in measures:
            if measure.cutoff is not None and measure.cutoff > top_k:
                place = (
                    f"{golden.measure_lines[measure]}: " if measure in golden.measure_lines else ""
                )
                raise InputError(
                    f"{place}{measure} needs {measure.cutoff} results, but top_k is {top_k}; "
                    f"set top_k to {measure.cutoff}"
                )
        return tuple(dict.fromkeys(measures))

    def _check(self, golden: GoldenSet) -> None:
        top_k = self.top_k_for(golden)
        if not 1 <= top_k <= MAX_TOP_K:
            raise InputError(f"top_k must be between 1 and {MAX_TOP_K}, not {top_k}")
        if not 1 <= self.concurrency <= MAX_CONCURRENCY:
            raise InputError(
                f"concurrency must be between 1 and {MAX_CONCURRENCY}, not {self.concurrency}"
            )
        if self.load is not None and not golden.tests:
            raise InputError(f"--duration: {golden.name} has no queries for a load test")
        if not 0 < self.false_accept_cost <= MAX_COST:
            raise InputError(
                f"false_accept_cost must be above 0 and at most {MAX_COST:g}, "
                f"not {self.false_accept_cost:g}"
            )
