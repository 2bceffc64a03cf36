"""Where an integration searches: in what the caller opened, on a server, or in a data folder."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from surefind.errors import InputError
from surefind.interfaces.library.default_client import opened_once
from surefind.interfaces.library.opening import connect_to
from surefind.interfaces.library.opening import open as open_folder
from surefind.interfaces.library.sync_client import Surefind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from surefind.interfaces.library.async_client import AsyncSurefind
    from surefind.model import SearchResult

_ONE = "pass only one of docs, url and data_dir"
_ASYNC = "docs was opened by aopen() or aconnect_to(); use the async methods, or surefind.open()"


class DocsSource:
    """Opens a server or folder at the first search, and closes it when the program ends.

    Without `docs`, `url` and `data_dir`, the folder of the settings is searched.
    """

    def __init__(
        self,
        docs: Surefind | AsyncSurefind | None = None,
        *,
        url: str | None = None,
        key: str | SecretStr | None = None,
        data_dir: str | PathLike[str] | None = None,
        collection: str | None = None,
    ) -> None:
        if sum(one is not None for one in (docs, url, data_dir)) > 1:
            raise InputError(_ONE)
        if docs is not None and not callable(getattr(docs, "search", None)):
            raise InputError(f"docs must come from surefind.open() or connect_to(), not {docs!r}")
        if key is not None and url is None:
            raise InputError("key is for a server; pass its url too")
        self._docs = docs
        self._url = url
        self._key = key
        self._data_dir = data_dir
        self._collection = collection

    def search(self, text: str, options: Mapping[str, Any]) -> SearchResult:
        docs = self._opened()
        if inspect.iscoroutinefunction(docs.search):
            raise InputError(_ASYNC)
        return cast("Surefind", docs).search(text, collection=self._collection, **options)

    async def asearch(self, text: str, options: Mapping[str, Any]) -> SearchResult:
        if self._docs is not None and inspect.iscoroutinefunction(self._docs.search):
            docs = cast("AsyncSurefind", self._docs)
            return await docs.search(text, collection=self._collection, **options)
        return await asyncio.to_thread(self.search, text, options)

    def _opened(self) -> Surefind | AsyncSurefind:
        if self._docs is not None:
            return self._docs
        if self._url is not None:
            secret = getattr(self._key, "get_secret_value", lambda: self._key)()
            return opened_once((self._url, secret), partial(connect_to, self._url, key=secret))
        from surefind.settings import load  # noqa: PLC0415 - importing an integration stays cheap

        options: dict[str, Any] = {} if self._data_dir is None else {"data_dir": self._data_dir}
        return opened_once(load(**options), partial(open_folder, **options))
