"""Computes the URLs that Nextra gives to the pages in `content`, `pages` or `app`."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import AnchorRule, PageLocation, SkippedPage
from surefind.text.anchors import explicit_id
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.parsing.javascript_config import JavaScriptConfig
from surefind.text.slugs import anchor_of

_CONTENT = re.compile(r"(?:src/)?(content|pages|app)/(.+)\.mdx?$")
_OWN_ID = re.compile(r"[ \t]*\[#([^\s\[\]]+)\][ \t]*$")
_GROUP = re.compile(r"\([^()/]*\)/")


class NextraSite:
    """A Next.js site with Nextra; `notes` lists the parts of its config that it computes."""

    name = "nextra"

    def __init__(
        self, config_text: str, base_url: str | None = None, *, url_style: str | None = None
    ) -> None:
        self._config = config = JavaScriptConfig(config_text, "the config")
        base = config.text("basePath").strip("/")
        if base_url is None:
            base_url = f"/{base}" if base else ""
            config.notes.append("Nextra has no setting for its address; set base_url.")
        self._base_url = base_url
        slash = config.flag("trailingSlash", default=False)
        self._style = url_style or ("directory" if slash else "bare")
        self.anchors = AnchorRule(_declared, anchor_of, first_level=2, counts_titles=False)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._config.notes))

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - it does not affect URLs
    ) -> PageLocation | SkippedPage:
        found = _CONTENT.match(site_path)
        if found is None:
            return SkippedPage("it is not in the folder content, pages or app")
        page = found[2]
        path = PurePosixPath(page)
        if "[" in page or any(part.startswith("_") for part in path.parts):
            return SkippedPage("it is a template or a part of pages")
        if found[1] == "app":
            if path.name != "page":
                return SkippedPage("it is a part of a page: only page.mdx is a page of `app`")
            page = str(path.parent / "index")
        page = _GROUP.sub("", page)
        if PurePosixPath(page).name == "index":
            parent = str(PurePosixPath(page).parent)
            page = "" if parent == "." else parent
        ending = {"html": f"{page}.html", "directory": f"{page}/"}.get(self._style, page)
        return PageLocation(f"{self._base_url.rstrip('/')}/{quote(ending) if page else ''}")

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url, f"{page_url.rstrip('/')}/")


def _declared(title: str) -> tuple[str, str]:
    """Split `Title [#id]`, and `Title {#id}`."""
    found = _OWN_ID.search(title)
    return (title[: found.start()], found[1]) if found else explicit_id(title)
