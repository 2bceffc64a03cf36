"""The server's API keys in a file of the data folder, readable by its owner only."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from surefind.adapters.files.data_folder import DataFolder, storing, write_atomically
from surefind.errors import StoreBusy, StoreError
from surefind.model import ApiKey, Scope

_OWNER_ONLY = 0o600
LOCK_TIMEOUT_S = 10.0


class KeyFile:
    def __init__(self, folder: DataFolder, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self._lock_timeout_s = lock_timeout_s
        self._folder = folder
        self._path = folder.root / "keys.json"

    async def token(self) -> object:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self._path, error) from error
        return (found.st_mtime_ns, found.st_ino, found.st_size)

    async def read(self) -> tuple[ApiKey, ...]:
        return await asyncio.to_thread(self._read)

    async def change(self, edit: Callable[[Sequence[ApiKey]], Sequence[ApiKey]]) -> None:
        await asyncio.to_thread(self._change, edit)

    def _read(self) -> tuple[ApiKey, ...]:
        try:
            rows = json.loads(self._path.read_text("utf-8"))["keys"]
            return tuple(
                ApiKey(
                    id=str(row["id"]),
                    name=str(row["name"]),
                    scope=Scope(row["scope"]),
                    created_at=datetime.fromisoformat(row["created_at"]),
                    digest=str(row["sha256"]),
                )
                for row in rows
            )
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            # Never treat it as empty: that would open the server to everyone.
            raise _unreadable(self._path, error) from error

    def _change(self, edit: Callable[[Sequence[ApiKey]], Sequence[ApiKey]]) -> None:
        self._folder.prepare()
        try:
            with (
                FileLock(self._path.with_suffix(".lock"), timeout=self._lock_timeout_s),
                storing(self._path),
            ):
                write_atomically(self._path, _written(edit(self._read())), _OWNER_ONLY)
        except Timeout as error:
            raise StoreBusy(
                f"another process is changing {self._path}; try again when it has finished"
            ) from error


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the keys in {path} can't be read ({error}); restore the file, or remove it and create "
        "new keys"
    )


def _written(keys: Sequence[ApiKey]) -> str:
    rows = [
        {
            "id": key.id,
            "name": key.name,
            "scope": key.scope.value,
            "created_at": key.created_at.isoformat(),
            "sha256": key.digest,
        }
        for key in keys
    ]
    return json.dumps({"keys": rows}, indent=2) + "\n"
