"""Which key of a payload says what, inferred from a sample alone."""

from collections.abc import Mapping, Sequence

import pytest

from payload_shapes import SHAPES, Shape
from surefind.mapping.inference import Inference, infer
from surefind.model import Role

NAMES = [shape.name for shape in SHAPES]


def keys(inference: Inference, role: str) -> tuple[str, ...]:
    return inference.mapping.of(Role(role))


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_each_role_is_found_where_a_shape_has_it(shape: Shape) -> None:
    found = infer(shape.payloads())
    for role, expected in shape.roles.items():
        wanted = (expected,) if isinstance(expected, str) else expected
        assert set(keys(found, role)[:1]) & set(wanted), (role, found.of(Role(role)))
    also = shape.notes.get("also", {})
    assert isinstance(also, Mapping)
    for role, more in also.items():
        assert list(keys(found, role)[1:]) == list(more)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_nothing_is_taken_for_a_role_that_a_shape_does_not_have(shape: Shape) -> None:
    found = infer(shape.payloads())
    taken = {role: found.of(Role(role)) for role in shape.none if keys(found, role)}
    assert not taken


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
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
