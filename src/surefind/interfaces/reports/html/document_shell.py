"""The frame of every HTML report: one file whose security policy allows only its own content."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from surefind.interfaces.reports.html.markup import text

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="surefind {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{skip}{header}
<main>
{body}
</main>
<footer>{footer}</footer>
{scripts}</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Shell:
    """Parts of a page, as markup; `data` is the JSON for the script, if there is one."""

    title: str
    version: str
    header: str
    body: str
    footer: str
    skip: str = ""
    data: str = ""
    script: str = ""

    def page(self) -> str:
        style = asset("report.css")
        allowed = f"'{_digest(self.script)}'" if self.script else "'none'"
        policy = (
            f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}; "
            "base-uri 'none'; form-action 'none'"
        )
        scripts = (
            f'<script type="application/json" id="data">{self.data}</script>\n'
            f"<script>{self.script}</script>\n"
        )
        page = _PAGE.format(
            policy=policy,
            version=text(self.version),
            title=text(self.title),
            style=style,
            skip=f"{self.skip}\n" if self.skip else "",
            header=self.header,
            body=self.body,
            footer=self.footer,
            scripts=scripts if self.script else "",
        )
        # Lone surrogates can't be encoded in UTF-8.
        return page.encode("utf-8", "replace").decode()


def asset(name: str) -> str:
    return (files("surefind.interfaces.reports.html") / name).read_text("utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
