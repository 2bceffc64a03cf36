"""A source page becomes a Document."""

import hashlib
from pathlib import PurePosixPath

from surefind.model import Document, SourcePage
from surefind.text.cleaning import clean
from surefind.text.front_matter import split_front_matter
from surefind.text.markdown import Outline, outline
from surefind.text.slugs import slug_of
from surefind.text.urls import page_url, reader_url

TITLE_LENGTH = 255


def content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_document(
    page: SourcePage, collection: str, base_url: str | None
) -> tuple[Document, Outline]:
    """InputError, with the reason, where the page is not text."""
    front_matter, text = split_front_matter(clean(page.content))
    structure = outline(text)
    document = Document(
        source_path=page.source_path,
        url=page_url(page.site_path, base_url)
        if base_url
        else reader_url(collection, page.source_path),
        slug=slug_of(page.site_path),
        title=_title(front_matter.get("title"), structure, page.site_path),
        text=text,
        content_hash=content_hash(page.content),
        front_matter=front_matter,
    )
    return document, structure


def _title(declared: object, structure: Outline, site_path: str) -> str:
    """The front matter's, else the first top heading's, else the file's name in words."""
    if isinstance(declared, str | int | float) and str(declared).strip():
        title = str(declared)
    else:
        top = next((heading.title for heading in structure.headings if heading.level == 1), "")
        title = top or PurePosixPath(site_path).stem.replace("-", " ").replace("_", " ").strip()
    return " ".join(title.split())[:TITLE_LENGTH] or site_path[:TITLE_LENGTH]
