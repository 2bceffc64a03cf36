"""The doctor, wired, and what there is to say of the surroundings."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from surefind.bootstrap.connections import table_of
from surefind.bootstrap.stores import documents_table

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.ports import ChunkTable
    from surefind.services.connected.collection import ConnectedCollection
    from surefind.services.maintenance.connected_doctor import ConnectedDoctor
    from surefind.services.maintenance.doctor import CheckFinding, Doctor
    from surefind.settings import Settings

_EXTRAS = {"qdrant": "qdrant-client", "postgres": "psycopg", "cohere": "cohere"}


def doctor_of(application: Application, *, repairing: bool = False) -> Doctor:
    """Who repairs keeps what was embedded, so that a second try need not pay for it again."""
    from surefind.services.maintenance.doctor import Doctor

    return Doctor(
        application.own_index,
        application.own_catalogs,
        lambda: application.embedder(writing=repairing),
        application.terms,
        version("surefind"),
        [_examination(one, application) for one in application.connected],
        lambda: application.embedding_cache(read_only=not repairing),
    )


def _examination(collection: ConnectedCollection, application: Application) -> ConnectedDoctor:
    from surefind.services.maintenance.connected_doctor import ConnectedDoctor

    name = table_of(collection.connection, application.settings)

    def open_table() -> ChunkTable:
        """What is wrong with the setting itself is found here, too."""
        return documents_table(name or "", application.settings)()

    return ConnectedDoctor(collection, application.embedder, open_table if name else None)


def mend_folder(settings: Settings) -> list[str]:
    """What of the data folder itself was repaired; it needs no application, which checks it."""
    from surefind.adapters.files.data_folder import DataFolder

    return DataFolder(settings.data_dir).mend_format()


def surroundings(application: Application) -> list[CheckFinding]:
    from surefind.services.maintenance.doctor import CheckFinding, CheckSeverity

    settings = application.settings
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
            f"surefind {version('surefind')}, Python {platform.python_version()}; extras: {extras}",
        ),
        *(
            CheckFinding(
                "settings",
                CheckSeverity.WARNING,
                f"{name} is set, but nothing that was chosen uses it",
            )
            for name in settings.idle_keys
        ),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
