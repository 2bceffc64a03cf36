"""`surefind model`: the embedding model's files."""

import typer

from surefind.interfaces.cli.console import note, show
from surefind.interfaces.cli.usage import examples

app = typer.Typer(
    help="Manage the embedding model.",
    epilog=examples("surefind model fetch", page="commands/model/"),
)


@app.command("fetch")
def fetch() -> None:
    """Download the model's files, verify them, and print their location.

    Search and ingest download the model when they need it. Run this command to build an image or
    to prepare for working offline.
    """
    from surefind.bootstrap import fetch_model
    from surefind.settings import load

    show(str(fetch_model(load(), note)))
