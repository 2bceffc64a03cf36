"""A retriever and a tool for LangChain (extra `langchain`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PrivateAttr, SecretStr

from surefind.errors import SurefindError
from surefind.interfaces.integrations.docs_source import DocsSource
from surefind.interfaces.integrations.found_passages import for_a_model, metadata_of, text_of
from surefind.model import SearchResult

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
except ModuleNotFoundError as error:
    raise ImportError(
        f"this module needs langchain-core ({error}); run pip install 'surefind[langchain]'"
    ) from error


class SurefindRetriever(BaseRetriever):
    """Searches a data folder, or a server: `SurefindRetriever(url="https://…", key="…", k=4)`.

    `docs` is what `surefind.open()` or `connect_to()` returned. `search_options` are those of
    `docs.search()`; options of a call such as `invoke(query, k=3)` take precedence.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True,
        extra="forbid",
        hide_input_in_errors=True,  # it may contain the key
        populate_by_name=True,
    )

    docs: Any = Field(default=None, exclude=True)
    url: str | None = None
    key: SecretStr | None = None
    data_dir: Path | None = None
    collection: str | None = None
    top_k: int = Field(default=5, ge=1, validation_alias=AliasChoices("top_k", "k"))
    search_options: dict[str, Any] = Field(default_factory=dict)

    _source: DocsSource = PrivateAttr()

    def model_post_init(self, _context: Any, /) -> None:
        self._source = DocsSource(
            self.docs,
            url=self.url,
            key=self.key,
            data_dir=self.data_dir,
            collection=self.collection,
        )

    def find(self, query: str, **options: Any) -> SearchResult:
        """The library's own result, with the confidence and every score."""
        return self._source.search(query, self._options(options))

    async def afind(self, query: str, **options: Any) -> SearchResult:
        return await self._source.asearch(query, self._options(options))

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        top_k = given.pop("k", self.top_k)
        return {"top_k": top_k, **self.search_options, **given}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
        **options: Any,
    ) -> list[Document]:
        return documents_of(self.find(query, **options))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return documents_of(await self.afind(query, **options))


class SearchDocsInput(BaseModel):
    query: str = Field(description="A question or keywords")


class SurefindSearchTool(BaseTool):
    """The passages as text for the model, and as documents in the artifact of its message.

    Errors become messages that the model can read.
    """

    name: str = "search_docs"
    description: str = (
        "Find the passages of the documentation that answer a question. Cite the URLs of what you "
        "use; if the evidence is thin, say that the documentation has no answer."
    )
    args_schema: type[BaseModel] = SearchDocsInput
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    retriever: SurefindRetriever = Field(default_factory=SurefindRetriever)

    def _run(self, query: str) -> tuple[str, list[Document]]:
        try:
            result = self.retriever.find(query)
        except SurefindError as error:
            raise ToolException(str(error)) from error
        return for_a_model(result), documents_of(result)

    async def _arun(self, query: str) -> tuple[str, list[Document]]:
        try:
            result = await self.retriever.afind(query)
        except SurefindError as error:
            raise ToolException(str(error)) from error
        return for_a_model(result), documents_of(result)


def documents_of(result: SearchResult) -> list[Document]:
    return [
        Document(id=hit.record.chunk.id, page_content=text_of(hit), metadata=metadata_of(hit))
        for hit in result
    ]
