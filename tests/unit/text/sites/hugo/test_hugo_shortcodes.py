"""Shortcodes of Hugo: the text that they surround, include or name."""

from collections.abc import Mapping

import pytest

from surefind.errors import InputError
from surefind.text.formats.registry import parse
from surefind.text.sites.hugo.addresses import HugoSite


def expanded(
    text: str, files: Mapping[str, str] | None = None, config: str = ""
) -> tuple[str, tuple[str, ...]]:
    site = HugoSite.from_config(f'baseURL = "https://x.org"\n{config}')
    return site.with_included("content/guide/page.md", text, (files or {}).get)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no shortcode", "no shortcode"),
        ("a {{< skew v >}}b", "a b"),
        ("a {{<skew v>}}b{{%x%}}", "a b"),
        ("{{< note >}}\nHot.\n{{< /note >}}", "Note\nHot.\n"),
        ("{{< note >}}Hot.{{< /note >}}", "Note\nHot."),
        ("{{< note >}}\n\n- Hot.\n{{< /note >}}", "Note\n\n\n- Hot.\n"),
        (
            '{{% alert title="Very hot" color="red" %}}\nHot.\n{{% /alert %}}',
            "Alert: Very hot\nHot.\n",
        ),
        ('{{< details "More" >}}\nText.\n{{< /details >}}', "More\nText.\n"),
        ('{{< tab name="A \\"b\\"" >}}\nText.\n{{< /tab >}}', 'A "b"\nText.\n'),
        ("{{< comment >}}never{{< /comment >}}text", "text"),
        ("{{< mermaid >}}\na --> b\n{{< /mermaid >}}", "```\na --> b\n```"),
        ("{{< highlight go >}}\nx := 1\n{{< /highlight >}}", "```go\nx := 1\n```"),
        ('{{< term text="tank" term_id="t" >}}', "tank"),
        ('{{< term term_id="pod-template" >}}', "pod template"),
        ('{{< figure src="a.png" caption="A tank" >}}', "A tank"),
        ('[a]({{< ref "guide/install" >}})', "[a](guide/install)"),
        ("{{< param version >}}{{< param unknown >}}", "4.2"),
        ("`{{</* note */>}}` {{%/* tab */%}}", "`{{< note >}}` {{% tab %}}"),
        ("{{< never closed", "{{< never closed"),
        ("{{< a {{< b >}}", "{{< a "),
        ("{{< outer >}}a{{< inner >}}b{{< /outer >}}", "ab"),
        ("{{< note />}} a {{< /other >}}", " a "),
        ("text\n{.wide}", "text\n{.wide}"),
    ],
)
def test_each_shortcode_becomes_the_text_that_readers_see(text: str, shown: str) -> None:
    assert expanded(text, config='[params]\nversion = "4.2"') == (shown, ())


def test_front_matter_stays_and_gives_parameters() -> None:
    text = "---\nprice: 3\n---\n{{< param Price >}}"
    assert expanded(text)[0] == "---\nprice: 3\n---\n3"


def test_files_of_the_site_are_included_from_the_folders_that_themes_use() -> None:
    files = {
        "content/guide/part.md": "---\ntitle: Part\n---\nbeside {{< x >}}the page",
        "content/includes/shared.md": "shared",
        "content/examples/a/b.yaml": "a: 1\n",
        "content/self.md": '{{< include "self.md" >}}',
    }
    assert expanded('{{< include "part.md" >}}', files)[0] == "beside the page"
    assert expanded('  {{< include "shared.md" >}}', files)[0] == "  shared"
    assert expanded('- {{% code_sample file="a/b.yaml" %}}', files)[0] == "- \n```yaml\na: 1\n```"
    text, warnings = expanded('{{< include "gone.md" >}}{{< include "self.md" >}}', files)
    assert text == ""
    assert warnings == (
        "it includes gone.md, which is missing; the include was dropped",
        "it includes self.md, which includes itself or is nested too deeply; the include was "
        "dropped",
    )


def test_a_file_outside_of_the_project_is_refused() -> None:
    def read(path: str) -> str | None:
        if path.startswith(".."):
            raise InputError("which is outside the project")
        return None

    site = HugoSite.from_config('baseURL = "https://x.org"')
    text = '{{< include "../../../../secret.txt" >}}'
    shown, warnings = site.with_included("content/guide/page.md", text, read)
    assert shown == ""
    assert "outside the project" in warnings[0]


def test_headings_have_the_anchor_of_their_translation_or_none() -> None:
    files = {
        "i18n/en.yaml": "next_heading: {other: What is next}\nlast_heading: {other: A & B}",
    }
    text = (
        '## {{% heading "next" %}}\n\n## {{% heading "last" %}}\n\n## To {{< skew >}}\n\n'
        "## Own {{< skew >}} {#own}\n\n## Plain"
    )
    body, _ = expanded(text, files)
    site = HugoSite.from_config('baseURL = "https://x.org"')
    headings = parse(body.encode(), ".md", site.anchors).structure.headings
    assert [(heading.title, heading.anchor) for heading in headings] == [
        ("What is next", "what-is-next"),
        ("A & B", ""),
        ("To", ""),
        ("Own", "own"),
        ("Plain", "plain"),
    ]


def test_attributes_of_blocks_are_dropped_where_the_site_has_them() -> None:
    config = "[markup.goldmark.parser.attribute]\nblock = true"
    text = "text\n{.wide}\n\n```\n{.code}\n```"
    assert expanded(text, config=config)[0] == "text\n\n```\n{.code}\n```"
