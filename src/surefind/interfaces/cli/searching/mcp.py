"""`surefind mcp`: the documentation as tools for an assistant."""

from typing import TYPE_CHECKING

from surefind.interfaces.cli.console import Collection, DataDir, run
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application

EXAMPLES = examples(
    "surefind mcp --collection docs",
    page="mcp/",
)


def mcp(collection: Collection = None, data_dir: DataDir = None) -> None:
    """Serve the documentation to assistants over MCP, on stdio.

    Assistants that use the Model Context Protocol start this command themselves.
    """
    from importlib.util import find_spec

    from surefind.errors import InputError

    if find_spec("mcp") is None:
        raise InputError("the MCP server needs another package; run pip install 'surefind[mcp]'")

    async def work(application: "Application") -> None:
        from surefind.interfaces.mcp.stdio import serve_stdio

        await serve_stdio(application)

    run(work, collection=collection, data_dir=data_dir)
