"""Converts Jupyter notebooks to Markdown: Markdown cells, code cells and, on request, outputs.

nbformat is not used, because it brings a JSON schema validator for a format of a few fields, and
refuses notebooks that Jupyter opens.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from surefind.errors import InputError
from surefind.model import FormatOptions
from surefind.text.formats.encodings import decode
from surefind.text.formats.page import ParsedPage
from surefind.text.front_matter import split_front_matter
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import Outline, outline
from surefind.text.markdown.mdx import strip_comments
from surefind.text.markdown.writer import fenced

_MAX_OUTPUT = 10_000
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_TEXT_MIMETYPES = {"", "text/markdown", "text/plain"}
_REMOVED = {"remove-cell", "remove_cell"}
_REMOVED_INPUT = {"remove-input", "remove_input"}
_REMOVED_OUTPUT = {"remove-output", "remove_output"}
Json = Mapping[str, object]


def read_notebook(content: bytes, options: FormatOptions) -> ParsedPage:
    """Convert a notebook of nbformat 3 or 4. The first raw cell may have front matter."""
    text, warnings = decode(content)
    notebook = _loaded(text)
    cells = list(_cells(notebook))
    front_matter: Mapping[str, object] = {}
    if cells and cells[0].get("cell_type") == "raw":
        front_matter, rest = split_front_matter(_joined(cells[0].get("source")))
        cells[0] = {**cells[0], "source": rest}
    language = _language(notebook)
    blocks, cut = [], 0
    for cell in cells:
        tags = _tags(cell)
        if tags & _REMOVED:
            continue
        if not tags & _REMOVED_INPUT:
            blocks.append(_source(cell, language))
        if options.notebook_outputs and not tags & _REMOVED_OUTPUT:
            outputs = list(_outputs(cell))
            cut += sum(len(output) > _MAX_OUTPUT for output in outputs)
            blocks += [_output_block(output) for output in outputs]
    if cut:
        warnings += (f"outputs longer than {_MAX_OUTPUT} characters are cut: {cut}",)
    page = "\n\n".join(block for block in blocks if block.strip())
    page = f"{page}\n" if page else ""
    title = _mapping(notebook.get("metadata")).get("title")
    return ParsedPage(
        front_matter, page, _with_jupyter_anchors(outline(page)), str(title or ""), warnings
    )


def _loaded(text: str) -> Json:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(
            f"it is not a notebook, because its JSON is invalid ({reason}); save it in Jupyter "
            "again, or remove it"
        ) from error
    if not isinstance(loaded, dict) or not (loaded.keys() & {"cells", "worksheets"}):
        raise InputError("it is not a notebook: it has no cells; save it in Jupyter, or remove it")
    return loaded


def _cells(notebook: Json) -> Iterator[Json]:
    """The cells of version 4, or those of version 3 in the form of version 4."""
    for cell in _list(notebook.get("cells")):
        yield _mapping(cell)
    for sheet in _list(notebook.get("worksheets")):
        for old in _list(_mapping(sheet).get("cells")):
            cell = _mapping(old)
            if cell.get("cell_type") == "heading":
                level = cell.get("level")
                marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
                title = " ".join(_joined(cell.get("source")).split())
                yield {"cell_type": "markdown", "source": f"{marks} {title}"}
            else:
                yield {**cell, "source": cell.get("source", cell.get("input"))}


def _source(cell: Json, language: str) -> str:
    source, kind = _joined(cell.get("source")), cell.get("cell_type")
    if kind == "markdown":
        return strip_comments(source).strip("\n") if "<!--" in source else source.strip("\n")
    if kind == "code":
        code = source.strip("\n")
        return fenced(code.rstrip(), language) if code.strip() else ""
    if kind != "raw":
        return ""
    metadata = _mapping(cell.get("metadata"))
    mimetype = str(metadata.get("raw_mimetype", metadata.get("format", "")))
    if mimetype == "text/html":
        return html_to_markdown(source).text.strip("\n")
    return source.strip("\n") if mimetype in _TEXT_MIMETYPES else ""


def _outputs(cell: Json) -> Iterator[str]:
    """The texts of a cell's outputs; images and scripts are skipped."""
    for one in _list(cell.get("outputs")):
        output = _mapping(one)
        if output.get("output_type") == "stream":
            yield _joined(output.get("text"))
        elif output.get("output_type") in {"error", "pyerr"}:
            yield f"{output.get('ename', '')}: {output.get('evalue', '')}"
        else:  # version 3 has the data beside the type
            data = _mapping(output.get("data", output))
            yield _joined(data.get("text/plain", data.get("text")))


def _output_block(output: str) -> str:
    shown = _ANSI.sub("", output[:_MAX_OUTPUT]).strip("\n").rstrip()
    return fenced(shown, "text") if shown.strip() else ""


def _with_jupyter_anchors(structure: Outline) -> Outline:
    """Jupyter, nbconvert and nbsphinx only replace blanks; equal headings have equal anchors."""
    headings = tuple(
        replace(heading, anchor=heading.title.replace(" ", "-")) for heading in structure.headings
    )
    return replace(structure, headings=headings)


def _language(notebook: Json) -> str:
    metadata = _mapping(notebook.get("metadata"))
    for place, key in (("language_info", "name"), ("kernelspec", "language")):
        name = _mapping(metadata.get(place)).get(key)
        if isinstance(name, str) and _LANGUAGE.fullmatch(name):
            return name
    return "python"


def _tags(cell: Json) -> set[str]:
    tags = _list(_mapping(cell.get("metadata")).get("tags"))
    return {tag for tag in tags if isinstance(tag, str)}


def _joined(source: object) -> str:
    """A text is a string or a list of lines."""
    if isinstance(source, str):
        return source
    return "".join(line for line in _list(source) if isinstance(line, str))


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}
