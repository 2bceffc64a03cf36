"""Serves an assistant over standard input and output."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

from mcp.server.stdio import stdio_server

from surefind.bootstrap import Application
from surefind.interfaces.mcp.assistant_server import AssistantServer
from surefind.interfaces.mcp.tool_profiles import profile_named

_BLOCK_BYTES = 65_536
_WAITING_BLOCKS = 16


async def serve_stdio(application: Application, profile: str) -> None:
    """Serve until the assistant closes the input."""
    server = AssistantServer(application, profile_named(profile)).server
    lines = cast("Any", _input_lines())  # the SDK only iterates over it
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _input_lines() -> AsyncIterator[str]:
    """Lines of standard input, read in a daemon thread.

    The event loop's own threads would keep a stopped command running until the next line.
    """
    loop = asyncio.get_running_loop()
    blocks: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_BLOCKS)

    def read() -> None:
        with suppress(RuntimeError, OSError):  # the loop or the input has been closed
            while block := os.read(0, _BLOCK_BYTES):
                asyncio.run_coroutine_threadsafe(blocks.put(block), loop).result()
            asyncio.run_coroutine_threadsafe(blocks.put(b""), loop)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    begun: list[bytes] = []
    while block := await blocks.get():
        first, *others = block.split(b"\n")
        begun.append(first)
        for line in others:
            yield b"".join(begun).decode("utf-8", "replace")
            begun = [line]
    if any(begun):
        yield b"".join(begun).decode("utf-8", "replace")
