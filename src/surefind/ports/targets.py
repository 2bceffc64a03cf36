"""Targets: retrievers that golden tests run on."""

from __future__ import annotations

from typing import Protocol

from surefind.model import TargetAnswer, TargetQuery


class Target(Protocol):
    """A retriever, surefind's own or another. Searches may run concurrently.

    - `takes_limit`: whether more results can be requested than are judged.
    - `takes_filters`: whether it applies the `where` of a query; if not, such tests can't run.
    """

    name: str
    takes_limit: bool
    takes_filters: bool

    async def search(self, query: TargetQuery) -> TargetAnswer:
        """The results, best first, at least `top_k` if there are that many.

        Raise TargetUnreachable without a usable answer, and TargetError for one that can't be read.
        """
        ...
