"""Downloads models: short timeouts, and a file appears only when it is complete and verified."""

import hashlib
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO

HUB = "https://huggingface.co"
HUB_TIMEOUT_S = 4.0
"""For connecting and for each read: a closed network must not keep anyone waiting."""
_BLOCK_BYTES = 2**20


class WrongFile(Exception):  # noqa: N818 - the name states what happened
    """A source returned a file other than the expected one."""


DOWNLOAD_ERRORS = (OSError, ValueError, HTTPException, WrongFile)


@contextmanager
def opened(url: str) -> Iterator[IO[bytes]]:
    """The body at an http or https address."""
    request = urllib.request.Request(url)  # noqa: S310 - callers pass addresses of settings, which are http
    with urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S) as response:  # noqa: S310
        yield response


def keep(stream: IO[bytes], target: Path, max_bytes: int, sha256: str | None) -> str:
    """Move the stream into place as a file, and return its SHA-256.

    WrongFile if it is larger than `max_bytes` or has another hash than `sha256`.
    """
    digest, size = hashlib.sha256(), 0
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            while block := stream.read(_BLOCK_BYTES):
                size += len(block)
                if size > max_bytes:
                    raise WrongFile(f"{target.name} is larger than expected")
                digest.update(block)
                file.write(block)
        if sha256 is not None and digest.hexdigest() != sha256:
            raise WrongFile(f"{target.name} has an unexpected SHA-256")
        Path(name).chmod(0o644)
        shutil.move(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    return digest.hexdigest()


def sha256_of(path: Path) -> str | None:
    """None if the file can't be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def short(error: BaseException) -> str:
    """The reason in one line."""
    lines = str(getattr(error, "reason", None) or error).splitlines()
    return (lines[0] if lines else type(error).__name__)[:160]
