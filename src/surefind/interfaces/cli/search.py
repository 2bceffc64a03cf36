"""`surefind search`: a question in, passages out."""

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, note, run, show, show_json
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Hit, SearchResult

_WIDTH = 96
_LINES = 6


def search(
    question: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many passages, 1 to 1000.")] = 5,
    threshold: Annotated[
        float, typer.Option(help="Leave out what is less similar than this, 0.0 to 1.0.")
    ] = 0.0,
    mode: Annotated[
        Mode, typer.Option(help="hybrid fuses meaning and words; dense and lexical are one alone.")
    ] = Mode.HYBRID,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages that a question is about."""

    async def work(application: "Application") -> "SearchResult":
        from surefind.model import Query

        return await application.search(
            Query(question, top_k, threshold, mode, application.settings.collection)
        )

    result = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.native import search_json

        show_json(search_json(result))
        return
    for hit in result.hits:
        show(passage(hit))
    note(closing(result))


def passage(hit: "Hit") -> str:
    record = hit.record
    similarity = "" if hit.similarity is None else f", similarity {hit.similarity:.3f}"
    lines = [
        line
        for paragraph in record.chunk.text.splitlines()
        for line in textwrap.wrap(paragraph, _WIDTH) or [""]
    ]
    shown = [f"     {line}".rstrip() for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append("     …")
    return "\n".join(
        (
            f"{hit.rank:>2}.  {record.breadcrumb}",
            f"     {record.link}",
            f"     score {hit.score:.3f}{similarity}, chunk {record.chunk.id}",
            "",
            *shown,
            "",
        )
    )


def closing(result: "SearchResult") -> str:
    where = f"generation {result.generation} of {result.query.collection}, {result.chunks} chunks"
    if not result.chunks:
        return f"the collection is empty ({where})"
    if result.hits:
        count = len(result.hits)
        passages = "1 passage" if count == 1 else f"{count} passages"
        return f"{passages} in {result.timings.total_ms:.0f} ms ({where})"
    if result.best_similarity is not None:
        return (
            f"nothing reaches the threshold {result.query.threshold}; "
            f"the best similarity is {result.best_similarity:.3f} ({where})"
        )
    return f"none of the words occurs ({where})"
