"""The password of an address is in no output of any command."""

from pathlib import Path

import pytest

from support.commands import surefind

pytestmark = pytest.mark.thorough

SECRET = "s3cret"
URL = f"http://user:{SECRET}@127.0.0.1:1"


@pytest.mark.parametrize(
    ("setting", "value", "more"),
    [
        ("SUREFIND_BASE_URL", URL, {}),
        ("SUREFIND_EMBED_URL", URL, {"SUREFIND_EMBEDDER": "openai", "SUREFIND_EMBED_MODEL": "m"}),
        ("SUREFIND_RERANK_URL", URL, {"SUREFIND_RERANKER": "cohere", "COHERE_API_KEY": "k"}),
        ("SUREFIND_CORS_ORIGINS", URL, {}),
        ("SUREFIND_CORS_ORIGIN_REGEX", URL, {}),
        ("QDRANT_URL", URL, {}),
        ("DATABASE_URL", f"postgresql://user:{SECRET}@127.0.0.1:1/db", {}),
        ("DATABASE_URL", URL, {}),
    ],
)
def test_a_setting_with_a_password_is_masked(
    ingested: Path, setting: str, value: str, more: dict[str, str]
) -> None:
    for command in (["settings"], ["settings", "--json"], ["doctor"], ["search", "power"]):
        done = surefind(*command, cwd=ingested, **{setting: value}, **more)
        assert SECRET not in done.stdout + done.stderr
        if command == ["settings"]:
            shown = ("127.0.0.1:1", "**********", "must not contain a user name or password")
            assert any(text in done.stdout + done.stderr for text in shown)


@pytest.mark.parametrize(
    "command",
    [
        ("ingest", "--site", URL),
        ("ingest", "--site", f"ftp://user:{SECRET}@127.0.0.1:1"),
        ("ingest", "docs", "--base-url", URL),
        ("connect", "--url", URL, "--collection", "x"),
        ("ingest", URL),
        ("search", "--threshold", "2", URL),
    ],
)
def test_an_argument_with_a_password_is_masked(ingested: Path, command: tuple[str, ...]) -> None:
    done = surefind(*command, cwd=ingested)
    assert done.returncode != 0
    assert SECRET not in done.stdout + done.stderr
