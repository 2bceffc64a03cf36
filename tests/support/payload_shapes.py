"""Payloads as other programs write them: a small book in many shapes.

Each shape is a function from a passage of the book to a payload. Shapes say what must be found in
them; keys that hold nothing of that sort must not be taken for it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

Payload = Mapping[str, object] | None

SENTENCES = (
    "A topic is a named bus over which nodes exchange messages.",
    "The publisher does not know who listens, and it never waits for an answer.",
    "Set the depth of the queue to ten, or messages will be lost when the network is slow.",
    "Services are called, topics are listened to; that is the whole difference.",
    "If the node crashes, the supervisor starts it again after two seconds.",
    "Parameters are read once at start and can be changed while the node is running.",
    "Use a launch file when more than three nodes have to be started together.",
    "The clock of the simulator may run faster than the clock on the wall.",
    "Every message has a type, and both sides must have been built with the same one.",
    "A bag records what was said on a topic, so that it can be played back later.",
)
PAGES = ("Topics", "Services", "Parameters", "Launch files", "Bags", "Time and clocks")
HEADINGS = ("Publishing", "Listening", "Limits", "Examples")
START = datetime(2025, 12, 1, 10, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk of the book, and all that a program could want to say of it."""

    number: int
    page: int
    index: int
    total: int
    text: str
    start: int

    @property
    def title(self) -> str:
        return PAGES[self.page]

    @property
    def slug(self) -> str:
        return self.title.lower().replace(" ", "-")

    @property
    def heading(self) -> str:
        return HEADINGS[self.index % len(HEADINGS)]

    @property
    def path(self) -> str:
        return f"docs/module-{self.page // 3 + 1}/{self.slug}.md"

    @property
    def url(self) -> str:
        return f"https://example.org/docs/{self.slug}"

    @property
    def line(self) -> int:
        return 1 + self.start // 40

    @property
    def uuid(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self.path}#{self.index}"))

    @property
    def page_uuid(self) -> str:
        return str(uuid5(NAMESPACE_URL, self.path))

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def md5(self) -> str:
        return hashlib.md5(self.text.encode()).hexdigest()

    @property
    def created(self) -> datetime:
        return START + timedelta(seconds=7 * self.number)

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def book(passages: int = 48) -> list[Passage]:
    """In an order as a store gives them back: not that of the pages."""
    made = []
    starts = [0] * len(PAGES)
    totals = [len(range(page, passages, len(PAGES))) for page in range(len(PAGES))]
    for number in range(passages):
        page, index = number % len(PAGES), number // len(PAGES)
        length = 1 + (number * 7) % 4
        chosen = [SENTENCES[(number * 3 + k) % len(SENTENCES)] for k in range(length)]
        text = f"{' '.join(chosen)} See chapter {page + 1}, part {index + 1}."
        made.append(Passage(number, page, index, totals[page], text, starts[page]))
        starts[page] += len(text) + 2
    return sorted(made, key=lambda passage: passage.uuid)


@dataclass(frozen=True, slots=True)
class Shape:
    """`roles` are those that must be found, each by one of its keys; `none` are not there."""

    name: str
    payload: Callable[[Passage], Payload]
    roles: Mapping[str, str | Sequence[str]]
    none: Sequence[str] = ()
    notes: Mapping[str, object] = field(default_factory=dict)

    def payloads(self, passages: int = 48) -> list[Payload]:
        return [self.payload(passage) for passage in book(passages)]


def _node(p: Passage) -> Payload:
    return {
        "_node_content": json.dumps(
            {
                "id_": p.uuid,
                "embedding": None,
                "metadata": {"file_name": f"{p.slug}.md"},
                "relationships": {"1": {"node_id": p.page_uuid, "hash": p.md5[:8]}},
                "text_resource": {"text": p.text, "mimetype": "text/plain"},
                "start_char_idx": p.start,
                "end_char_idx": p.end,
            }
        ),
        "_node_type": "TextNode",
        "doc_id": p.page_uuid,
        "ref_doc_id": p.page_uuid,
        "file_name": f"{p.slug}.md",
    }


def _headers(p: Passage) -> Payload:
    """A splitter of Markdown that names the headings by their level."""
    metadata: dict[str, object] = {"Header 1": p.title, "source": p.path}
    if p.index:
        metadata["Header 2"] = p.heading
    return {"page_content": p.text, "metadata": metadata}


def _rare(p: Passage) -> Payload:
    """A long remark that few points have must not be taken for their text."""
    remark = {"remark": f"Checked by the editors: {' '.join(SENTENCES)}"}
    return {"body": p.text, "link": p.url, **(remark if p.number % 33 == 0 else {})}


def _mixed(p: Passage) -> Payload:
    """Two writers of one collection, each with names of its own."""
    if p.number % 3:
        return {"text": p.text, "url": p.url, "chunk_index": p.index}
    return {"content": p.text, "source_url": p.url, "position": p.index}


def _empties(p: Passage) -> Payload:
    if p.number % 4 == 0:
        return {"text": p.text, "url": "", "title": "", "section": "Unknown", "position": 0}
    return {
        "text": p.text,
        "url": p.url,
        "title": p.title,
        "section": p.heading,
        "position": p.index,
    }


def _huge(p: Passage) -> Payload:
    noise = {f"feature_{number:03d}": number * 0.5 for number in range(700)}
    return {**noise, "content": p.text * 200, "url": p.url, "raw": {"tokens": list(range(2000))}}


SHAPES: tuple[Shape, ...] = (
    Shape(
        "LangChain with a loader of PDFs",
        lambda p: {
            "page_content": p.text,
            "metadata": {
                "source": f"/data/{p.slug}.pdf",
                "page": p.index,
                "page_label": str(p.index + 1),
                "total_pages": p.total,
                "producer": "LaTeX with hyperref",
                "creationdate": p.created.isoformat(),
            },
        },
        {
            "text": "page_content",
            "source_path": "metadata.source",
            "position": "metadata.page",
            "created_at": "metadata.creationdate",
        },
        none=("url", "hash", "id"),
    ),
    Shape(
        "LangChain with a splitter by headings",
        _headers,
        {
            "text": "page_content",
            "source_path": "metadata.source",
            "title": "metadata.Header 1",
            "section": "metadata.Header 2",
        },
        none=("url", "position", "id"),
    ),
    Shape(
        "LlamaIndex of today",
        _node,
        {
            "text": "_node_content.text_resource.text",
            "source_path": "file_name",
            "document": ("doc_id", "ref_doc_id"),
            "position": "_node_content.start_char_idx",
            "id": "_node_content.id_",
        },
        none=("url", "hash"),
    ),
    Shape(
        "Haystack without a page",
        lambda p: {
            "id": p.sha256,
            "content": p.text,
            "dataframe": None,
            "blob": None,
            "score": None,
            "meta": {"url": p.url, "split_id": p.index, "source_id": p.page_uuid},
        },
        {
            "text": "content",
            "url": "meta.url",
            "position": "meta.split_id",
            "document": "meta.source_id",
            "id": "id",
        },
        none=("title", "section"),
    ),
    Shape("vectors alone", lambda _: None, {}, none=("text", "url", "title", "position", "id")),
    Shape("empty payloads", lambda _: {}, {}, none=("text", "url", "title", "position", "id")),
    Shape(
        "an export of Chroma",
        lambda p: {
            "chroma:document": p.text,
            "id": f"id{p.number}",
            "source": p.url,
            "chunk": p.index,
        },
        {"text": "chroma:document", "id": "id", "url": "source", "position": "chunk"},
        none=("title", "hash"),
    ),
    Shape(
        "n8n",
        lambda p: {
            "content": p.text,
            "metadata": {
                "source": "blob",
                "blobType": "text/markdown",
                "loc": {"lines": {"from": p.line, "to": p.line + 9}},
                "file_name": f"{p.slug}.md",
            },
        },
        {
            "text": "content",
            "source_path": "metadata.file_name",
            "position": "metadata.loc.lines.from",
        },
        none=("url", "title", "hash"),
    ),
    Shape(
        "Flowise",
        lambda p: {
            "content": p.text,
            "metadata": {
                "source": p.url,
                "docId": p.page_uuid,
                "pdf": {"totalPages": 12, "version": "1.10"},
                "title": p.title,
            },
        },
        {
            "text": "content",
            "url": "metadata.source",
            "title": "metadata.title",
            "document": "metadata.docId",
        },
        none=("position",),
    ),
    Shape(
        "Dify with many chunks",
        lambda p: {
            "page_content": p.text,
            "metadata": {
                "doc_id": p.uuid,
                "doc_hash": p.sha256,
                "document_id": p.page_uuid,
                "dataset_id": "5a0c",
            },
            "group_id": "5a0c",
        },
        {
            "text": "page_content",
            "id": "metadata.doc_id",
            "hash": "metadata.doc_hash",
            "document": "metadata.document_id",
        },
        none=("url", "position", "title"),
    ),
    Shape(
        "German names",
        lambda p: {
            "inhalt": p.text,
            "überschrift": p.heading,
            "titel": p.title,
            "adresse": p.url,
            "absatz_nr": p.index,
            "erstellt_am": p.created.isoformat(),
            "zeichen": len(p.text),
        },
        {
            "text": "inhalt",
            "section": "überschrift",
            "title": "titel",
            "url": "adresse",
            "position": "absatz_nr",
            "created_at": "erstellt_am",
        },
    ),
    Shape(
        "French names",
        lambda p: {
            "contenu": p.text,
            "titre": p.title,
            "rubrique": p.heading,
            "lien": p.url,
            "numero": p.index + 1,
            "date_creation": p.created.strftime("%d/%m/%Y %H:%M"),
            "longueur": len(p.text),
        },
        {
            "text": "contenu",
            "title": "titre",
            "section": "rubrique",
            "url": "lien",
            "position": "numero",
            "created_at": "date_creation",
        },
        notes={"first_position": 1},
    ),
    Shape(
        "camelCase",
        lambda p: {
            "chunkText": p.text,
            "pageUrl": p.url,
            "pageTitle": p.title,
            "sectionTitle": p.heading,
            "chunkIndex": p.index,
            "totalChunks": p.total,
            "contentHash": p.sha256,
            "createdAt": int(p.created.timestamp() * 1000),
            "tokenCount": len(p.text.split()),
        },
        {
            "text": "chunkText",
            "url": "pageUrl",
            "title": "pageTitle",
            "section": "sectionTitle",
            "position": "chunkIndex",
            "hash": "contentHash",
            "created_at": "createdAt",
        },
    ),
    Shape("only a text", lambda p: {"t": p.text}, {"text": "t"}, none=("url", "title", "position")),
    Shape(
        "paragraphs in a list",
        lambda p: {"paragraphs": [*p.text.split(". ")], "href": p.url, "n": p.index},
        {"text": "paragraphs", "url": "href", "position": "n"},
        none=("title",),
    ),
    Shape(
        "parts of a message",
        lambda p: {
            "content": [{"type": "text", "text": p.text}],
            "source": {"uri": p.url, "title": p.title},
        },
        {"text": "content[].text", "url": "source.uri", "title": "source.title"},
        none=("position",),
    ),
    Shape(
        "a summary and a body",
        lambda p: {
            "summary": f"This passage is about {p.heading.lower()} in {p.title.lower()}.",
            "body": p.text,
            "permalink": p.url,
            "headline": p.title,
        },
        {"text": "body", "url": "permalink", "title": "headline"},
    ),
    Shape(
        "a body in HTML",
        lambda p: {
            "html": f"<article><h2>{p.heading}</h2><p>{p.text}</p></article>",
            "canonical_url": p.url,
            "h1": p.title,
            "h2": p.heading,
        },
        {"text": "html", "url": "canonical_url", "title": "h1", "section": "h2"},
    ),
    Shape(
        "HTML and its plain text",
        lambda p: {
            "html": f'<article class="doc">\n<h2>{p.heading}</h2>\n<p>{p.text}</p>\n</article>',
            "plain": p.text,
            "url": p.url,
        },
        {"text": "plain", "url": "url"},
    ),
    Shape(
        "many addresses",
        lambda p: {
            "text": p.text,
            "url": f"{p.url}#{p.heading.lower()}",
            "image": f"https://cdn.example.org/img/{p.slug}.png",
            "edit_url": f"https://github.com/example/docs/edit/main/{p.path}",
            "homepage": "https://example.org",
            "avatar_url": "https://cdn.example.org/a.png",
        },
        {"text": "text", "url": "url"},
        none=("position", "title"),
    ),
    Shape(
        "positions from one",
        lambda p: {"text": p.text, "doc": f"{p.slug}.md", "chunk_no": p.index + 1},
        {"text": "text", "source_path": "doc", "position": "chunk_no"},
        none=("url",),
        notes={"first_position": 1},
    ),
    Shape(
        "offsets of characters",
        lambda p: {"passage": p.text, "file": p.path, "char_start": p.start, "char_end": p.end},
        {"text": "passage", "source_path": "file", "position": "char_start"},
        none=("url",),
        notes={"position_kind": "offset"},
    ),
    Shape(
        "positions as words",
        lambda p: {"text": p.text, "path": p.path, "chunk": f"{p.index}", "of": f"{p.total}"},
        {"text": "text", "source_path": "path", "position": "chunk"},
        none=("url",),
    ),
    Shape(
        "an id in the payload, and a parent's",
        lambda p: {
            "chunk_uuid": p.uuid,
            "parent_uuid": p.page_uuid,
            "text": p.text,
            "parent_text": f"All of {p.title}. {' '.join(SENTENCES)}",
            "ts": p.created.timestamp(),
        },
        {
            "text": "text",
            "id": "chunk_uuid",
            "document": "parent_uuid",
            "created_at": "ts",
        },
        none=("url", "title"),
    ),
    Shape(
        "a chunk's number called its id",
        lambda p: {"text": p.text, "source": p.path, "chunk_id": p.index},
        {"text": "text", "source_path": "source", "position": "chunk_id"},
        none=("url", "id"),
    ),
    Shape(
        "times in many ways",
        lambda p: {
            "text": p.text,
            "url": p.url,
            "updated_at": (p.created + timedelta(days=9)).isoformat(),
            "created_at": int(p.created.timestamp()),
            "year": 2025,
            "read_time": 3,
        },
        {"text": "text", "url": "url", "created_at": "created_at"},
        none=("position",),
    ),
    Shape("a huge payload", _huge, {"text": "content", "url": "url"}, none=("position", "title")),
    Shape(
        "empty strings stand for nothing",
        _empties,
        {
            "text": "text",
            "url": "url",
            "title": "title",
            "section": "section",
            "position": "position",
        },
    ),
    Shape("a key that few have", _rare, {"text": "body", "url": "link"}, none=("title",)),
    Shape(
        "two writers",
        _mixed,
        {"text": "text", "url": "url", "position": "chunk_index"},
        notes={
            "also": {"text": ["content"], "url": ["source_url"], "position": ["position"]},
        },
    ),
    Shape(
        "JSON in a string",
        lambda p: {
            "payload": json.dumps({"body": p.text, "meta": {"link": p.url, "seq": p.index}}),
            "type": "chunk",
        },
        {"text": "payload.body", "url": "payload.meta.link", "position": "payload.meta.seq"},
    ),
    Shape(
        "questions and answers",
        lambda p: {
            "question": f"How do I use {p.heading.lower()} with {p.title.lower()}?",
            "answer": p.text,
            "category": "robots",
            "link": p.url,
        },
        {"text": "answer", "url": "link"},
        none=("position",),
    ),
    Shape(
        "keys with dots and spaces",
        lambda p: {"doc.text": p.text, "Page URL": p.url, "Page Title": p.title},
        {"text": '"doc.text"', "url": "Page URL", "title": "Page Title"},
    ),
    Shape(
        "products",
        lambda p: {
            "name": f"{p.title} {p.number}",
            "description": p.text,
            "price": 9.5 + p.number,
            "sku": f"SKU-{p.number:05d}",
            "product_url": f"https://shop.example/p/{p.number}",
            "rating": p.number % 5,
            "in_stock": p.number % 2 == 0,
        },
        {"text": "description", "url": "product_url", "title": "name"},
        none=("position", "created_at"),
    ),
    Shape(
        "a crawler's records",
        lambda p: {
            "markdown": f"## {p.heading}\n\n{p.text}",
            "metadata": {
                "sourceURL": p.url,
                "title": p.title,
                "statusCode": 200,
                "language": "en",
                "ogImage": "https://example.org/card.png",
            },
            "chunkNumber": p.index,
        },
        {
            "text": "markdown",
            "url": "metadata.sourceURL",
            "title": "metadata.title",
            "position": "chunkNumber",
        },
    ),
)
