"""Texts are plain, present-day English and avoid the phrases listed here.

Checks the strings and comments of the package, its web pages, the benchmarks, the training and the
test support, the names of the tests, and the prose of the documentation. A failure names the file,
the line, the phrase and what to write instead.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).parents[2]
TESTS = {path for path in (PROJECT / "tests").rglob("*.py") if "support" not in path.parts}
"""Their strings are mostly data. Their names are read in reports."""

# A phrase, as a regular expression without case, and what to write instead.
# A blank matches any white space. Phrases are whole words.
PHRASES = {
    r"(?<!there\s)(?:is|are) no (?!longer|more|\w+er than)\w+": "is not a …, unknown …",
    r"(?<!there\s)(?:has|have|is|are) (?-i:none)(?: of)?": "has no …, is empty, does not apply",
    r"(?:is|are|was|were|be) away": "is unavailable",
    r"(?:is|are|was|were) said": "is given, is stated",
    r"(?:is|are|was|were) wanted": "is requested, is required",
    r"anew": "again, or a verb with re-: rebuilt",
    r"afresh": "again",
    r"in vain": "without success",
    r"beforehand": "first, in advance",
    r"whoever": "users, readers, callers",
    r"anybody|somebody who|somebody else(?:'s)?": "anyone, a user who, another team's",
    r"(?:^|(?<=[.:;]\s))who (?:\w+s|has) [^?.]*\.": "a noun first: users who, callers that",
    r"what (?:there is|is there|is left|it has)": "the existing …, the rest",
    r"(?:go|goes|went|gone|going) on (?:with|from)": "resume, continue",
    r"so (?:many|much)": "that many, a limit of, or the number",
    r"told|tells": "reports, shows, says",
    r"look(?:s|ed) (?:at|into)": "checks, reads, inspects",
    r"stands": "is",
    r"left alone": "skipped, unchanged, not called",
    r"(?:came|comes) of": "the result of",
    r"be had": "be available",
    r"leads? (?:nowhere|to no)": "is broken, points to a missing …",
    r"lies (?:in|on|at|below|beside|under)": "is in",
    r"holds? \w+(?: \w+){0,3} against": "compares … with, checks … against",
    r"stumbles?": "fails",
    r"thereof|therein|whereof|wherein|hitherto|henceforth|lest|albeit": "present-day English",
    r"by (?:meaning|words) (?:and|alone)": "semantic search, keyword search",
    r"under way": "running, in progress",
    r"(?:is|are|was|were) asked (?:for|about|of)": "is requested, is queried",
    r"(?:is|are|was|were) left as": "is skipped, is omitted, is unchanged",
    r"tak(?:e|es|en|ing) in (?!to )": "include",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"wants? a look|at hand": "should be checked, available",
    r"the last word": "decides",
    r"all the same": "still",
    r"nobody": "no one, or the passive",
    r"in the place of": "instead of, replaces",
    r"(?:is|are) (?:told|known) (?:apart|from)": "is distinguished from",
    r"gives? itself": "is",
    r"as (?:many|much) as there (?:is|are)": "all",
    r"of (?:one's|nobody's|somebody's) own": "private, custom",
    r"for ever": "forever",
    r"(?:is|are|was|were) sought": "matches the query",
    r"(?:server|service|page|site|box|file|it) wants": "requires",
    r"(?:nothing|all) (?:else )?is to be (?:had|done)": "a verb: nothing is available",
    r"goes its own way|takes its time": "differs, is slow",
    r"how (?:it|they) (?:is|are|was|were) made": "how it is built, how it is calculated",
    r"the like of (?:it|them)": "a similar one",
    r"standing (?:beside|behind|before)": "next to, after",
    r"(?:has|have) (?:its|their) places? already": "is already full",
}

# (file, the words, the reason) where one of the phrases is good English.
ALLOWED: dict[tuple[str, str], str] = {
    ("tests/support/payload_shapes.py", "was said"): "a page about recorded messages",
}


def pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    either = "|".join(phrases).replace(" ", r"\s+")
    return re.compile(rf"\b(?:{either})(?!\w)", re.IGNORECASE)


ANY_PHRASE = pattern(PHRASES)
EACH_PHRASE = {pattern([phrase]): better for phrase, better in PHRASES.items()}


class Finding(NamedTuple):
    file: str
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words!r}; better: {self.better}"


class Text(NamedTuple):
    """A piece of prose and the line that it begins on."""

    line: int
    prose: str


def python_texts(source: str) -> Iterator[Text]:
    """Every string of a module, docstrings included, and every run of comment lines."""
    parts: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            values = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            yield Text(node.lineno, "".join(map(str, values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield Text(node.lineno, node.value)
    for comment in re.finditer(r"(?:^[ \t]*#.*\n)+|(?<=  )# .*$", source, re.MULTILINE):
        prose = re.sub(r"(?m)^[ \t]*#", "", comment[0])
        yield Text(source.count("\n", 0, comment.start()) + 1, prose)


def python_names(source: str) -> Iterator[Text]:
    """The names of all functions and classes, read as sentences."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Text(node.lineno, node.name.removeprefix("test_").replace("_", " ").strip())


def markdown_texts(source: str) -> Iterator[Text]:
    """The prose of a page, without its code blocks, code spans and link targets."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    for code in (r"(?ms)^ *```.*?^ *```", r"`[^`\n]+`", r"\]\([^)]*\)"):
        source = re.sub(code, blank, source)
    for paragraph in re.finditer(r"(?:.+\n?)+", source):
        yield Text(source.count("\n", 0, paragraph.start()) + 1, paragraph[0])


def texts(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from python_names(source)
        if path not in TESTS:
            yield from python_texts(source)
    elif path.suffix == ".md":
        yield from markdown_texts(source)
    else:
        yield Text(1, source)


def findings(path: Path, name: str) -> Iterator[Finding]:
    for line, prose in texts(path):
        for found in ANY_PHRASE.finditer(prose):
            words = " ".join(found[0].split())
            if (name, words.lower()) not in ALLOWED:
                line_found = line + prose.count("\n", 0, found.start())
                yield Finding(name, line_found, words, better_than(found[0]))


def better_than(words: str) -> str:
    return next(better for phrase, better in EACH_PHRASE.items() if phrase.match(words))


def checked_files() -> dict[str, Path]:
    """Every file with texts that users or developers read, by its path in the project."""
    files = [
        *PROJECT.glob("*.md"),
        *PROJECT.glob("docs/**/*.md"),
        *PROJECT.glob("training/*.md"),
        *PROJECT.glob("src/surefind/**/*.py"),
        *PROJECT.glob("bench/**/*.py"),
        *PROJECT.glob("tests/**/*.py"),
        *PROJECT.glob("training/*.py"),
    ]
    files += [
        path
        for kind in ("js", "html")
        for path in PROJECT.glob(f"src/surefind/interfaces/**/*.{kind}")
    ]
    return {path.relative_to(PROJECT).as_posix(): path for path in sorted(files)}


def test_texts_are_plain_english() -> None:
    files = checked_files()
    found = [str(finding) for name, path in files.items() for finding in findings(path, name)]
    assert not found, f"{len(found)} phrases to rewrite:\n" + "\n".join(found)


def test_every_exception_is_needed() -> None:
    """An allowed phrase that no longer occurs is removed from the list."""
    files = checked_files()
    for name, words in ALLOWED:
        prose = " ".join(" ".join(text.prose.split()) for text in texts(files[name])).lower()
        assert words in prose, f"{name} no longer says {words!r}: remove it from ALLOWED"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('def read() -> None:\n    """The store\n    is  away."""\n', 3),
        ('message = (\n    f"{1} is no"\n    f" setting of {2}"\n)\n', 2),
        ("# It is built\n# anew.\n", 2),
        ("\ndef test_it_is_built_anew() -> None: ...\n", 2),
    ],
)
def test_phrases_are_found_across_lines_and_string_parts(
    tmp_path: Path, text: str, line: int
) -> None:
    module = tmp_path / "module.py"
    module.write_text(text)
    (finding,) = findings(module, "module.py")
    assert finding.line == line


def test_code_on_a_page_is_not_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Build it `anew`.\n\n```\nbuild anew\n```\n\nThere is no undo. It is no longer there.\n"
    )
    assert list(findings(page, "page.md")) == []
