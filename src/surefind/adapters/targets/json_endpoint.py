"""Search endpoints that answer in JSON, and OpenAI's vector stores."""

import json
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2

from surefind.adapters.remote_calls import AttemptFailed, retry_after_s
from surefind.adapters.targets.templates import (
    expanded,
    expanded_headers,
    filled,
    filled_url,
    has_place,
)
from surefind.errors import InputError, TargetError, without_passwords
from surefind.model import (
    JsonValue,
    ResultMapping,
    Role,
    TargetQuery,
    TargetSpec,
    is_address,
)

MAX_BYTES = 16 * 2**20
_MAX_REDIRECTS = 5
_LONGEST_REASON = 200
_OPENAI_URL = "https://api.openai.com/v1"
_OPENAI_MOST_RESULTS = 50
_OPENAI_RESULTS = ResultMapping(
    items="data",
    keys={
        Role.URL: ("attributes.url",),
        Role.SOURCE_PATH: ("attributes.source_path", "filename"),
        Role.ID: ("attributes.chunk_id", "file_id"),
        Role.TITLE: ("attributes.title",),
        Role.SECTION: ("attributes.section",),
        Role.TEXT: ("content[].text",),
    },
    score="score",
)


class JsonEndpoint:
    """Sends GET if the URL has `{query}`, else POST with the body of the target."""

    is_timed = True

    def __init__(
        self, spec: TargetSpec, environment: Mapping[str, str], most_results: int | None = None
    ) -> None:
        if not is_address(spec.address.replace("{query}", "q").replace("{top_k}", "1")):
            raise InputError(f"{without_passwords(spec.address)} is not a valid URL")
        self._url = spec.address
        self._method = spec.method or ("GET" if "{query}" in spec.address else "POST")
        body = spec.body
        if body is None and self._method == "POST":
            body = {"query": "{query}", "top_k": "{top_k}"}
        if not has_place(body, "query") and "{query}" not in spec.address:
            raise InputError(
                f"{without_passwords(spec.address)}: the question is nowhere in the request; "
                "write {query} in the URL or in `body` of a target file"
            )
        self._body = expanded(body, environment)
        self.takes_limit = has_place(body, "top_k") or "{top_k}" in spec.address
        self._most_results = most_results
        self._http = httpx2.AsyncClient(
            timeout=spec.timeout_s,
            headers={"User-Agent": "surefind", "Accept": "application/json"}
            | expanded_headers(spec.headers, environment),
            follow_redirects=True,
            max_redirects=_MAX_REDIRECTS,
        )

    async def ask(self, query: TargetQuery) -> JsonValue:
        if self._most_results is not None and query.top_k > self._most_results:
            query = replace(query, top_k=self._most_results)
        body = filled(self._body, query)
        try:
            async with self._http.stream(
                self._method,
                filled_url(self._url, query),
                json=body if body is not None else None,
            ) as answer:
                content = await _content(answer)
        except httpx2.TimeoutException as error:
            raise AttemptFailed("no answer in time") from error
        except httpx2.HTTPError as error:
            raise AttemptFailed(f"the connection failed ({type(error).__name__})") from error
        if answer.status_code != 200:
            raise AttemptFailed(
                f"HTTP status {answer.status_code}{_reason(content)}",
                answer.status_code,
                retry_after_s(answer.headers.get("retry-after")),
            )
        try:
            value: JsonValue = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise TargetError(f"the answer is not JSON{_reason(content)}") from error
        return value

    async def close(self) -> None:
        await self._http.aclose()


async def _content(answer: httpx2.Response) -> bytes:
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > MAX_BYTES:
            raise TargetError(f"the answer has more than {MAX_BYTES:,} bytes")
    return bytes(content)


def _reason(content: bytes) -> str:
    text = " ".join(content[: 4 * _LONGEST_REASON].decode("utf-8", "replace").split())
    short = text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"
    return f": {short}" if short else ""


def openai_vector_store(spec: TargetSpec, environment: Mapping[str, str]) -> JsonEndpoint:
    """`openai:vs_123`, at OPENAI_BASE_URL or OpenAI itself, with OPENAI_API_KEY."""
    store = spec.address.removeprefix("openai:")
    if not store or "/" in store:
        raise InputError(f"{spec.address}: name a vector store, such as openai:vs_123")
    base = (environment.get("OPENAI_BASE_URL") or _OPENAI_URL).rstrip("/")
    if not urlsplit(base).netloc:
        raise InputError("OPENAI_BASE_URL must be a URL such as https://api.openai.com/v1")
    derived = replace(
        spec,
        address=f"{base}/vector_stores/{store}/search",
        name=spec.label,
        method="POST",
        headers={"Authorization": "Bearer ${OPENAI_API_KEY}", **spec.headers},
        body=spec.body or {"query": "{query}", "max_num_results": "{top_k}"},
    )
    return JsonEndpoint(derived, environment, _OPENAI_MOST_RESULTS)


def openai_results(spec: TargetSpec) -> TargetSpec:
    """The answers of vector stores have a known shape."""
    return spec if spec.results is not None else replace(spec, results=_OPENAI_RESULTS)
