"""Golden tests are written as text, and a file that somebody wrote keeps what is theirs."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByAddress, ByChunk, ByName, BySource, ByText
from surefind.evaluation.golden.golden_set import (
    GoldenTest,
    SuccessCriteria,
    TestKind,
    read_golden_lines,
    read_golden_yaml,
)
from surefind.evaluation.golden.writing import new_file, with_test

TEST = GoldenTest(
    "new",
    'What is "E42": a # or a fault?',
    expected=(
        ByAddress("https://x.org/a", "First: start", 2),
        BySource("docs/a.md", "Power"),
        ByText("words: with - all\n'sorts' of {marks}"),
        ByChunk("chunk-1"),
    ),
    criteria=SuccessCriteria(0.5, 0.25),
    category="yes",
    where=("version=2", "draft!=true"),
)
NEGATIVE = GoldenTest("off", "Who sings?", TestKind.NEGATIVE)
AS_LIST = [
    {"test_id": "a", "query_text": "a \U0001f600\u2028?", "expected_results": ["c-1"]},
    {"test_id": "b", "query_text": "b?", "result_accuracy": None},
]
BY_HAND = """\
# made by hand
top_k: 3   # few

tests:
  # the first
  - test_id: a     # its name
    query_text: >-
      folded
      over lines
    expected_results: [{text: some words}]

  - {test_id: b, query_text: b?, expect: none}   # on one line
# the end
fail_if: nDCG@3 < 0.5
"""


def test_a_new_file_holds_its_tests_and_remarks() -> None:
    text = new_file([TEST, NEGATIVE], ["for you", "", "to go on with"])
    assert text.startswith("# for you\n#\n# to go on with\n\ntests:\n  - test_id: new\n")
    assert read_golden_yaml("g.yaml", text.encode()).tests == (TEST, NEGATIVE)
    assert read_golden_yaml("g.yaml", new_file([], []).encode()).tests == ()


def test_one_more_test_leaves_everything_else_as_it_is() -> None:
    added = with_test("g.yaml", BY_HAND.encode(), TEST).decode()
    rest = added.split("\n")
    for line in BY_HAND.split("\n"):
        assert line in rest
    head, tail = BY_HAND.split("# the end\n")
    assert added.startswith(head)
    assert added.endswith("# the end\n" + tail)
    golden = read_golden_yaml("g.yaml", added.encode())
    assert [test.test_id for test in golden.tests] == ["a", "b", "new"]
    assert golden.tests[-1] == TEST
    assert golden.top_k == 3


@pytest.mark.parametrize(
    "text",
    [
        "tests:\n- test_id: a\n  query_text: a?",
        "tests:\n- test_id: a\n  query_text: |\n    a?\n    b\n",
        "tests:\n    - query_text: a?\n      test_id: a\n\n\n",
        "tests: []",
        "name: x\ntests: []   # none yet\ntop_k: 2\n",
        "tests: [\n]\n",
        'tests: [{test_id: a, query_text: "a?"}]\n',
        '{"tests": [{"test_id": "a", "query_text": "a?"}\n], "top_k": 2}\n',
        '{"tests": []}',
        "\ufefftests:\n  - test_id: a\n    query_text: a?\n",
        "tests:\r\n  - test_id: a\r\n    query_text: a?\r\n# end\r\n",
        "---\ntests:\n  - test_id: ä\n    query_text: ä?\n...\n",
        "tests:\n  - test_id: a\n    query_text: a?\n    expected_results:\n",
        "tests: [  # none yet\n]\n",
        "- test_id: a\n  query_text: a?",
        "---\n# my\n  - test_id: a\n    query_text: |\n      a?\n\n  - {test_id: b, query_text: b}",
        "- test_id: a\n  query_text: a?\n# the end\n...\n",
        "[]",
        "[{test_id: a, query_text: a?},\n]  # all\n",
        json.dumps(AS_LIST),
        json.dumps(AS_LIST, indent=2),
        json.dumps(AS_LIST, indent=2, ensure_ascii=False),
        json.dumps({"tests": AS_LIST, "top_k": 2}, indent=2),
        "success_criteria: {min_accuracy: 0.75}\ntests:\n  - test_id: a\n    query_text: a?\n",
    ],
)
def test_any_form_of_a_file_takes_one_more(text: str) -> None:
    content = text.encode()
    for test in (TEST, NEGATIVE):
        before = read_golden_yaml("g.yaml", content)
        content = with_test("g.yaml", content, test)
        after = read_golden_yaml("g.yaml", content)
        added = replace(test, criteria=after.tests[-1].criteria)
        assert after == replace(before, tests=(*before.tests, added))
    assert (b"\r\n" in content) == ("\r\n" in text)
    assert b"\n" not in content.replace(b"\r\n", b"") or "\r\n" not in text
    assert content.startswith(b"\xef\xbb\xbf") == text.startswith("\ufeff")
    for line in text.split("\n"):
        if "#" in line:
            assert line[line.index("#") :].encode() in content


def test_a_list_in_lines_gets_a_line_more() -> None:
    added = with_test("g.json", json.dumps(AS_LIST, indent=2).encode(), NEGATIVE).decode()
    last = '  {"test_id": "off", "query_text": "Who sings?", "expect": "none"}'
    assert added == json.dumps(AS_LIST, indent=2).removesuffix("\n]") + f",\n{last}\n]"
    assert [one["test_id"] for one in json.loads(added)] == ["a", "b", "off"]


def test_criteria_that_a_test_leaves_as_usual_are_those_of_the_file() -> None:
    for_all = b"success_criteria: {min_accuracy: 0.75, min_similarity_score: 0.1}\ntests: []\n"
    for said, wanted in (
        (SuccessCriteria(), SuccessCriteria(0.75, 0.1)),
        (SuccessCriteria(1.0, 0.3), SuccessCriteria(0.75, 0.3)),
        (SuccessCriteria(0.5), SuccessCriteria(0.5, 0.1)),
    ):
        added = with_test("g.yaml", for_all, replace(NEGATIVE, criteria=said))
        assert read_golden_yaml("g.yaml", added).tests[0].criteria == wanted


@pytest.mark.parametrize(
    "text",
    [
        "- &x {test_id: a, query_text: a?}\n- &x {test_id: b, query_text: b?}\n",
        "- test_id: a\n  query_text: |+\n    one more line end would be part of it",
    ],
)
def test_where_there_is_no_safe_place_the_file_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(InputError, match=r"can't safely add a test to g\.yaml; add it by hand or"):
        with_test("g.yaml", text.encode(), NEGATIVE)


def test_json_lines_take_one_more_line() -> None:
    content = b'{"test_id": "a", "query_text": "a?"}'
    added = with_test("g.jsonl", content, TEST)
    assert added.startswith(content + b"\n")
    assert read_golden_lines("g.jsonl", added).tests[1] == TEST
    assert read_golden_lines("g.jsonl", with_test("g.jsonl", b"", TEST)).tests == (TEST,)


def test_a_category_that_is_not_text_is_refused() -> None:
    with pytest.raises(InputError, match="test_category: it contains a lone surrogate"):
        with_test("g.yaml", BY_HAND.encode(), replace(TEST, category="a\udcff"))


def test_what_does_not_fit_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"g\.yaml, line 1: "):
        with_test("g.yaml", b"questions: []", TEST)
    with pytest.raises(
        InputError, match=r"can't add the test to g\.yaml: .*'a' is already used in line"
    ):
        with_test("g.yaml", b"tests: [{test_id: a, query_text: a?}]", replace(TEST, test_id="a"))
    judged = replace(TEST, expected=(ByName("doc"),))
    with pytest.raises(InputError, match="golden files can't name"):
        new_file([judged], [])


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1
).filter(lambda text: bool(text.strip()))


@given(question=TEXTS, quoted=TEXTS, category=TEXTS)
def test_any_words_survive_being_written(question: str, quoted: str, category: str) -> None:
    test = GoldenTest("t", question, expected=(ByText(quoted),), category=category)
    for name, content in (("g.yaml", BY_HAND.encode()), ("g.jsonl", b"")):
        added = with_test(name, content, test)
        read = read_golden_lines if name.endswith("l") and "json" in name else read_golden_yaml
        assert read(name, added).tests[-1] == test
