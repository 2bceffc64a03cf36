import json
from typing import Any

import pytest

from surefind.errors import InputError
from surefind.model import FormatOptions
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse

OUTPUTS = FormatOptions(notebook_outputs=True)


def cell(kind: str, source: str | list[str], **others: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}, **others}


def read(*cells: object, options: FormatOptions | None = None, **others: Any) -> ParsedPage:
    notebook = {"nbformat": 4, "metadata": {}, "cells": list(cells), **others}
    return parse(json.dumps(notebook).encode(), ".ipynb", options=options)


def test_cells_become_prose_and_code_under_the_anchors_of_jupyter() -> None:
    page = read(
        cell("markdown", ["# Train a Model\n", "\n", "Words. <!-- no -->"]),
        cell("code", "import pump\npump.run()\n"),
        cell("markdown", "## Check the *Result*\n\nMore."),
        cell("markdown", "## Check the Result"),
        metadata={"language_info": {"name": "julia"}},
    )
    assert page.text == (
        "# Train a Model\n\nWords.\n\n```julia\nimport pump\npump.run()\n```\n\n"
        "## Check the *Result*\n\nMore.\n\n## Check the Result\n"
    )
    anchors = [heading.anchor for heading in page.structure.headings]
    assert anchors == ["Train-a-Model", "Check-the-Result", "Check-the-Result"]
    assert len(page.structure.code) == 1


def test_outputs_are_read_on_request() -> None:
    code = cell(
        "code",
        "run()",
        outputs=[
            {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mopen\x1b[0m\n", "shut"]},
            {"output_type": "execute_result", "data": {"text/plain": "42", "image/png": "iVBO"}},
            {"output_type": "display_data", "data": {"image/png": "iVBO"}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no water"},
            {"output_type": "stream", "text": "x" * 10_001},
        ],
    )
    assert read(code).text == "```python\nrun()\n```\n"
    page = read(code, options=OUTPUTS)
    for text in ("open\nshut", "42", "ValueError: no water", "x" * 10_000):
        assert f"```text\n{text}\n```" in page.text
    assert "iVBO" not in page.text
    assert "x" * 10_001 not in page.text
    assert page.warnings == ("outputs longer than 10000 characters are cut: 1",)


def test_tags_remove_cells_their_source_or_their_outputs() -> None:
    out = [{"output_type": "stream", "text": "out"}]
    page = read(
        cell("markdown", "gone", metadata={"tags": ["remove-cell"]}),
        cell("code", "gone", metadata={"tags": ["remove_input"]}, outputs=out),
        cell("code", "kept", metadata={"tags": ["remove-output"]}, outputs=out),
        options=OUTPUTS,
    )
    assert page.text == "```text\nout\n```\n\n```python\nkept\n```\n"


def test_raw_cells() -> None:
    page = read(
        cell("raw", "---\ntitle: The pump\n---\n"),
        cell("raw", "plain words"),
        cell("raw", "<p>from <b>HTML</b>", metadata={"raw_mimetype": "text/html"}),
        cell("raw", "\\LaTeX", metadata={"format": "text/latex"}),
        cell("unknown", "?"),
    )
    assert page.front_matter == {"title": "The pump"}
    assert page.text == "plain words\n\nfrom HTML\n"


def test_notebooks_of_version_3() -> None:
    notebook = {
        "nbformat": 3,
        "metadata": {"title": "Old", "kernelspec": {"language": "bad name"}},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Two ", "words"]},
                    {
                        "cell_type": "code",
                        "input": ["a = 1"],
                        "outputs": [{"output_type": "pyout", "text": ["1"]}],
                    },
                ]
            }
        ],
    }
    page = parse(json.dumps(notebook).encode(), ".ipynb", options=OUTPUTS)
    assert page.text == "## Two words\n\n```python\na = 1\n```\n\n```text\n1\n```\n"
    assert page.title == "Old"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"cells": [', "JSON is invalid"),
        (b"[]", "it has no cells"),
        (b'{"a": 1}', "it has no cells"),
        (b"[" * 200_000, "nested too deeply|JSON is invalid"),
        (b"\x00\x01", "binary"),
    ],
)
def test_broken_notebooks_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse(content, ".ipynb")


def test_odd_values_are_skipped() -> None:
    odd = [1, None, "x", {"cell_type": 3}, cell("markdown", "words"), {"outputs": 5}]
    assert read(*odd, metadata=[], options=OUTPUTS).text == "words\n"
    assert parse(b'{"cells": {}}', ".ipynb").text == ""
