"""Distinguishes OpenAPI documents from other files in JSON and YAML, without parsing them."""

import re

_YAML = re.compile(
    rb"^(?:\xef\xbb\xbf)?[\"']?openapi[\"']?[ \t]*:[ \t]*[\"']?3\.[0-9]", re.MULTILINE
)
_JSON = re.compile(rb"\"openapi\"\s*:\s*\"3\.[0-9]")
_JSON_TOKEN = re.compile(rb"\"(?:[^\"\\]|\\.)*+\"?|[{}\[\]]", re.DOTALL)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def is_openapi(content: bytes, suffix: str) -> bool:
    """Whether a document declares OpenAPI 3 at its top level.

    >>> is_openapi(b"openapi: 3.1.0", ".yaml")
    True
    """
    if suffix == ".json" or _JSON_START.match(content):
        return _JSON.search(content) is not None and _is_at_top(content)
    return _YAML.search(content) is not None


def _is_at_top(content: bytes) -> bool:
    depth = 0
    for token in _JSON_TOKEN.finditer(content):
        sign = content[token.start()]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and token[0] == b'"openapi"' and _JSON.match(content, token.start()):
            return True
    return False
