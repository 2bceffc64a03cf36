"""Paths into payloads, moments, and a stranger's payload in our own words."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surefind.mapping.inference import infer
from surefind.mapping.moments import moment
from surefind.mapping.paths import MAX_ITEMS, is_missing, is_plain, leaves, parts_of, read
from surefind.mapping.records import record_of
from surefind.model import (
    Connection,
    Distance,
    PayloadMapping,
    PositionKind,
    Role,
    VectorSpace,
    numbered_point,
    point_label,
    point_number,
)

POINT = UUID(int=7)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
PAYLOADS = st.none() | st.dictionaries(st.text(max_size=8), JSON, max_size=6)


def connection(**keys: str | tuple[str, ...]) -> Connection:
    mapped = {Role(role): (held,) if isinstance(held, str) else held for role, held in keys.items()}
    return Connection("c", "c", PayloadMapping(mapped), VectorSpace("", 3, Distance.COSINE))


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("metadata.source", ["metadata", "source"]),
        ("content[].text", ["content[]", "text"]),
        ('"a.b".c', ["a.b", "c"]),
        ("Page URL", ["Page URL"]),
        (r'"say \"x\""', ['say "x"']),
    ],
)
def test_a_path_is_read_step_by_step(path: str, steps: list[str]) -> None:
    assert parts_of(path) == steps


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", '"a', "a[", "[]"])
def test_an_invalid_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="invalid payload path"):
        parts_of(path)


def test_a_path_leads_through_objects_lists_and_json_in_a_string() -> None:
    payload = {"a": {"b": '{"c": [{"d": 1}, {"d": 2}, {"e": 3}]}'}, "x.y": "dotted"}
    assert read(payload, "a.b.c[].d") == (1, 2)
    assert read(payload, '"x.y"') == "dotted"
    assert read(payload, "a.nothing.there") is None
    assert read(None, "a") is None
    assert not is_plain(payload, "a.b.c[].d")
    assert is_plain(payload, '"x.y"')


def test_objects_are_found_in_lists_within_lists() -> None:
    assert leaves({"a": [[{"b": 2}], [[{"b": 3}]]]}) == {"a[].b": (2, 3)}
    assert leaves({"a": [["x"], ["y"]]}) == {"a": ("x", "y")}


@given(PAYLOADS)
@example({"a": [{"b": 1}, [{"b": 2}, [{"b": 3}]]]})
@example({"a": [{"b": 1}, '{"b": 2}']})
@example({"a": [{"b": 0}, [{"b": number} for number in range(MAX_ITEMS)]]})
def test_every_leaf_is_read_again_by_its_path(payload: dict[str, object] | None) -> None:
    for path, leaf in leaves(payload).items():
        assert read(payload, path) == leaf


@pytest.mark.parametrize("value", [None, "", "  ", "None", "unknown", "N/A", [], ["", None]])
def test_words_for_nothing_are_nothing(value: object) -> None:
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, False, "0", "no", ["a", ""]])
def test_zero_and_no_are_something(value: object) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(
    "written",
    [
        "2025-12-01T10:00:00+00:00",
        "2025-12-01T10:00:00",
        "2025-12-01T11:00:00+01:00",
        "20251201T100000Z",
        1764583200,
        1764583200.0,
        1764583200000,
        1764583200000000,
        "1764583200",
        "12/1/2025, 10:00:00 AM",
        "01.12.2025 10:00",
        "Mon, 01 Dec 2025 10:00:00 GMT",
    ],
)
def test_a_moment_is_read_however_it_is_written(written: object) -> None:
    assert moment(written) == datetime(2025, 12, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("written", [3, 2025, "soon", "1.2.3", "", None, True, float("nan"), [1]])
def test_a_value_that_is_not_a_moment_is_ignored(written: object) -> None:
    assert moment(written) is None


@given(st.integers(0, 2**64 - 1))
def test_points_that_are_known_by_a_number_keep_it(number: int) -> None:
    point = numbered_point(number)
    assert point_number(point) == number
    assert point_label(point) == str(number)


def test_a_uuid_is_not_a_number() -> None:
    assert point_number(POINT) is None
    assert point_label(POINT) == str(POINT)


def test_a_record_has_what_the_payload_says() -> None:
    record = record_of(
        POINT,
        {
            "body": "Some words.",
            "meta": {"link": "https://e.org/a#b", "nr": "3"},
            "titles": ["Guide", "Use"],
            "when": 1764583200,
        },
        connection(
            text="body", url="meta.link", position="meta.nr", section="titles", created_at="when"
        ),
    )
    assert record.chunk.text == "Some words."
    assert record.link == "https://e.org/a#b"
    assert record.chunk.source_path == "https://e.org/a"
    assert record.chunk.position == 3
    assert record.breadcrumb == "Guide > Use"
    assert record.created_at == datetime(2025, 12, 1, 10, tzinfo=UTC)
    assert record.point_id == POINT
    assert record.flaws == ()


def test_the_second_key_is_used_where_the_first_is_empty() -> None:
    both = connection(text=("text", "content"))
    assert record_of(POINT, {"text": "", "content": "there"}, both).chunk.text == "there"
    assert record_of(POINT, {"text": "here", "content": "there"}, both).chunk.text == "here"


def test_what_a_payload_lacks_or_has_as_nonsense_is_reported() -> None:
    mapped = connection(text="text", position="nr", created_at="when", url="url")
    record = record_of(POINT, {"text": {"no": 1}, "nr": "x", "when": "soon", "url": 5}, mapped)
    assert record.chunk.text == ""
    assert record.assumed == ("position", "created_at")
    assert (record.chunk.position, record.created_at.year) == (0, 1970)
    assert record.flaws == (
        "text is missing",
        "url can't be read: '5'",
        "position can't be read: 'x'",
        "created_at can't be read: 'soon'",
    )
    lists = record_of(POINT, {"text": "x", "nr": 1e300, "when": [1, 2], "url": ["a"]}, mapped)
    assert lists.chunk.position == 0
    assert lists.flaws == (
        "url can't be read: ['a']",
        "position can't be read: '1e+300'",
        "created_at can't be read: [1, 2]",
    )
    nothing = record_of(POINT, None, mapped)
    assert nothing.flaws == ("it has no payload",)
    assert nothing.assumed == ("source_path", "position", "created_at")
    assert nothing.payload == {}


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "http://[", "http://a b", 5],
)
def test_an_address_that_no_reader_may_follow_is_a_flaw_and_not_shown(address: object) -> None:
    record = record_of(POINT, {"text": "x", "url": address}, connection(text="text", url="url"))
    assert (record.url, record.link) == ("", "")
    assert record.flaws == (f"url can't be read: {str(address)!r}",)


@pytest.mark.parametrize("address", ["https://e.org/a", "/docs/a", "docs/a.md", "../a?b=c"])
def test_whole_and_relative_addresses_are_shown(address: str) -> None:
    record = record_of(POINT, {"text": "x", "url": address}, connection(text="text", url="url"))
    assert (record.url, record.flaws) == (address, ())


def test_the_payload_is_kept_as_it_is_stored() -> None:
    payload = {"text": "x", "more": {"deep": [1, None]}}
    assert record_of(POINT, payload, connection(text="text")).payload == payload


def test_a_url_that_a_browser_would_run_is_not_passed_on() -> None:
    mapped = connection(text="text", url="url")
    record = record_of(POINT, {"text": "x", "url": "java\nscript:alert(1)#a"}, mapped)
    assert record.link == ""
    assert record.flaws == ("url can't be read: 'java\\nscript:alert(1)#a'",)
    for url in ("https://e.org/a", "/a", "s3://bucket/a.pdf"):
        assert record_of(POINT, {"text": "x", "url": url}, mapped).link == url


@given(PAYLOADS)
def test_no_payload_whatever_makes_a_record_fail(payload: dict[str, object] | None) -> None:
    paths = list(leaves(payload))[:3] or ["text"]
    keys = {role.value: tuple(paths) for role in Role}
    record = record_of(POINT, payload, connection(**keys))
    assert record.point_id == POINT


@given(st.lists(PAYLOADS, max_size=8))
def test_no_sample_whatever_makes_the_inference_fail(
    payloads: list[dict[str, object] | None],
) -> None:
    inference = infer(payloads)
    assert inference.points == len(payloads)
    assert inference.mapping.position_kind in PositionKind


def test_points_without_a_text_are_not_the_same_as_each_other() -> None:
    mapped = connection(text="text")
    one, other = (record_of(UUID(int=number), {"n": 1}, mapped) for number in (1, 2))
    assert one.chunk.content_hash != other.chunk.content_hash
