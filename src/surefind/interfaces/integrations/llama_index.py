"""A retriever for LlamaIndex (extra `llama-index`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from os import PathLike
from typing import Any

from pydantic import SecretStr

from surefind.interfaces.integrations.docs_source import DocsSource
from surefind.interfaces.integrations.found_passages import metadata_of, text_of
from surefind.interfaces.library.async_client import AsyncSurefind
from surefind.interfaces.library.sync_client import Surefind
from surefind.model import Hit, Turn

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ModuleNotFoundError as error:
    raise ImportError(
        f"this module needs llama-index-core ({error}); run pip install 'surefind[llama-index]'"
    ) from error

_FOR_MODELS = {"url", "breadcrumb"}


class SurefindRetriever(BaseRetriever):
    """Searches a data folder, or a server: `SurefindRetriever(url="https://…", key="…")`.

    `docs` is what `surefind.open()` or `connect_to()` returned. `search_options` are those of
    `docs.search()`.
    """

    def __init__(
        self,
        docs: Surefind | AsyncSurefind | None = None,
        *,
        url: str | None = None,
        key: str | SecretStr | None = None,
        data_dir: str | PathLike[str] | None = None,
        collection: str | None = None,
        top_k: int = 5,
        search_options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """`more` are the parameters of LlamaIndex's own retrievers, such as `verbose`."""
        self._source = DocsSource(docs, url=url, key=key, data_dir=data_dir, collection=collection)
        self._options = {"top_k": top_k, **(search_options or {})}
        super().__init__(**more)

    def after(self, history: Sequence[Turn | Mapping[str, str] | str]) -> SurefindRetriever:
        """The same retriever for the next question of a conversation with these turns."""
        following = copy(self)
        following._options = {**self._options, "history": history}  # noqa: SLF001 - same class
        return following

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self._source.search(query_bundle.query_str, self._options)
        return [_node(hit) for hit in result]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = await self._source.asearch(query_bundle.query_str, self._options)
        return [_node(hit) for hit in result]


def _node(hit: Hit) -> NodeWithScore:
    """Models see the passage with its link and headings; other metadata would distract them."""
    metadata = metadata_of(hit)
    page = RelatedNodeInfo(node_id=hit.record.chunk.source_path)
    node = TextNode(
        id_=hit.record.chunk.id,
        text=text_of(hit),
        metadata=metadata,
        excluded_llm_metadata_keys=[name for name in metadata if name not in _FOR_MODELS],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: page},
    )
    return NodeWithScore(node=node, score=hit.score)
