"""Public names that `surefind` imports on first use, so that `import surefind` is quick."""

from importlib import import_module
from importlib.metadata import version

_NAMES = {
    "surefind.adapters.sources.website.http": ("CacheValidator", "CrawlOptions"),
    "surefind.evaluation.golden.expectations": (
        "ByAddress",
        "ByChunk",
        "ByName",
        "BySource",
        "ByText",
        "Expectation",
    ),
    "surefind.evaluation.golden.gates": ("QualityRule", "RuleSeverity"),
    "surefind.evaluation.golden.golden_set": (
        "GoldenSet",
        "GoldenTest",
        "SuccessCriteria",
        "TestKind",
    ),
    "surefind.evaluation.measures.index_recall": ("IndexRecall", "QueryRecall", "RecallUnder"),
    "surefind.evaluation.measures.latency": ("LoadResult",),
    "surefind.evaluation.measures.ranking": ("Measure", "MeasureKind"),
    "surefind.evaluation.measures.thresholds": ("Separation",),
    "surefind.evaluation.report.report": (
        "Category",
        "Comparison",
        "ExpectationResult",
        "FoundHit",
        "Integrity",
        "Latency",
        "MeasureChange",
        "Means",
        "Negatives",
        "Outcome",
        "Report",
        "RuleOutcome",
        "Subject",
        "TestChange",
        "TestOutcome",
        "Totals",
    ),
    "surefind.evaluation.statistics.significance": (
        "ComparisonEvidence",
        "MeasureDifference",
        "Verdict",
    ),
    "surefind.services.generations.generations": ("GenerationChanges",),
    "surefind.services.generations.history": ("GenerationDiff",),
    "surefind.services.generations.index_building": ("Progress",),
    "surefind.services.search.why_not": ("Cause", "WhyNot"),
    "surefind.settings": ("Settings",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def load_name(name: str) -> object:
    """For `surefind.__getattr__`."""
    if name == "__version__":
        return version("surefind")
    if name not in _MODULES:
        raise AttributeError(f"module 'surefind' has no attribute {name!r}", name=name)
    return getattr(import_module(_MODULES[name]), name)
