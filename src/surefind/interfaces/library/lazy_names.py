"""Public names that `surefind` imports on first use, so that `import surefind` is quick."""

from importlib import import_module

_NAMES = {
    "surefind.adapters.sources.website.http": (
        "CacheValidator",
        "CrawlOptions",
    ),
    "surefind.contracts.aggregation": ("aggregate_results_to_report",),
    "surefind.contracts.layer": ("QueryEmbedding",),
    "surefind.contracts.validation": (
        "RetrievalQuery",
        "RetrievalResult",
        "ValidationReport",
        "extract_metadata_safely",
        "qdrant_result_to_retrieval_result",
        "validate_retrieval_query",
    ),
    "surefind.errors": (
        "AddressInUse",
        "EmbeddingError",
        "FormatTooNew",
        "GuardStopped",
        "InputError",
        "NotComparable",
        "NothingIngested",
        "Overloaded",
        "RerankingError",
        "StoreBusy",
        "StoreChanged",
        "StoreError",
        "StoreFull",
        "StoreRefused",
        "StoreUnreachable",
        "SurefindError",
        "TargetError",
        "TargetUnreachable",
        "UnknownChunk",
        "UnknownCollection",
        "UnknownDocument",
        "UnknownGeneration",
        "VersionMismatch",
    ),
    "surefind.evaluation.golden.expectations": (
        "ByAddress",
        "ByChunk",
        "ByName",
        "BySource",
        "ByText",
        "Expectation",
    ),
    "surefind.evaluation.golden.gates": (
        "QualityRule",
        "RuleSeverity",
    ),
    "surefind.evaluation.golden.golden_set": (
        "GoldenSet",
        "GoldenTest",
        "SuccessCriteria",
        "TestKind",
    ),
    "surefind.evaluation.measures.index_recall": (
        "IndexRecall",
        "QueryRecall",
        "RecallUnder",
    ),
    "surefind.evaluation.measures.latency": ("LoadResult",),
    "surefind.evaluation.measures.ranking": (
        "Measure",
        "MeasureKind",
    ),
    "surefind.evaluation.measures.thresholds": ("Separation",),
    "surefind.evaluation.report.report": (
        "Breakdown",
        "Category",
        "Comparison",
        "ExpectationResult",
        "FoundHit",
        "Integrity",
        "Latency",
        "Means",
        "MeasureChange",
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
    "surefind.interfaces.library.async_client": (
        "AsyncSurefind",
        "Golden",
        "OnProgress",
    ),
    "surefind.interfaces.library.default_client": (
        "generate_query_embedding",
        "retrieve_content_chunks",
    ),
    "surefind.interfaces.library.open_options": ("OpenOptions",),
    "surefind.interfaces.library.opening": (
        "aconnect_to",
        "aopen",
        "connect_to",
        "open",
    ),
    "surefind.interfaces.library.served.server_options": ("ClientOptions",),
    "surefind.interfaces.library.sync_client": ("Surefind",),
    "surefind.interfaces.search_options": ("SearchOptions",),
    "surefind.model": (
        "AnyOf",
        "Between",
        "BrokenLink",
        "Calibration",
        "Chunk",
        "ChunkRecord",
        "ChunkerSettings",
        "Collapse",
        "CollectionSummary",
        "Condition",
        "Confidence",
        "Connection",
        "Context",
        "Cost",
        "Distance",
        "Document",
        "EmbedderFingerprint",
        "Evidence",
        "Expand",
        "FailedTest",
        "Field",
        "FieldKind",
        "GateResult",
        "GenerationRef",
        "GroupBy",
        "Hit",
        "IngestReport",
        "LegScore",
        "LexicalSettings",
        "Manifest",
        "Mode",
        "Page",
        "PageFailure",
        "PageScore",
        "PayloadMapping",
        "PositionKind",
        "Query",
        "Rate",
        "Reranking",
        "Role",
        "SearchResult",
        "Status",
        "Threshold",
        "Timings",
        "UrlStyle",
        "Under",
        "VectorSpace",
    ),
    "surefind.ports": (
        "EmbeddedQuery",
        "Embedder",
        "Matrix",
        "Reranker",
        "Vector",
    ),
    "surefind.services.generations.generations": ("GenerationChanges",),
    "surefind.services.generations.history": ("GenerationDiff",),
    "surefind.services.generations.index_building": ("Progress",),
    "surefind.services.search.why_not": (
        "Cause",
        "WhyNot",
    ),
    "surefind.settings": ("Settings",),
}
_RENAMED = {"LayerRetrievalResult": ("surefind.contracts.layer", "RetrievalResult")}
_PLACES = {name: (module, name) for module, names in _NAMES.items() for name in names} | _RENAMED
_FOLDERS = {"contracts", "errors", "interfaces", "model", "ports", "services", "settings"}


def load_name(name: str) -> object:
    """For `surefind.__getattr__`."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - it takes longer than the rest

        return version("surefind")
    if name in _FOLDERS:  # `surefind.errors` without an import of its own
        return import_module(f"surefind.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'surefind' has no attribute {name!r}", name=name)
    module, original = _PLACES[name]
    return getattr(import_module(module), original)
