"""The doctor, wired, and what there is to say of the surroundings."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.doctor import Doctor, Finding

_EXTRAS = {"qdrant": "qdrant-client", "postgres": "psycopg", "cohere": "cohere"}


def doctor_of(application: Application, *, repairing: bool = False) -> Doctor:
    """Who repairs keeps what was embedded, so that a second try need not pay for it again."""
    from surefind.services.doctor import Doctor

    return Doctor(
        application.index,
        application.catalogs,
        lambda: application.embedder(writing=repairing),
        application.terms,
        version("surefind"),
    )


def surroundings(application: Application) -> list[Finding]:
    from surefind.services.doctor import Finding, Gravity

    settings = application.settings
    extras = ", ".join(f"{name} {_version(package)}" for name, package in _EXTRAS.items())
    return [
        Finding(
            "settings",
            Gravity.FINE,
            f"data folder {settings.data_dir}, collection {settings.collection}, embedder "
            f"{settings.embedder}, reranker {settings.reranker}",
        ),
        Finding(
            "versions",
            Gravity.FINE,
            f"surefind {version('surefind')}, Python {platform.python_version()}; extras: {extras}",
        ),
        *(
            Finding(
                "settings", Gravity.WARNING, f"{name} is set, but nothing that was chosen uses it"
            )
            for name in settings.idle_keys
        ),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
