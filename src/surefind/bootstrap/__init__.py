"""The only place where objects are created and connected.

Vendor imports are local to the functions that need them, so help texts and catalog commands load no
embedding model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.bootstrap.connections import Connecting
from surefind.bootstrap.ingesting import Ingesting, IngestRequest
from surefind.bootstrap.maintenance import Maintenance
from surefind.bootstrap.parts import Parts, silent
from surefind.bootstrap.searching import Searching
from surefind.bootstrap.serving import Serving
from surefind.bootstrap.transfer import Transfer
from surefind.bootstrap.validation import Validation
from surefind.ports import Notify

if TYPE_CHECKING:
    from surefind.adapters.onnx.recommended import RecommendedModel
    from surefind.ports import Embedder, Reranker
    from surefind.services.generations.generations import Generations
    from surefind.settings import Settings

__all__ = ["Application", "IngestRequest", "Notify", "fetch_model", "recommended_models"]


class Application:
    """An installation: its parts, and an object for each kind of task."""

    def __init__(
        self,
        settings: Settings,
        notify: Notify = silent,
        free_bytes: Callable[[Path], int] | None = None,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        """`free_bytes` returns the free space of a path's disk; the default asks the system.

        `embedder` and `reranker` are the caller's own. They are closed with the application.
        """
        self.settings = settings
        self.parts = Parts(settings, notify, free_bytes, embedder=embedder, reranker=reranker)

    @cached_property
    def searching(self) -> Searching:
        return Searching(self.parts)

    @cached_property
    def validation(self) -> Validation:
        return Validation(self.parts)

    @cached_property
    def ingesting(self) -> Ingesting:
        return Ingesting(self.parts, self.validation)

    @property
    def generations(self) -> Generations:
        return self.parts.generations()

    @cached_property
    def transfer(self) -> Transfer:
        return Transfer(self.parts)

    @cached_property
    def connecting(self) -> Connecting:
        return Connecting(self.parts)

    @cached_property
    def maintenance(self) -> Maintenance:
        return Maintenance(self.parts)

    @cached_property
    def serving(self) -> Serving:
        return Serving(self.parts)

    async def close(self) -> None:
        if "serving" in self.__dict__:
            await self.serving.close()
        await self.parts.close()


def fetch_model(
    settings: Settings, notify: Notify, model: str | None = None, file: str | None = None
) -> Path:
    """Download a model of the hub, by default the embedding model of the settings."""
    from surefind.adapters.embedders.model_files import locate
    from surefind.adapters.onnx import embedder, reranker
    from surefind.adapters.onnx.hub import Hub, fetch
    from surefind.adapters.onnx.recommended import facts_of

    if model is None and settings.embedder == "onnx":
        model, file = settings.embed_model, file or settings.embed_file
    if model is None:
        return locate(settings.model_dir, settings.cache_dir, notify, settings.hub_url)
    facts = facts_of(model)
    setting = reranker.SETTING if facts and facts.reranks else embedder.SETTING
    return fetch(model, file, Hub(settings.cache_dir, notify, settings.hub_url), setting)


def recommended_models(settings: Settings) -> list[tuple[RecommendedModel, bool]]:
    """The facts of each recommended model, and whether it has been downloaded."""
    from surefind.adapters.onnx.hub import is_cached
    from surefind.adapters.onnx.recommended import EMBEDDERS, RERANKERS

    models = (*EMBEDDERS, *RERANKERS)
    return [(model, is_cached(model.id, settings.cache_dir)) for model in models]
