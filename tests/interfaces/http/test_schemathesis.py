"""Schemathesis asks the whole API what its OpenAPI document allows, and what it does not.

Whatever the document allows is answered, or refused for a documented reason that lies in the
stores; whatever it forbids is refused. The seed and the number of examples are fixed, so a run
takes the same, short time and asks the same things everywhere.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import log_of, serving, surefind
from support.homes import copy_home

pytestmark = pytest.mark.thorough

COMMAND = Path(sys.executable).parent / "schemathesis"


def of_this_installation(document: Any, fields: Any) -> Any:
    """The document with what no document can say: the fields of the collection, that there is no
    reranker, that test ids differ from each other, and which filters can be combined.
    """
    describe_vector_stores(document)
    for model in document["components"]["schemas"].values():
        properties = model.get("properties", {})
        if "rerank" in properties:
            properties["rerank"] = {"const": False}
        if "test_id" in properties and model["title"] == "ExpectedQuery":
            del properties["test_id"]
        for example in model.get("examples", ()):
            for test in example.get("test_queries", ()):
                del test["test_id"]
        if "language" in properties:
            properties["language"] = {"enum": ["auto", "any", "en"]}
        if "where" in properties:
            properties["where"] |= {
                "properties": {field["name"]: condition_on(field["kinds"]) for field in fields},
                "additionalProperties": False,
            }
    return document


def describe_vector_stores(document: Any) -> None:
    """The collections that exist or don't, a field, and filters that can be combined."""
    for operation in (one for path in document["paths"].values() for one in path.values()):
        for parameter in operation.get("parameters", ()):
            if parameter["name"] == "vector_store_id":
                parameter["schema"] = {"enum": ["docs", "nope"]}
    models = document["components"]["schemas"]
    text = {"type": "string", "maxLength": 4000}
    listed = {"type": "array", "items": text, "minItems": 1, "maxItems": 256}
    models["ComparisonFilter"]["properties"] |= {
        "key": {"const": "title"},
        "type": {"enum": ["in", "nin"]},
        "value": {"anyOf": [text, listed]},
    }
    models["CompoundFilter"]["properties"] |= {
        "type": {"const": "and"},
        "filters": {**listed, "items": {"$ref": "#/components/schemas/ComparisonFilter"}},
    }
    models["CompoundFilter"]["properties"]["filters"]["maxItems"] = 32


def condition_on(kinds: list[str]) -> Any:
    if "number" in kinds:
        bounds = {name: {"type": "number"} for name in ("gte", "gt", "lte", "lt")}
        ranges = {"properties": bounds, "additionalProperties": False, "minProperties": 1}
        return {"anyOf": [{"type": "number"}, {"type": "object", **ranges}]}
    return {"type": "boolean"} if kinds == ["flag"] else {"type": "string", "maxLength": 4000}


def test_the_document_allows_what_is_answered_and_forbids_what_is_refused(
    ingested: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    copy_home(ingested, home)
    key = surefind("keys", "create", "--name", "x", "--scope", "admin", cwd=home).stdout.strip()
    with serving(cwd=home) as (address, process):
        with httpx2.Client(base_url=address, headers={"X-API-Key": key}, timeout=60) as client:
            document = client.get("/openapi.json").json()
            fields = client.get("/fields").json()["fields"]
        described = tmp_path / "openapi.json"
        described.write_text(json.dumps(of_this_installation(document, fields)))
        done = subprocess.run(
            [
                COMMAND, "run", described, "--url", address, "--header", f"X-API-Key: {key}",
                "--checks", "all", "--phases", "examples,coverage,fuzzing",
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
