"""Compares the documentation of a checkout with that of a base commit, for `action.yml`.

Both are ingested into one data folder, so that only the difference is embedded, and both answer the
golden tests of the checkout. Reads BASE, DOCS, FAIL_ON and GOLDEN; writes the job summary, a file
with the body of a comment, and the outputs of the step.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKER = "<!-- surefind -->"
"""Lets a workflow find and replace its earlier comment."""
FAIL_ON = ("lost", "worse", "never")
_MAX_COMMENT = 60_000  # GitHub takes 65,536 characters
_SHOWN = 20
_MAX_QUESTION = 200
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_USABLE = {0, 1, 3}
"""Exit codes with a result: passed, failed, inconclusive."""

Change = Mapping[str, Any]


class StepFailed(Exception):  # noqa: N818 - the name states what happened
    """The message names the thing, the reason and the next step."""


@dataclass(frozen=True)
class Inputs:
    base: str
    docs: tuple[str, ...]
    golden: str
    fail_on: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Inputs":
        docs = tuple(line.strip() for line in environment["DOCS"].splitlines() if line.strip())
        golden, base = environment["GOLDEN"].strip(), environment["BASE"].strip()
        fail_on = environment["FAIL_ON"].strip()
        if not docs:
            raise StepFailed("docs is empty; name the folder of the documentation")
        for path in (*docs, golden):
            if not Path(path).exists():
                raise StepFailed(f"{path or 'golden'} does not exist; name a path in the checkout")
        if not base:
            raise StepFailed("base is empty; run this on pull requests, or set it to a commit")
        if base.startswith("-"):
            raise StepFailed(f"base: {base} is not a commit")
        if fail_on not in FAIL_ON:
            raise StepFailed(f"fail-on must be one of {', '.join(FAIL_ON)}, not {fail_on}")
        return cls(base, docs, golden, fail_on)


@dataclass(frozen=True)
class Comparison:
    """The tests that changed, and the links that only the checkout breaks."""

    better: Sequence[Change]
    worse: Sequence[Change]
    lost: Sequence[Change]
    same: int
    broken_links: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    report: str

    def fails(self, fail_on: str) -> bool:
        if fail_on == "worse":
            return bool(self.lost or self.worse or self.broken_links)
        return fail_on == "lost" and bool(self.lost)


def compare(inputs: Inputs, scratch: Path) -> Comparison:
    base, data = scratch / "base", scratch / "data"
    _check_out(inputs.base, base)
    golden = Path(inputs.golden).resolve()
    notes: list[str] = []
    baseline = scratch / "baseline.json"
    before: Mapping[str, Any] = {}
    known = [path for path in inputs.docs if (base / path).exists()]
    if known:
        before = _surefind(base, data, "ingest", *known, "--check-links")
        _surefind(base, data, "validate", str(golden), "--save-baseline", str(baseline))
    else:
        notes.append("The base has no documentation to compare with.")
    here = Path.cwd()
    after = _surefind(here, data, "ingest", *inputs.docs, "--check-links", "--allow-shrink")
    notes += [
        f"{_code(failed['source_path'])} can't be read: {_plain(failed['reason'])}"
        for failed in after["failures"]
    ]
    markdown = scratch / "report.md"
    options = ["--markdown", str(markdown)]
    if baseline.exists():
        options += ["--baseline", str(baseline)]
    report = _surefind(here, data, "validate", str(golden), *options)
    changes: Mapping[str, Any] = report["comparison"] or {}
    lost = changes.get("became_stale", ())
    names = {one["test_id"] for one in lost}
    return Comparison(
        better=changes.get("better", ()),
        worse=[one for one in changes.get("worse", ()) if one["test_id"] not in names],
        lost=lost,
        same=changes.get("same", 0),
        broken_links=_new_links(before, after),
        notes=notes,
        report=markdown.read_text("utf-8"),
    )


def _check_out(commit: str, folder: Path) -> None:
    """A second working tree. A shallow clone gets the commit first."""
    if _git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        fetched = _git("fetch", "--quiet", "--depth=1", "origin", commit)
        if fetched.returncode:
            raise StepFailed(
                f"the base {commit} is not in this clone and can't be fetched; set fetch-depth: 0 "
                f"in actions/checkout: {fetched.stderr.strip()}"
            )
    added = _git("worktree", "add", "--force", "--detach", str(folder), commit)
    if added.returncode:
        raise StepFailed(f"can't check out the base {commit}: {added.stderr.strip()}")


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)


def _surefind(folder: Path, data: Path, *arguments: str) -> dict[str, Any]:
    """The JSON of a command that runs in a folder."""
    command = ["surefind", *arguments, "--json", "--data-dir", str(data)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode not in _USABLE or not done.stdout:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise StepFailed(
            f"surefind {arguments[0]} failed in {folder.name} ({done.returncode}): {reason}"
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _new_links(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Mapping[str, str]]:
    known = {(one["source_path"], one["link"]) for one in before.get("broken_links") or ()}
    links = after.get("broken_links") or ()
    return [one for one in links if (one["source_path"], one["link"]) not in known]


# --- the report -----------------------------------------------------------------------------------


def comment(found: Comparison) -> str:
    parts = [
        MARKER,
        f"## Documentation search: {_headline(found)}",
        "",
        *(f"{note}\n" for note in found.notes),
        *_listed("Lost their answers", map(_question, found.lost)),
        *_listed("Got worse", map(_question, found.worse)),
        *_listed("Got better", map(_question, found.better)),
        *_listed("Links that this change breaks", map(_link, found.broken_links)),
    ]
    text = "\n".join(parts).rstrip() + "\n"
    folded = f"\n<details><summary>Full report</summary>\n\n{found.report}\n</details>\n"
    if len(text) + len(folded) > _MAX_COMMENT:
        folded = "\nThe full report is in the summary of the job.\n"
    return text[:_MAX_COMMENT] + folded


def _headline(found: Comparison) -> str:
    counts = [
        (len(found.lost), "lost", "❌"),
        (len(found.worse), "worse", "❌"),
        (len(found.broken_links), "broken links", "❌"),
        (len(found.better), "better", "✅"),
    ]
    shown = [f"{number} {name}" for number, name, _ in counts if number]
    mark = next((mark for number, _, mark in counts if number), "✅")
    return f"{mark} {', '.join(shown) or 'no change'} ({found.same} the same)"


def _listed(title: str, lines: Iterable[str]) -> Iterable[str]:
    every = list(lines)
    if every:
        yield f"### {title}\n"
        yield from (f"- {line}" for line in every[:_SHOWN])
        if len(every) > _SHOWN:
            yield f"- and {len(every) - _SHOWN} more"
        yield ""


def _question(change: Change) -> str:
    values = [change["value_before"], change["value_after"]]
    moved = "" if None in values else f", {values[0]:.2f} → {values[1]:.2f}"
    outcomes = f"{change['before']} → {change['after']}"
    return f"{_plain(change['query_text'])} ({_plain(change['test_id'])}: {outcomes}{moved})"


def _link(broken: Mapping[str, str]) -> str:
    reason = _plain(broken["reason"])
    return f"{_code(broken['source_path'])}: {_code(broken['link'])}, {reason}"


def _plain(text: str) -> str:
    """One line without Markdown, and without mentions, which would notify people."""
    short = " ".join(text.split())[:_MAX_QUESTION]
    return _SPECIAL.sub(r"\\\1", short).replace("@", "&#64;")


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', ' ').split())[:_MAX_QUESTION]}`"


def main(environment: Mapping[str, str]) -> int:
    scratch = Path(tempfile.mkdtemp(prefix="surefind-", dir=environment["RUNNER_TEMP"]))
    try:
        inputs = Inputs.of(environment)
        found = compare(inputs, scratch)
    except StepFailed as error:
        line = str(error).replace("%", "%25").replace("\r", "").replace("\n", "%0A")
        sys.stdout.write(f"::error title=surefind::{line}\n")
        return 1
    finally:
        _git("worktree", "remove", "--force", str(scratch / "base"))
    body = scratch / "comment.md"
    body.write_text(comment(found), "utf-8")
    outputs = {
        "comment": body,
        "better": len(found.better),
        "worse": len(found.worse),
        "lost": len(found.lost),
        "broken-links": len(found.broken_links),
    }
    with Path(environment["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as stream:
        stream.writelines(f"{name}={value}\n" for name, value in outputs.items())
    with Path(environment["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as stream:
        stream.write(f"{comment(found).partition('<details>')[0]}\n{found.report}")
    return int(found.fails(inputs.fail_on))


if __name__ == "__main__":
    sys.exit(main(os.environ))
