"""Converts Word documents to Markdown, by way of mammoth and HTML.

mammoth maps styles to headings, lists and tables and has no compiled parts. Images are never
opened. A document is a zip archive of XML, so its size and its declarations are checked first.
"""

import io
import re
import zipfile
from importlib.util import find_spec
from typing import Any

from surefind.errors import InputError
from surefind.text.formats.page import ParsedPage
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import outline

_MAX_UNPACKED = 64 * 2**20
_MAX_PARTS = 5_000
_MAX_DEPTH = 256
_OLD_WORD = b"\xd0\xcf\x11\xe0"
_XML = (".xml", ".rels")
_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_TAG = re.compile(rb"<(/?)[A-Za-z][^<>]*?(/?)>")
_STYLES = r"""
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Code'] => pre:separator('\n')
p[style-name='Source Code'] => pre:separator('\n')
p[style-name='HTML Preformatted'] => pre:separator('\n')
p[style-name='Preformatted Text'] => pre:separator('\n')
p[style-name='Plain Text'] => pre:separator('\n')
r[style-name='Code'] => code
r[style-name='HTML Code'] => code
r[style-name='Verbatim Char'] => code
"""


def read_docx(content: bytes) -> ParsedPage:
    """Convert a document; InputError, with the reason, if it is encrypted, damaged or a bomb."""
    if find_spec("mammoth") is None:
        raise InputError("Word documents need another package; run pip install 'surefind[docx]'")
    if content.startswith(_OLD_WORD):
        raise InputError("it is encrypted, or an old .doc; save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check(archive)
        html, title = _html_of(content)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            "it is not a valid Word document; save it again, or remove it from the source"
        ) from error
    page = html_to_markdown(html)
    return ParsedPage({}, page.text, outline(page.text), title or page.title)


def _check(archive: zipfile.ZipFile) -> None:
    """InputError if the archive could be a bomb. `zipfile` never unpacks more than is declared."""
    parts = archive.infolist()
    texts = [part for part in parts if part.filename.lower().endswith(_XML)]
    if len(parts) > _MAX_PARTS or sum(part.file_size for part in texts) > _MAX_UNPACKED:
        raise InputError(f"it unpacks to more than {_MAX_UNPACKED // 2**20} MB of text; split it")
    if "word/document.xml" not in archive.namelist():
        raise InputError("it is not a Word document: it has no text; save it again, or remove it")
    for part in texts:
        xml = archive.read(part)
        if b"\x00" in xml:  # UTF-16, in which declarations would be missed
            xml = xml.replace(b"\x00", b"")
        if _DECLARATION.search(xml):
            raise InputError("its XML declares entities, as Word never does; save it again")
        if _depth(xml) > _MAX_DEPTH:
            raise InputError("its elements are nested too deeply; save it again, or remove it")


def _depth(xml: bytes) -> int:
    depth = deepest = 0
    for tag in _TAG.finditer(xml):
        if tag[1]:
            depth -= 1
        elif not tag[2]:
            depth += 1
            deepest = max(deepest, depth)
    return deepest


def _html_of(content: bytes) -> tuple[str, str]:
    import mammoth  # noqa: PLC0415 - an extra
    from mammoth.images import img_element  # noqa: PLC0415

    def described(_image: Any) -> dict[str, str]:
        return {"src": ""}

    try:
        result = mammoth.convert_to_html(
            io.BytesIO(content), style_map=_STYLES, convert_image=img_element(described)
        )
    except Exception as error:
        raise InputError(
            f"it is not a valid Word document ({type(error).__name__}: {str(error)[:200]}); save "
            "it again, or remove it from the source"
        ) from error
    return result.value, ""
