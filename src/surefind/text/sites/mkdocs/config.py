"""Reads mkdocs.yml as plain data: any YAML tag is allowed, and none is executed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urljoin

import yaml

from surefind.text.sites.mkdocs.includes import IncludeFolder, IncludeOptions
from surefind.text.sites.mkdocs.snippets import SnippetOptions

_INCLUDE = "markdown_include.include"
_MDX_INCLUDE = "mdx_include"
_SNIPPETS = "pymdownx.snippets"
_STANDARD = "markdown.extensions."
_ALWAYS = ("toc", "tables", "fenced_code")
_EXTRA = ("abbr", "attr_list", "def_list", "footnotes", "md_in_html")


class _Unread:
    """Replaces the value of a YAML tag, such as an environment variable or a Python object."""


_UNREAD = _Unread()


@dataclass(frozen=True, slots=True)
class PythonName:
    """The name of a Python object, which is never imported, and the arguments of its call."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Relative:
    """`!relative` is relative to the page, `!relative $docs_dir` to the docs folder."""

    path: str


class _ConfigLoader(yaml.SafeLoader):
    """A loader that allows any YAML tag and executes none."""


def _tagged(loader: _ConfigLoader, suffix: str, node: yaml.Node) -> object:
    """`!ENV [NAME, default]` gives its default; all other tagged values are unread."""
    if suffix == "ENV" and isinstance(node, yaml.SequenceNode) and len(node.value) > 1:
        default: object = loader.construct_object(node.value[-1], deep=True)
        return default
    if suffix == "relative" and isinstance(node, yaml.ScalarNode):
        return _Relative(str(node.value))
    return _UNREAD


def _python(loader: _ConfigLoader, suffix: str, node: yaml.Node) -> object:
    """`!!python/name:module.function`, or `!!python/object/apply:` with `kwds`."""
    kind, _, name = suffix.partition(":")
    if kind == "name":
        return PythonName(name)
    if kind == "object/apply" and isinstance(node, yaml.MappingNode):
        arguments = loader.construct_mapping(node, deep=True).get("kwds")
        return PythonName(name, arguments if isinstance(arguments, dict) else {})
    return _UNREAD


_ConfigLoader.add_multi_constructor("!", _tagged)
_ConfigLoader.add_multi_constructor("tag:yaml.org,2002:python/", _python)


class MkDocsConfig:
    """Typed access to a config; `notes` lists every fallback to a default."""

    def __init__(self, config_text: str, *inherited: str) -> None:
        """`inherited` are the texts of the configs that `INHERIT` names, the nearest first."""
        self.notes: list[str] = []
        values = _loaded(config_text)
        if values is None:
            self.notes.append("the config is not a YAML mapping; using defaults.")
        values = values or {}
        for text in inherited:
            values = _merged(_loaded(text) or {}, values)
        self.values: Mapping[str, object] = values

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            self.notes.append(f"`{key}` is not plain text; using {default!r}.")
        return value if isinstance(value, str) else default

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            self.notes.append(f"`{key}` is not a plain value; using {str(default).lower()}.")
        return value if isinstance(value, bool) else default

    def includes(self, docs_folder: str) -> IncludeOptions | None:
        options = self.extensions.get(_INCLUDE)
        if options is None:
            return None
        offset = options.get("headingOffset")
        return IncludeOptions(
            self._bases(options, docs_folder),
            heading_offset=min(6, max(0, offset)) if isinstance(offset, int) else 0,
            inherits_depth=options.get("inheritHeadingDepth") is True,
        )

    def mdx_includes(self) -> tuple[IncludeFolder, ...] | None:
        """The folders that names of included files are relative to."""
        options = self.extensions.get(_MDX_INCLUDE)
        if options is None:
            return None
        base = options.get("base_path")
        return (IncludeFolder(base if isinstance(base, str) else ""),)

    def snippets(self, docs_folder: str) -> SnippetOptions | None:
        options = self.extensions.get(_SNIPPETS)
        if options is None:
            return None
        appended = options.get("auto_append")
        names = appended if isinstance(appended, list) else []
        return SnippetOptions(
            self._bases(options, docs_folder),
            appended=tuple(name for name in names if isinstance(name, str)),
            inside_bases=options.get("restrict_base_path") is not False,
            dedents=options.get("dedent_subsections") is True,
        )

    @cached_property
    def extensions(self) -> Mapping[str, Mapping[str, object]]:
        """The Markdown extensions of the site by name, with their options."""
        found: dict[str, Mapping[str, object]] = {name: {} for name in _ALWAYS}
        written = self.values.get("markdown_extensions")
        for entry in written if isinstance(written, list) else [written]:
            named = entry if isinstance(entry, dict) else {entry: None}
            for name, options in named.items():
                if isinstance(name, str):
                    short = name.removeprefix(_STANDARD)
                    found[short] = options if isinstance(options, dict) else {}
        if "pymdownx.extra" in found or "extra" in found:
            found = {name: {} for name in _EXTRA} | found
        return found

    @cached_property
    def plugins(self) -> tuple[str, ...]:
        """The names of the site's plugins."""
        written = self.values.get("plugins")
        return tuple(
            str(name)
            for plugin in (written if isinstance(written, list | dict) else ())
            for name in (plugin if isinstance(plugin, dict) else (plugin,))
        )

    def python_handler(self) -> tuple[Mapping[str, object], tuple[str, ...]]:
        """(options, folders of the source) of mkdocstrings."""
        written = self.values.get("plugins")
        found: object = None
        for plugin in written if isinstance(written, list) else [written]:
            if isinstance(plugin, dict):
                found = plugin.get("mkdocstrings", found)
        for key in ("handlers", "python"):
            found = found.get(key) if isinstance(found, dict) else None
        handler = found if isinstance(found, dict) else {}
        options, paths = handler.get("options"), handler.get("paths")
        folders = (
            [path for path in paths if isinstance(path, str)] if (isinstance(paths, list)) else []
        )
        return options if isinstance(options, dict) else {}, tuple(folders)

    def address_of_language(self, code: str) -> str:
        """The address that `extra.alternate` gives to the site in a language; else empty."""
        extra = self.values.get("extra")
        alternate = extra.get("alternate") if isinstance(extra, dict) else None
        for entry in alternate if isinstance(alternate, list) else ():
            link = entry.get("link") if isinstance(entry, dict) else None
            if isinstance(link, str) and PurePosixPath(link).name.lower() == code.lower():
                return urljoin(self.text("site_url", ""), link)
        return ""

    def _bases(self, options: Mapping[str, object], docs_folder: str) -> tuple[IncludeFolder, ...]:
        """The default is MkDocs' working directory, usually the folder of its config."""
        written = options.get("base_path")
        if written is None:
            return (IncludeFolder(), IncludeFolder(docs_folder))
        found = []
        for path in written if isinstance(written, list) else [written]:
            if isinstance(path, str):
                found.append(IncludeFolder(path))
            elif isinstance(path, _Relative):
                found.append(_relative_base(path.path, docs_folder))
            else:
                self.notes.append("a `base_path` is not a plain value; its files are not included.")
        return tuple(found)


def inherited_config(config_text: str) -> str:
    """The path, relative to the config, of the config that it inherits from; else empty."""
    path = (_loaded(config_text) or {}).get("INHERIT") if "INHERIT" in config_text else None
    return path if isinstance(path, str) else ""


def _loaded(config_text: str) -> dict[str, object] | None:
    try:
        # A SafeLoader subclass: tags never run code.
        values: Any = yaml.load(config_text, Loader=_ConfigLoader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _merged(parent: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Mappings are merged on the first two levels, which is where MkDocs has its options."""
    merged = {**parent, **own}
    for key, value in own.items():
        above = parent.get(key)
        if isinstance(value, dict) and isinstance(above, dict):
            merged[key] = {**above, **value}
    return merged


def _relative_base(path: str, docs_folder: str) -> IncludeFolder:
    for variable, folder in (("$docs_dir", docs_folder), ("$config_dir", "")):
        if path == variable or path.startswith(f"{variable}/"):
            return IncludeFolder(f"{folder}/{path[len(variable) + 1 :]}".strip("/"))
    return IncludeFolder(path, beside_page=True)
