"""Computes the URLs that Starlight gives to the pages in `src/content/docs`."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import AnchorRule, PageLocation, SkippedPage
from surefind.text.front_matter import split_front_matter
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.parsing.containers import without_containers
from surefind.text.sites.parsing.javascript_config import JavaScriptConfig
from surefind.text.slugs import anchor_of

CONTENT = "src/content/docs/"
_SUFFIXES = (".md", ".mdx", ".markdown", ".mdown", ".mkd", ".mkdn", ".mdwn")
_INDEX = re.compile(r"(?:^|/)index$")


class StarlightSite:
    """An Astro site with Starlight; `notes` lists the parts of its config that it computes."""

    name = "starlight"
    anchors = AnchorRule(lambda title: (title, ""), anchor_of)

    def __init__(
        self, config_text: str, base_url: str | None = None, *, url_style: str | None = None
    ) -> None:
        self._config = config = JavaScriptConfig(config_text, "the config")
        if base_url is None:
            root = config.text("site").rstrip("/")
            base = config.text("base").strip("/")
            base_url = f"{root}/{base}" if base else root
            if not root:
                config.notes.append(
                    "the config has no plain `site`; URLs are relative to the host."
                )
        self._base_url = base_url
        made = "html" if config.table("build").get("format") == "file" else "directory"
        if config.text("trailingSlash") == "never" and made == "directory":
            made = "bare"
        self._style = url_style or made

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._config.notes))

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage:
        if not site_path.startswith(CONTENT):
            return SkippedPage(f"it is not in the content folder {CONTENT.rstrip('/')}")
        path = PurePosixPath(site_path.removeprefix(CONTENT))
        if path.suffix.lower() not in _SUFFIXES:
            return SkippedPage("it is not a Markdown page")
        if path.name.startswith("_"):
            return SkippedPage("its name begins with an underscore")
        if front_matter.get("draft") is True:
            return SkippedPage("it is a draft")
        if str(path.with_suffix("")) == "404":
            return SkippedPage("it is the page for missing pages")
        written = front_matter.get("slug")
        parts = path.with_suffix("").parts
        page = written if isinstance(written, str) else "/".join(anchor_of(each) for each in parts)
        page = _INDEX.sub("", page.strip("/"))
        return PageLocation(f"{self._base_url.rstrip('/')}/{quote(self._styled(page))}")

    def with_included(
        self,
        site_path: str,
        text: str,
        read: ReadFile,  # noqa: ARG002 - it includes nothing
    ) -> tuple[str, tuple[str, ...]]:
        if site_path.endswith(".mdx"):
            return text, ()
        start = len(text) - len(split_front_matter(text)[1])
        return text[:start] + without_containers(text[start:]), ()

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url)

    def _styled(self, page: str) -> str:
        if not page:
            return ""
        return {"html": f"{page}.html", "directory": f"{page}/"}.get(self._style, page)
