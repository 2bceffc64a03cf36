"""Keys: making and revoking them, and knowing one when it is shown.

A key is 256 bits of chance, so nobody finds it from its digest by trying, however fast the hash
is. A slow hash, which passwords need, would only make each request slow.
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
        """The key and its secret, which nobody can ever read again."""
        if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable() or not name.strip():
            raise InputError(
                f"name: {name!r} will not do: use 1 to {MAX_NAME_LENGTH} printable characters"
            )
        identity = secrets.token_hex(4)
        secret = f"{_PREFIX}_{identity}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        key = ApiKey(identity, name, scope, self._now(), _digest(secret))

        def add(keys: Sequence[ApiKey]) -> Sequence[ApiKey]:
            if any(known.name == name for known in keys):
                raise InputError(f"name: there is a key {name!r} already; take another name")
            return [*keys, key]

        await self._store.change(add)
        return key, secret

    async def revoke(self, which: str) -> ApiKey:
        """By its name or its id. Servers that run refuse it from their next request on."""
        revoked: list[ApiKey] = []

        def remove(keys: Sequence[ApiKey]) -> Sequence[ApiKey]:
            revoked[:] = [key for key in keys if which in (key.name, key.id)][:1]
            if not revoked:
                raise InputError(f"there is no key {which!r}; `surefind keys list` shows them all")
            return [key for key in keys if key is not revoked[0]]

        await self._store.change(remove)
        return revoked[0]


class Keyring:
    """The keys as a server sees them: read again whenever they have changed."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._keys: Sequence[ApiKey] = ()
        self._token: object = None
        self._closed = False

    def close_for_good(self) -> None:
        """Ask for keys from now on, also while there are none."""
        self._closed = True

    async def wanted(self) -> bool:
        """Whether a key is needed. Once there was one, taking it away opens nothing."""
        await self._refresh()
        self._closed = self._closed or bool(self._keys)
        return self._closed

    async def find(self, secret: str) -> ApiKey | None:
        await self._refresh()
        digest = _digest(secret)
        found = None
        # All of them, each in constant time: how long it takes says nothing about any key.
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
