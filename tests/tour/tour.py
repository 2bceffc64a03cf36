"""What a visitor has, and the list of what was expected and seen."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.commands import surefind

HANDBOOK = Path(__file__).parent / "handbook"


@dataclass
class Tour:
    """A folder with the handbook, as somebody has it who starts with surefind today."""

    home: Path
    pictures: Path
    unmet: list[str] = field(default_factory=list)

    def expect(self, expectation: str, holds: object, seen: object = "") -> None:
        """Print an expectation with a mark; `seen` explains one that is not met."""
        mark = "ok  " if holds else "NOT "
        sys.stdout.write(f"  {mark} {expectation}\n")
        if not holds:
            self.unmet.append(expectation)
            sys.stdout.write("".join(f"       | {line}\n" for line in str(seen).splitlines()[:30]))

    def run(
        self, *arguments: str | Path, expecting: int = 0, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `surefind` in the folder, which has to end with this code and no traceback."""
        done = surefind(*arguments, cwd=self.home, **environment)
        line = " ".join(("surefind", *map(str, arguments)))
        said = done.stdout + done.stderr
        self.expect(
            f"{line}: exit code {expecting}",
            done.returncode == expecting and "Traceback" not in said,
            f"exit code {done.returncode}\n{said}",
        )
        return done

    def search(self, question: str, **options: object) -> Mapping[str, Any]:
        """The JSON of a search, which has to work."""
        switches = [
            part
            for name, value in options.items()
            for part in (f"--{name.replace('_', '-')}", str(value))
        ]
        done = surefind("search", question, *switches, "--json", cwd=self.home)
        if done.returncode:
            self.expect(f"surefind search {question!r}", holds=False, seen=done.stderr)
            return {"hits": []}
        answer: Mapping[str, Any] = json.loads(done.stdout)
        return answer
