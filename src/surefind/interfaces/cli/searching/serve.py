"""`surefind serve`: the HTTP API and the search page."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import Collection, DataDir, note, run
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application

EXAMPLES = examples(
    "surefind serve",
    "surefind serve --port 9000",
    "surefind serve --workers auto",
    "surefind serve --host 0.0.0.0",
    page="commands/serve/",
)


def serve(
    port: Annotated[
        int | None,
        typer.Option(
            metavar="0..65535", help="The port; 0 picks a free one. [default: $PORT, or 8000]"
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address to listen on. [default: 127.0.0.1]"),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="1..256|auto",
            help="Number of processes that answer requests; auto: one per core. [default: 1]",
        ),
    ] = None,
    allow_open: Annotated[
        bool | None,
        typer.Option("--allow-open", help="Serve other machines even though no API keys exist."),
    ] = None,
    docs: Annotated[
        bool | None,
        typer.Option(
            "--docs/--no-docs",
            help="Serve the API reference at /docs. [default: to this machine only]",
        ),
    ] = None,
    log_queries: Annotated[
        bool | None, typer.Option("--log-queries", help="Log the text of each query.")
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the HTTP API and the search page until Ctrl-C.

    Newly published generations are picked up without a restart.
    """
    from surefind.interfaces.library.portal import new_loop
    from surefind.settings import check_platform_port, load

    options = {
        "port": port,
        "host": host,
        "workers": workers,
        "allow_open": allow_open,
        "docs": docs,
        "log_queries": log_queries,
        "collection": collection,
        "data_dir": data_dir,
    }

    async def work(application: "Application") -> None:
        from surefind.interfaces.http.server.start import serve_application

        await serve_application(application, note, reload=lambda: load(**options))

    check_platform_port(port)
    run(work, new_loop, **options)
