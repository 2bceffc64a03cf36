"""The command line. Each command imports what it needs when it runs, so that help is instant."""

import logging
import sys

import typer

from surefind.errors import SurefindError
from surefind.interfaces.cli.console import (
    INTERRUPTED,
    LogLines,
    note,
    silence_stdout,
    steady_streams,
)
from surefind.interfaces.cli.documents import chunks, generations, ingest, inspect
from surefind.interfaces.cli.documents import transfer as moving
from surefind.interfaces.cli.maintenance import (
    audit,
    catalog,
    connect,
    doctor,
    keys,
    model,
    settings,
)
from surefind.interfaces.cli.searching import query, search, serve
from surefind.interfaces.cli.validation import golden, validate
from surefind.interfaces.failures import AWAY, failure_of

app = typer.Typer(
    name="surefind",
    help="Finds the passages an answer needs, and proves that it does.",
    epilog="Exit codes: 0 done, 1 quality failed or a guard stopped it, 2 the caller's mistake, "
    "3 inconclusive, 4 a store or service is away.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ingest")(ingest.ingest)
app.command("inspect")(inspect.inspect)
app.command("search")(search.search)
app.command("query")(query.query)
app.command("validate")(validate.validate)
app.command("serve")(serve.serve)
app.command("connect")(connect.connect)
app.command("audit")(audit.audit)
app.add_typer(generations.app, name="generations")
app.command("export")(moving.export)
app.command("import")(moving.import_)
app.command("promote")(moving.promote)
app.command("doctor")(doctor.doctor)
app.add_typer(catalog.app, name="catalog")
app.add_typer(chunks.app, name="chunks")
app.add_typer(golden.app, name="golden")
app.add_typer(keys.app, name="keys")
app.add_typer(model.app, name="model")
app.command("settings")(settings.settings)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"surefind {version('surefind')}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass


def main() -> None:
    """Errors become one line on stderr and an exit code, never a traceback."""
    steady_streams()
    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(LogLines())
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    try:
        app()
    except SurefindError as error:
        note(f"error: {error}")
        sys.exit(failure_of(error).exit_code)
    except KeyboardInterrupt:  # before or after the command, which handles its own
        sys.exit(INTERRUPTED)
    except OSError as error:
        silence_stdout()  # it may be what failed
        where = f"{error.filename}: " if error.filename else ""
        note(f"error: {where}{error.strerror or error}")
        sys.exit(AWAY)
