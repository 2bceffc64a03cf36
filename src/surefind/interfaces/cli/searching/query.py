"""`surefind query`: answers in the shape of the testing contract."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, note, run, show, show_json
from surefind.interfaces.cli.searching.places import place_of
from surefind.interfaces.cli.searching.search import closing
from surefind.interfaces.cli.usage import examples
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.contracts.testing import RetrievedChunk
    from surefind.model import SearchResult

_EXCERPT = 160

EXAMPLES = examples(
    "surefind query how do I undo --json",
    page="commands/query/",
)


def query(
    query_text: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help="The query, at most 2000 characters; quotes are not needed.",
        ),
    ],
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", metavar="1..20", help="Number of results.")
    ] = 5,
    threshold: Annotated[float, typer.Option(metavar="0..1", help="Minimum similarity.")] = 0.0,
    include_metadata: Annotated[
        bool,
        typer.Option(
            "--include-metadata/--no-include-metadata",
            help="Add title, section, breadcrumb and source_path to JSON results.",
        ),
    ] = True,
    mode: Annotated[
        Mode,
        typer.Option(help="The search mode; dense ranks by similarity, as the contract requires."),
    ] = Mode.DENSE,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a query retrieves, in the format of `POST /query`."""
    from surefind.contracts.testing import QueryRequest, QueryResponse

    request = QueryRequest.read(
        query_text=" ".join(query_text),
        top_k=top_k,
        threshold=threshold,
        include_metadata=include_metadata,
        mode=mode,
    )

    async def work(application: "Application") -> "SearchResult":
        return await application.searching.search(request.to_query(application.settings.collection))

    result = run(work, collection=collection, data_dir=data_dir)
    response = QueryResponse.of(result, include_metadata=include_metadata)
    if as_json:
        show_json(response.model_dump(mode="json"))
        return
    if response.results:
        show(_table(response.results, [place_of(hit.record) for hit in result.hits]))
    note(closing(result))


def _table(chunks: "Sequence[RetrievedChunk]", places: Sequence[str]) -> str:
    """One row per result, with its flaws below its content."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from surefind.contracts.testing import FlawedRetrievedChunk
    from surefind.text.html.to_markdown import readable

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("similarity", justify="right")
    table.add_column("content", ratio=2)
    table.add_column("position", justify="right")
    table.add_column("place", overflow="fold", ratio=1)
    for rank, (chunk, place) in enumerate(zip(chunks, places, strict=True), start=1):
        flaws = chunk.flaws if isinstance(chunk, FlawedRetrievedChunk) else []
        words = " ".join(readable(chunk.content).split())
        lines = [_shortened(words), *(f"! {flaw}" for flaw in flaws)]
        content = "\n".join(line for line in lines if line)
        position = "?" if "position" in chunk.assumed else str(chunk.position)
        cells = (str(rank), f"{chunk.similarity_score:.3f}", content, position, place)
        table.add_row(*map(Text, cells))
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _shortened(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"
