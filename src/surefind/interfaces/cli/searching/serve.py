"""`surefind serve`: the HTTP API and the page."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import Collection, DataDir, note, run

if TYPE_CHECKING:
    from surefind.bootstrap import Application


def serve(
    port: Annotated[
        int | None, typer.Option(help="The port; else $PORT, else 8000. 0 takes a free one.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address. [default: 127.0.0.1]")] = None,
    allow_open: Annotated[
        bool | None,
        typer.Option("--allow-open", help="Serve other machines without any keys."),
    ] = None,
    docs: Annotated[
        bool | None,
        typer.Option(
            "--docs/--no-docs",
            help="Serve the description of the API at /docs. [default: to this machine only]",
        ),
    ] = None,
    log_queries: Annotated[
        bool | None, typer.Option("--log-queries", help="Write what is asked to the log.")
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the HTTP API and the search page, until Ctrl-C.

    A generation that `surefind ingest` publishes meanwhile is picked up without a restart.
    """

    async def work(application: "Application") -> None:
        from surefind.interfaces.http.server import serve_application

        await serve_application(application, note)

    from surefind.interfaces.library.portal import new_loop
    from surefind.settings import check_platform_port

    check_platform_port(port)
    run(
        work,
        new_loop,
        port=port,
        host=host,
        allow_open=allow_open,
        docs=docs,
        log_queries=log_queries,
        collection=collection,
        data_dir=data_dir,
    )
