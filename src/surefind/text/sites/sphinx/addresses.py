"""Computes the URLs that Sphinx gives to the pages of a site, and expands their directives."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import PageLocation, SkippedPage
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.mkdocs.includes import Inclusions, ReadFile
from surefind.text.sites.parsing.globs import glob_expression
from surefind.text.sites.sphinx.anchors import docutils_rule
from surefind.text.sites.sphinx.autodoc import Autodoc
from surefind.text.sites.sphinx.config import SphinxConfig
from surefind.text.sites.sphinx.expansion import Expansion, opening_end
from surefind.text.sites.sphinx.titles import Titles

_ALWAYS_EXCLUDED = ("_build", "**/_sources", "**/.*")
_ASSETS = ("templates_path", "html_static_path", "html_extra_path")
_SUBSTITUTIONS = ("version", "release")
_MAX_ROLES = 100


class SphinxSite:
    """A Sphinx site; `notes` lists the parts of its config that are computed and thus unknown."""

    name = "sphinx"

    def __init__(
        self,
        config: SphinxConfig,
        base_url: str | None,
        *,
        directories: bool = False,
        titles: Titles | None = None,
    ) -> None:
        """`directories`: the site is built by the builder `dirhtml`."""
        self._titles = titles
        self._config = config
        self.suffixes = config.suffixes
        self._directories = directories
        self._base_url = config.text("html_baseurl") if base_url is None else base_url
        if not self._base_url:
            config.notes.append(
                "conf.py has no plain `html_baseurl`; URLs are relative to the site's root."
            )
        suffix = config.text("html_file_suffix", ".html")
        self._suffix = config.text("html_link_suffix", suffix)
        self._excluded = self._patterns(
            (
                *config.texts("exclude_patterns"),
                *_ALWAYS_EXCLUDED,
                *(path for key in _ASSETS for path in config.texts(key)),
            )
        )
        self._included = self._patterns(config.texts("include_patterns") or ("**",))
        self._roles = _external_links(config.table("extlinks"))
        self.anchors = docutils_rule()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._config.notes))

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - it does not affect URLs
    ) -> PageLocation | SkippedPage:
        path = PurePosixPath(site_path)
        if path.suffix.lower() not in self.suffixes:
            return SkippedPage("its suffix is not in `source_suffix` of conf.py")
        if self._matches(site_path, self._excluded) or not self._matches(site_path, self._included):
            return SkippedPage("the config excludes it")
        name = site_path[: -len(path.suffix)]
        if not self._directories:
            tail = name + self._suffix
        elif path.stem == "index":
            tail = "" if str(path.parent) == "." else f"{path.parent}/"
        else:
            tail = f"{name}/"
        return PageLocation(f"{self._base_url.rstrip('/')}/{quote(tail)}")

    def with_included(
        self, site_path: str, text: str, read: ReadFile
    ) -> tuple[str, tuple[str, ...]]:
        """(the page with the files that its directives read, warnings)."""
        inclusions = Inclusions(site_path, read)
        autodoc = Autodoc(
            self._config.import_folders,
            read,
            defaults=self._config.table("autodoc_default_options"),
            order=self._config.plain("autodoc_member_order") or "alphabetical",
            has_sections=self._config.has_any("sphinx.ext.napoleon", "numpydoc"),
        )

        def rewrite(line: str) -> str:
            autodoc.note(line)
            line = self._with_links(line)
            return self._titles.named(site_path, line) if self._titles else line

        expansion = Expansion(inclusions, autodoc.shown, rewrite)
        lines = expansion.expanded(text.split("\n"))
        return self._framed(lines), inclusions.warnings

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url)

    def _framed(self, lines: list[str]) -> str:
        """With the texts that the config adds to every page, and its substitutions."""
        prolog = self._config.plain("rst_prolog").split("\n")
        role = self._config.plain("default_role")
        if role and role not in {"math", "emphasis", "strong", "title"}:
            prolog = ["", ".. default-role:: literal", "", *prolog]
        epilog = self._config.plain("rst_epilog").split("\n")
        start = opening_end(lines)
        text = "\n".join((*lines[:start], *prolog, "", *lines[start:], "", *epilog))
        for name in _SUBSTITUTIONS:
            value = self._config.plain(name)
            if value and f"|{name}|" in text and f".. |{name}|" not in text:
                text += f"\n\n.. |{name}| replace:: {value}\n"
        return text

    def _with_links(self, line: str) -> str:
        """Roles of `extlinks` show their captions: `:issue:`12`` may be shown as #12."""
        for pattern, caption in self._roles if ":`" in line else ():
            line = pattern.sub(partial(_shown_link, caption), line)
        return line

    def _patterns(self, written: tuple[str, ...]) -> list[re.Pattern[str]]:
        """As in Sphinx, a pattern also excludes everything below the folders that it matches."""
        found = []
        for pattern in written:
            expression = glob_expression(pattern.strip("/"), braces=False)
            if expression is None:
                self._config.notes.append(
                    f"the pattern {pattern[:60]} is not supported and was ignored."
                )
            else:
                found.append(re.compile(expression + "(?:/.*)?"))
        return found

    def _matches(self, site_path: str, patterns: list[re.Pattern[str]]) -> bool:
        return any(pattern.fullmatch(site_path) for pattern in patterns)


def _external_links(table: Mapping[str, object]) -> list[tuple[re.Pattern[str], str | None]]:
    found: list[tuple[re.Pattern[str], str | None]] = []
    for role, written in list(table.items())[:_MAX_ROLES]:
        parts = written if isinstance(written, list) else []
        caption = parts[1] if len(parts) > 1 else parts[0] if parts else None
        if isinstance(caption, str | None) and parts:
            pattern = re.compile(
                rf":{re.escape(role)}:`(?:([^`<>\n]+)|([^`<>\n]+?)\s*<([^`<>\n]*)>)`"
            )
            found.append((pattern, caption if caption is not None else parts[0]))
    return found


def _shown_link(caption: str | None, found: re.Match[str]) -> str:
    return found[2] or _caption(caption, found[1] or found[3])


def _caption(caption: str | None, target: str) -> str:
    return caption.replace("%s", target, 1) if caption else target
