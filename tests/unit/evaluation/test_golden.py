"""Golden files are read as they are meant, or refused with the line that is wrong."""

import json
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import record
from surefind.errors import InputError
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    ByName,
    BySource,
    ByText,
    Expectation,
)
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import (
    MAX_BYTES,
    MAX_TESTS,
    GoldenTest,
    SuccessCriteria,
    TestKind,
    read_golden_lines,
    read_golden_yaml,
    read_questions,
)
from surefind.evaluation.measures.ranking import Measure
from surefind.model import Mode

FILE = """\
version: 1
name: the teapot
top_k: 10
mode: dense
success_criteria: {min_accuracy: 0.5}
measures: [nDCG@10, mrr]
fail_if: nDCG@10 < 0.8
warn_if:
  - p95_ms > 200
tests:
  - test_id: power
    query_text: Which voltage does it need?
    expected_results:
      - install-power-0
      - https://tea.pot/install
      - {chunk_id: install-0, grade: 2}
      - {url: /install, heading: Power}
      - {source_path: docs/install.md, heading: Power, grade: 3}
      - {text: a socket of 230 volts}
    success_criteria: {min_similarity_score: 0.6}
    test_category: factual
    where: version=2
    executed_at: 2026-01-02T03:04:05Z
    result_accuracy: 0.5
  - test_id: 7
    query_text: How do I make coffee?
    expect: none
  - {test_id: hollow, query_text: What is it, expected_results: []}
"""


def test_a_file_of_yaml_says_all_there_is_to_say() -> None:
    golden = read_golden_yaml("teapot.yaml", FILE.encode())
    assert golden.name == "the teapot"
    assert (golden.top_k, golden.mode) == (10, Mode.DENSE)
    assert list(map(str, golden.measures)) == ["nDCG@10", "MRR"]
    assert golden.gates == (
        QualityRule(RuleSeverity.WARN, "p95_ms", ">", 200.0),
        QualityRule(RuleSeverity.FAIL, "nDCG@10", "<", 0.8),
    )
    power, coffee, hollow = golden.tests
    assert power.expected == (
        ByChunk("install-power-0"),
        ByAddress("https://tea.pot/install"),
        ByChunk("install-0", 2),
        ByAddress("/install", "Power"),
        BySource("docs/install.md", "Power", 3),
        ByText("a socket of 230 volts"),
    )
    assert power.criteria == SuccessCriteria(0.5, 0.6)
    assert (power.category, power.where) == ("factual", ("version=2",))
    assert coffee == GoldenTest(
        "7", "How do I make coffee?", TestKind.NEGATIVE, (), SuccessCriteria(0.5)
    )
    assert (hollow.kind, hollow.expected) == (TestKind.POSITIVE, ())


def test_the_same_in_lines_of_json_is_the_same() -> None:
    values = yaml.safe_load(FILE.replace("executed_at: 2026-01-02T03:04:05Z", "executed_at: soon"))
    tests = values.pop("tests")
    lines = "\n\n".join(json.dumps(value) for value in [values, *tests])
    assert read_golden_lines("teapot.jsonl", lines.encode()) == read_golden_yaml(
        "teapot.yaml", FILE.encode()
    )
    alone = read_golden_lines("teapot.jsonl", json.dumps(tests[0]).encode())
    assert alone.tests[0].criteria == SuccessCriteria(1.0, 0.6)


def test_json_is_read_as_yaml() -> None:
    values = {"tests": [{"test_id": "a", "query_text": "b\u2028 😀 \\ud83d"}]}
    golden = read_golden_yaml("x.json", json.dumps(values, indent=2).encode())
    assert golden.tests[0].query_text == "b\u2028 😀 \\ud83d"


def test_the_digest_is_that_of_the_tests_and_not_of_the_file() -> None:
    golden = read_golden_yaml("a.yaml", FILE.encode())
    commented = FILE.replace("version: 1", "# hello\nversion: 1").replace("the teapot", "tea")
    assert read_golden_yaml("b.yaml", commented.encode()).digest == golden.digest
    turned = replace(golden, tests=golden.tests[::-1])
    assert turned.digest == golden.digest
    other = FILE.replace("230 volts", "110 volts")
    assert read_golden_yaml("a.yaml", other.encode()).digest != golden.digest


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("top_k: 10", "top_k: 0", "line 3: top_k must be between 1 and 1000, not 0"),
        ("top_k: 10", "top_k: ten", "line 3: top_k must be a whole number, not text"),
        (
            "top_k: 10",
            "topk: 10",
            r"line 3: unknown key 'topk' in a golden file; did you mean top_k?",
        ),
        ("top_k: 10", "name: again", "line 3: duplicate key 'name'"),
        ("top_k: 10", "7: 8", "line 3: a key must be text, not a number"),
        ("mode: dense", "mode: sparse", "line 4: mode must be one of hybrid, .*, not 'sparse'"),
        (
            "_accuracy: 0.5",
            "_accuracy: 80",
            "line 5: min_accuracy must be between 0.0 and 1.0, not 80",
        ),
        ("_accuracy: 0.5", "_accuracy: 0", "line 5: min_accuracy must be above 0.0, not 0"),
        ("_accuracy: 0.5", "_accuracy: .nan", "line 5: min_accuracy must be between .*, not .nan"),
        (
            "_accuracy: 0.5",
            "_accuracy: yes",
            "line 5: min_accuracy must be a number, not a boolean",
        ),
        ("_score: 0.6", "_score: -1", "line 20: min_similarity_score must be .*, not -1"),
        ("_score: 0.6", "_scores: 0.6", "line 20: unknown key 'min_similarity_scores'"),
        ("mrr]", "mr]", "line 6: unknown measure 'mr'"),
        ("mrr]", "[mrr]]", "line 6: measures must be text, not a list"),
        ("< 0.8", "< much", "line 7: fail_if: 'much' is not a number"),
        ("< 0.8", "is bad", "line 7: fail_if: invalid rule 'nDCG@10 is bad'; write one like"),
        ("< 0.8", "< nan", "line 7: fail_if: 'nan' is not a number"),
        (
            "< 0.8",
            "< 5",
            "line 7: fail_if: nDCG@10 is a number from 0 to 1, not 5; write 0.05 for 5 %",
        ),
        ("< 0.8", "< -0.1", "line 7: fail_if: nDCG@10 is a number from 0 to 1, not -0.1$"),
        ("p95_ms > 200", "false_accept_rate > 10", "line 9: .*write 0.1 for 10 %"),
        (
            "p95_ms > 200",
            "pass_rate < 2",
            "line 9: warn_if: pass_rate is a number from 0 to 1, not 2",
        ),
        ("p95_ms > 200", "accuracy < 1e3", "accuracy is a number from 0 to 1, not 1e3$"),
        ("p95_ms > 200", "p95_ms > -1", "line 9: warn_if: p95_ms is never below 0, so"),
        ("p95_ms >", "p94_ms >", "line 9: warn_if: unknown measure 'p94_ms'.*, or one of accuracy"),
        ("  - p95_ms > 200", "  - 5", "line 9: warn_if must be text, not a number; put 5 in"),
        ("test_id: power", "test_ids: power", "line 11: unknown key 'test_ids' in a test"),
        (
            "test_id: power",
            "test_id: hollow",
            "line 28: test_id 'hollow' is already used in line 11",
        ),
        ("test_id: power", 'test_id: "a\\tb"', "line 11: test_id must have at most 200 char"),
        ("test_id: power", "test_id: ", "line 11: test_id must be text, not empty"),
        ("  - test_id: power\n    ", "  - ", "line 11: the test has no test_id"),
        ("query_text: How do I make coffee?", "query_text: ''", "line 26: .*cannot be empty"),
        ("query_text: How do I make coffee?", "query_text: yes", "line 26: .*put yes in quotes"),
        (
            "query_text: How do I make coffee?",
            "query_text: 2026-01-02",
            "26: .*must be text, not a date",
        ),
        ("query_text: How do I make coffee?", r'query_text: "\ud800"', "line 26: invalid YAML"),
        ("    query_text: How do I make coffee?\n", "", "line 25: the test has no query_text"),
        ("expect: none", "expect: null", "line 27: expect can only be none"),
        (
            "expect: none",
            "expect: none\n    expected_results: [a]",
            "line 27: .* both expect: none and",
        ),
        ("expected_results: []", "expected_results: a", "line 28: expected_results must be a list"),
        (
            "expected_results: []",
            "expected_results: [{}]",
            "28: .*each needs exactly one of chunk_id, url",
        ),
        (
            "expected_results: []",
            "expected_results: [{text: a, url: b}]",
            "each needs exactly one of chunk_id",
        ),
        (
            "expected_results: []",
            "expected_results: [{txt: a}]",
            "unknown key 'txt' in expected_results",
        ),
        (
            "expected_results: []",
            "expected_results: [a, a]",
            "28: expected_results: duplicate chunk a",
        ),
        ("grade: 3", "grade: 101", "line 18: grade must be between 1 and 100, not 101"),
        ("grade: 3", "grade: 0", "line 18: grade must be between 1 and 100, not 0"),
        ("{text: a", "{heading: b, text: a", "line 19: heading needs a url or a source_path"),
        ("tests:", "tests: *all\nmore:", "line 10: the alias \\*all is not supported|line 10"),
        ("name: the", "name: [the", "line [0-9]+: invalid YAML"),
        ("name: the teapot", "name: !!binary aGk=", "line 2: binary values are not supported"),
        ("name: the teapot", "name: !!python/name:os.system", "line 2: invalid YAML"),
        (
            "name: the teapot",
            "name: 2026-13-45",
            "line 2: 2026-13-45 is not a valid number or date",
        ),
        ("name: the teapot", f"name: {'9' * 5000}", "line 2: 9{40}… is not a valid number or date"),
        ("name: the teapot", "name: !!bool maybe", "line 2: maybe is not a valid number or date"),
        (
            "name: the teapot",
            "name: a\x7fb",
            r"line 2: invalid YAML: unprintable .*write \\u007f in",
        ),
        ("version: 1", "version: 7", "^teapot.yaml, line 1: version must be 1, not 7$"),
        ("version: 1", "version: 1\n---\nversion: 1", "second document starts here"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(before: str, after: str, message: str) -> None:
    assert before in FILE
    with pytest.raises(InputError, match=message) as refused:
        read_golden_yaml("teapot.yaml", FILE.replace(before, after, 1).encode())
    assert str(refused.value).startswith("teapot.yaml")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "teapot.jsonl, line 2: invalid JSON: "),
        ("[]", "line 2: a test must be a mapping, not a list"),
        ('{"test_id": "a", "test_id": "b"}', "line 2: duplicate key 'test_id'"),
        (
            '{"test_id": "first", "query_text": "b"}',
            "line 2: test_id 'first' is already used in line 1",
        ),
        (
            r'{"test_id": "b", "query_text": "\ud800"}',
            "line 2: query_text contains a lone surrogate",
        ),
        ('{"test_id": "b", "query_text": {}}', "line 2: query_text must be text, not a mapping"),
        ('{"test_id": "b", "query_text": NaN}', "line 2: invalid JSON: NaN is not a number"),
        ('{"fail_if": "MRR < 1"}', "line 2: unknown key 'fail_if' in a test"),
        ("[" * 100_000, "line 2: values are nested more than 20 levels deep$"),
        ("[" * 30 + "]" * 30, "line 2: values are nested more than 20 levels deep"),
        (f'{{"test_id": {"9" * 5000}}}', "line 2: a number has too many digits"),
    ],
)
def test_a_wrong_line_of_json_is_refused_with_its_number(line: str, message: str) -> None:
    lines = f'{{"test_id": "first", "query_text": "a"}}\n{line}\n'
    with pytest.raises(InputError, match=message):
        read_golden_lines("teapot.jsonl", lines.encode())


def test_a_file_is_named_once_and_called_what_it_is() -> None:
    with pytest.raises(InputError) as refused:
        read_golden_yaml("x.yaml", b"tests:\n- test_id: a\n  test_id: b\n")
    assert str(refused.value) == "x.yaml, line 3: duplicate key 'test_id'"
    with pytest.raises(InputError, match=r"^x\.json, line 2: invalid JSON: "):
        read_golden_yaml("x.json", b'{"tests": [\n,]}')


@pytest.mark.parametrize("content", [b"", b"  \n", b"# nothing\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"x\.yaml is empty"):
        read_golden_yaml("x.yaml", content)
    if not content.startswith(b"#"):
        with pytest.raises(InputError, match=r"x\.jsonl is empty"):
            read_golden_lines("x.jsonl", content)


def test_a_file_without_a_list_of_tests_is_refused() -> None:
    with pytest.raises(InputError, match="the list of tests is missing"):
        read_golden_yaml("x.yaml", b"name: a")
    with pytest.raises(InputError, match="must be a mapping"):
        read_golden_yaml("x.yaml", b"- a")
    assert read_golden_yaml("x.yaml", b"tests: []").tests == ()


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"33,554,433 bytes; at most 33,554,432 are allowed"):
        read_golden_yaml("x.yaml", b"#" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match=r"100,001 tests; at most 100,000 are allowed"):
        read_questions("x.txt", b"what\n" * (MAX_TESTS + 1))


def test_too_many_expectations_are_refused() -> None:
    many = ", ".join(f"c{number}" for number in range(1001))
    content = f"tests: [{{test_id: a, query_text: b, expected_results: [{many}]}}]"
    with pytest.raises(InputError, match="expected_results has 1001 items; at most 1000"):
        read_golden_yaml("x.yaml", content.encode())


def test_what_lies_deep_is_refused_before_it_hurts() -> None:
    with pytest.raises(InputError, match="more than 20 levels deep"):
        read_golden_yaml("x.yaml", b"tests: " + b"[" * 100_000)


def test_invalid_utf_8_is_rejected_with_its_line() -> None:
    with pytest.raises(InputError, match=r"x.txt, line 2: not UTF-8"):
        read_questions("x.txt", b"one\n\xff")


@given(st.one_of(st.binary(max_size=200), st.text(alphabet="tes: -[]{}\"'&*!|>\n#a1", max_size=80)))
def test_anything_at_all_is_read_or_refused(content: bytes | str) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    for read in (read_golden_yaml, read_golden_lines, read_questions):
        try:
            read("x", raw)
        except InputError as error:
            assert str(error).startswith("x")  # noqa: PT017 - most contents are refused


def test_a_test_is_the_same_in_another_category_and_not_with_another_filter() -> None:
    one = GoldenTest("a", "What?", expected=(ByChunk("x"), ByChunk("y")), category="factual")
    assert replace(one, category="other", line=9).digest == one.digest
    assert replace(one, expected=one.expected[::-1]).digest == one.digest
    others = (
        replace(one, query_text="Who?"),
        replace(one, expected=one.expected[:1]),
        replace(one, where=("version=2",)),
        replace(one, criteria=SuccessCriteria(0.5)),
    )
    assert len({one.digest, *(other.digest for other in others)}) == 5


def test_a_plain_text_has_one_question_a_line() -> None:
    golden = read_questions("q.txt", "\ufeffWhat?\r\n\n# a remark\n  How? \n".encode())
    assert [(test.test_id, test.query_text) for test in golden.tests] == [
        ("line-1", "What?"),
        ("line-4", "How?"),
    ]
    assert {test.kind for test in golden.tests} == {TestKind.QUERY}
    assert read_questions("q.txt", b"# nothing yet").tests == ()
    with pytest.raises(InputError, match=r"q\.txt is empty; write one question per line"):
        read_questions("q.txt", b" \n\n")


# --- whether a chunk is meant -----------------------------------------------------------------

RECORD = replace(
    record(0, "Plug the cable\ninto  a socket of 230 volts.", "docs/guide/install.md"),
    url="https://tea.pot/guide/install%20it/",
    title="Installing",
)
RECORD = replace(
    RECORD,
    chunk=replace(RECORD.chunk, heading_path=("Installing", "Power  Supply"), anchor="power"),
)


@pytest.mark.parametrize(
    ("expectation", "is_meant"),
    [
        (ByChunk("chunk-0"), True),
        (ByChunk("chunk-1"), False),
        (ByAddress("https://tea.pot/guide/install%20it"), True),
        (ByAddress("https://tea.pot/guide/install it/"), True),
        (ByAddress("/guide/install it"), True),
        (ByAddress("/install it"), False),
        (ByAddress("https://tea.pot/guide/install%20it/#power"), True),
        (ByAddress("https://tea.pot/guide/install%20it/#water"), False),
        (ByAddress("/guide/install it", "power supply"), True),
        (ByAddress("/guide/install it", "Installing"), True),
        (ByAddress("/guide/install it", "Power"), False),
        (ByAddress("/guide", "power supply"), False),
        (BySource("docs/guide/install.md"), True),
        (BySource("docs/guide/install.md", "POWER SUPPLY"), True),
        (BySource("docs/guide/install.md", "Water"), False),
        (BySource("install.md"), False),
        (ByText(" cable into a\n socket "), True),
        (ByText("Cable into"), False),
        (ByName("install"), True),
        (ByName("install.md"), True),
        (ByName("docs/guide/install.md"), True),
        (ByName("chunk-0"), True),
        (ByName("guide"), False),
    ],
)
def test_an_expectation_knows_its_chunks(expectation: Expectation, is_meant: bool) -> None:
    assert expectation.matches(RECORD) is is_meant


@pytest.mark.parametrize(
    ("expectation", "described"),
    [
        (ByChunk("a"), "chunk a"),
        (ByAddress("/a"), "/a"),
        (ByAddress("/a", "B"), "/a under 'B'"),
        (BySource("a.md"), "a.md"),
        (BySource("a.md", "B"), "a.md under 'B'"),
        (ByText("a  b"), "the text 'a b'"),
        (ByText("a" * 100), f"the text '{'a' * 59}…'"),
        (ByName("12"), "document 12"),
    ],
)
def test_an_expectation_describes_itself(expectation: Expectation, described: str) -> None:
    assert str(expectation) == described


def test_a_gate_names_its_warnings() -> None:
    gate = QualityRule.parse(RuleSeverity.FAIL, " ndcg@10<=.5 ")
    assert str(gate) == "nDCG@10 <= 0.5"
    assert gate.measure == Measure.parse("nDCG@10")
    assert gate.is_met_by(0.5)
    assert not gate.is_met_by(0.6)
    assert QualityRule.parse(RuleSeverity.WARN, "failed >= 2").measure is None


@pytest.mark.parametrize(
    ("limit", "ending"),
    [("100", "not 100; write 1 for 100 %"), ("101", "not 101"), ("-1", "not -1")],
)
def test_a_limit_that_looks_like_a_percentage_is_shown_as_a_share(limit: str, ending: str) -> None:
    with pytest.raises(InputError, match=f"{ending}$"):
        QualityRule.parse(RuleSeverity.FAIL, f"nDCG@10 < {limit}")
