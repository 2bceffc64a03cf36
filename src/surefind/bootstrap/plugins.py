"""Embedders and rerankers that installed packages provide by an entry point."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from surefind.adapters.embedders.supplied import SuppliedEmbedder, SuppliedReranker
    from surefind.settings import Settings
    from surefind.settings.providers import ProviderKind


async def installed_embedder(settings: Settings) -> SuppliedEmbedder:
    """Load the embedder in a thread, because models are slow to load."""
    from surefind.adapters.embedders.supplied import SuppliedEmbedder
    from surefind.settings.providers import EMBEDDERS

    loaded = await asyncio.to_thread(_load, EMBEDDERS, settings.embedder, settings)
    return SuppliedEmbedder(loaded)  # type: ignore[arg-type]  # checked there


def installed_reranker(settings: Settings) -> SuppliedReranker:
    from surefind.adapters.embedders.supplied import SuppliedReranker
    from surefind.settings.providers import RERANKERS

    loaded = _load(RERANKERS, settings.reranker, settings)
    return SuppliedReranker(loaded)  # type: ignore[arg-type]  # checked there


def _load(kind: ProviderKind, name: str, settings: Settings) -> object:
    """Call the entry point's function. InputError unless exactly one package provides it."""
    from surefind.errors import InputError, SurefindError

    found = kind.installed(name)
    if len(found) != 1:
        packages = ", ".join(sorted(map(_package, found))) or "none"
        raise InputError(
            f"{kind.setting} is {name}, which exactly one installed package must provide; "
            f"packages that do: {packages}"
        )
    [entry] = found
    try:
        return entry.load()(settings)
    except SurefindError:
        raise
    except Exception as error:
        raise InputError(
            f"{kind.setting} is {name}, but {_package(entry)} failed to make it "
            f"({entry.value}: {type(error).__name__}: {error}); check that package's documentation"
        ) from error


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
