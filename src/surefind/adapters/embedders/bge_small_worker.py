"""A process that embeds questions: groups come in by one pipe, vectors go out by another.

A group is the length of its JSON, then a list of texts. The answer is the number of texts, then for
each its milliseconds and its vector, as 32-bit floats. Before the first, an empty answer says that
the model is loaded. Where anything fails the process ends, and so it does at the end of its input,
which also comes when whoever started it was killed.
"""

import json
import os
import signal
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from surefind.adapters.embedders.model_files import DIMENSIONS
from surefind.ports import EmbeddedQuery

LENGTH = struct.Struct("<I")
ROW_BYTES = 4 * (1 + DIMENSIONS)


def group(queries: Sequence[str]) -> bytes:
    told = json.dumps(list(queries)).encode()
    return LENGTH.pack(len(told)) + told


def answer(embedded: Sequence[EmbeddedQuery]) -> bytes:
    rows = [np.append(np.float32(one.took_ms), one.vector) for one in embedded]
    return LENGTH.pack(len(rows)) + b"".join(row.astype("<f4").tobytes() for row in rows)


def read_rows(told: bytes) -> list[EmbeddedQuery]:
    rows = np.frombuffer(told, dtype="<f4").reshape(-1, 1 + DIMENSIONS)
    return [EmbeddedQuery(row[1:].astype(np.float32), float(row[0])) for row in rows]


def serve(folder: Path, asked: BinaryIO, told: BinaryIO) -> None:
    from surefind.adapters.embedders.bge_small_model import BgeSmallModel  # noqa: PLC0415 - only here

    model = BgeSmallModel(folder)
    told.write(answer(()))
    told.flush()
    while length := asked.read(LENGTH.size):
        queries = json.loads(asked.read(*LENGTH.unpack(length)))
        told.write(answer(model.embed_each(queries)))
        told.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for who started us
    # What any library prints must not get among the vectors.
    told = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(Path(sys.argv[1]), sys.stdin.buffer, told)


if __name__ == "__main__":
    main()
