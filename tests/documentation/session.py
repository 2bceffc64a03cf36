"""A folder with the handbook of the tutorial, and a shell in it that runs what a page shows."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from documentation.examples import PROJECT
from documentation.scenes import Scene
from support.commands import serving, warm
from support.homes import copy_home

DOCS = PROJECT / "docs"
ADDRESS = "localhost:8000"
"""What the pages call the server; it listens on a free port."""

TIME_LIMIT_S = 400
"""The README ingests all of docs/."""

_EXPORTED = "== exported =="
_KEY = re.compile(r"\bsurefind_[0-9a-f]{8}_[\w-]{20,}")
_SHORTENED_KEY = re.compile(r"\bsurefind_[0-9a-f]{8}_\w*…")

_DAMAGE = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    files = {name: archive.read(name) for name in archive.namelist()}
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for name, content in files.items():
        changed = content.replace(b"boiler", b"kettle")
        archive.writestr(name, changed if name.startswith("pages/") else content)
"""


class Session:
    """Runs the commands and programs of one page."""

    def __init__(self, home: Path, tools: Path, scene: Scene, servers: ExitStack) -> None:
        self.home = home
        self._tools = tools
        self._environment = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": str(scene.width),
        }
        self._servers = servers
        self._port: str | None = None
        self._banner = ""
        self._key = ""

    def prepare(self, script: str) -> None:
        """Run a script that no page shows; what it exports stays exported."""
        self.stop_serving()
        done = self._bash(f"set -e\n{script}\necho {_EXPORTED}; env -0")
        if done.returncode:
            raise ValueError(f"the preparation failed: {script}\n{done.stdout}")
        exported = done.stdout.partition(f"{_EXPORTED}\n")[2]
        variables = dict(one.split("=", 1) for one in exported.split("\0") if "=" in one)
        self._environment |= {
            name: value
            for name, value in variables.items()
            if name.startswith(("SUREFIND_", "COHERE_"))
        }

    def run(self, command: str) -> str:
        """What a command prints, on stdout and stderr."""
        if command == "surefind serve":
            self._serve()
            return self._banner.replace(f"127.0.0.1:{self._port}", "127.0.0.1:8000")
        if "curl " in command:
            self._serve()
        printed = self._bash(_SHORTENED_KEY.sub(self._key, command)).stdout
        keys = _KEY.findall(printed)
        self._key = keys[-1] if keys else self._key
        return printed

    def run_python(self, program: str) -> str:
        """What a program prints, in a copy of the folder, or as a client of a server."""
        if ADDRESS in program:
            self._serve()
            printed = self._python(program.replace(ADDRESS, f"localhost:{self._port}"))
            return printed.replace(f"localhost:{self._port}", ADDRESS)
        return self._python(program)

    def _python(self, program: str) -> str:
        copy = self.home.parent / "copy"
        copy_home(self.home, copy)
        (copy / "example.py").write_text(program)
        done = subprocess.run(
            [sys.executable, "example.py"],
            cwd=copy,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        shutil.rmtree(copy)
        if done.returncode or done.stderr:
            raise ValueError(f"the program failed:\n{program}\n{done.stderr}")
        return done.stdout

    def stop_serving(self) -> None:
        self._servers.close()
        self._port = None

    def _serve(self) -> None:
        if self._port is not None:
            return
        address, process = self._servers.enter_context(serving(cwd=self.home))
        self._port = address.rpartition(":")[2]
        deadline = time.monotonic() + TIME_LIMIT_S
        while not any(line.startswith("Press Ctrl-C") for line in process.said):
            if time.monotonic() > deadline:
                raise ValueError(f"the server did not start: {process.said}")
            time.sleep(0.02)
        self._banner = "".join(process.said)

    def _bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """curl reaches the server under the address that the page names."""
        connect_to = f"--connect-to {ADDRESS}:127.0.0.1:{self._port}" if self._port else ""
        return subprocess.run(
            ["bash", "-c", f'curl() {{ command curl {connect_to} "$@"; }}\n{script}'],
            cwd=self.home,
            env=os.environ | self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )


@contextmanager
def opened(scene: Scene, folder: Path) -> Iterator[Session]:
    home, tools = folder / "try", folder / "tools"
    tools.mkdir(parents=True)
    home.mkdir()
    _install(tools)
    with ExitStack() as servers:
        session = Session(home, tools, scene, servers)
        session.prepare(f"new-handbook; {scene.start}")
        yield session


def _install(tools: Path) -> None:
    """The command itself, and what prepares a page's folder."""
    tutorial, validation = ((DOCS / page).read_text() for page in ("tutorial.md", "validation.md"))
    pages = re.findall(r"^cat > handbook/.+?^END$", tutorial, re.MULTILINE | re.DOTALL)
    golden = re.findall(
        r"^```yaml\n(top_k: 2\ntests:\n.+?)^```$", validation, re.MULTILINE | re.DOTALL
    )[0]
    scripts = {
        "surefind": f'exec {" ".join(map(str, warm()))} "$@"',
        "new-handbook": "\n".join(("rm -rf .surefind handbook; mkdir handbook", *pages)),
        "new-docs": f"cp -r {DOCS} docs",
        "first-golden-file": f"cat > golden.yaml <<'END'\n{golden}END",
        "passing-golden-file": "sed -i '/test_id: loose/,/conceptual/d' golden.yaml",
        "damage-archive": f"exec {sys.executable} - $1 <<'END'\n{_DAMAGE}END",
    }
    for name, script in scripts.items():
        (tools / name).write_text(f"#!/bin/bash\n{script}\n")
        (tools / name).chmod(0o755)
