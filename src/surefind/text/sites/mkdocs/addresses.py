"""Computes the URLs that MkDocs gives to the Markdown files of a site."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self
from urllib.parse import quote

from surefind.model import PageLocation, SkippedPage
from surefind.text.front_matter import split_front_matter
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.mkdocs.anchors import anchor_rule
from surefind.text.sites.mkdocs.config import MkDocsConfig
from surefind.text.sites.mkdocs.dialect import plain_markdown
from surefind.text.sites.mkdocs.includes import Inclusions, ReadFile, expand_includes
from surefind.text.sites.mkdocs.macros import has_macros, without_macros
from surefind.text.sites.mkdocs.mdx_includes import expand_mdx_includes
from surefind.text.sites.mkdocs.mkdocstrings import with_docstrings
from surefind.text.sites.mkdocs.snippets import expand_snippets
from surefind.text.sites.parsing.globs import glob_expression

_MARKDOWN = (".markdown", ".mdown", ".mkdn", ".mkd", ".md")
_HIDDEN = ".*\n/templates/"
_MOVING_PLUGINS = {"blog", "gen-files", "i18n", "mike", "monorepo", "multirepo", "same-dir"}


class MkDocsSite:
    """An MkDocs site; `notes` lists the parts of its config that were not understood."""

    name = "mkdocs"

    def __init__(self, config: MkDocsConfig, base_url: str | None, pages: Collection[str]) -> None:
        self._config = config
        self.anchors = anchor_rule(config)
        self._base_url = config.text("site_url", "") if base_url is None else base_url
        if not self._base_url:
            config.notes.append(
                "the config has no plain `site_url`; URLs are relative to the site's root."
            )
        folder = str(PurePosixPath(config.text("docs_dir", "docs")))
        self._folder = "" if folder == "." else f"{folder}/"
        self._directory_urls = config.flag("use_directory_urls", default=True)
        patterns = f"{_HIDDEN}\n{config.text('exclude_docs', '')}"
        self._excluded = _ignore_rules(patterns, config.notes)
        self._drafts = _ignore_rules(config.text("draft_docs", ""), config.notes)
        self._titles = _nav_titles(config.values.get("nav"))
        self._pages = frozenset(pages)
        self._includes = config.includes(self._folder.rstrip("/"))
        self._mdx_includes = config.mdx_includes()
        self._snippets = config.snippets(self._folder.rstrip("/"))
        self._note_plugins()

    @classmethod
    def from_config(
        cls,
        config_text: str,
        base_url: str | None = None,
        *,
        inherited: Collection[str] = (),
        pages: Collection[str] = (),
    ) -> Self:
        """`base_url` replaces `site_url`. `pages` are all known site paths: a README is skipped
        only if its folder is known to have an index page.
        """
        return cls(MkDocsConfig(config_text, *inherited), base_url, pages)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._config.notes)

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - front matter does not affect URLs
    ) -> PageLocation | SkippedPage:
        reason = self._left_out(site_path)
        if reason:
            return SkippedPage(reason)
        path = PurePosixPath(site_path.removeprefix(self._folder))
        folder, stem = path.parent, "index" if path.stem == "README" else path.stem
        if path.stem == "README" and self._has_index(site_path):
            return SkippedPage("the index page of its folder has the same URL")
        if not self._directory_urls:
            tail = str(folder / f"{stem}.html")
        else:
            at = folder if stem == "index" else folder / stem
            tail = "" if str(at) == "." else f"{at}/"
        return PageLocation(
            f"{self._base_url.rstrip('/')}/{quote(tail)}",
            title=self._titles.get(site_path.removeprefix(self._folder), ""),
        )

    def with_included(
        self, site_path: str, text: str, read: ReadFile
    ) -> tuple[str, tuple[str, ...]]:
        """(the page as plain Markdown, with expanded includes; warnings), in MkDocs' order."""
        start = len(text) - len(split_front_matter(text)[1])
        body, inclusions = text[start:], Inclusions(site_path, read)
        if self._includes is not None:
            body = expand_includes(body, self._includes, inclusions)
        if self._mdx_includes is not None:
            variants = "markdown_include_variants" in self._config.extensions
            body = expand_mdx_includes(body, self._mdx_includes, inclusions, variants=variants)
        if self._snippets is not None:
            body = expand_snippets(body, self._snippets, inclusions)
        if has_macros({*self._config.plugins, *self._config.extensions}):
            extra = self._config.values.get("extra")
            body = without_macros(body, extra if isinstance(extra, dict) else {})
        if "mkdocstrings" in self._config.plugins:
            body = with_docstrings(body, *self._config.python_handler(), read)
        body = plain_markdown(body, self._config.extensions.keys())
        return text[:start] + body, inclusions.warnings

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url)

    def _left_out(self, site_path: str) -> str:
        if not site_path.startswith(self._folder):
            return f"it is not in the docs folder {self._folder.rstrip('/')}"
        path = site_path.removeprefix(self._folder)
        if not path.endswith(_MARKDOWN):
            return "it is not a Markdown page"
        if _ignored(path, self._excluded):
            return "the config excludes it, or it is hidden"
        if _ignored(path, self._drafts):
            return "the config says that it is a draft"
        return ""

    def _has_index(self, site_path: str) -> bool:
        folder = PurePosixPath(site_path).parent
        indexes = [str(folder / f"index{extension}") for extension in _MARKDOWN]
        return any(page in self._pages and not self._left_out(page) for page in indexes)

    def _note_plugins(self) -> None:
        for name in self._config.plugins:
            if name.removeprefix("material/") in _MOVING_PLUGINS:
                self._config.notes.append(f"the plugin {name} may serve pages elsewhere.")


def _nav_titles(nav: object) -> dict[str, str]:
    """Titles by path below the docs folder. The first entry of a page decides, titled or not."""
    titles: dict[str, str] = {}
    waiting: list[tuple[str, object]] = [("", nav)]
    seen: set[int] = set()  # YAML aliases can be recursive
    while waiting:
        title, item = waiting.pop()
        if isinstance(item, str):
            titles.setdefault(str(PurePosixPath(item)), title)
        elif isinstance(item, list | dict) and id(item) not in seen:
            seen.add(id(item))
            named = item.items() if isinstance(item, dict) else (("", inner) for inner in item)
            waiting += reversed([(str(name), inner) for name, inner in named])
    return titles


# --- patterns, as in .gitignore ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    ignores: bool


def _ignore_rules(lines: str, notes: list[str]) -> tuple[_Rule, ...]:
    rules = []
    for line in lines.splitlines():
        text = line.rstrip()
        if not text or text.startswith("#"):
            continue
        ignores = not text.startswith("!")
        glob = text[not ignores :].replace("\\", "")
        below = "/.*" if glob.endswith("/") else "(?:/.*)?"
        glob = glob.rstrip("/")
        anywhere = "" if "/" in glob else "(?:.*/)?"
        expression = glob_expression(glob.lstrip("/"), braces=False)
        if expression is None:
            notes.append(f"the pattern {text[:60]} is not supported and was ignored.")
        else:
            rules.append(_Rule(re.compile(anywhere + expression + below), ignores))
    return tuple(rules)


def _ignored(path: str, rules: tuple[_Rule, ...]) -> bool:
    """The last rule that matches decides."""
    matching = (rule.ignores for rule in reversed(rules) if rule.pattern.fullmatch(path))
    return next(matching, False)
