"""Audit a collection, diagnose and repair the stores, migrate the catalog."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from surefind.bootstrap.connections import table_of
from surefind.bootstrap.stores import documents_table, postgres_store

if TYPE_CHECKING:
    from surefind.adapters.postgres.migrations import Migration
    from surefind.bootstrap.parts import Parts
    from surefind.model import GapReport
    from surefind.ports import ChunkTable
    from surefind.services.connected.collection import ConnectedCollection
    from surefind.services.demand.drift import Drift, DriftOptions
    from surefind.services.demand.gaps import GapOptions
    from surefind.services.demand.missing_answers import MissingAnswers
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.maintenance.audit import AuditOptions
    from surefind.services.maintenance.audit_report import AuditReport
    from surefind.services.maintenance.doctor_connected import ConnectedExaminer
    from surefind.services.maintenance.doctor_examination import Examiner
    from surefind.services.maintenance.doctor_findings import CheckFinding
    from surefind.services.maintenance.doctor_repair import Repairer
    from surefind.settings import Settings

_LEARNED_FROM = 100
_EXTRAS = {"qdrant": "qdrant-client", "postgres": "psycopg", "cohere": "cohere"}


class Maintenance:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def audit(self, options: AuditOptions, report: ReportProgress) -> AuditReport:
        """Check the data of the current generation."""
        from surefind.services.maintenance.audit import audit

        parts = self._parts
        name = parts.settings.collection
        foreign = [one.foreign for one in parts.connected if one.connection.name == name]
        async with parts.reader.lease() as generation:
            return await audit(
                generation, foreign[0] if foreign else None, parts.embedder, options, report
            )

    async def gaps(self, options: GapOptions) -> GapReport:
        """The questions in the query log that the collection hardly answers."""
        from surefind.services.demand.gaps import find_gaps

        parts = self._parts
        searches = await parts.logged_searches(options.since)
        name = parts.settings.collection
        missing = await self._missing_answers(name) if options.possible and searches else None
        return await find_gaps(name, searches, parts.query_embedder, options, missing)

    async def drift(self, options: DriftOptions) -> tuple[Drift, Sequence[str]]:
        """The latest searches and validations beside earlier ones; and notes on damaged records."""
        from surefind.adapters.files.run_files import RunFiles
        from surefind.services.demand.drift import drift

        parts = self._parts
        name = parts.settings.collection
        searches = await parts.logged_searches(options.since)
        runs, damaged = await RunFiles(parts.folder).runs(name)
        return drift(name, searches, runs, options), damaged

    async def _missing_answers(self, collection: str) -> MissingAnswers | None:
        """Learned from the collection; None, with a note, if it has too few links and headings."""
        from surefind.evaluation.golden.label_free import LabelFreeKind
        from surefind.services.demand.missing_answers import FEWEST_TESTS, MissingAnswers
        from surefind.services.validation.unjudged_sets import self_description

        parts = self._parts
        async with parts.reader.lease() as generation:
            description = await self_description(generation.require_catalog())
        tests = [
            test
            for kind in (LabelFreeKind.LINKS, LabelFreeKind.HEADINGS)
            for test in description.tests(kind, _LEARNED_FROM)
        ]
        searcher = (await parts.searcher()).without_cache()
        missing = MissingAnswers(searcher, parts.terms, collection)
        if await missing.learn(tests):
            return missing
        parts.notify(
            f"possible gaps are not listed: {collection} has fewer than {FEWEST_TESTS} links and "
            "headings to learn from"
        )
        return None

    def examiner(self) -> Examiner:
        from surefind.services.maintenance.doctor_examination import Examiner

        parts = self._parts
        return Examiner(
            parts.own_index,
            parts.own_catalogs,
            parts.embedder,
            parts.terms.name,
            [self._connected_examiner(collection) for collection in parts.connected],
            lambda: parts.embedding_cache(read_only=True),
        )

    def repairer(self) -> Repairer:
        """It caches what it embeds, so that a second attempt costs nothing."""
        from surefind.services.maintenance.doctor_repair import Repairer

        parts = self._parts
        return Repairer(
            parts.own_index,
            parts.own_catalogs,
            lambda: parts.embedder(writing=True),
            parts.terms,
            version("surefind"),
            lambda: parts.embedding_cache(read_only=False),
        )

    def _connected_examiner(self, collection: ConnectedCollection) -> ConnectedExaminer:
        from surefind.services.maintenance.doctor_connected import ConnectedExaminer

        settings = self._parts.settings
        table = table_of(collection.connection, settings)

        def open_table() -> ChunkTable:
            """Raises InputError for a wrong setting, which the doctor reports as a finding."""
            return documents_table(table or "", settings)()

        return ConnectedExaminer(collection, self._parts.embedder, open_table if table else None)

    def surroundings(self) -> list[CheckFinding]:
        """The settings and versions in use, and what is set without an effect."""
        from surefind.services.maintenance.doctor_findings import CheckFinding, CheckSeverity
        from surefind.settings import notices_of

        settings = self._parts.settings
        extras = ", ".join(f"{name} {_version(package)}" for name, package in _EXTRAS.items())
        return [
            CheckFinding(
                "settings",
                CheckSeverity.FINE,
                f"data folder {settings.data_dir}, collection {settings.collection}, embedder "
                f"{settings.embedder}, reranker {settings.reranker}",
            ),
            CheckFinding(
                "versions",
                CheckSeverity.FINE,
                f"surefind {version('surefind')}, Python {platform.python_version()}; "
                f"extras: {extras}",
            ),
            *(
                CheckFinding("settings", CheckSeverity.WARNING, notice)
                for notice in notices_of(settings).values()
            ),
        ]

    async def migrate_catalog(self, *, dry_run: bool) -> Sequence[Migration]:
        """Apply the missing migrations in PostgreSQL and return them; a dry run rolls them back."""
        store = postgres_store(self._parts.settings)
        try:
            return await store.migrate(dry_run=dry_run)
        finally:
            await store.close()


def repair_format(settings: Settings) -> list[str]:
    """Repair the data folder's format file. An `Application` can't: it refuses such a folder."""
    from surefind.adapters.files.data_folder import DataFolder

    return DataFolder(settings.data_dir).repair_format()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
