"""Pick hits by number; works in any terminal."""

import re
import sys
from typing import TYPE_CHECKING

import typer

from surefind.interfaces.cli.console import INTERRUPTED, note

if TYPE_CHECKING:
    from rich.text import Text

    from surefind.model import Hit, SearchResult

_PICK = re.compile(r"(\d{1,4})(?::(\d{1,3}))?")
_SHOWN_CHARS = 280
HOW = "numbers such as 1,3; 1:2 for a grade of 2; n: none of them; q: quit"


def read_picks(text: str, hits: int) -> dict[int, int]:
    """`1,3:2` -> {1: 1, 3: 2}: ranks with their grades."""
    from surefind.errors import InputError
    from surefind.evaluation.measures.ranking import MAX_GRADE

    picks: dict[int, int] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        match = _PICK.fullmatch(part)
        if match is None:
            raise InputError(f"{part!r} is not a hit; enter numbers such as 1,3 or 1:2,3")
        rank, grade = int(match.group(1)), int(match.group(2) or 1)
        if not 1 <= rank <= hits:
            raise InputError(f"there is no hit {rank}; choose from 1 to {hits}")
        if not 1 <= grade <= MAX_GRADE:
            raise InputError(f"{part}: the grade must be from 1 to {MAX_GRADE}")
        if rank in picks:
            raise InputError(f"hit {rank} is listed twice; list it once")
        picks[rank] = grade
    return picks


def ask_which(result: "SearchResult") -> dict[int, int] | None:
    """Ask until the answer is valid; None means none of them. Quitting ends the command."""
    _show(result)
    try:
        return _answered(result)
    except KeyboardInterrupt:
        _say("")
        note("stopped; nothing was added")
        raise typer.Exit(INTERRUPTED) from None


def _answered(result: "SearchResult") -> dict[int, int] | None:
    from surefind.errors import InputError

    while True:
        answer = _answer("Which are correct? ").strip().casefold()
        if answer in {"q", "quit"}:
            note("nothing was added")
            raise typer.Exit
        if answer in {"n", "none"}:
            return None
        if not answer:
            _say(HOW)
            continue
        try:
            return read_picks(answer, len(result.hits))
        except InputError as error:
            _say(str(error))


def _answer(prompt: str) -> str:
    from surefind.errors import InputError

    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201
    line = sys.stdin.readline()
    if not line:
        raise InputError("there is no terminal to pick hits; use --pick 1,3 or --expect none")
    return line


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)  # noqa: T201


def _show(result: "SearchResult") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    for hit in result.hits:
        console.print(_head(hit))
        console.print(Text(_excerpt(hit), style="dim"), soft_wrap=False)
        console.print()
    if not result.hits:
        console.print("No hits.")
    console.print(Text(f"({HOW})", style="dim"))


def _head(hit: "Hit") -> "Text":
    from rich.text import Text

    similarity = "" if hit.similarity is None else f", similarity {hit.similarity:.3f}"
    place = hit.record.breadcrumb or hit.record.title
    return Text.assemble(
        (f"{hit.rank:>3}  ", "bold"),
        (place, "bold"),
        (f"  {hit.record.link or hit.record.chunk.source_path}", "cyan"),
        (f"  score {hit.score:.3f}{similarity}", "dim"),
    )


def _excerpt(hit: "Hit") -> str:
    from surefind.text.html.to_markdown import readable

    words = " ".join(readable(hit.record.chunk.text).split())
    short = words if len(words) <= _SHOWN_CHARS else f"{words[: _SHOWN_CHARS - 1]}…"
    return f"     {short}"
