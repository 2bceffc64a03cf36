"""`surefind catalog`: manage the tables of a PostgreSQL catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import run, show
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.adapters.postgres.migrations import Migration
    from surefind.bootstrap import Application

app = typer.Typer(
    help="Manage the tables of a PostgreSQL catalog.",
    epilog=examples("surefind catalog migrate --dry-run", page="commands/catalog/"),
)


@app.command("migrate")
def migrate(
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Run the migrations, print their SQL, and roll them back.",
        ),
    ] = False,
) -> None:
    """Create or update the tables. The first ingest does this too."""

    async def work(application: Application) -> Sequence[Migration]:
        return await application.maintenance.migrate_catalog(dry_run=dry_run)

    steps = run(work)
    for step in steps:
        if dry_run:
            show(f"-- migration {step.number}: {step.name}\n\n{step.statements}")
        else:
            show(f"migration {step.number}: {step.name}")
    if not steps:
        show("the tables are already up to date")
    elif dry_run:
        show(f"-- dry run: {len(steps)} pending, tested and rolled back; nothing was changed")
    else:
        show("the tables are now up to date")
