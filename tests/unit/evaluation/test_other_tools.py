"""Test sets of other tools: what they expect, and mistakes named with their line."""

import json

import pytest

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByAddress, ByName, ByText
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.golden.other_tools import read_any_lines, read_any_yaml, read_csv
from surefind.model import GroupBy

SITE = "https://docs.example.com"
DOCS_MCP_SERVER = f"""\
status: draft
notes: a few questions
entries:
  - vars:
      library: teapot
      query: which socket
      intent: lookup
      qrels:
        - {{ url: "{SITE}/guide/power", grade: 3 }}
        - {{ url: "{SITE}/guide/install", grade: 1 }}
        - {{ url: "{SITE}/blog", grade: 0 }}
  - vars: {{library: teapot, query: what is E42}}
"""
PROMPTFOO = """\
prompts: [file://prompt.txt]
providers: [openai:gpt-5-mini]
tests:
  - description: the voltage
    metadata: {category: facts}
    vars:
      question: Which voltage?
      context: Plug the cable into a socket of 230 volts.
    assert: [{type: contains, value: "230"}]
"""


def names(golden: GoldenSet) -> list[str]:
    return [test.test_id for test in golden.tests]


def test_graded_urls_of_docs_mcp_server() -> None:
    golden = read_any_yaml("dataset.yaml", DOCS_MCP_SERVER.encode())
    first, second = golden.tests
    assert first.query_text == "which socket"
    assert first.expected == (
        ByAddress(f"{SITE}/guide/power", grade=3),
        ByAddress(f"{SITE}/guide/install", grade=1),
    )
    assert first.known_wrong == (ByAddress(f"{SITE}/blog", grade=0),)
    assert first.category == "lookup"
    assert first.criteria.min_accuracy == 0.5
    assert golden.measured_only
    assert (second.is_empty, second.line) == (True, 12)


@pytest.mark.parametrize("label", ["/guide/power#socket", "/guide/power"])
def test_pages_are_ranked_unless_sections_are_judged(label: str) -> None:
    content = DOCS_MCP_SERVER.replace("/guide/power", label)
    golden = read_any_yaml("dataset.yaml", content.encode())
    assert golden.group_by is (None if "#" in label else GroupBy.DOCUMENT)
    assert read_any_yaml("promptfooconfig.yaml", PROMPTFOO.encode()).group_by is None
    assert read_csv("q.csv", b"query,docid,rating\ntea,guide/tea,2\n").group_by is GroupBy.DOCUMENT


def test_contexts_of_promptfoo_are_quotations() -> None:
    [test] = read_any_yaml("promptfooconfig.yaml", PROMPTFOO.encode()).tests
    assert test.query_text == "Which voltage?"
    assert test.expected == (ByText("Plug the cable into a socket of 230 volts."),)
    assert test.category == "facts"


RAGAS = [
    {
        "user_input": "Which voltage?",
        "reference_contexts": ["Plug the cable in.", "Use 230 volts."],
        "reference": "230 volts",
        "synthesizer_name": "single_hop",
    },
    {"user_input": "What is E42?", "reference_context_ids": ["errors", f"{SITE}/errors"]},
]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_reference_contexts_and_ids_of_ragas(form: str) -> None:
    if form == "json":
        golden = read_any_yaml("testset.json", json.dumps(RAGAS).encode())
    else:
        lines = "\n".join(map(json.dumps, RAGAS))
        golden = read_any_lines("testset.jsonl", lines.encode())
    first, second = golden.tests
    assert first.expected == (ByText("Plug the cable in."), ByText("Use 230 volts."))
    assert first.category == "single_hop"
    assert second.expected == (ByName("errors"), ByAddress(f"{SITE}/errors"))
    assert names(golden) == ["test-1", "test-2"]


def test_the_older_keys_of_ragas() -> None:
    rows = [{"question": "Which voltage?", "contexts": ["230 volts"], "ground_truth": "230"}]
    [test] = read_any_yaml("testset.json", json.dumps(rows).encode()).tests
    assert test.expected == (ByText("230 volts"),)


def test_a_table_of_ragas() -> None:
    table = (
        "user_input,reference_contexts,reference\nWhich voltage?,\"['230 volts', 'a socket']\",x\n"
    )
    [test] = read_csv("testset.csv", table.encode()).tests
    assert test.expected == (ByText("230 volts"), ByText("a socket"))


def test_contexts_of_deepeval() -> None:
    rows = [{"input": "Which voltage?", "expected_output": "230", "context": ["230 volts", ""]}]
    [test] = read_any_yaml("goldens.json", json.dumps(rows).encode()).tests
    assert test.expected == (ByText("230 volts"),)


QUEPID = f"""\
query,docid,rating
which socket,{SITE}/guide/power,3
which socket,{SITE}/blog,0
"socket, cable",4983,1
who sings,,
"""


def test_ratings_of_quepid() -> None:
    golden = read_csv("case.csv", QUEPID.encode())
    first, second, third = golden.tests
    assert names(golden) == ["which socket", "socket, cable", "who sings"]
    assert first.expected == (ByAddress(f"{SITE}/guide/power", grade=3),)
    assert first.known_wrong == (ByAddress(f"{SITE}/blog", grade=0),)
    assert second.expected == (ByName("4983"),)
    assert third.kind is TestKind.QUERY
    assert (first.line, second.line) == (2, 4)


def test_names_become_distinct() -> None:
    rows = [{"id": "a", "input": text, "context": ["x"]} for text in ("one", "two", "three")]
    golden = read_any_yaml("goldens.json", json.dumps(rows).encode())
    assert names(golden) == ["a", "a (2)", "a (3)"]


def test_golden_tests_of_surefind_are_read_as_before() -> None:
    text = "tests:\n  - {test_id: a, query_text: b, expect: none}\n"
    [test] = read_any_yaml("golden.yaml", text.encode()).tests
    assert test == GoldenTest("a", "b", TestKind.NEGATIVE)
    line = '{"test_id": "a", "query_text": "b", "expect": "none"}'
    assert read_any_lines("golden.jsonl", line.encode()).tests == (test,)
    with pytest.raises(InputError, match="line 2: the test has no query_text"):
        read_any_yaml("golden.yaml", b"tests:\n  - {test_id: a}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- vars: {library: x}", "line 1: the test has no question; promptfoo has it in query"),
        ("- vars: {query: a, qrels: [x]}", "line 1: qrels: each must have a url and a grade"),
        ("- vars: {query: a, qrels: [{grade: 1}]}", "line 1: qrels: the judgement has no url"),
        (
            "- vars:\n    query: a\n    qrels:\n    - {url: /b}",
            "line 4: qrels: the judgement of /b has no grade",
        ),
        (
            "- vars: {query: a, qrels: [{url: /b, grade: high}]}",
            "line 1: the grade must be a number, not 'high'",
        ),
        (
            "- vars: {query: a, qrels: [{url: /b, grade: 1.5}]}",
            "line 1: the grade must be a whole number up to 100, not 1.5",
        ),
        ("- user_input: a\n- x", "line 2: a test of ragas must be a mapping, not text"),
        ("- user_input: [{content: a}]", "line 1: user_input is a conversation"),
        ("- {user_input: a, reference_contexts: [1]}", "reference_contexts must be text"),
        ("- {input: '', context: [a]}", "line 1: input cannot be empty"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_any_yaml("set.yaml", text.encode())
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "set.csv is empty"),
        ("a,b\n1,2\n", "line 1: unknown columns a, b"),
        ("query,docid,rating\n,d1,1\n", "line 2: the query is missing"),
        ("query,docid,rating\nq,,1\n", "line 2: the docid is missing"),
        ("query,docid,rating\nq,d1,high\n", "line 2: the grade must be a number"),
        ("query,docid,rating\nq,d1,1\nq,d1,2\n", "line 3: d1 has two ratings for 'q'"),
        ("query,docid,rating\n", "set.csv has no ratings"),
        ('query,docid,rating\n"q,d1,1\n', "invalid CSV"),
        ("user_input,reference\n,x\n", "line 2: the test has no question"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_csv("set.csv", text.encode())
    assert said in str(refused.value)
