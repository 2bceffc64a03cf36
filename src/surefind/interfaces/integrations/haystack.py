"""A retriever for pipelines of Haystack 3 (extra `haystack`)."""

from __future__ import annotations

from os import PathLike
from typing import Any

from surefind.errors import InputError
from surefind.interfaces.integrations.docs_source import DocsSource
from surefind.interfaces.integrations.found_passages import metadata_of, text_of
from surefind.interfaces.library.async_client import AsyncSurefind
from surefind.interfaces.library.sync_client import Surefind
from surefind.model import SearchResult

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise ImportError(
        f"this module needs haystack-ai ({error}); run pip install 'surefind[haystack]'"
    ) from error


@component
class SurefindRetriever:
    """Searches a data folder, or a server: `SurefindRetriever(url="https://…", key=Secret…)`.

    `docs` is what `surefind.open()` or `connect_to()` returned; a pipeline with it can't be saved.
    `search_options` are those of `docs.search()`.
    """

    def __init__(
        self,
        docs: Surefind | AsyncSurefind | None = None,
        url: str | None = None,
        key: Secret | None = None,
        data_dir: str | PathLike[str] | None = None,
        collection: str | None = None,
        top_k: int = 5,
        search_options: dict[str, Any] | None = None,
    ) -> None:
        self.docs = docs
        self.url = url
        self.key = key
        self.data_dir = None if data_dir is None else str(data_dir)
        self.collection = collection
        self.top_k = top_k
        self.search_options = search_options
        resolved = None if key is None else key.resolve_value()
        self._source = DocsSource(
            docs, url=url, key=resolved, data_dir=data_dir, collection=collection
        )

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, search_options: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        return _found(self._source.search(query, self._options(top_k, search_options)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, search_options: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        return _found(await self._source.asearch(query, self._options(top_k, search_options)))

    def to_dict(self) -> dict[str, Any]:
        """`key` is saved as the name of its environment variable."""
        if self.docs is not None:
            raise InputError(
                "a pipeline with docs= can't be saved; pass url= or data_dir= to its retriever"
            )
        saved: dict[str, Any] = default_to_dict(
            self,
            url=self.url,
            key=self.key,
            data_dir=self.data_dir,
            collection=self.collection,
            top_k=self.top_k,
            search_options=self.search_options,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SurefindRetriever:
        restored: SurefindRetriever = default_from_dict(cls, data)
        return restored

    def _options(self, top_k: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        first = {"top_k": self.top_k, **(self.search_options or {})}
        return first | (options or {}) | ({} if top_k is None else {"top_k": top_k})


def _found(result: SearchResult) -> dict[str, list[Document]]:
    documents = [
        Document(
            id=hit.record.chunk.id, content=text_of(hit), meta=metadata_of(hit), score=hit.score
        )
        for hit in result
    ]
    return {"documents": documents}
