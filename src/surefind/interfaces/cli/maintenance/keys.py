"""`surefind keys`: who may ask the server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, DataDir, note, run, show, show_json
from surefind.model.keys import Scope

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import ApiKey

app = typer.Typer(help="The keys of the HTTP API.", no_args_is_help=True)


@app.command("create")
def create(
    name: Annotated[str, typer.Option("--name", help="What it is for, to know it again.")],
    scope: Annotated[
        Scope, typer.Option("--scope", help="read: search and look; admin: also roll back.")
    ] = Scope.READ,
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it. It is shown this once: only its hash is kept."""

    async def work(application: "Application") -> tuple["ApiKey", str]:
        return await application.serving.keys.create(name, scope)

    key, secret = run(work, data_dir=data_dir)
    note(f"the key {key.name} ({key.id}, {key.scope}); it can't be shown again, so keep it now")
    show(secret)


@app.command("list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Every key with its scope, oldest first. The keys themselves can't be shown."""

    async def work(application: "Application") -> Sequence["ApiKey"]:
        return await application.serving.keys.list()

    keys = run(work, data_dir=data_dir)
    if as_json:
        show_json(
            [
                {
                    "id": key.id,
                    "name": key.name,
                    "scope": key.scope.value,
                    "created_at": key.created_at.isoformat(),
                }
                for key in keys
            ]
        )
        return
    show("id        scope  created               name")
    for key in keys:
        show(f"{key.id}  {key.scope:<5}  {key.created_at:%Y-%m-%d %H:%M:%SZ}  {key.name}")


@app.command("revoke")
def revoke(
    which: Annotated[str, typer.Argument(metavar="NAME_OR_ID", help="As `keys list` shows it.")],
    data_dir: DataDir = None,
) -> None:
    """Make a key worthless, also for servers that are running."""

    async def work(application: "Application") -> tuple["ApiKey", Sequence["ApiKey"]]:
        return await application.serving.keys.revoke(which), await application.serving.keys.list()

    key, left = run(work, data_dir=data_dir)
    show(f"{key.name} ({key.id}) is revoked")
    if not left:
        note("that was the last key: a server started from now on asks nobody for one")
