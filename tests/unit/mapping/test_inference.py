"""Which key of a payload says what, inferred from a sample alone."""

import random
from collections.abc import Mapping, Sequence

import pytest

from support import foreign_languages
from support.payload_shapes import SENTENCES, SHAPES, Payload, Shape, book
from surefind.mapping.inference import Inference, infer
from surefind.model import PositionKind, Role

NAMES = [shape.name for shape in SHAPES]


def keys(inference: Inference, role: str) -> tuple[str, ...]:
    return inference.mapping.of(Role(role))


HARD = (*foreign_languages.SHAPES, *foreign_languages.ADVERSARIAL)
EVERY = (*SHAPES, *HARD)
NAMES_OF_EVERY = [shape.name for shape in EVERY]


@pytest.mark.parametrize("shape", EVERY, ids=NAMES_OF_EVERY)
def test_each_role_is_found_where_a_shape_has_it(shape: Shape) -> None:
    found = infer(shape.payloads())
    for role, expected in shape.roles.items():
        wanted = (expected,) if isinstance(expected, str) else expected
        assert set(keys(found, role)[:1]) & set(wanted), (role, found.of(Role(role)))
    also = shape.notes.get("also", {})
    assert isinstance(also, Mapping)
    for role, more in also.items():
        assert list(keys(found, role)[1:]) == list(more)


@pytest.mark.parametrize("shape", EVERY, ids=NAMES_OF_EVERY)
def test_nothing_is_taken_for_a_role_that_a_shape_does_not_have(shape: Shape) -> None:
    found = infer(shape.payloads())
    taken = {role: found.of(Role(role)) for role in shape.none if keys(found, role)}
    assert not taken


@pytest.mark.parametrize("shape", EVERY, ids=NAMES_OF_EVERY)
def test_how_positions_count_is_seen(shape: Shape) -> None:
    mapping = infer(shape.payloads()).mapping
    if "first_position" in shape.notes:
        assert mapping.first_position == shape.notes["first_position"]
    if "position_kind" in shape.notes:
        assert mapping.position_kind == shape.notes["position_kind"]


def roles_of(shape: Shape) -> Sequence[str]:
    return [role for role in ("text", "url", "source_path") if role in shape.roles]


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_one_point_is_enough_for_the_text_and_its_source(shape: Shape) -> None:
    """A collection may hold a single point; what its values share with others is then unknown."""
    if shape.name in {"a key that few have", "two writers", "an id in the payload, and a parent's"}:
        return
    found = infer(shape.payloads()[:1])
    for role in roles_of(shape):
        expected = shape.roles[role]
        wanted = (expected,) if isinstance(expected, str) else expected
        assert keys(found, role)[0] in wanted


UNNAMED = [shape for shape in HARD if "called a number" not in shape.name]


@pytest.mark.parametrize("shape", UNNAMED, ids=[shape.name for shape in UNNAMED])
@pytest.mark.parametrize("points", [1, 5, 12])
def test_a_few_points_do_not_lead_to_more_guesses(shape: Shape, points: int) -> None:
    """What a small sample can't show is left out; it never takes another key instead."""
    found = infer(shape.payloads()[:points])
    for role in Role:
        if role in {Role.ID, Role.DOCUMENT}:
            continue
        wanted = shape.roles.get(role.value, ())
        assert set(keys(found, role)) <= ({wanted} if isinstance(wanted, str) else set(wanted))


def test_what_was_found_by_its_values_says_so() -> None:
    payloads: list[Payload] = [
        {"k1": one.text, "k2": one.url, "k3": one.title, "k4": one.index} for one in book(48)
    ]
    found = infer(payloads)
    assert "counts from 0 in each document" in found.of(Role.POSITION).evidence
    assert "one per document, and in its URL or path" in found.of(Role.TITLE).evidence
    assert "by its values alone" in found.of(Role.TITLE).evidence


PAGES = ("Aufbau", "Wartung", "Störungen", "Netzwerk", "Garantie", "Sensoren", "Entsorgung")
PARTS = ("Überblick", "Voraussetzungen", "Vorgehen", "Häufige Fehler", "Hinweise")


def numbered_pages(**labels: str) -> list[Payload]:
    """Pages at addresses that say nothing, whose texts mention no heading.

    `labels` are the keys of the title and of the section.
    """
    rng = random.Random(5)
    payloads: list[Payload] = [
        {
            "wortlaut": f"Schalten Sie die Maschine ab. Prüfen Sie Ventil {page * 40 + index}.",
            "adresse": f"https://example.org/?id={page * 17 % 100}",
            "stelle": index,
            labels["title"]: title,
            labels["section"]: PARTS[min(index * 2 * page // 9, 4)],
        }
        for page, title in enumerate(PAGES, start=1)
        for index in range(2 + page % 4)
    ]
    rng.shuffle(payloads)
    return payloads


@pytest.mark.parametrize(
    ("title", "section"),
    [("k1", "k2"), ("doc.a", "doc.b"), ("甲", "乙"), ("überschrift", "zwischenüberschrift")],
)
def test_headings_are_recognized_by_how_they_change(title: str, section: str) -> None:
    """Also where neither the addresses nor the texts repeat them."""
    found = infer([nested(payload) for payload in numbered_pages(title=title, section=section)])
    assert keys(found, "position") == ("stelle",)
    assert keys(found, "title") == (title,)
    assert keys(found, "section") == (section,)


def nested(payload: Payload) -> Payload:
    outer: dict[str, object] = {}
    for key, value in (payload or {}).items():
        first, dot, rest = key.partition(".")
        inner = outer.setdefault(first, {}) if dot else outer
        assert isinstance(inner, dict)
        inner[rest if dot else first] = value
    return outer


@pytest.mark.parametrize("nonsense", [1e300, 10**12, -3, "x"])
def test_one_position_of_nonsense_hides_no_position(nonsense: object) -> None:
    payloads: list[Payload] = [
        {"text": one.text, "url": one.url, "position": nonsense if number == 30 else one.index}
        for number, one in enumerate(book(48))
    ]
    mapping = infer(payloads).mapping
    assert mapping.of(Role.POSITION) == ("position",)
    assert mapping.position_kind is PositionKind.ORDINAL


def test_labels_without_an_order_are_not_sections() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        payloads = [
            {**(payload or {}), "k2": rng.choice(PARTS)}
            for payload in numbered_pages(title="k1", section="k2")
        ]
        assert not keys(infer(payloads), "section"), seed


def sparse(points: int = 256) -> list[Payload]:
    """A sample of a large collection: of most documents one or two of their chunks."""
    rng = random.Random(3)
    every: list[dict[str, object]] = []
    for document in range(150):
        for index in range(1 + int(rng.expovariate(1 / 12))):
            text = " ".join(rng.sample(SENTENCES, 3))
            every.append(
                {
                    "w": f"{text} {document}-{index}",
                    "z": f"https://example.org/{document}",
                    "lfn": index,
                    "votes": rng.randrange(40),
                    "running": len(every),
                    "stars": rng.randrange(1, 6),
                    "sheet": 1 + index // 2,
                }
            )
    return list(rng.sample(every, points))


def test_a_sparse_sample_still_shows_what_counts_within_documents() -> None:
    found = infer(sparse())
    assert keys(found, "position") == ("lfn",)
    assert found.mapping.position_kind is PositionKind.ORDINAL
    assert not keys(found, "title")
    without = [
        {key: value for key, value in (one or {}).items() if key != "lfn"} for one in sparse()
    ]
    assert not keys(infer(without), "position")


def test_the_retrieval_apis_payload_is_read_with_its_slug() -> None:
    found = infer(
        [
            {
                "chunk_id": f"doc-{page:03d}-{index:04d}",
                "text": f"Physical AI number {page}.{index} represents a fundamental shift.",
                "source_path": f"docs/chapter-{page}/index.md",
                "slug": f"chapter-{page}-index",
                "title": f"Introduction to part {page}",
                "order_index": index,
            }
            for page in range(1, 5)
            for index in range(1, 5)
        ]
    )
    named = {role.value: found.mapping.of(role) for role in Role if found.mapping.has(role)}
    assert named == {
        "id": ("chunk_id",),
        "text": ("text",),
        "source_path": ("source_path",),
        "slug": ("slug",),
        "title": ("title",),
        "position": ("order_index",),
    }
    assert found.mapping.first_position == 1


def test_a_slug_alone_is_the_source_path_as_well() -> None:
    found = infer(
        [
            {"slug": f"chapter-{number // 3}", "text": f"Passage {number} is about many things."}
            for number in range(12)
        ]
    )
    assert keys(found, "slug") == keys(found, "source_path") == ("slug",)
