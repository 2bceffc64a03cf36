"""Axe, the accessibility checker, run inside the page that is open."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser.conftest import Page

AXE = next(
    path.read_text("utf-8")
    for path in Path(str(files("axe_playwright_python"))).rglob("axe.min.js")
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: arguments[0]}).then(found => done({
  passed: found.passes.length,
  violations: found.violations.map(rule => `${rule.id}: ${rule.nodes.map(node => node.html)}`),
}));
"""


def violations(page: Page) -> list[str]:
    if not page.run("return Boolean(window.axe)"):
        page.run(AXE)
    found = page.driver.execute_async_script(RUN, RULES)
    assert found["passed"] > 10, "it must have looked at something"
    return [str(violation) for violation in found["violations"]]
