"""Starts systems in processes of their own, and knows the versions of what runs there."""

import json
import os
import platform
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.support.folders import ENVIRONMENTS, RESULTS, ROOT
from bench.systems import Contender
from surefind.adapters.embedders.model_files import locate
from surefind.settings import load

SETTINGS = {
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LANCE_LOG": "error",
    "ORT_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Failed(Exception):  # noqa: N818 - it says what a worker has done
    """A system failed."""


def python_of(contender: Contender) -> Path:
    if contender.environment == "surefind":
        return Path(sys.executable)
    return ENVIRONMENTS / contender.environment / "bin" / "python"


class Worker:
    """`with Worker(contender) as worker: worker.ask("build", …)`."""

    def __init__(self, contender: Contender, **settings: str) -> None:
        self.contender = contender
        self._settings = settings

    def __enter__(self) -> Self:
        model = locate(None, load().cache_dir, print)
        self._log = (RESULTS / "workers.log").open("a")
        self._process = subprocess.Popen(
            [str(python_of(self.contender)), "-m", "bench.support.worker", self.contender.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=os.environ
            | SETTINGS
            | {"BENCH_MODEL": str(model), "PYTHONPATH": str(ROOT / "src")}
            | self._settings,
        )
        return self

    def ask(self, do: str, patience_s: float = 900, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **order}, default=str) + "\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], patience_s)
            if not ready:
                self._process.kill()
                raise Failed(f"it took more than {patience_s:.0f} s to {do}")
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"its process ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which its caller has noticed
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def installed(contenders: Sequence[Contender]) -> tuple[list[Contender], dict[str, str]]:
    """Those whose environment is there, and for each other one why not."""
    here = [one for one in contenders if (python_of(one).parent.parent / "installed").exists()]
    away = {
        one.name: f"its environment {one.environment} is not installed"
        for one in contenders
        if one not in here
    }
    return here, away


def versions(contenders: Sequence[Contender]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for contender in contenders:
        script = (
            "import importlib.metadata, json, sys;"
            "print(json.dumps({n: importlib.metadata.version(n) for n in sys.argv[1:]}))"
        )
        done = subprocess.run(
            [str(python_of(contender)), "-c", script, *contender.packages],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
        found |= json.loads(done.stdout)
    return found


def machine() -> dict[str, object]:
    text = Path("/proc/cpuinfo").read_text()
    model = next((line.split(": ")[1] for line in text.splitlines() if "model name" in line), "?")
    return {"cores": os.cpu_count(), "processor": model, "load_average": os.getloadavg()[0]}
