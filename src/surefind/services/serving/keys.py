"""Creates, revokes and verifies API keys.

A key has 256 random bits, so its digest is safe against guessing even with a fast hash. A slow
password hash would only slow down every request.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from surefind.errors import InputError
from surefind.model import ApiKey, Scope
from surefind.ports import KeyStore

MAX_NAME_LENGTH = 64
_PREFIX = "surefind"
_SECRET_BYTES = 32


class Keys:
    def __init__(
        self, store: KeyStore, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._now = now

    async def list(self) -> Sequence[ApiKey]:
        return await self._store.read()

    async def create(self, name: str, scope: Scope) -> tuple[ApiKey, str]:
        """The new key and its secret, which is not stored."""
        if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable() or not name.strip():
            raise InputError(
                f"name must be 1 to {MAX_NAME_LENGTH} printable characters, not {name!r}"
            )
        identity = secrets.token_hex(4)
        secret = f"{_PREFIX}_{identity}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        key = ApiKey(identity, name, scope, self._now(), _digest(secret))

        def add(keys: Sequence[ApiKey]) -> Sequence[ApiKey]:
            if any(known.name == name for known in keys):
                raise InputError(f"a key named {name!r} already exists; choose another name")
            return [*keys, key]

        await self._store.change(add)
        return key, secret

    async def revoke(self, name_or_id: str) -> ApiKey:
        """Revoke a key by name or ID. Running servers reject it from the next request on."""
        revoked: list[ApiKey] = []

        def remove(keys: Sequence[ApiKey]) -> Sequence[ApiKey]:
            revoked[:] = [key for key in keys if name_or_id in (key.name, key.id)][:1]
            if not revoked:
                raise InputError(
                    f"there is no key {name_or_id!r}; `surefind keys list` shows all keys"
                )
            return [key for key in keys if key is not revoked[0]]

        await self._store.change(remove)
        return revoked[0]


class Keyring:
    """The current keys of a server, reloaded when they change."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._keys: Sequence[ApiKey] = ()
        self._token: object = None
        self._always_required = False

    def always_require_key(self) -> None:
        """Require a key from now on, even if there are none."""
        self._always_required = True

    async def requires_key(self) -> bool:
        """Whether requests need a key. Revoking the last key does not lift the requirement."""
        await self._refresh()
        self._always_required = self._always_required or bool(self._keys)
        return self._always_required

    async def find(self, secret: str) -> ApiKey | None:
        await self._refresh()
        digest = _digest(secret)
        found = None
        # Compare with every key in constant time, so that timing reveals nothing.
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    async def _refresh(self) -> None:
        token = await self._store.token()
        if token != self._token:
            self._keys = await self._store.read()
            self._token = token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
