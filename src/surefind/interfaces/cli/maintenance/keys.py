"""`surefind keys`: manage API keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, DataDir, note, run, show, show_json
from surefind.interfaces.cli.usage import examples
from surefind.model.keys import Scope

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import ApiKey

app = typer.Typer(
    help="Manage the keys of the HTTP API.",
    epilog=examples(
        "surefind keys create --name website", "surefind keys list", page="commands/keys/"
    ),
)


@app.command("create")
def create(
    name: Annotated[str, typer.Option("--name", help="A name to recognize the key by.")],
    scope: Annotated[
        Scope, typer.Option("--scope", help="read: search and read; admin: also roll back.")
    ] = Scope.READ,
    data_dir: DataDir = None,
) -> None:
    """Create a key and print it. It is shown only once, because only its hash is stored."""

    async def work(application: "Application") -> tuple["ApiKey", str]:
        return await application.serving.keys.create(name, scope)

    key, secret = run(work, data_dir=data_dir)
    note(f"created key {key.name} ({key.id}, {key.scope}); save it now, it can't be shown again")
    show(secret)


@app.command("list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys and their scopes, oldest first. The secrets can't be shown."""

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
    name_or_id: Annotated[
        str, typer.Argument(metavar="NAME_OR_ID", help="The key, as `keys list` shows it.")
    ],
    data_dir: DataDir = None,
) -> None:
    """Revoke a key. Running servers reject it immediately."""

    async def work(application: "Application") -> tuple["ApiKey", Sequence["ApiKey"]]:
        return await application.serving.keys.revoke(
            name_or_id
        ), await application.serving.keys.list()

    key, remaining = run(work, data_dir=data_dir)
    show(f"revoked {key.name} ({key.id})")
    if not remaining:
        note("that was the last key: servers started from now on don't require one")
