"""Judged collections of others, and golden files on disk."""

from pathlib import Path

import pytest

from surefind.adapters.files.golden_files import read_golden
from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByName
from surefind.evaluation.golden.golden_set import MAX_BYTES, TestKind
from surefind.evaluation.golden.judged_sets import (
    judged_set,
    read_beir_queries,
    read_qrels,
    read_topics,
)

TOPICS = """\
<top>
<num> Number: 301
<title> International
Organized Crime

<desc> Description:
Identify organizations.
</top>
<top><num>302<title>Poliomyelitis</title></top>
"""


def test_qrels_are_read_in_both_of_their_forms() -> None:
    beir = read_qrels("q", b"query-id\tcorpus-id\tscore\nq 1\td1\t2\nq 1\td2\t0\nq2\td1\t-1.0\n")
    assert beir == {"q 1": {"d1": 2, "d2": 0}, "q2": {"d1": -1}}
    assert read_qrels("q", b"301 0 FBIS3-1 1\n301  0  FBIS3-2  0\r\n\n") == {
        "301": {"FBIS3-1": 1, "FBIS3-2": 0}
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "q is empty"),
        (b"query-id\tcorpus-id\tscore\n", "q is empty"),
        (b"1 0 d1 1\n1 0 d2", "q, line 2: a judgement needs a query"),
        (b"1 0 d1 1\n1 0 d2 x", "q, line 2"),
        (b"1\t\t1", "q, line 1"),
        (b"1 0 d1 101", "q, line 1: the highest grade is 100, not 101"),
        (b"1 0 d1 1\n1 0 d1 2", "q, line 2: 1 d1 has two grades"),
        (b"1 0 d 1 1", "q, line 1"),
        (b"1 0 d 0.5", "q, line 1"),
    ],
)
def test_wrong_qrels_are_refused_with_the_line(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_qrels("q", content)


def test_topics_are_read_in_both_of_their_forms() -> None:
    assert read_topics("t", TOPICS.encode()) == {
        "301": "International Organized Crime",
        "302": "Poliomyelitis",
    }
    assert read_topics("t", b"1\twhat is it\n\n2\thow\n") == {"1": "what is it", "2": "how"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"what is it", "t, line 1: a topic needs an id, a tab and a question"),
        (b"1\ta\n1\tb", "duplicate topic '1'"),
        (b"\n<top><num>1</top>", "t, line 2: the topic has no number or no title"),
    ],
)
def test_wrong_topics_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_topics("t", content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "q, line 1: a query needs an _id and a text"),
        (b'{"_id": "1"}', "a query needs an _id"),
        (b'{"_id": "1", "text": "a"}\n{"_id": 1, "text": "b"}', "line 2: duplicate query '1'"),
        (b'{"_id": "1", "text": " "}', "line 1: text cannot be empty"),
    ],
)
def test_wrong_queries_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_beir_queries("q", content)


def test_a_judged_set_keeps_every_query_and_every_judgement() -> None:
    golden = judged_set("set", {"a": "A?", "b": "B?"}, {"a": {"d1": 2, "d2": 0, "d3": -1}})
    judged, plain = golden.tests
    assert judged.expected == (ByName("d1", 2),)
    assert judged.known_wrong == (ByName("d2", 0),)
    assert (judged.kind, plain.kind) == (TestKind.POSITIVE, TestKind.QUERY)
    assert golden.measured_only
    with pytest.raises(InputError, match="query 'c' has judgements but no text"):
        judged_set("set", {"a": "A?"}, {"c": {"d1": 1}})


# --- on disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("qrels", ["qrels.tsv", "qrels/test.tsv"])
def test_a_beir_folder_is_read(tmp_path: Path, qrels: str) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "what", "metadata": {}}\n')
    (tmp_path / qrels).parent.mkdir(exist_ok=True)
    (tmp_path / qrels).write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    golden = read_golden(tmp_path)
    assert golden.name == tmp_path.name
    assert golden.tests[0].expected == (ByName("d1"),)


def test_topics_come_with_their_qrels(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "qrels.txt").write_text("301 0 d1 1\n")
    golden = read_golden(tmp_path / "topics.txt", tmp_path / "qrels.txt")
    assert [test.test_id for test in golden.tests] == ["301", "302"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", "tests: [{test_id: line-1, query_text: What?}]"),
        ("a.YML", "tests: [{test_id: line-1, query_text: What?}]"),
        ("a.json", '{"tests": [{"test_id": "line-1", "query_text": "What?"}]}'),
        ("a.jsonl", '{"test_id": "line-1", "query_text": "What?"}'),
        ("a.txt", "What?"),
        ("questions", "What?"),
    ],
)
def test_the_name_of_a_file_says_its_form(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    [test] = read_golden(tmp_path / name).tests
    assert (test.test_id, test.query_text) == ("line-1", "What?")


def test_an_invalid_golden_set_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml does not exist; `surefind golden init`"):
        read_golden(tmp_path / "none.yaml")
    with pytest.raises(InputError, match=r"a BEIR folder needs queries.jsonl"):
        read_golden(tmp_path)
    (tmp_path / "golden.docx").touch()
    with pytest.raises(InputError, match=r"ends in .yaml, .yml, .json, .jsonl"):
        read_golden(tmp_path / "golden.docx")
    with (tmp_path / "huge.yaml").open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match="bytes; at most"):
        read_golden(tmp_path / "huge.yaml")
