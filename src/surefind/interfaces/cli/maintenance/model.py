"""`surefind model`: the embedding model's files."""

import typer

from surefind.interfaces.cli.console import note, show

app = typer.Typer(help="The embedding model.", no_args_is_help=True)


@app.command("fetch")
def fetch() -> None:
    """Fetch the model's files, verify them, and print where they are.

    Searching and ingesting do this by themselves; do it beforehand to build an image, or before
    going offline.
    """
    from surefind.bootstrap import fetch_model
    from surefind.settings import load

    show(str(fetch_model(load(), note)))
