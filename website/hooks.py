"""Links that lead out of docs/ lead to the repository on the site."""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()(?P<target>(?:\.\./)+[^)#\s]+)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def to_repository(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        is_page = path.startswith("docs/")
        return link["target"] if is_page else f"{config.repo_url}/blob/main/{path}"

    return _LINK.sub(to_repository, markdown)
