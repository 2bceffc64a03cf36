"""Word documents, made by python-docx."""

import io
import zipfile

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE

from surefind.errors import InputError
from surefind.text.formats.registry import parse


def document() -> bytes:
    made = docx.Document()
    made.add_heading("Pump manual", 0)
    made.add_heading("Install", 1)
    made.add_paragraph("Close the valve first.")
    made.add_paragraph("one", style="List Bullet")
    made.add_paragraph("first", style="List Number")
    table = made.add_table(2, 2)
    for number, text in enumerate(("Name", "Value", "volt", "230")):
        table.cell(number // 2, number % 2).text = text
    made.add_heading("First start", 2)
    made.add_paragraph("Run ").add_run("it").bold = True
    made.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
    made.add_paragraph("pump --start", style="Source Code")
    made.add_paragraph("pump --stop", style="Source Code")
    return saved(made)


def saved(made: docx.document.Document) -> bytes:
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def with_part(content: bytes, name: str, data: bytes) -> bytes:
    """The document with another part."""
    changed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.infolist():
            if part.filename != name:
                new.writestr(part, old.read(part))
        new.writestr(name, data)
    return changed.getvalue()


def test_headings_lists_tables_and_code() -> None:
    page = parse(document(), ".docx")
    assert page.text == (
        "# Pump manual\n\n# Install\n\nClose the valve first.\n\n- one\n\n1. first\n\n"
        "| Name | Value |\n| --- | --- |\n| volt | 230 |\n\n## First start\n\nRun it\n\n"
        "```\npump --start\npump --stop\n```\n"
    )
    assert page.title == "Pump manual"
    assert [h.anchor for h in page.structure.headings] == ["pump-manual", "install", "first-start"]


BOMB = b'<!DOCTYPE a [<!ENTITY b "bbb">]>'
DEEP = b"<w:p>" * 300
TEXT = "word/document.xml"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a valid Word document"),
        (b"words", "not a valid Word document"),
        (document()[:3000], "not a valid Word document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "encrypted, or an old .doc"),
        (with_part(document(), TEXT, b"<a"), "not a valid Word document"),
        (with_part(document(), TEXT, BOMB + b"<a>&b;</a>"), "declares entities"),
        (with_part(document(), TEXT, BOMB.decode().encode("utf-16")), "declares entities"),
        (with_part(document(), TEXT, DEEP), "nested too deeply"),
        (with_part(document(), "word/big.xml", b" " * (65 * 2**20)), "more than 64 MB"),
        (with_part(b"PK\x05\x06" + bytes(18), "word/other.xml", b"<a/>"), "it has no text"),
    ],
    ids=[
        *("empty", "text", "truncated", "encrypted", "broken XML", "entities", "UTF-16"),
        *("deep", "bomb", "another archive"),
    ],
)
def test_broken_documents_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse(content, ".docx")


def test_images_are_not_opened() -> None:
    linked = (
        b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        b'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        b"<w:body><w:p><w:r><w:t>words</w:t><w:drawing><wp:inline>"
        b'<wp:docPr descr="The pump"/><a:graphic><a:graphicData><a:blip r:link="rId9"/>'
        b"</a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p></w:body></w:document>"
    )
    relations = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b'<Relationship Id="rId9" Type="image" Target="file:///etc/passwd" TargetMode="External"/>'
        b"</Relationships>"
    )
    content = with_part(document(), TEXT, linked)
    content = with_part(content, "word/_rels/document.xml.rels", relations)
    assert "root:" not in parse(content, ".docx").text
