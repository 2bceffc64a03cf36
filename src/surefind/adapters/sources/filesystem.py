"""Folders and files as sources."""

import asyncio
import glob
import os
import stat
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from surefind.adapters.files.near_paths import hint_for
from surefind.adapters.sources.path_patterns import EVERYTHING, PathPatterns
from surefind.adapters.sources.site_files import PRUNED, SiteFolder, WithIncluded
from surefind.adapters.sources.site_folder import find_site
from surefind.errors import InputError
from surefind.model import PageFailure, SourcePage, UrlStyle
from surefind.ports import Site
from surefind.text.formats.asciidoc.preprocessor import expand_asciidoc
from surefind.text.formats.encodings import decode
from surefind.text.formats.registry import (
    ASCIIDOC_SUFFIXES,
    DATA_SUFFIXES,
    SUFFIXES,
    is_page,
    missing_extra,
)

MAX_PAGE_BYTES = 32 * 2**20
_PAGES_AT_ONCE = 16  # a thread costs more than reading a small file
_NO_PAGES = frozenset(
    {"requirements.txt", "robots.txt", "humans.txt", "cmakelists.txt", "llms.txt"}
)
# Formats of documents that are not read. They are counted, so that no document is missed silently.
_UNREAD = frozenset(
    {
        *(".azw3", ".chm", ".creole", ".dbk", ".dita", ".ditamap", ".djvu", ".doc", ".docbook"),
        *(".docm", ".dot", ".eml", ".epub", ".fb2", ".fodt", ".key", ".latex", ".mdown", ".mdtext"),
        *(".mdtxt", ".mdwn", ".mediawiki", ".mht", ".mhtml", ".mkd", ".mkdn", ".mobi", ".msg"),
        *(".numbers", ".odp", ".ods", ".odt", ".one", ".org", ".ott", ".pages", ".pod", ".ppt"),
        *(".pptx", ".ps", ".qmd", ".rdoc", ".rest", ".rmd", ".rtf", ".tex", ".texi", ".texinfo"),
        *(".textile", ".typ", ".wiki", ".wpd", ".xhtml", ".xls", ".xlsx", ".xps"),
    }
)
# A site of a generator has these for other purposes.
_ASSETS = DATA_SUFFIXES | {".htm", ".html", ".txt"}


def sources_of(
    paths: Sequence[str | PathLike[str]],
    collection: str,
    base_url: str | None,
    patterns: PathPatterns = EVERYTHING,
    url_style: UrlStyle | None = None,
) -> list["FolderSource"]:
    """One source for each given folder, and one for each folder that contains given files.

    The folder of a site also adds the folders of its pages elsewhere, such as `../docs`. A
    pattern such as `docs/**/*.md` gives the matching pages below its fixed part, `docs`.
    """
    files: dict[Path, list[Path]] = {}
    patterned: set[Path] = set()
    sources = []
    globs = [os.fspath(path) for path in paths if _is_pattern(path)]
    for pattern in dict.fromkeys(globs):
        root, matching = _matching(pattern)
        files.setdefault(root, []).extend(matching)
        patterned.add(root)
    for path in dict.fromkeys(_checked(path) for path in paths if not _is_pattern(path)):
        if path.is_dir():
            resolved = path.resolve()
            site = find_site(resolved, collection, base_url, url_style)
            sources.append(FolderSource(resolved, site, patterns=patterns))
        else:
            folder = path.parent.resolve()
            files.setdefault(folder, []).append(folder / path.name)
    sources += [outer for source in tuple(sources) for outer in source.elsewhere(sources)]
    return sources + [
        FolderSource(
            root,
            find_site(root, collection, base_url, url_style),
            list(dict.fromkeys(chosen)),
            patterns,
            names_pages=root not in patterned,
        )
        for root, chosen in files.items()
    ]


def unnamed_pages(
    folders: Sequence["FolderSource"], *, alone: bool = True
) -> Callable[[str], bool]:
    """A function that says whether a page exists, but is not among the pages that were named.

    `alone`: the sources have no other pages. Then a page of any other source is one too.
    """
    named = {folder.name: folder.root for folder in folders if folder.names_pages}
    only_named = bool(named) and alone and len(named) == len(folders)

    def is_unnamed(source_path: str) -> bool:
        name, _, path = source_path.partition("/")
        return (named[name] / path).exists() if name in named else only_named

    return is_unnamed


def _is_pattern(given: str | PathLike[str]) -> bool:
    """An existing path is never a pattern, because file names can contain these characters."""
    return glob.has_magic(os.fspath(given)) and not os.path.lexists(given)


def _matching(pattern: str) -> tuple[Path, list[Path]]:
    """(the fixed part of the pattern, the matching pages below it)."""
    steps = Path(pattern).parts
    fixed = next(at for at, step in enumerate(steps) if glob.has_magic(step))
    root = Path(*steps[:fixed])
    found = sorted(root.glob("/".join(steps[fixed:])))
    pages = [path.parent.resolve() / path.name for path in found if path.suffix.lower() in SUFFIXES]
    pages = [path for path in pages if path.is_file() and path.name.lower() not in _NO_PAGES]
    pages = [path for path in pages if not _is_data(path)]
    if not pages:
        raise InputError(f"{pattern} matches no page; use a folder of documentation, or a page")
    return root.resolve(), pages


def _is_data(path: Path) -> bool:
    """Whether a file of data only shares its suffix with a format; false if it can't be read."""
    suffix = path.suffix.lower()
    try:
        return suffix in DATA_SUFFIXES and not is_page(_content(path), suffix)
    except OSError:
        return False


def page_of(
    path: Path,
    names: Collection[str],
    known: Collection[str],
    collection: str,
    base_url: str | None,
    url_style: UrlStyle | None = None,
) -> "FolderSource":
    """The source of one page, under the folder that it was or would be ingested from."""
    _checked(path)
    resolved = path.parent.resolve() / path.name
    roots = [folder for folder in resolved.parents if folder.name in names]
    if not roots:
        raise InputError(
            f"{path} is not in a source folder of the collection {collection!r} "
            f"({', '.join(names)}); ingest its folder first"
        )
    ingested = [
        root for root in roots if f"{root.name}/{resolved.relative_to(root).as_posix()}" in known
    ]
    root = (ingested or roots)[0]
    return FolderSource(root, find_site(root, collection, base_url, url_style), [resolved])


def updates_of(
    paths: Sequence[str | PathLike[str]],
    names: Collection[str],
    known: Collection[str],
    collection: str,
    base_url: str | None,
    patterns: PathPatterns = EVERYTHING,
    url_style: UrlStyle | None = None,
) -> list["FolderSource"]:
    """Pages and folders of the collection's own source folders, or further source folders."""
    chosen: dict[Path, list[Path]] = {}
    new: list[Path] = []
    for path in dict.fromkeys(map(_checked, paths)):
        if not path.is_dir():
            page = page_of(path, names, known, collection, base_url, url_style)
            chosen.setdefault(page.root, []).append(path.parent.resolve() / path.name)
            continue
        folder = path.resolve()
        roots = [root for root in (folder, *folder.parents) if _has_pages_of(root, names, known)]
        if not roots or roots[0] == folder:
            new.append(path)
            continue
        below = FolderSource(folder, find_site(roots[0], collection, base_url, url_style))
        chosen.setdefault(roots[0], []).extend(sorted(below.files([])))
    return sources_of(new, collection, base_url, patterns, url_style) + [
        FolderSource(
            root,
            find_site(root, collection, base_url, url_style),
            list(dict.fromkeys(pages)),
            patterns,
        )
        for root, pages in chosen.items()
    ]


def _has_pages_of(root: Path, names: Collection[str], known: Collection[str]) -> bool:
    """Whether the collection has pages of this folder under its name, some of them still there."""
    prefix = f"{root.name}/"
    if root.name not in names:
        return False
    pages = (path.removeprefix(prefix) for path in known if path.startswith(prefix))
    return any((root / page).exists() for page in pages)


def _checked(given: str | PathLike[str]) -> Path:
    if not os.fspath(given):
        raise InputError("a source is empty; use a folder of documentation, or a page")
    path = Path(given)
    try:
        exists, readable, folder = path.exists(), os.access(path, os.R_OK), path.is_dir()
    except OSError as error:
        raise InputError(f"{os.fspath(given)[:200]} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{given!r} can't be read: it contains a NUL character") from error
    if not exists:
        if "://" in os.fspath(given):
            raise InputError(f"{given} is not an address of a website; use http:// or https://")
        hint = hint_for(path) or "; use a folder of documentation, or a page"
        raise InputError(f"{path} does not exist{hint}")
    if not readable:
        raise InputError(f"{path} can't be read: permission denied; change its permissions")
    if not folder and path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path} is not a supported page; supported are {', '.join(sorted(SUFFIXES))}"
        )
    extra = "" if folder else missing_extra(path.suffix.lower())
    if extra:
        raise InputError(
            f"{path} can't be read without another package; run pip install 'surefind[{extra}]'"
        )
    return path


class FolderSource:
    """A page is identified by the folder's name and the path below it: `docs/guide/install.md`.

    So its identity does not depend on the current directory.
    """

    def __init__(
        self,
        root: Path,
        folder: SiteFolder,
        files: Sequence[Path] | None = None,
        patterns: PathPatterns = EVERYTHING,
        *,
        names_pages: bool = False,
    ) -> None:
        """All pages below `root`, or only `files` in it, that the patterns keep.

        `names_pages`: the files were named one by one.
        """
        self.names_pages = names_pages
        self._root = root
        self._patterns = patterns
        self._folder = folder
        self._chosen = files
        self._linked: list[Path] = []
        self._unread: Counter[str] = Counter()

    @property
    def root(self) -> Path:
        return self._root

    @property
    def name(self) -> str:
        return self._root.name or "root"

    @property
    def site(self) -> Site:
        return self._folder.site

    @property
    def fingerprint(self) -> str:
        return self._folder.fingerprint

    @property
    def notes(self) -> tuple[str, ...]:
        """Parts of the site's configuration that were not understood."""
        return self._folder.notes

    @property
    def skipped(self) -> Sequence[PageFailure]:
        reason = "it is a symlink to a folder outside the source; name that folder as a source"
        linked = (path for path in self._linked if not self._holds(path))
        return [PageFailure(f"{self._source_path(path)}/", reason) for path in linked]

    def elsewhere(self, others: Sequence["FolderSource"]) -> list["FolderSource"]:
        """Sources for the site's folders of pages outside this one that no other source covers."""
        if not self._folder.root.is_relative_to(self._root):
            return []  # it is only a part of the site
        covered = [source._root for source in others]  # noqa: SLF001 - of the same class
        return [
            FolderSource(folder, self._folder, patterns=self._patterns)
            for folder in self._folder.outer
            if not any(
                folder.is_relative_to(root) or root.is_relative_to(folder) for root in covered
            )
        ]

    @property
    def unread(self) -> Mapping[str, int]:
        return self._unread

    async def pages(
        self,
        known: Mapping[str, str] | None = None,  # noqa: ARG002 - reading a file is as cheap as checking it
    ) -> AsyncIterator[SourcePage | PageFailure]:
        refused: list[OSError] = []
        self._linked = []
        self._unread.clear()
        paths = await asyncio.to_thread(lambda: sorted(self.files(refused)))
        for error in refused:
            folder = self._source_path(Path(error.filename))
            yield PageFailure(f"{folder}/", f"it can't be read: {error.strerror}")
        for start in range(0, len(paths), _PAGES_AT_ONCE):
            some = paths[start : start + _PAGES_AT_ONCE]
            for page in await asyncio.to_thread(self._read_all, some):
                yield page

    def files(self, refused: list[OSError]) -> Iterator[Path]:
        """The pages that the patterns keep."""
        for path in self._files(refused):
            if self._patterns.keep(path.relative_to(self._root).as_posix()):
                yield path

    def _files(self, refused: list[OSError]) -> Iterator[Path]:
        """Pages in the folder; unreadable folders are added to `refused`, not treated as empty."""
        if self._chosen is not None:
            yield from self._chosen
            return
        for folder, folders, names in os.walk(self._root, onerror=refused.append):
            folders[:] = [n for n in folders if self._may_hold_pages(Path(folder) / n)]
            for name in names:
                partial = name.startswith("_") and name.endswith(tuple(ASCIIDOC_SUFFIXES))
                if name.startswith(".") or name.lower() in _NO_PAGES or partial:
                    continue
                path = Path(folder) / name
                suffix = path.suffix.lower()
                if suffix in self._folder.suffixes and not missing_extra(suffix):
                    yield path
                elif suffix in _UNREAD or (suffix in SUFFIXES and suffix not in _ASSETS):
                    extra = suffix in self._folder.suffixes and missing_extra(suffix)
                    self._unread[f"{suffix} (surefind[{extra}])" if extra else suffix] += 1

    def _may_hold_pages(self, folder: Path) -> bool:
        if folder.name.startswith(".") or folder.name in PRUNED:
            return False
        if folder.is_symlink():  # to follow them could be endless
            self._linked.append(folder)
            return False
        unread = self._folder.unread_folders
        return not unread or self._folder.site_path(folder) not in unread

    def _read_all(self, paths: Sequence[Path]) -> list[SourcePage | PageFailure]:
        pages = (self._read(path) for path in paths)
        return [page for page in pages if page is not None]

    def _read(self, path: Path) -> SourcePage | PageFailure | None:
        """None for a file of data."""
        source_path = self._source_path(path)
        if not source_path.isprintable():
            reason = "its name is not valid text; rename it"
            return PageFailure(_spelled_out(source_path), reason)
        if path.is_symlink() and not self._holds(path):
            return PageFailure(
                source_path,
                "it is a symlink to a file outside the source; replace it by a copy of the file",
            )
        try:
            content = _content(path)
        except OSError as error:
            return PageFailure(source_path, f"it can't be read: {error.strerror or error}")
        suffix = path.suffix.lower()
        if self._chosen is None and not is_page(content, suffix):
            return None
        if self._folder.markdown_is_mdx and suffix == ".md":
            suffix = ".mdx"  # Docusaurus treats both as MDX
        site_path = self._folder.site_path(path)
        content, warnings = self._with_included(site_path, content, suffix)
        return SourcePage(source_path, site_path, content, suffix, warnings=warnings)

    def _source_path(self, path: Path) -> str:
        return f"{self.name}/{path.relative_to(self._root).as_posix()}"

    def _holds(self, link: Path) -> bool:
        """Whether a symlink leads into this source or its site."""
        try:
            target = Path(os.path.realpath(link, strict=True))
        except OSError:
            return True  # reading it says why it can't be read
        folders = (self._root, self._folder.root, *self._folder.outer)
        return any(target.is_relative_to(folder.resolve()) for folder in folders)

    def _with_included(
        self, site_path: str, content: bytes, suffix: str
    ) -> tuple[bytes, tuple[str, ...]]:
        """Expand includes; bytes that are not text stay unchanged, and the parser reports them."""
        if suffix in ASCIIDOC_SUFFIXES:
            expand: WithIncluded | None = expand_asciidoc
        else:
            expand = self._folder.with_included
        if expand is None:
            return content, ()
        try:
            text, problems = decode(content)
        except InputError:
            return content, ()
        text, warnings = expand(site_path, text, self._included)
        return text.encode(), (*problems, *warnings)

    def _included(self, path: str) -> str | None:
        """Read a file of the project; symlinks out of it are rejected."""
        project = self._folder.project.resolve()
        try:
            file = (self._folder.root / path).resolve()
            if not file.is_relative_to(project):
                raise InputError("which is outside the project")
            content = _content(file) if file.is_file() else None
        except OSError as error:
            raise InputError(f"which can't be read ({error.strerror or error})") from error
        try:
            return None if content is None else decode(content)[0]
        except InputError as error:
            raise InputError("which is not text") from error


def _spelled_out(name: str) -> str:
    """An unambiguous spelling on one line."""
    text = os.fsencode(name.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _content(path: Path) -> bytes:
    """Read a page; if it changes during reading, read it once more, then fail."""
    for _ in range(2):
        before = path.stat()
        if not stat.S_ISREG(before.st_mode):
            raise OSError("it is not a regular file")
        if before.st_size > MAX_PAGE_BYTES:
            raise OSError(f"it is larger than {MAX_PAGE_BYTES // 2**20} MB")
        content = path.read_bytes()
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) == (len(content), after.st_mtime_ns):
            return content
    raise OSError("it changed during reading; run it again")
