"""Ends a command at its n-th operation on files, or fills its disk then: what `shim.c` does.

A library in front of libc sees what Python, SQLite and the Rust engine do alike, counts over all
threads of a process, costs next to nothing, and needs no rights but a C compiler. `strace` counts
each thread for itself and is not allowed everywhere; Python's audit hooks see Python only.
"""

import struct
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")


@dataclass(frozen=True, slots=True)
class Shim:
    library: Path
    _count: Path

    @classmethod
    def compiled(cls, folder: Path) -> "Shim":
        library = folder / "shim.so"
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        options = ("-O2", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl")
        subprocess.run([compiler, *options], check=True)
        return cls(library, folder / "count")

    def environment(
        self, under: Path, *, kill_at: int | None = None, full_at: int | None = None
    ) -> dict[str, str]:
        """What a command is to be given; its count begins here."""
        self._count.write_bytes(struct.pack("q", 0))
        numbers = {"DRILL_KILL_AT": kill_at, "DRILL_FULL_AT": full_at}
        return {
            "DRILL_UNDER": str(under),
            "DRILL_SOCKETS": "1",
            "DRILL_COUNT": str(self._count),
            **{name: str(number) for name, number in numbers.items() if number is not None},
        }

    def operations(self) -> int:
        """How many the last command has come to."""
        return int(struct.unpack("q", self._count.read_bytes())[0])
