"""Options of the commands that judge results by golden tests."""

from pathlib import Path
from typing import Annotated

import typer

TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        "-k",
        metavar="1..1000",
        help="Number of results to judge. [default: set by the tests, or 5]",
    ),
]
Qrels = Annotated[
    Path | None,
    typer.Option(help="TREC relevance judgements; the file of tests then has the topics."),
]
