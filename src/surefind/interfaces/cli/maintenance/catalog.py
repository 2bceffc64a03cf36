"""`surefind catalog`: the tables of a catalog in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import run, show

if TYPE_CHECKING:
    from surefind.adapters.postgres.migrations import Migration
    from surefind.bootstrap import Application

app = typer.Typer(help="Look after the tables of a catalog in PostgreSQL.", no_args_is_help=True)


@app.command("migrate")
def migrate(
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Take the steps, print their SQL, and take them back; nothing changes.",
        ),
    ] = False,
) -> None:
    """Make the tables, or bring them up to date. The first ingest does it too."""

    async def work(application: Application) -> Sequence[Migration]:
        return await application.maintenance.migrate_catalog(dry_run=dry_run)

    steps = run(work)
    for step in steps:
        if dry_run:
            show(f"-- step {step.number}: {step.name}\n\n{step.statements}")
        else:
            show(f"step {step.number}: {step.name}")
    if not steps:
        show("the tables are up to date")
    elif dry_run:
        show(f"-- {len(steps)} to take; it was tried and taken back, nothing has changed")
    else:
        show("the tables are up to date now")
