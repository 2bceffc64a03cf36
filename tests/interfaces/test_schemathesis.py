"""Schemathesis asks the whole API what its OpenAPI document allows, and what it does not.

The seed and the number of examples are fixed, so a run takes the same, short time and asks the
same things everywhere.
"""

import subprocess
import sys
from pathlib import Path

from commands import log_of, serving, surefind
from homes import copy_home

COMMAND = Path(sys.executable).parent / "schemathesis"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance,unsupported_method"
)


def test_no_request_gets_a_500_or_an_answer_that_is_not_documented(
    ingested: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    copy_home(ingested, home)
    key = surefind("keys", "create", "--name", "x", "--scope", "admin", cwd=home).stdout.strip()
    with serving(cwd=home) as (address, process):
        done = subprocess.run(
            [
                COMMAND, "run", f"{address}/openapi.json", "--header", f"X-API-Key: {key}",
                "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
                "--max-examples", "8", "--seed", "1", "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert len(log_of(process)) > 300, "it must have asked something"
    assert key not in "".join(process.said)
