"""One call to a surefind server: bounded retries, and errors as the library raises them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TypeVar

import httpx2

from surefind import errors
from surefind.adapters.remote_calls import (
    AdaptiveLimiter,
    AttemptFailed,
    RetryPolicy,
    retry_after_s,
)
from surefind.errors import (
    InputError,
    Overloaded,
    StoreRefused,
    StoreUnreachable,
    SurefindError,
    VersionMismatch,
)
from surefind.interfaces.json_output.typed import (
    ERROR_HEADER,
    MEDIA_TYPE,
    VERSION_HEADER,
    load,
    own_version,
)
from surefind.interfaces.library.served.server_options import ServerOptions

T = TypeVar("T")

MAX_CONCURRENCY = 16
LONGEST_WAIT_S = 10.0
"""The longest Retry-After that a call waits for."""
_LONGEST_REASON = 500


class ServerCalls:
    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._server = f"the surefind server at {options.url}"
        headers = {"Accept": MEDIA_TYPE, "User-Agent": f"surefind/{own_version()}"}
        if options.key is not None:
            headers["Authorization"] = f"Bearer {options.key}"
        self._http = httpx2.AsyncClient(
            headers=headers, timeout=options.timeout_s, verify=options.trust
        )
        policy = RetryPolicy(
            options.retries + 1, 0.2, 2.0, LONGEST_WAIT_S, concurrency=MAX_CONCURRENCY
        )
        self._limiter = AdaptiveLimiter(self._server, policy, lambda _: None)

    async def get(self, kind: type[T], path: str, **parameters: object) -> T:
        """Parameters that are None are not sent."""
        sent = {name: str(value) for name, value in parameters.items() if value is not None}
        return await self._repeated(kind, "GET", path, params=sent)

    async def search(self, kind: type[T], path: str, body: Mapping[str, object]) -> T:
        return await self._repeated(kind, "POST", path, body=body)

    async def change(self, kind: type[T], path: str, body: Mapping[str, object]) -> T:
        """Send it once: a lost answer does not show whether the change was made."""
        try:
            return await self._attempt(kind, "POST", path, body=body)
        except AttemptFailed as failure:
            raise _cause(failure) from None

    async def close(self) -> None:
        await self._http.aclose()

    async def _repeated(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> T:
        try:
            return await self._limiter.call(
                lambda: self._attempt(kind, method, path, body=body, params=params)
            )
        except AttemptFailed as failure:
            raise _cause(failure) from None

    async def _attempt(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> T:
        url = self._options.url + path
        try:
            async with asyncio.timeout(self._options.timeout_s):
                answer = await self._http.request(method, url, json=body, params=params)
        except (TimeoutError, httpx2.TimeoutException):
            reason = f"no answer within {self._options.timeout_s:g} s"
            raise AttemptFailed(reason) from self._unreachable(reason)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise AttemptFailed(reason) from self._unreachable(reason)
        if answer.status_code == 200:
            return self._read(kind, answer)
        failure = self._error(answer)
        wait_s = retry_after_s(answer.headers.get("retry-after"))
        raise AttemptFailed(str(failure), answer.status_code, wait_s) from failure

    def _unreachable(self, reason: str) -> StoreUnreachable:
        return StoreUnreachable(
            f"can't reach {self._server}: {reason}; check the address, and that it is running"
        )

    def _read(self, kind: type[T], answer: httpx2.Response) -> T:
        content_type = answer.headers.get("content-type", "nothing").partition(";")[0]
        if content_type == MEDIA_TYPE:
            try:
                return load(answer.content, kind)
            except ValueError as error:
                raise VersionMismatch(
                    f"can't read the answer of {self._server}, which runs surefind "
                    f"{answer.headers.get(VERSION_HEADER, 'of an unknown version')}; this is "
                    f"surefind {own_version()}. Install the same version on both sides"
                ) from error
        if content_type == "application/json":
            raise VersionMismatch(
                f"{self._server} does not answer typed clients; upgrade it to surefind "
                f"{own_version()}, the version of this client"
            )
        raise StoreUnreachable(
            f"{self._options.url} answered with {content_type}, not as a surefind server; check "
            "the address, and whether a proxy or a login page answers instead"
        )

    def _error(self, answer: httpx2.Response) -> SurefindError:
        status = answer.status_code
        name, message = _described(answer)
        kind = _KINDS.get(answer.headers.get(ERROR_HEADER, ""))
        if kind is not None:
            error = kind(message)
        elif answer.is_redirect:
            return InputError(
                f"{self._server} redirects to {answer.headers.get('location')}; redirects are not "
                "followed, because they would send the key elsewhere. Connect to that address if "
                "you trust it"
            )
        elif status == 406:
            return VersionMismatch(message or f"{self._server} can't answer this client")
        elif status in {401, 403}:
            error = StoreRefused(f"{self._server} refused the request ({status}): {message}")
        elif status == 404 and name == "not_found":
            return VersionMismatch(
                f"{self._server} has no {answer.request.url.path}; upgrade it to surefind "
                f"{own_version()}, the version of this client"
            )
        elif status == 429 or (name and status == 503):
            error = Overloaded(f"{self._server} is busy: {message}")
        elif name and status < 500:
            error = InputError(message)
        else:
            error = StoreUnreachable(f"{self._server} failed ({status}): {message}")
        wait_s = retry_after_s(answer.headers.get("retry-after"))
        if wait_s is not None:
            error.retry_after_s = round(wait_s)
        return error


def _described(answer: httpx2.Response) -> tuple[str, str]:
    """(name, message) of an error; the name is empty if another server sent it."""
    try:
        body = answer.json()
        return str(body["error"]), str(body["message"])
    except (ValueError, KeyError, TypeError):
        return "", " ".join(answer.text.split())[:_LONGEST_REASON] or answer.reason_phrase


def _cause(failure: AttemptFailed) -> SurefindError:
    """The error that each failed attempt carries."""
    cause = failure.__cause__
    assert isinstance(cause, SurefindError)
    return cause


_KINDS: Mapping[str, type[SurefindError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, SurefindError)
}
