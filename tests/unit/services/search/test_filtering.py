"""Filters: what can be written, what is refused, and what they keep."""

import re
from datetime import UTC, datetime

import pytest

from support.fakes import record
from surefind.errors import InputError
from surefind.model import FIELDS as OWN_FIELDS
from surefind.model import AnyOf, Between, Condition, Field, FieldKind, Scalar, Under
from surefind.model.filters import path_prefixes
from surefind.services.search.filters import (
    MAX_VALUES,
    checked,
    describe,
    failing,
    fields_of,
    read_expressions,
    read_where,
)
from surefind.text.front_matter import attributes_of

FIELDS = fields_of(
    [
        {"rating": 3, "tags": ("a", "b"), "date": "2026-01-02", "draft": True},
        {"rating": "high", "weight": 0.5},
    ]
)
DAY = datetime(2026, 1, 31, tzinfo=UTC)


def test_what_front_matter_adds_can_be_filtered_by_in_the_kinds_it_has() -> None:
    assert {field.name: field.kinds for field in FIELDS} == {
        "date": (FieldKind.DATE, FieldKind.TEXT),
        "draft": (FieldKind.FLAG,),
        "rating": (FieldKind.NUMBER, FieldKind.TEXT),
        "tags": (FieldKind.TEXT,),
        "weight": (FieldKind.NUMBER,),
    }


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ({"version": "2.0"}, [AnyOf("version", ("2.0",))]),
        ({"tags": ["a", "b"]}, [AnyOf("tags", ("a", "b"))]),
        ({"tags": {"any": ["a"]}}, [AnyOf("tags", ("a",))]),
        ({"locale": {"not": "fr"}}, [AnyOf("locale", ("fr",), exclude=True)]),
        ({"tokens": {"gte": 5, "lt": 9.5}}, [Between("tokens", gte=5.0, lt=9.5)]),
        ({"created_at": {"gt": "2026-01-31"}}, [Between("created_at", gt=DAY)]),
        ({"created_at": {"lte": DAY}}, [Between("created_at", lte=DAY)]),
        (
            {"created_at": {"gt": "2026-01-31T00:00:00Z"}, "has_code": True},
            [Between("created_at", gt=DAY), AnyOf("has_code", (True,))],
        ),
        ({"url": {"under": "https://x.org/a/"}}, [Under("url", "https://x.org/a")]),
        ({"language": "fr"}, [AnyOf("locale", ("fr",))]),
        ({"rating": "3"}, [AnyOf("rating", (3, "3"))]),
        ({"rating": 3}, [AnyOf("rating", (3,))]),
        ({"draft": "yes"}, [AnyOf("draft", (True,))]),
        ({}, []),
    ],
)
def test_a_filter_is_read_and_typed(where: dict[str, object], conditions: list[Condition]) -> None:
    assert list(checked(read_where(where), FIELDS)) == conditions


@pytest.mark.parametrize(
    ("expressions", "conditions"),
    [
        (["version=2.0"], [AnyOf("version", ("2.0",))]),
        (["version = 2.0 "], [AnyOf("version", ("2.0",))]),
        (["version=1", "version=2"], [AnyOf("version", ("1", "2"))]),
        (["locale!=fr"], [AnyOf("locale", ("fr",), exclude=True)]),
        (["title=a=b"], [AnyOf("title", ("a=b",))]),
        (["locale="], [AnyOf("locale", ("",))]),
        (["position=3"], [AnyOf("position", (3,))]),
        (["has_code=true"], [AnyOf("has_code", (True,))]),
        (["tokens>=50", "tokens<90"], [Between("tokens", gte=50.0), Between("tokens", lt=90.0)]),
        (["created_at<=2026-01-31"], [Between("created_at", lte=DAY)]),
        (["source_path^=docs/guide/"], [Under("source_path", "docs/guide")]),
        (["path^=docs"], [Under("source_path", "docs")]),
        (["weight=0.5"], [AnyOf("weight", (0.5,))]),
    ],
)
def test_an_expression_is_read_and_typed(
    expressions: list[str], conditions: list[Condition]
) -> None:
    assert list(checked(read_expressions(expressions), FIELDS)) == conditions


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"verzion": "1"}, "did you mean version"),
        ({"zzz": "1"}, "unknown field 'zzz'"),
        ({"version": 2}, "version must be a text, not 2"),
        ({"position": "many"}, "position must be a number"),
        ({"position": "inf"}, "position must be a number"),
        ({"position": True}, "position must be a number"),
        ({"has_code": 1}, "has_code must be a flag"),
        ({"version": None}, "None must be a text"),
        ({"version": []}, "1 to 256 values"),
        ({"version": ["x"] * 257}, "1 to 256 values"),
        ({"version": [["x"]]}, "must be a text"),
        ({"version": {}}, "unknown operator {}"),
        ({"version": {"like": "x"}}, "unknown operator like"),
        ({"tokens": {"gte": float("nan")}}, "neither a number nor a date"),
        ({"tokens": {"gte": True}}, "neither a number nor a date"),
        ({"tokens": {"gte": "soon"}}, "neither a number nor a date"),
        ({"tokens": {"gte": "2026-01-01"}}, "can't be compared with a date"),
        ({"created_at": {"gte": 5}}, "can't be compared with a number"),
        ({"created_at": {"gte": "2026-13-01"}}, "is not a date"),
        ({"rating": {"gte": 1, "lt": "2026-01-01"}}, "one bound is a number"),
        ({"title": {"under": "x"}}, "title is not a path; the path fields are source_path, url"),
        ({"url": {"under": "/"}}, "the path is empty"),
        ({"url": {"under": 5}}, "must be a path"),
        ({f"k{n}": "x" for n in range(33)}, "at most 32 conditions, not 33"),
        ({"rating": float("inf")}, "must be a text"),
    ],
)
def test_a_filter_that_can_not_be_meant_is_refused(where: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^where: .*{re.escape(message)}"):
        checked(read_where(where), FIELDS)


@pytest.mark.parametrize("expression", ["", "version", "=x", "version~x", "tokens>many"])
def test_an_expression_that_can_not_be_read_is_refused(expression: str) -> None:
    with pytest.raises(InputError, match=r"^where: "):
        checked(read_expressions([expression]), FIELDS)


def test_conditions_are_described_as_they_are_written() -> None:
    written = [
        "version=1",
        "version!=2",
        "tokens>=5",
        "created_at<2026-01-31",
        "url^=https://x.org",
    ]
    told = [describe(condition) for condition in checked(read_expressions(written), FIELDS)]
    assert sorted(told) == [
        "created_at<2026-01-31T00:00:00+00:00",
        "tokens>=5.0",
        "url^=https://x.org",
        "version!=2",
        "version=1",
    ]


@pytest.mark.parametrize(
    ("expression", "meets"),
    [
        ("order=3", True),
        ("order=4", False),
        ("tags=beta", True),
        ("tags!=beta", False),
        ("draft=false", True),
        ("date>=2026-01-02", True),
        ("date<2026-01-02", False),
        ("weight<0.6", True),
        ("weight>0.5", False),
        ("chunk_id=chunk-1", True),
        ("anchor!=nowhere", True),
        ("source_path^=docs", True),
        ("source_path^=doc", False),
        ("created_at>2030-01-01", False),
    ],
)
def test_a_chunk_meets_a_condition_or_not(expression: str, meets: bool) -> None:
    one = record(1)
    where = checked(read_expressions([expression]), fields_of([one.attributes]))
    assert (failing(one, where) == []) == meets


@pytest.mark.parametrize("name", [field.name for field in OWN_FIELDS])
def test_every_field_of_a_chunk_can_be_compared(name: str) -> None:
    one = record(1)
    held: dict[str, Scalar] = {
        "breadcrumb": one.breadcrumb,
        "locale": one.locale,
        "section": one.section,
        "slug": "page",
        "title": "Page",
        "url": one.url,
        "version": one.version,
        "anchor": "section",
        "chunk_id": "chunk-1",
        "content_hash": one.chunk.content_hash,
        "content_type": "text",
        "created_at": one.created_at.isoformat(),
        "has_code": False,
        "position": 1,
        "source": "docs",
        "source_path": "docs/page.md",
        "tokens": 2,
    }
    assert not failing(one, [AnyOf(name, (held[name],))])
    assert failing(one, [AnyOf(name, ("something else",))])


def test_a_condition_takes_a_bounded_number_of_values() -> None:
    most = [str(number) for number in range(MAX_VALUES)]
    assert read_where({"title": most}) == (AnyOf("title", tuple(most)),)
    with pytest.raises(InputError, match=f"not {MAX_VALUES + 1}"):
        read_where({"title": [*most, "one more"]})


def test_a_field_of_mixed_kinds_lies_between_nothing_where_it_is_not_a_number() -> None:
    one = record(1)
    assert failing(one, (Between("tags", gte=1.0), Between("tags", gte=DAY)))
    assert failing(one, (Between("draft", gte=0.0),))


def test_the_beginnings_of_a_path_are_whole_steps() -> None:
    assert path_prefixes("docs/guide/a.md") == ["docs", "docs/guide", "docs/guide/a.md"]
    assert path_prefixes("https://x.org/a/b/") == [
        "https://x.org",
        "https://x.org/a",
        "https://x.org/a/b",
    ]
    assert path_prefixes("") == []


def test_attributes_are_what_a_search_can_filter_by() -> None:
    found = attributes_of(
        {
            "title": "not repeated",
            "tags": ["a", 1, None, {"label": "x"}],
            "none": None,
            "empty": [],
            "last_update": {"date": datetime(2026, 1, 2, tzinfo=UTC).date(), "by": {"deep": 1}},
            "prose": "x" * 300,
            "order": 3,
            "share": 0.5,
            "broken": float("nan"),
            "huge": 2**60,
            'qu"oted': "x",
            "draft": False,
        }
    )
    assert found == {
        "draft": False,
        "last_update.date": "2026-01-02",
        "order": 3,
        "share": 0.5,
        "tags": ("a", 1),
    }


def test_unknown_kinds_of_a_field_are_listed_in_the_message() -> None:
    with pytest.raises(InputError, match="number or text"):
        checked((AnyOf("mixed", (True,)),), [Field("mixed", (FieldKind.NUMBER, FieldKind.TEXT))])


def test_an_error_repeats_only_the_beginning_of_a_long_filter() -> None:
    fields: tuple[Field, ...] = ()
    with pytest.raises(InputError) as refused:
        checked([AnyOf("x" * 100_000, ("y",))], fields)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_a_value_that_no_store_could_hold_is_named_with_its_field(value: str) -> None:
    with pytest.raises(InputError, match=r"^where: version"):
        checked([AnyOf("version", ("2.0", value))], FIELDS)
