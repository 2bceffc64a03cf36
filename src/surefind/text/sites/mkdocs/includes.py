"""Expands includes in a Markdown page, like the extensions of MkDocs.

Pure: `ReadFile` decides which files may be read. Failed includes are dropped with a warning, and
the rest of the page stays.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from surefind.errors import InputError

ReadFile = Callable[[str], str | None]
"""The text of a file by its path relative to the site's folder, which may start with `../`; None if
it does not exist. InputError, with the reason, if it must not be read, as outside the project."""

_INCLUDE = re.compile(r"\{!\s*+([^!{}\s][^!{}\n]{0,500}?)\s*!(?:lines=([0-9 -]{1,500})!?)?\}")
_HEADING = re.compile(r"#+")
_MAX_DEPTH = 20
_MAX_FILES = 1_000
_MAX_CHARACTERS = 8 * 2**20


@dataclass(frozen=True, slots=True)
class IncludeFolder:
    """A folder below the site's folder that file names are relative to."""

    path: str = ""
    beside_page: bool = False


@dataclass(frozen=True, slots=True)
class IncludeOptions:
    """`{!file!}`, of the extension markdown-include."""

    bases: tuple[IncludeFolder, ...]
    heading_offset: int = 0
    inherits_depth: bool = False


class Inclusions:
    """Finds the files that one page includes, and limits their number and size."""

    def __init__(self, site_path: str, read: ReadFile) -> None:
        self._problems: dict[str, list[str]] = {}  # reason -> names of files
        self._folder = str(PurePosixPath(site_path).parent)
        self._read = read
        self._open: list[str] = []
        self._files = 0
        self._characters = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """One warning for each reason, with the first file."""
        return tuple(
            f"it includes {names[0]}, {reason}; the include was dropped"
            if len(names) == 1
            else f"it includes {names[0]} and {len(names) - 1:,} more files, {reason}; the "
            "includes were dropped"
            for reason, names in self._problems.items()
        )

    def warn(self, name: str, reason: str) -> None:
        names = self._problems.setdefault(reason, [])
        if name not in names:
            names.append(name)

    def take(
        self, name: str, bases: Sequence[IncludeFolder], *, inside_base: bool = False
    ) -> list[str] | None:
        """The lines of the first file of that name; None, with a warning, if there is none.

        The file counts as open until `close`; open files can't include themselves.
        """
        try:
            found = self._find(name, bases, inside_base=inside_base)
        except InputError as error:
            self.warn(name, str(error))
            return None
        if found is None:
            return None
        path, text = found
        self._files += 1
        self._characters += len(text)
        if self._files > _MAX_FILES or self._characters > _MAX_CHARACTERS:
            self.warn(name, "but exceeds the limit of included text")
            return None
        self._open.append(path)
        return text.split("\n")

    def close(self) -> None:
        self._open.pop()

    def _find(
        self, name: str, bases: Sequence[IncludeFolder], *, inside_base: bool
    ) -> tuple[str, str] | None:
        outside = not bases
        for base in bases:
            paths = self._candidates(name, base, inside_base=inside_base)
            outside = outside or not paths
            for path in paths:
                if path in self._open or len(self._open) >= _MAX_DEPTH:
                    self.warn(name, "which includes itself or is nested too deeply")
                    return None
                text = self._read(path)
                if text is not None:
                    return path, text
        folder = "the folders for snippets" if inside_base else "the project"
        self.warn(name, f"which is outside {folder}" if outside else "which is missing")
        return None

    def _candidates(self, name: str, base: IncludeFolder, *, inside_base: bool) -> list[str]:
        """Candidate paths relative to the site's folder. A base may also be the file itself."""
        if name.startswith(("/", "~")):
            return []
        folder = posixpath.join(self._folder, base.path) if base.beside_page else base.path
        folder = posixpath.normpath(folder or ".")
        in_folder = posixpath.normpath(posixpath.join(folder, name))
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(folder), name))
        paths = [folder] if beside == folder != "." else []
        if not inside_base or folder == "." or in_folder.startswith(f"{folder}/"):
            paths.append(in_folder)
        return paths


def expand_includes(text: str, options: IncludeOptions, inclusions: Inclusions) -> str:
    """Replace every `{!file!}` with the text of the file."""
    return "\n".join(_expanded(text.split("\n"), options, inclusions))


def _expanded(lines: list[str], options: IncludeOptions, inclusions: Inclusions) -> list[str]:
    done: list[str] = []
    depth = 0  # of the heading above
    for line in lines:
        pieces, end = [], 0
        for statement in _INCLUDE.finditer(line):
            pieces += [
                line[end : statement.start()],
                _included(statement, depth, options, inclusions),
            ]
            end = statement.end()
        for written in "".join([*pieces, line[end:]]).split("\n"):
            heading = _HEADING.match(written)
            depth = len(heading.group()) if heading else depth
            done.append(written)
    return done


def _included(
    statement: re.Match[str], depth: int, options: IncludeOptions, inclusions: Inclusions
) -> str:
    lines = inclusions.take(statement[1], options.bases)
    if lines is None:
        return ""
    if lines[-1] == "":
        lines.pop()
    lines = _expanded(lines, options, inclusions)
    inclusions.close()
    if statement[2] is not None:
        lines = _chosen(lines, statement[2])
    deeper = "#" * (options.heading_offset + (depth if options.inherits_depth else 0))
    return "\n".join(deeper + line if line.startswith("#") else line for line in lines).strip()


def _chosen(lines: list[str], ranges: str) -> list[str]:
    """Select `1 3 8-10 2` in this order; numbers beyond the end mean the last line."""
    chosen: list[str] = []
    for block in ranges.split() if lines else ():
        first, _, last = block.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            start, end = (
                max(1, min(int(number[:9]), len(lines))) for number in (first, last or first)
            )
            chosen += lines[start - 1 : end]
    return chosen
