"""The payloads of 28 real programs: what they say is found, or is said not to be there."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.payload_shapes import Passage, book
from surefind.mapping.inference import infer
from surefind.mapping.paths import read
from surefind.model import Role

TEXT = "A topic is a named bus over which nodes exchange messages."
ROLES = {
    "text": (Role.TEXT,),
    "source": (Role.URL, Role.SOURCE_PATH),
    "title": (Role.TITLE,),
    "section": (Role.SECTION,),
    "position": (Role.POSITION,),
    "id": (Role.ID,),
    "document_id": (Role.DOCUMENT,),
    "hash": (Role.HASH,),
    "created": (Role.CREATED_AT,),
}


@cache
def schemas(data: Path) -> list[dict[str, Any]]:
    return list(json.loads((data / "payload-schemas.json").read_text())["schemas"])


def expected(said: str | None) -> set[str]:
    """`metadata.section_title|section_breadcrumb`, `_node_content -> JSON string -> text` …"""
    if said is None:
        return set()
    plain = re.sub(r"\(.*?\)", "", said).replace(" -> JSON string -> ", ".")
    names = [name.strip() for name in re.split(r"[|/]", plain)]
    parent = names[0].rpartition(".")[0]
    return {name if "." in name or not parent else f"{parent}.{name}" for name in names} | {
        names[0],
        *names,
    }


def as_passage(payload: Any, passage: Passage) -> Any:
    """The example, as the same program would have written it for another passage."""
    if isinstance(payload, Mapping):
        return {key: _value(key, value, passage) for key, value in payload.items()}
    return payload


def _value(key: str, value: Any, passage: Passage) -> Any:
    if isinstance(value, Mapping):
        return as_passage(value, passage)
    if isinstance(value, list):
        return [_value(key, item, passage) for item in value]
    if isinstance(value, str):
        return _text(key, value, passage)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value, passage)
    return value


def _text(key: str, value: str, passage: Passage) -> str:
    if value.startswith("{"):
        return json.dumps(as_passage(json.loads(value), passage))
    if key == "source_id":
        return passage.page_uuid[:6]
    if re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]{27}", value):
        return passage.uuid
    if re.fullmatch(r"[0-9a-f]{6,64}", value):
        return passage.sha256[: len(value)]
    if key == "text_lemmatized":
        words = re.findall(r"[a-z]{4,}", passage.text.lower())
        return " ".join(word.removesuffix("s") for word in words)
    for found, put in (
        (TEXT, passage.text),
        ("topics", passage.slug),
        ("Topics", passage.title),
        ("Publishing", passage.heading),
        ("publishing", passage.heading.lower()),
        ("doc-77", f"doc-{passage.page}"),
        ("d-77", f"d-{passage.page}"),
        ("f-12", f"f-{passage.page}"),
        ("2f0e4d0a", passage.sha256[:8]),
        ("nth-of-type(4)", f"nth-of-type({passage.index + 1})"),
        ("-0003", f"-{passage.page}-{passage.index:04d}"),
        ("#3", f"#{passage.index}"),
        ("10:00:00", passage.created.strftime("%H:%M:%S")),
        ("10:00:05", passage.created.strftime("%H:%M:%S")),
    ):
        value = value.replace(found, put)
    if key in {"index", "chunk_id"}:
        value = re.sub(r"^3$|_3$", lambda match: match[0].replace("3", str(passage.index)), value)
    return value


def _number(value: float, passage: Passage) -> float:
    by_value: dict[float, float] = {
        3: passage.index,
        11: passage.total,
        1180: passage.start,
        1239: passage.end,
        12: passage.line,
        31: passage.line + 9,
        41: passage.line,
        812: 800 + passage.number,
        59: len(passage.text),
        14: len(passage.text.split()),
        10: len(passage.text.split()),
        1764583200: int(passage.created.timestamp()),
        1764583200.123: passage.created.timestamp() + 0.123,
    }
    return by_value.get(value, value)


@pytest.mark.parametrize("points", [1, 3, 48])
@pytest.mark.parametrize("number", range(28))
def test_every_role_of_the_28_shapes_is_found(number: int, points: int, data: Path) -> None:
    schema = schemas(data)[number]
    example = schema["example_payload"]
    sample = [example] if points == 1 else [as_passage(example, one) for one in book(points)]
    found = infer(sample)
    for said, wanted in schema["roles"].items():
        paths = expected(wanted)
        chosen = {key for role in ROLES[said] for key in found.mapping.of(role)[:1]}
        if not paths:
            assert not chosen
            continue
        assert chosen & paths, (schema["name"], said, wanted, [found.of(r) for r in ROLES[said]])
        assert any(read(example, key) is not None for key in chosen)


@pytest.mark.parametrize("number", range(28))
def test_a_role_that_a_shape_does_not_have_is_reported_as_missing(number: int, data: Path) -> None:
    schema = schemas(data)[number]
    found = infer([as_passage(schema["example_payload"], one) for one in book(48)])
    for said in ("text", "source", "position", "hash"):
        if said not in schema["roles"]:
            assert not any(found.mapping.of(role) for role in ROLES[said]), (schema["name"], said)


def test_two_writers_of_one_collection_are_both_read(data: Path) -> None:
    by_name = {schema["name"]: schema["example_payload"] for schema in schemas(data)}
    pages = book(48)
    service = by_name["Docusaurus book: TayyabAziz11 (service)"]
    script = by_name["Docusaurus book: TayyabAziz11 (script, same collection)"]
    sample = [as_passage(service if one.number % 2 else script, one) for one in pages]
    assert set(infer(sample).mapping.of(Role.TEXT)) == {"text", "chunk_text"}
