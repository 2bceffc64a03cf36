"""Target files: what is written is read again, and mistakes are named with their line."""

import pytest

from surefind.errors import InputError
from surefind.evaluation.targets.target_file import read_target, target_text
from surefind.model import AnswerForm, ResultMapping, Role, TargetSpec

FILE = """\
target: https://docs.example.com/api/search
name: our search
method: post
headers: {Authorization: "Bearer ${DOCS_TOKEN}"}
body: {q: "{query}", size: "{top_k}", since: 2026-01-02}
results:
  items: data.hits
  url: document.url
  text: [document.text, document.summary]
  score: score
timeout_s: 5
retries: 0
concurrency: 1
requests_per_second: 2.5
"""


def test_a_file_describes_a_target() -> None:
    spec = read_target("target.yaml", FILE.encode())
    assert spec.label == "our search"
    assert spec.method == "POST"
    assert spec.body == {"q": "{query}", "size": "{top_k}", "since": "2026-01-02"}
    assert spec.results == ResultMapping(
        items="data.hits",
        keys={Role.URL: ("document.url",), Role.TEXT: ("document.text", "document.summary")},
        score="score",
    )
    assert (spec.timeout_s, spec.retries, spec.requests_per_second) == (5.0, 0, 2.5)


@pytest.mark.parametrize(
    "spec",
    [
        read_target("target.yaml", FILE.encode()),
        TargetSpec("mcp:uvx docs", tool="search", arguments={"library": "x", "q": "{query}"}),
        TargetSpec("python:a:b", results=ResultMapping(AnswerForm.TEXT)),
        TargetSpec("python:a:b", results=ResultMapping(items="", keys={Role.ID: ("id",)})),
    ],
)
def test_a_saved_target_is_read_as_it_was(spec: TargetSpec) -> None:
    assert read_target("target.yaml", target_text(spec).encode()) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "target.yaml is empty"),
        ("name: x", "line 1: `target` is missing"),
        ("target: a:b\nresult: {}", "line 2: unknown key 'result' in a target file; did you mean"),
        ("target: a:b\nresults: {link: x}", "line 2: unknown key 'link' in results"),
        ("target: a:b\nresults: {form: xml}", "line 2: form must be one of json, text"),
        ("target: a:b\nmethod: PUT", "line 2: method must be one of GET, POST, not PUT"),
        ("target: a:b\ntimeout_s: 0", "line 2: timeout_s must be above 0"),
        ("target: a:b\ntimeout_s: soon", "line 2: timeout_s must be a number, not text"),
        ("target: a:b\nretries: 99", "line 2: retries must be between 0 and 10"),
        ("target: a:b\nconcurrency: 0", "line 2: concurrency must be between 1 and 64"),
        ("target: a:b\nheaders: {A: [b]}", "line 2: the header A must be text"),
        ('target: a:b\nheaders: {A: "b\\r\\nC: d"}', "must be one line"),
        ("target: a:b\narguments: [x]", "line 2: arguments must be a mapping"),
        ("- target", "line 1: a target file must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_target("target.yaml", text.encode())
    assert said in str(refused.value)
