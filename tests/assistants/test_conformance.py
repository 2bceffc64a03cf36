"""The protocol's official conformance tests: every scenario for servers, of two versions.

Many scenarios call tools, prompts and resources that a server has only to be tested, such as
`test_image_content`. `EXPECTED` lists each check that surefind fails for such a reason. A check
that fails besides these, or no longer fails, fails here.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from .conftest import PROGRAMS, PROJECT, program

SUITE = PROJECT / ".venv-assistants/conformance/node_modules/@modelcontextprotocol/conformance"

REASONS = {
    "calls a tool that only servers under test have": [
        "json-schema-2020-12-tool-found",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-image",
        "tools-call-mixed-content",
        "tools-call-with-progress",
    ],
    "gets a prompt that only servers under test have": [
        "prompts-get-embedded-resource",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-with-image",
    ],
    "reads a resource that only servers under test have": [
        "resources-read-binary",
        "resources-read-text",
        "resources-templates-read",
    ],
    "needs a tool that asks the user or a model, which surefind's tools never do": [
        "elicitation-sep1034-general",
        "elicitation-sep1330-general",
        "sep-2322-elicitation-incomplete",
        "sep-2322-list-roots-incomplete",
        "sep-2322-multi-round-r1",
        "sep-2322-multiple-inputs-incomplete",
        "sep-2322-non-tool-incomplete",
        "sep-2322-reject-tampered-state",
        "sep-2322-request-state-incomplete",
        "sep-2322-respect-client-capabilities",
        "sep-2322-result-type-included",
        "sep-2322-sampling-incomplete",
        "sep-2575-missing-capability-http-400",
        "sep-2575-server-rejects-undeclared-capability",
        "tools-call-elicitation",
        "tools-call-sampling",
    ],
    "needs a tool with arguments in HTTP headers, which surefind's tools do not have": [
        "sep-2243-server-decode-base64",
        "sep-2243-server-no-xmcp-tool",
        "sep-2243-server-reject-invalid-param-chars",
        "sep-2243-server-reject-param-mismatch",
        "sep-2243-server-validate-param-match",
    ],
    "needs log messages for clients, which surefind does not offer": [
        "logging-set-level",
        "tools-call-with-logging",
    ],
    "needs subscriptions, which surefind does not offer": [
        "resources-subscribe",
        "resources-unsubscribe",
    ],
}
EXPECTED = {check: reason for reason, checks in REASONS.items() for check in checks}
SCENARIOS = {"2025-11-25": 30, "2026-07-28": 38}


def checks_of(address: str, version: str, folder: Path) -> dict[str, dict[str, str]]:
    """The status of each check, by scenario."""
    entry = SUITE / "dist/index.js"
    assert entry.exists(), f"{entry} does not exist: run `make assistants`, which installs it"
    done = subprocess.run(
        [
            program("node"),
            entry,
            "server",
            *("--url", f"{address}/mcp"),
            *("--suite", "all"),
            *("--spec-version", version),
            *("--output-dir", folder),
        ],
        env={**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    found = {
        path.parent.name: {one["id"]: one["status"] for one in json.loads(path.read_text())}
        for path in folder.rglob("checks.json")
    }
    assert len(found) >= SCENARIOS[version], done.stdout[-4000:] + done.stderr[-4000:]
    return found


@pytest.mark.parametrize("version", sorted(SCENARIOS))
def test_only_what_surefind_does_not_offer_fails(
    version: str, open_server: str, tmp_path: Path
) -> None:
    found = checks_of(open_server, version, tmp_path)
    statuses = {check: status for checks in found.values() for check, status in checks.items()}
    failed = {check for check, status in statuses.items() if status == "FAILURE"}
    assert failed == {check for check in EXPECTED if check in statuses}
    passed = {check for check, status in statuses.items() if status == "SUCCESS"}
    assert {"tools-list", "resources-list", "prompts-list", "completion-complete"} <= passed
    if version == "2025-11-25":
        assert {"server-initialize", "ping"} <= passed
    else:
        assert len([check for check in passed if check.startswith("sep-2575")]) > 15
