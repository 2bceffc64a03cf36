"""`surefind mcp --print-config`: how an assistant is connected."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from support.assistants import answer_of
from support.commands import start, surefind

from mcp import Client, StdioServerParameters  # isort: skip

URL = "https://docs.example.com/mcp"


def config(home: Path, *arguments: str) -> str:
    done = surefind("mcp", "--print-config", *arguments, cwd=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def parsed(home: Path, *arguments: str) -> Any:
    return json.loads(config(home, *arguments))


async def test_the_printed_command_works_from_any_folder(home: Path, tmp_path: Path) -> None:
    """An assistant starts it in the folder of another project, which has settings of its own."""
    (home / "surefind.toml").write_text('data_dir = "moved"\n')
    (home / ".surefind").rename(home / "moved")
    server = parsed(home, "cursor", "--collection", "docs")["mcpServers"]["surefind"]
    (tmp_path / ".env").write_text("DATABASE_URL=postgresql://127.0.0.1:9/theirs\n")
    parameters = StdioServerParameters(**server, cwd=tmp_path)
    async with Client(parameters, read_timeout_seconds=120) as client:
        answer = await answer_of(client, "search_docs", query="vinegar")
    assert answer["results"][0]["title"] == "Cleaning"


def test_what_only_this_shell_has_is_printed_or_named(home: Path) -> None:
    (home / ".surefind").rename(home / "moved")
    environment = {
        "SUREFIND_DATA_DIR": "moved",
        "SUREFIND_COLLECTION": "handbook",
        "SUREFIND_PORT": "7000",
        "COHERE_API_KEY": "not printed",
    }
    done = surefind("mcp", "--print-config", "cursor", cwd=home, **environment)
    assert done.returncode == 0, done.stderr
    arguments = json.loads(done.stdout)["mcpServers"]["surefind"]["args"]
    assert arguments[1:] == [
        *("--directory", str(home)),
        *("--data-dir", str(home / "moved")),
        *("--collection", "handbook"),
    ]
    assert "the assistant does not get the variables of this shell: COHERE_API_KEY, " in done.stderr
    assert f"put what it needs into {home / '.env'}" in done.stderr
    assert "not printed" not in done.stdout + done.stderr


def test_each_assistant_has_its_own_format(home: Path) -> None:
    desktop = parsed(home, "claude-desktop")["mcpServers"]["surefind"]
    assert desktop["args"] == ["mcp", "--directory", str(home)]
    assert Path(desktop["command"]).is_absolute()
    code = parsed(home, "vscode", "--profile", "openai")["servers"]["surefind"]
    assert code["type"] == "stdio"
    assert code["args"][-2:] == ["--profile", "openai"]
    words = shlex.split(config(home, "claude-code"))
    assert words[:5] == ["claude", "mcp", "add", "surefind", "--"]
    assert words[6:] == desktop["args"]


def test_without_the_extra_the_command_names_it(home: Path) -> None:
    without = (
        "import sys; sys.modules['mcp'] = None; from surefind.interfaces.cli import main; main()"
    )
    with start("mcp", cwd=home, command=(sys.executable, "-c", without)) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "pip install 'surefind[mcp]'" in errors


def test_a_served_address_needs_no_command(home: Path) -> None:
    assert parsed(home, "cursor", "--url", URL) == {"mcpServers": {"surefind": {"url": URL}}}
    assert parsed(home, "vscode", "--url", URL)["servers"]["surefind"] == {
        "type": "http",
        "url": URL,
    }
    words = shlex.split(config(home, "claude-code", "--url", URL))
    assert words == ["claude", "mcp", "add", "--transport", "http", "surefind", URL]
    assert config(home, "chatgpt", "--url", f"{URL}/openai").strip() == f"{URL}/openai"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--print-config", "emacs"], "unknown client 'emacs'; use one of claude-code,"),
        (["--print-config", "chatgpt"], "ChatGPT can't start a command; serve"),
        (["--print-config", "claude-desktop", "--url", URL], "under Settings > Connectors"),
        (["--url", URL], "--url: only with --print-config"),
        (["--directory", "attic"], "--directory: attic can't be used: No such file or directory"),
        (["--profile", "attic"], "--profile must be default, openai or maintainer"),
        (["--print-config", "cursor", "--url", "localhost:8000/mcp"], "is not the address of an"),
        (["--print-config", "cursor", "--url", "https://x.org"], "which ends with /mcp, /mcp/op"),
        (["--print-config", "cursor", "--url", URL, "-c", "docs"], "leave out --profile"),
        (["--print-config", "chatgpt", "--url", URL, "--profile", "openai"], "leave out --profile"),
    ],
)
def test_what_can_not_be_printed_is_explained(
    home: Path, arguments: list[str], problem: str
) -> None:
    done = surefind("mcp", *arguments, cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
