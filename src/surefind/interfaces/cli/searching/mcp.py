"""`surefind mcp`: the documentation as tools for an assistant."""

from typing import TYPE_CHECKING

from surefind.interfaces.cli.console import Collection, DataDir, run

if TYPE_CHECKING:
    from surefind.bootstrap import Application


def mcp(collection: Collection = None, data_dir: DataDir = None) -> None:
    """Serve the documentation to an assistant by the Model Context Protocol, on stdio.

    Assistants start this command themselves; see docs/mcp.md.
    """
    from importlib.util import find_spec

    from surefind.errors import InputError

    if find_spec("mcp") is None:
        raise InputError("the MCP server needs another package; run pip install 'surefind[mcp]'")

    async def work(application: "Application") -> None:
        from surefind.interfaces.mcp.stdio import serve_stdio

        await serve_stdio(application)

    run(work, collection=collection, data_dir=data_dir)
