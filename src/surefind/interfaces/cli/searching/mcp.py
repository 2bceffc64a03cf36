"""`surefind mcp`: the documentation as tools for an assistant."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import Collection, DataDir, note, run, show
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application

EXAMPLES = examples(
    "surefind mcp --print-config claude-code",
    "surefind mcp --collection docs",
    page="mcp/",
)


class ProfileName(StrEnum):
    DEFAULT = "default"
    OPENAI = "openai"
    MAINTAINER = "maintainer"


def mcp(
    profile: Annotated[ProfileName, typer.Option(help="The tools to serve.")] = ProfileName.DEFAULT,
    print_config: Annotated[
        str | None,
        typer.Option(
            metavar="CLIENT",
            help="Print the configuration of an assistant, and serve nothing: claude-code, "
            "claude-desktop, cursor, vscode or chatgpt.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="With --print-config: the address of a running `surefind serve`, such as "
            "http://localhost:8000/mcp."
        ),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Run in this folder, with its surefind.toml and .env. [default: the current one]",
        ),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the documentation to assistants over MCP, on stdio.

    Assistants that use the Model Context Protocol start this command themselves.
    """
    from importlib.util import find_spec

    from surefind.errors import InputError

    if url is not None and print_config is None:
        raise InputError("--url: only with --print-config")
    if url is not None:
        chosen = (profile is not ProfileName.DEFAULT, directory, collection, data_dir)
        _check_url(url, any(chosen))
    if print_config is None and find_spec("mcp") is None:
        raise InputError("the MCP server needs another package; run pip install 'surefind[mcp]'")
    if directory is not None:
        _enter(directory)

    async def work(application: "Application") -> None:
        if print_config is not None:
            show(_config(application, print_config, url, profile, (data_dir, collection)))
            return
        from surefind.interfaces.mcp.stdio import serve_stdio

        await serve_stdio(application, profile)

    run(work, collection=collection, data_dir=data_dir)


def _check_url(url: str, chosen: bool) -> None:
    from surefind.errors import InputError
    from surefind.model import is_address

    if not is_address(url) or not url.endswith(("/mcp", "/mcp/openai", "/mcp/maintainer")):
        raise InputError(
            f"--url: {url!r} is not the address of an MCP server; give one such as "
            "http://localhost:8000/mcp, which ends with /mcp, /mcp/openai or /mcp/maintainer"
        )
    if chosen:
        raise InputError(
            "--url: the running server decides what it serves, so leave out --profile, "
            "--directory, --collection and --data-dir"
        )


def _enter(directory: str) -> None:
    import os

    from surefind.errors import InputError

    try:
        os.chdir(directory)
    except OSError as error:
        raise InputError(f"--directory: {directory} can't be used: {error.strerror}") from error


def _config(
    application: "Application",
    client: str,
    url: str | None,
    profile: ProfileName,
    given: tuple[str | None, str | None],
) -> str:
    """With absolute paths: assistants start commands in a folder, and an environment, of their own.

    `given` are the data folder and the collection, if they are options of this command.
    """
    import shutil
    import sys
    from pathlib import Path

    from surefind.interfaces.mcp.client_configs import ServerLocation, client_config
    from surefind.settings import DOTENV, environment_names

    if url is not None:
        return client_config(client, ServerLocation(url=url))
    program = Path(sys.executable).with_name("surefind")
    command = [str(program) if program.exists() else shutil.which("surefind") or "surefind", "mcp"]
    command += ["--directory", str(Path.cwd())]
    data_dir, collection = given
    unshared = environment_names()
    if data_dir is not None or "SUREFIND_DATA_DIR" in unshared:
        command += ["--data-dir", str(application.settings.data_dir.resolve())]
    if collection is not None or "SUREFIND_COLLECTION" in unshared:
        command += ["--collection", application.settings.collection]
    if profile is not ProfileName.DEFAULT:
        command += ["--profile", profile]
    config = client_config(client, ServerLocation(tuple(command)))
    unshared -= {"SUREFIND_DATA_DIR", "SUREFIND_COLLECTION"}
    if unshared:
        note(
            f"the assistant does not get the variables of this shell: {', '.join(sorted(unshared))}"
            f"; put what it needs into {DOTENV.resolve()}"
        )
    return config
