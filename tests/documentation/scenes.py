"""What the examples of each page start from, and which can't be run here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

INGESTED = "surefind ingest handbook"
FIRST_GOLDEN_FILE = "first-golden-file"
"""A command of a session: writes the golden.yaml of docs/validation.md."""
FRESH_SERVER = ""
"""Every script ends the server, so that the next one has an empty answer cache."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Examples run in order in one folder, which holds the handbook of the tutorial.

    `start` is a script for bash that runs before the first example, and `before` has scripts that
    run before the examples below a heading. `implied` names the commands behind blocks that show
    only output, by how it begins. `varying` matches more that differs in every run, and `unshown`
    lines that pages leave out.
    """

    start: str = INGESTED
    before: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)
    varying: tuple[str, ...] = ()
    unshown: str = r"(?!)"
    width: int = 100


_ANEW = "new-handbook && surefind ingest handbook"
_GUIDE = """
mkdir -p handbook/guide
cat > handbook/guide/schedule.md <<'END'
# Schedule

The controller heats from six to ten.

## Weekend

It starts at eight.
END
cat > handbook/guide/wires.md <<'END'
# Loose wires

What if the wires are loose? Tighten both wires.
END
"""
_CONTRADICTIONS = """
rm -f golden.yaml
cat > golden.yaml <<'END'
top_k: 1
tests:
  - test_id: a
    query_text: How long do I press the button?
    expected_results:
      - {source_path: handbook/install.md, heading: First start}
  - test_id: b
    query_text: How long do I press the button?
    expect: none
    success_criteria: {min_similarity_score: 0.6}
  - test_id: c
    query_text: Who services the boiler?
    expected_results: [gone]
END
"""
_CUPS = """
new-handbook && rm handbook/*
mkdir handbook/guide
printf '# Tea\\n\\nSee [cups](guide/cups.md).\\n' > handbook/index.md
printf '# Cups\\n\\nNot [here](gone.md), and no [tea](../index.md#te).\\n' > handbook/guide/cups.md
"""
_KEYS = (r"\b[0-9a-f]{8}(?=, read|  read|\))", r"surefind_[0-9a-f]{8}_\w{3}…")

SCENES: dict[str, Scene] = {
    "README.md": Scene(
        start="new-docs",
        implied={"docs: generation 1 published in": "surefind ingest docs\nsurefind serve"},
        unshown=r"^surefind: embedding: .*\n",
        varying=(r"\b\d+(?= (?:added|in the catalog|in the index|embedded|chunks))",),
    ),
    "docs/tutorial.md": Scene(start=""),
    "docs/command-line.md": Scene(start=""),
    "docs/library.md": Scene(),
    "docs/providers.md": Scene(
        start="",
        before={
            "Estimate the cost of an ingest": "export SUREFIND_EMBEDDER=cohere COHERE_API_KEY=none",
            "Use an embedder of your own": "unset SUREFIND_EMBEDDER COHERE_API_KEY",
        },
    ),
    "docs/http-api.md": Scene(before={"POST /retrieve": FRESH_SERVER}),
    "docs/contracts.md": Scene(),
    "docs/settings.md": Scene(),
    "docs/commands/chunks.md": Scene(),
    "docs/commands/doctor.md": Scene(varying=(r"\b\d+\.\d+\.\d+\b", r"\d+(?= files)")),
    "docs/commands/export.md": Scene(start="surefind ingest handbook --collection handbook"),
    "docs/commands/import.md": Scene(
        start="""
            surefind ingest handbook --collection handbook
            surefind export handbook.surefind --collection handbook
        """,
        before={
            "Are damaged or untrusted files safe to import?": "damage-archive handbook.surefind"
        },
    ),
    "docs/commands/generations.md": Scene(
        start=f"{INGESTED}; echo 'It hums.' >> handbook/errors.md; {INGESTED}; "
        f"echo 'It clicks.' >> handbook/errors.md; {INGESTED}",
        before={
            "List the generations": f"{_ANEW}; {FIRST_GOLDEN_FILE}; {_GUIDE} "
            "surefind ingest handbook --gate golden.yaml || true",
            "See how a generation was made": f"new-handbook; {FIRST_GOLDEN_FILE}; "
            "passing-golden-file; surefind ingest handbook --gate golden.yaml",
            "Publish a generation that a gate held back": f"{_ANEW}; {FIRST_GOLDEN_FILE}; {_GUIDE} "
            "surefind ingest handbook --gate golden.yaml || true",
            "Free disk space": f"{_ANEW}; echo 'It hums.' >> handbook/errors.md; {INGESTED}; "
            f"echo 'It clicks.' >> handbook/errors.md; {INGESTED}",
            "When is a rollback refused?": _ANEW,
        },
    ),
    "docs/commands/drift.md": Scene(
        start=f"{INGESTED}; surefind validate || true; surefind validate || true"
    ),
    "docs/commands/gaps.md": Scene(
        start=f"{INGESTED}; echo 'query_log = true' > surefind.toml",
        before={"List the gaps": FRESH_SERVER},
    ),
    "docs/commands/golden.md": Scene(before={"Find mistakes in golden tests": _CONTRADICTIONS}),
    "docs/commands/ingest.md": Scene(
        start="",
        before={
            "Find broken links": _CUPS,
            "What happens when I run an ingest again?": f"{_ANEW}; "
            f"echo 'It hums.' >> handbook/errors.md; {INGESTED}",
            "What does the shrink guard do?": f"new-handbook; {_GUIDE} {INGESTED}; "
            "rm -r handbook/guide",
            "Hold back changes that make search worse": f"{_ANEW}; {FIRST_GOLDEN_FILE}; {_GUIDE}",
            "What happens to a page that can't be read?": f"{_ANEW}; {_GUIDE} {INGESTED}; "
            r"printf 'a\0b' > handbook/guide/schedule.md; echo 'It hums.' >> handbook/errors.md",
            "When do I need --rebuild?": _ANEW,
            "Get the ingest summary as JSON": _ANEW,
        },
    ),
    "docs/commands/inspect.md": Scene(),
    "docs/commands/keys.md": Scene(varying=_KEYS),
    "docs/commands/mcp.md": Scene(start=""),
    "docs/commands/query.md": Scene(width=80),
    "docs/commands/search.md": Scene(),
    "docs/commands/serve.md": Scene(
        before={"Serve several collections": "surefind ingest handbook --collection api"}
    ),
    "docs/commands/settings.md": Scene(),
    "docs/commands/compare.md": Scene(
        start=f"{INGESTED}; {FIRST_GOLDEN_FILE}",
        varying=(r"[\d.]+ / [\d.]+ ms", r"latency of B: .*", "─+"),
    ),
    "docs/commands/validate.md": Scene(
        start=f"{INGESTED}; {FIRST_GOLDEN_FILE}",
        varying=(r"p50 [\d.]+ ms, p95 [\d.]+ ms, p99 [\d.]+ ms",),
    ),
}
"""By the path of the page in the project."""

OF_INTEGRATIONS: dict[str, Scene] = {"docs/integrations.md": Scene()}
"""Pages whose programs need the frameworks in `.venv-integrations`."""

NOT_RUN: dict[str, str] = {
    "docs/mcp.md": "an installation in a folder that readers know",
    "docs/connect.md": "a Qdrant server with a collection of another tool",
    "docs/commands/audit.md": "a Qdrant server with a collection of another tool",
    "docs/commands/connect.md": "a Qdrant server with a collection of another tool",
    "docs/commands/promote.md": "a Qdrant server and a PostgreSQL server",
    "docs/commands/catalog.md": "a PostgreSQL server",
    "docs/commands/model.md": "a network without the Hugging Face hub",
}
"""Pages with commands, and what these need."""

PYTHON_NOT_RUN = "# not run"
"""In a program that needs a website."""
