"""Shared by all commands: common options, output, prompts and progress.

Results go to stdout and everything else to stderr, so that `--json` prints only JSON.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from surefind.errors import SurefindError, UnknownCollection, without_passwords

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from surefind.bootstrap import Application
    from surefind.model import BrokenLink
    from surefind.services.generations.index_building import Progress

T = TypeVar("T")


def collection_names(ctx: typer.Context) -> list[str]:
    """For shell completion: the collections in the data folder, and connected ones."""
    from surefind.settings import load

    try:
        settings = load(data_dir=ctx.params.get("data_dir"))
    except SurefindError:  # the command itself reports it
        return []
    own = settings.data_dir.glob("collections/*/CURRENT")
    return sorted({path.parent.name for path in own} | {one.name for one in settings.connected})


DataDir = Annotated[
    str | None,
    typer.Option(
        "--data-dir", metavar="FOLDER", help="The folder for all data. [default: .surefind]"
    ),
]
Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="The collection to use. [default: docs]",
        autocompletion=collection_names,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]

PLAIN_FIRST_S, PLAIN_LONGEST_S = 10.0, 300.0
INTERRUPTED = 130
"""The exit code after Ctrl-C, as in a shell."""
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


def note(message: str) -> None:
    """Print a message to stderr; it is never part of the result."""
    print(f"surefind: {without_passwords(message)}", file=sys.stderr, flush=True)  # noqa: T201


class LogLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_passwords(f"surefind: {super().format(record)}")


def show(text: str) -> None:
    try:
        print(text, flush=True)  # noqa: T201
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        silence_stdout()


def show_json(value: Any) -> None:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    show(json.dumps(value, ensure_ascii=plain, indent=2))


def confirm(question: str, *, default: bool) -> bool:
    """Ask a yes-or-no question at the terminal. Enter takes the default; Ctrl-D means no.

    Ctrl-C ends the command, on a new line.
    """
    choice = "Y/n" if default else "y/N"
    try:
        while True:
            print(f"{question} [{choice}]: ", end="", file=sys.stderr, flush=True)  # noqa: T201
            line = sys.stdin.readline()
            answer = line.strip().lower()
            if not line:
                print(file=sys.stderr)  # noqa: T201
                return False
            if not answer or answer in _ANSWERS:
                return _ANSWERS.get(answer, default)
            note("answer y or n")
    except KeyboardInterrupt:
        print(file=sys.stderr)  # noqa: T201
        note("stopped; nothing was changed")
        raise typer.Exit(INTERRUPTED) from None


def repair_streams() -> None:
    """Keep closed standard streams and narrow encodings from failing a command.

    A closed stream is opened on the null device, or the next file opened would take its number.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Discard any remaining output without an error."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, 1)
    os.close(null_device)


def broken_lines(links: tuple[BrokenLink, ...]) -> list[str]:
    return [f"broken   {item.source_path}: {item.link}: {item.reason}" for item in links]


async def _others(application: Application) -> str:
    """The data folder and the collections that it has; empty if the stores can't say."""
    try:
        names = await application.parts.catalogs.collections()
    except SurefindError:
        return ""
    folder = application.settings.data_dir
    if names:
        return f", or use one that {folder} has: {', '.join(names)}"
    return f", or name another --data-dir: {folder} has no collections"


def run(
    work: Callable[[Application], Awaitable[T]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    **options: Any,
) -> T:
    """Build the application from settings and command options, run `work`, and close it."""
    from surefind.bootstrap import Application
    from surefind.settings import load, notices_of

    async def using() -> T:
        application = Application(load(**options), note)
        try:
            return await work(application)
        except UnknownCollection as error:  # it may be where an ignored address leads
            for name, notice in notices_of(application.settings).items():
                if name.endswith("_URL"):
                    note(notice)
            raise UnknownCollection(f"{error}{await _others(application)}") from error
        finally:
            await application.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(using())


@contextmanager
def progress_display() -> Iterator[Callable[[Progress], None]]:
    """Progress bars on a terminal, otherwise a few lines; nothing for short work."""
    if sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield PlainLines()


@contextmanager
def _bars() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = ("{task.description:>10}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    rate = TextColumn("{task.fields[rate]}")
    with Bars(*columns, rate, console=Console(stderr=True), transient=True) as bars:
        yield _BarReport(bars)


class _BarReport:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, progress: Progress) -> None:
        task = self._tasks.get(progress.stage)
        if task is None:
            task = self._bars.add_task(progress.stage, total=progress.total, rate="")
            self._tasks[progress.stage] = task
        speed = self._bars.tasks[self._bars.task_ids.index(task)].speed
        self._bars.update(
            task,
            completed=progress.done,
            total=progress.total,
            rate=f"{speed:.0f}/s" if speed else "",
        )
        self._bars.refresh()


class PlainLines:
    """A line after 10, 20, 40 … seconds, and at least every five minutes."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, write: Callable[[str], None] = note
    ) -> None:
        self._clock = clock
        self._write = write
        self._started = clock()
        self._due = self._started + PLAIN_FIRST_S

    def __call__(self, progress: Progress) -> None:
        now = self._clock()
        if now >= self._due:
            self._due = now + min(now - self._started, PLAIN_LONGEST_S)
            of_total = f" of {progress.total}" if progress.total is not None else ""
            self._write(f"{progress.stage}: {progress.done}{of_total}")
