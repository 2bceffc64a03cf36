"""Answers of other retrievers: where their results are, and what their keys mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.search_service import PAGES, SITE, found
from surefind.errors import TargetError
from surefind.mapping.result_inference import infer_results
from surefind.mapping.results import items_at, linked_results, results_of
from surefind.model import AnswerForm, JsonValue, ResultMapping, Role

QUESTIONS = ("Which socket and cable?", "What does the error E42 mean?", "a stable table")
Results = list[Any]


def plain(results: Results) -> JsonValue:
    return {"took": 3, "results": list(results)}


def elastic(results: Results) -> JsonValue:
    hits: list[JsonValue] = [
        {
            "_id": f"p{one['url'][-9:]}",
            "_score": 9 * one["score"],
            "_source": {"path": one["url"], "body": one["text"], "title": one["title"]},
        }
        for one in results
    ]
    return {"hits": {"total": {"value": 2}, "hits": hits}}


def grouped(results: Results) -> JsonValue:
    return {"groups": [{"name": one["title"], "hits": [dict(one)]} for one in results]}


def langchain(results: Results) -> JsonValue:
    return [
        [{"page_content": one["text"], "metadata": {"source": one["url"]}}, one["score"]]
        for one in results
    ]


@pytest.mark.parametrize(
    ("shape", "items", "url", "text"),
    [
        (plain, "results", "url", "text"),
        (elastic, "hits.hits", "_source.path", "_source.body"),
        (grouped, "groups[].hits", "url", "text"),
        (langchain, "", "result.metadata.source", "result.page_content"),
    ],
)
def test_results_are_found_in_the_answers_of_usual_services(
    shape: Any, items: str, url: str, text: str
) -> None:
    answers = [shape(found(question, 4)) for question in QUESTIONS]
    inference = infer_results(answers)
    mapping = inference.mapping
    assert mapping.items == items
    assert mapping.keys[Role.URL] == (url,)
    assert mapping.keys[Role.TEXT] == (text,)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        expected = found(question, 4)
        hits = results_of(answer, mapping)
        assert [hit.url for hit in hits] == [one["url"] for one in expected]
        assert [hit.text for hit in hits] == [one["text"] for one in expected]


def test_the_evidence_names_each_key_with_an_example() -> None:
    lines = infer_results([plain(found(one, 4)) for one in QUESTIONS]).evidence
    assert lines[0].startswith("results: results, ")
    [url] = [line for line in lines if line.startswith("url: url (")]
    assert url.endswith(f"{SITE}/guide/power.html")
    assert any(line.startswith("score: score (its name matches, sorted") for line in lines)


def test_the_same_result_of_several_questions_still_has_an_id() -> None:
    results: JsonValue = [{"id": path, "body": text} for path, (_, text) in PAGES.items()]
    mapping = infer_results([results] * 3).mapping
    assert mapping.keys[Role.ID] == ("id",) or mapping.keys[Role.SOURCE_PATH] == ("id",)


def test_a_similarity_is_distinguished_from_other_scores() -> None:
    scored: JsonValue = [{"url": f"{SITE}/{n}", "similarity": 0.9 - n / 10} for n in range(5)]
    assert infer_results([scored]).mapping.similarity == "similarity"
    far: JsonValue = [{"url": f"{SITE}/{n}", "similarity": 9 - n} for n in range(5)]
    mapping = infer_results([far]).mapping
    assert (mapping.score, mapping.similarity) == ("similarity", "")


def test_keys_that_are_given_are_used() -> None:
    answers: list[JsonValue] = [plain(found(one, 4)) for one in QUESTIONS]
    given_keys = ResultMapping(keys={Role.URL: ("title",)})
    mapping = infer_results(answers, given_keys).mapping
    assert mapping.keys[Role.URL] == ("title",)
    assert mapping.items == "results"


def test_ids_alone_are_results() -> None:
    mapping = infer_results([{"ids": ["d7", "d2"]}, {"ids": ["d7"]}]).mapping
    assert [hit.id for hit in results_of({"ids": ["d2", "d9"]}, mapping)] == ["d2", "d9"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": "bad"}, 'An answer was {"error": "bad"}'),
        ({"results": []}, "no list of results"),
        ({"results": [{"a": 1}, {"a": 2}]}, "no list of results"),
        ("I would search the manual for that.", "has no links"),
        (None, "no list of results"),
    ],
)
def test_an_answer_without_results_is_refused_and_shown(answer: JsonValue, said: str) -> None:
    with pytest.raises(TargetError) as refused:
        infer_results([answer])
    assert said in str(refused.value)


MAPPING = ResultMapping(items="results", keys={Role.URL: ("url",)}, score="score")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": "overloaded"}, 'there is no list at results; the answer was {"error"'),
        ({"results": {"0": {}}}, "there is no list at results"),
        ({"results": [{"href": "x"}, {"href": "y"}]}, "none of the 2 results has a value at url"),
        ({"results": [1, 2]}, "none of the 2 results has a value at url"),
        ("<html>", "there is no list at results"),
        (7, "there is no list at results"),
    ],
)
def test_another_shape_half_way_is_an_error(answer: JsonValue, said: str) -> None:
    with pytest.raises(TargetError) as refused:
        results_of(answer, MAPPING)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "answer", [{"results": []}, "No results found for this query.", {"results": [], "x": 1}]
)
def test_nothing_found_is_not_an_error(answer: JsonValue) -> None:
    assert results_of(answer, MAPPING) == ()


def test_scores_that_are_not_numbers_are_left_out() -> None:
    answer: JsonValue = {"results": [{"url": "/a", "score": "0.5"}, {"url": "/b", "score": "high"}]}
    assert [hit.score for hit in results_of(answer, MAPPING)] == [0.5, None]


def test_breadcrumbs_are_headings() -> None:
    mapping = ResultMapping(items="", keys={Role.URL: ("url",), Role.SECTION: ("crumbs",)})
    [hit] = results_of([{"url": "/a", "crumbs": "Guide > Power > Voltage"}], mapping)
    assert hit.headings == ("Guide", "Power", "Voltage")


# --- text -------------------------------------------------------------------------------------

PROSE = """\
## Installing
Source: https://docs.example.com/guide/install

Plug it in, see [the standard](https://iec.example.org/60320).

## Errors
Source: https://docs.example.com/reference/errors#e42

The lid is open.
"""


def test_labelled_links_are_results_and_other_links_belong_to_their_texts() -> None:
    first, second = linked_results(PROSE)
    assert first.url == "https://docs.example.com/guide/install"
    assert "iec.example.org" in first.text
    assert second.url == "https://docs.example.com/reference/errors#e42"
    assert second.text == "The lid is open."


def test_links_without_labels_are_results_in_their_order() -> None:
    text = "See https://a.example/x, then (https://a.example/y). Again https://a.example/x."
    assert [hit.url for hit in linked_results(text)] == [
        "https://a.example/x",
        "https://a.example/y",
    ]


def test_prose_is_read_as_text() -> None:
    inference = infer_results([PROSE, "No matching documents were found."])
    assert inference.mapping.form is AnswerForm.TEXT
    assert inference.results == 2


def test_json_in_a_string_is_read_as_json() -> None:
    inference = infer_results(['{"results": [{"url": "https://a.example/x"}]}'])
    assert inference.mapping.items == "results"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(st.lists(json_values, min_size=1, max_size=3), json_values)
def test_no_answer_breaks_the_reading(answers: list[JsonValue], other: JsonValue) -> None:
    try:
        mapping = infer_results(answers).mapping
        results_of(other, mapping)
    except TargetError:
        return
    assert mapping.form in AnswerForm


def test_a_path_through_missing_keys_is_not_a_list() -> None:
    assert items_at({"a": {"b": []}}, "a.c") is None
    assert items_at({"a": {"b": []}}, "a.b") == []
    assert items_at([], "") == []
