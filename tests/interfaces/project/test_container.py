"""The container's files, as far as they can be tried without a container."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from support.commands import serving
from surefind.settings import Settings

PROJECT = Path(__file__).parents[3]
DOCKERFILE = (PROJECT / "Dockerfile").read_text().replace("\\\n", " ")


def instructions(name: str) -> list[str]:
    return re.findall(rf"^\s*{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored = (PROJECT / ".dockerignore").read_text().splitlines()
    for line in instructions("COPY"):
        if "--from" not in line:
            *sources, _ = shlex.split(line)
            for source in sources:
                assert (PROJECT / source).exists(), source
                assert f"!{source.split('/')[0]}" in ignored, source
    assert "*" in ignored, "what is not named stays out of the image, .env and .surefind too"


def test_the_server_runs_without_rights_and_gets_its_signals() -> None:
    assert instructions("USER") == ["10001"]
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["surefind"]
    assert json.loads(instructions("CMD")[0]) == ["serve"]


def test_the_image_has_what_the_stores_of_the_compose_file_need() -> None:
    [copied] = [line for line in instructions("COPY") if "requirements/" in line]
    installed = "".join(
        (PROJECT / source).read_text() for source in shlex.split(copied)[:-1] if ".txt" in source
    )
    compose = (PROJECT / "compose.yaml").read_text()
    for setting, package in (("QDRANT_URL", "qdrant-client"), ("DATABASE_URL", "psycopg")):
        assert setting in compose
        assert f"\n{package}==" in installed


def test_every_setting_in_the_container_files_is_one() -> None:
    compose = (PROJECT / "compose.yaml").read_text()
    known = {f"SUREFIND_{name.upper()}" for name in Settings.model_fields}
    named = set(re.findall(r"SUREFIND_[A-Z_]+", DOCKERFILE + compose))
    assert named
    assert named <= known


def test_the_health_check_fails_without_a_server(tmp_path: Path) -> None:
    command = DOCKERFILE[DOCKERFILE.index("HEALTHCHECK") :].split("CMD ", 1)[1].splitlines()[0]
    _, *arguments = json.loads(command)

    def check(port: str) -> int:
        environment = {**os.environ, "PORT": port}
        return subprocess.run(
            [sys.executable, *arguments], env=environment, check=False, capture_output=True
        ).returncode

    with serving(cwd=tmp_path) as (address, _):
        port = address.rpartition(":")[2]
        assert check(port) == 0
    assert check(port) != 0


def test_compose_publishes_an_open_server_on_loopback_only() -> None:
    services = yaml.safe_load((PROJECT / "compose.yaml").read_text())["services"]
    assert set(services) == {"api", "qdrant", "postgres"}
    assert services["api"]["environment"]["SUREFIND_ALLOW_OPEN"] == "true"
    assert all(port.startswith("127.0.0.1:") for port in services["api"]["ports"])
    for store in ("qdrant", "postgres"):
        assert "ports" not in services[store]
        assert services[store]["profiles"] == ["stores"]
