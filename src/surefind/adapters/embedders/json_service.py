"""A model service that answers JSON to a `POST` of JSON, for embeddings as for reranking."""

from urllib.parse import urlsplit

import httpx2

from surefind.adapters.embedders.remote import sendable_key
from surefind.adapters.remote_calls import AttemptFailed, retry_after_s

BATCH_SIZE = 32
"""The default limit of Text Embeddings Inference."""
_LONGEST_REASON = 300


class JsonService:
    """`key_setting` names the setting of the API key in messages."""

    def __init__(self, url: str, api_key: str | None, key_setting: str, timeout_s: float) -> None:
        self.url = url
        self._api_key = sendable_key(api_key, key_setting) if api_key else None
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        self._http = httpx2.AsyncClient(timeout=timeout_s, headers=headers)

    async def post(self, body: dict[str, object]) -> object:
        """The answer, or None if it is not JSON; AttemptFailed without a successful one."""
        try:
            answer = await self._http.post(self.url, json=body)
        except httpx2.TimeoutException as error:
            raise AttemptFailed("no answer in time") from error
        except httpx2.HTTPError as error:
            raise AttemptFailed(f"the connection failed ({type(error).__name__})") from error
        if answer.status_code != 200:
            raise AttemptFailed(
                f"{answer.status_code} {self._reason(answer)}".strip(),
                answer.status_code,
                retry_after_s(answer.headers.get("retry-after")),
            )
        return _json(answer)

    async def close(self) -> None:
        await self._http.aclose()

    def _reason(self, answer: httpx2.Response) -> str:
        message = _json(answer) or answer.text
        for name in ("error", "message"):  # {"error": {"message": …}}, or either of the two
            message = message.get(name, message) if isinstance(message, dict) else message
        text = " ".join(str(message).split())[:_LONGEST_REASON]
        return text.replace(self._api_key, "…") if self._api_key else text


def with_path(url: str, path: str) -> str:
    """The URL with this path at its end, which it may have already."""
    base = url.rstrip("/")
    return base if base.endswith(path) else base + path


def host_of(url: str) -> str:
    """The host and port, without a password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _json(answer: httpx2.Response) -> object:
    try:
        content: object = answer.json()
    except ValueError:
        return None
    return content
