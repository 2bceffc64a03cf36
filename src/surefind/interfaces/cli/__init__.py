"""The command line. Each command imports its dependencies when it runs, so `--help` is instant."""

import logging
import sys

import typer

from surefind.errors import SurefindError
from surefind.interfaces.cli.console import (
    INTERRUPTED,
    LogLines,
    note,
    repair_streams,
    silence_stdout,
)
from surefind.interfaces.cli.documents import chunks, collections, generations, ingest, inspect
from surefind.interfaces.cli.documents import transfer as moving
from surefind.interfaces.cli.maintenance import (
    audit,
    catalog,
    connect,
    doctor,
    drift,
    gaps,
    keys,
    model,
    settings,
)
from surefind.interfaces.cli.searching import mcp, query, search, serve
from surefind.interfaces.cli.usage import describe_commands, examples, usage_error
from surefind.interfaces.cli.validation import compare, golden, validate
from surefind.interfaces.failures import INVALID_INPUT, UNAVAILABLE, failure_of

app = typer.Typer(
    name="surefind",
    help="Search documentation, and measure how well the search works.",
    epilog=examples(
        "surefind ingest docs",
        "surefind search how do I undo",
        "surefind serve",
        "surefind validate",
    )
    + "\n\nExit codes: 0 success, 1 a check failed or a guard stopped the command, 2 invalid "
    "input, 3 inconclusive, 4 a store or service is unavailable.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ingest", epilog=ingest.EXAMPLES)(ingest.ingest)
app.command("inspect", epilog=inspect.EXAMPLES)(inspect.inspect)
app.command("search", epilog=search.EXAMPLES)(search.search)
app.command("query", epilog=query.EXAMPLES)(query.query)
app.command("validate", epilog=validate.EXAMPLES)(validate.validate)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("serve", epilog=serve.EXAMPLES)(serve.serve)
app.command("mcp", epilog=mcp.EXAMPLES)(mcp.mcp)
app.command("connect", epilog=connect.EXAMPLES)(connect.connect)
app.command("audit", epilog=audit.EXAMPLES)(audit.audit)
app.add_typer(collections.app, name="collections")
app.add_typer(generations.app, name="generations")
app.command("export", epilog=moving.EXPORT_EXAMPLES)(moving.export)
app.command("import", epilog=moving.IMPORT_EXAMPLES)(moving.import_)
app.command("promote", epilog=moving.PROMOTE_EXAMPLES)(moving.promote)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("gaps", epilog=gaps.EXAMPLES)(gaps.gaps)
app.command("drift", epilog=drift.EXAMPLES)(drift.drift)
app.add_typer(catalog.app, name="catalog")
app.add_typer(chunks.app, name="chunks")
app.add_typer(golden.app, name="golden")
app.add_typer(keys.app, name="keys")
app.add_typer(model.app, name="model")
app.command("settings", epilog=settings.EXAMPLES)(settings.settings)
describe_commands(app)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"surefind {version('surefind')}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        callback=_print_version,
        is_eager=True,
    ),
) -> None:
    pass


def main() -> None:
    """Print errors as one line on stderr and set the exit code; never show a traceback."""
    repair_streams()
    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(LogLines())
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    try:
        sys.exit(app(prog_name="surefind", standalone_mode=False))
    except typer.TyperException as error:
        note(f"error: {usage_error(error)}")
        sys.exit(INVALID_INPUT)
    except SurefindError as error:
        note(f"error: {error}")
        sys.exit(failure_of(error).exit_code)
    except KeyboardInterrupt:  # outside a command; commands handle their own
        sys.exit(INTERRUPTED)
    except OSError as error:
        silence_stdout()  # stdout itself may have failed
        where = f"{error.filename}: " if error.filename else ""
        note(f"error: {where}{error.strerror or error}")
        sys.exit(UNAVAILABLE)
