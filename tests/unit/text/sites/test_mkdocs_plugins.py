"""Macros that plugins of MkDocs replace."""

import pytest

from surefind.text.sites.mkdocs.addresses import MkDocsSite


def expanded(text: str, config: str) -> str:
    return MkDocsSite.from_config(config).with_included("docs/a.md", text, lambda _: None)[0]


@pytest.mark.parametrize(
    "where", ["plugins: [macros]", "markdown_extensions: [zensical.extensions.macros]"]
)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ version }} and {{site.name}}", "1.2 and Kettle"),
        ("{% for a in b %}words{% endfor %}{# note #}", "words"),
        ("{{ unknown }}{{ call(1) }}.", "."),
        ("{% raw %}`{{ version }}`{% endraw %} {{ version }}", "`{{ version }}` 1.2"),
        ("{{ never closed", "{{ never closed"),
        ("{{ {{ version }}", "{{ 1.2"),
    ],
)
def test_macros_become_plain_values_or_nothing(where: str, text: str, shown: str) -> None:
    config = f"{where}\nextra: {{version: 1.2, site: {{name: Kettle}}}}"
    assert expanded(text, config) == shown
    assert expanded(text, "plugins: [search]") == text
