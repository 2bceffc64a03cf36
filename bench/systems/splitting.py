"""Chunks for the stores that have no chunker of their own.

LangChain's RecursiveCharacterTextSplitter with 1,000 characters and an overlap of 200: a common
choice, and ours; no documentation of theirs asks for it.
"""

from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".md", ".mdx")


@dataclass(frozen=True)
class Piece:
    id: str
    page: str
    text: str


def pages_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)


def pieces_of(folder: Path) -> list[Piece]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    pieces = []
    for path in pages_below(folder):
        page = path.relative_to(folder).as_posix()
        for number, text in enumerate(splitter.split_text(path.read_text())):
            pieces.append(Piece(f"{page}#{number}", page, text))
    return pieces
