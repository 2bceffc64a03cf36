"""PDFs, made by fpdf2."""

import zlib

import pytest
from fpdf import FPDF

from surefind.errors import InputError
from surefind.model import ChunkerSettings, Document
from surefind.text.chunking import chunk_document
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse

PROSE = "The pump delivers water to the tank, and its valve is closed before the motor starts. "


def manual(*, title: str = "Manual of the pump", password: str = "") -> bytes:
    """Three chapters on pages of their own, with a header and a footer on each page."""

    class Paper(FPDF):
        def header(self) -> None:
            self.set_font("Helvetica", "", 9)
            self.cell(0, 8, "ACME pumps", new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.cell(0, 8, f"Page {self.page_no()} of 3")

    paper = Paper()
    paper.set_title(title)
    for number in (1, 2, 3):
        paper.add_page()
        paper.set_font("Helvetica", "", 11)
        paper.start_section(f"Chapter {number}")
        paper.cell(0, 8, f"Chapter {number}", new_x="LMARGIN", new_y="NEXT")
        paper.multi_cell(0, 6, PROSE * 3, new_x="LMARGIN", new_y="NEXT")
        paper.start_section(f"Parts of {number}", level=1)
        paper.cell(0, 8, f"{number}.1 Parts of {number}", new_x="LMARGIN", new_y="NEXT")
        paper.cell(0, 6, f"pump --start {number}", new_x="LMARGIN", new_y="NEXT")
        paper.cell(0, 6, "# pump", new_x="LMARGIN", new_y="NEXT")
    if password:
        paper.set_encryption(owner_password="owner", user_password=password)
    return bytes(paper.output())


def chunks(page: ParsedPage) -> list[tuple[str, tuple[str, ...], str]]:
    document = Document("m.pdf", "", "m", page.title or "m", page.text, "")
    settings = ChunkerSettings(max_tokens=60)
    made = chunk_document(document, page.structure, settings, lambda text: len(text) // 4)
    return [(chunk.anchor, chunk.heading_path, chunk.text) for chunk in made]


def test_headings_by_the_outline_and_links_to_pages() -> None:
    page = parse(manual(), ".pdf")
    assert page.title == "Manual of the pump"
    assert page.text.startswith(f"## Chapter 1\n\n{(PROSE * 3).strip()}\n\n### Parts of 1\n\n")
    assert page.text.endswith("### Parts of 3\n\npump --start 3\n\\# pump\n\n")
    assert "ACME" not in page.text
    assert "Page 1" not in page.text
    found = chunks(page)
    assert {anchor for anchor, _, _ in found} == {"page=1", "page=2", "page=3"}
    assert ("page=3", ("Manual of the pump", "Chapter 3", "Parts of 3")) in {c[:2] for c in found}


def test_a_page_without_headings_starts_a_part_of_its_own() -> None:
    paper = FPDF()
    paper.set_title("report.docx")
    for number in (1, 2):
        paper.add_page()
        paper.set_font("Helvetica", "", 11)
        paper.multi_cell(0, 6, f"Page {number} begins. " + PROSE * 8)
    page = parse(bytes(paper.output()), ".pdf")
    assert page.title == ""
    assert [(h.title, h.anchor) for h in page.structure.headings] == [
        ("", "page=1"),
        ("", "page=2"),
    ]
    assert [anchor for anchor, _, text in chunks(page) if "begins" in text] == ["page=1", "page=2"]


def test_a_sentence_across_two_pages_is_kept_on_the_first() -> None:
    paper = FPDF()
    paper.set_font("Helvetica", "", 11)
    for text in ("First line.\nThe motor starts when the water", "reaches the sensor. Then stop."):
        paper.add_page()
        paper.multi_cell(0, 6, text)
    found = chunks(parse(bytes(paper.output()), ".pdf"))
    assert [(anchor, text) for anchor, _, text in found] == [
        ("page=1", "First line.\n\nThe motor starts when the water reaches the sensor."),
        ("page=2", "Then stop."),
    ]


def test_a_heading_that_is_not_in_the_text_is_added() -> None:
    paper = FPDF()
    paper.add_page()
    paper.set_font("Helvetica", "", 11)
    paper.start_section("Drawing <b>")
    paper.start_section("Two lines of a title")
    paper.cell(0, 6, "Two lines of", new_x="LMARGIN", new_y="NEXT")
    paper.cell(0, 6, "a title", new_x="LMARGIN", new_y="NEXT")
    paper.cell(0, 6, "words")
    page = parse(bytes(paper.output()), ".pdf")
    assert page.text == "## Drawing \\<b>\n\n## Two lines of a title\n\nwords\n\n"


def test_scanned_pages_are_named() -> None:
    paper = FPDF()
    paper.add_page()
    page = parse(bytes(paper.output()), ".pdf")
    assert page.text == ""
    assert page.warnings == ("its pages have no text, as if scanned; run OCR on it",)


def pdf_of(content: bytes, filters: bytes) -> bytes:
    """A PDF of one page, with a stream for its content."""
    stream = b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(content), filters, content)
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>"
    written, places = b"%PDF-1.7\n", []
    for number, one in enumerate((b"<</Type/Catalog/Pages 2 0 R>>", pages, page, stream), 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(written)
    return written + b"xref\n0 5\n0000000000 65535 f \n" + table + tail


def bomb() -> bytes:
    """Unpacks to 8 GB. One block is packed and repeated; its reader never gets to the checksum."""
    packer = zlib.compressobj(9)
    first = packer.compress(b" " * 2**24) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * 2**24) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = first + block * 511 + packer.flush()
    return pdf_of(zlib.compress(packed, 9), b"/FlateDecode/FlateDecode")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a PDF"),
        (b"words", "not a PDF"),
        (b"%PDF-1.7\n", "not a valid PDF"),
        (manual()[:2000], "not a valid PDF"),
        (manual(password="secret"), "it is encrypted"),
    ],
    ids=["empty", "text", "header", "truncated", "encrypted"],
)
def test_broken_files_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse(content, ".pdf")


@pytest.mark.thorough
def test_a_bomb_is_refused_within_its_memory() -> None:
    with pytest.raises(InputError, match=r"limits of 2 GB|2 GB of memory"):
        parse(bomb(), ".pdf")
