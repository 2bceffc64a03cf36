"""Past validation runs of a collection or of targets, a file each, in the data folder.

    DATA/collections/NAME/runs/20260102T030405.678901Z-RUN.json
    DATA/targets/runs/20260102T030405.678901Z-RUN.json

Names start with the time, so they sort by time. Each run writes its own file, and files never
change, so concurrent runs do not conflict.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from surefind.adapters.files.data_folder import DataFolder, storing, write_atomically
from surefind.errors import StoreError
from surefind.evaluation.report.past_runs import PastRun

KEPT = 200
MAX_BYTES = 2**20
_NAME = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-z-]{1,64}\.json")


@cache
def _adapter() -> TypeAdapter[PastRun]:
    return TypeAdapter(PastRun)


class RunFiles:
    def __init__(self, folder: DataFolder, kept: int = KEPT) -> None:
        self._folder = folder
        self._kept = kept

    async def keep(self, run: PastRun) -> None:
        await asyncio.to_thread(self._keep, run)

    async def runs(self, collection: str) -> tuple[Sequence[PastRun], Sequence[str]]:
        """Oldest first, with notes on damaged files. An empty name means the runs on targets."""
        return await asyncio.to_thread(self._runs, collection)

    def _keep(self, run: PastRun) -> None:
        folder = self._of(run.collection)
        if self._folder.read_only:
            raise StoreError(f"{folder} can't be written; use another --data-dir")
        self._folder.prepare()
        identity = re.sub(r"[^0-9a-z-]", "-", run.run_id.casefold())[:64]
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{run.started_at:%Y%m%dT%H%M%S.%f}Z-{identity}.json"
            write_atomically(path, _adapter().dump_json(run, indent=1).decode() + "\n")
            for old in self._paths(folder)[: -self._kept]:
                old.unlink(missing_ok=True)  # another run may have removed it

    def _runs(self, collection: str) -> tuple[Sequence[PastRun], Sequence[str]]:
        folder = self._of(collection)
        runs: list[PastRun] = []
        damaged: list[str] = []
        with storing(folder):
            for path in self._paths(folder):
                with suppress(FileNotFoundError):  # just removed as the oldest
                    read = _read(path)
                    if isinstance(read, PastRun):
                        runs.append(read)
                    else:
                        damaged.append(f"{path}: {read}")
        return runs, damaged

    def _of(self, collection: str) -> Path:
        if not collection:
            return self._folder.root / "targets" / "runs"
        return self._folder.collection(collection) / "runs"

    def _paths(self, folder: Path) -> list[Path]:
        """Run files, oldest first; other files are ignored."""
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def _read(path: Path) -> PastRun | str:
    """The run, or the reason why it can't be read."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return "it is too large for a run"
        return _adapter().validate_json(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        return error.strerror or str(error)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}" if where else str(first["msg"])
