"""A model's folder in the layout of sentence-transformers: which files it has, and their hashes.

Only data is read: JSON, the tokenizer, tensors in safetensors files, and ONNX.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from surefind.adapters.onnx.downloads import sha256_of
from surefind.errors import InputError

TOKENIZER = "tokenizer.json"
MODULES = "modules.json"
RECORD = "surefind-model.json"
"""Written by a download: the model's name, its revision, and the hashes of its files."""
USUAL_WEIGHTS = ("onnx/model.onnx", "model.onnx")
_MAX_JSON_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """The settings that name a model and its ONNX file, for messages."""

    model: str
    file: str


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """`weights` is the path of the ONNX file in the folder."""

    path: Path
    name: str
    weights: str
    setting: ModelSetting

    @property
    def weights_path(self) -> Path:
        return self.path / self.weights

    @property
    def advice(self) -> str:
        """The next step if this ONNX file can't be used."""
        others = [file for file in onnx_files(self.path) if file != self.weights]
        if others:
            return f"set {self.setting.file} to another one of its files: {', '.join(others)}"
        return f"set {self.setting.model} to another model; `surefind model list` recommends some"

    def mapping(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if there is no such file."""
        value = self._json(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise InputError(f"{self.path / name} must be a JSON object; download the model again")
        return value

    def items(self, name: str) -> list[dict[str, Any]] | None:
        """The objects of a list in a JSON file; None if there is no such file."""
        value = self._json(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise InputError(
                f"{self.path / name} must be a JSON list of objects; download the model again"
            )
        return value

    def hashes(self, names: Iterable[str]) -> dict[str, str]:
        """The SHA-256 of files in the folder; InputError if one differs from the download."""
        recorded = self.mapping(RECORD).get("files", {})
        hashes = {}
        for name in names:
            digest = sha256_of(self.path / name)
            if digest is None:
                raise InputError(f"{self.path / name} can't be read; check that the file exists")
            if recorded.get(name, digest) != digest:
                raise InputError(
                    f"{self.path / name} differs from the file that was downloaded; run "
                    f"`surefind model fetch {self.name}` to download it again"
                )
            hashes[name] = digest
        return hashes

    @property
    def weights_files(self) -> list[str]:
        """The ONNX file and the files that hold its external weights."""
        return [self.weights, *external_data(self.weights, files_of(self.path))]

    def _json(self, name: str) -> object:
        path = self.path / name
        try:
            if path.stat().st_size > _MAX_JSON_BYTES:
                raise InputError(f"{path} is too large for a configuration; download it again")
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} is not valid JSON ({error}); download it again") from error


def open_folder(path: Path, weights: str | None, setting: ModelSetting) -> ModelFolder:
    """Check that the files are there; InputError names a missing one."""
    if not path.is_dir():
        raise InputError(f"{setting.model} {path} is not a folder; give a folder with a model")
    chosen = chosen_weights(files_of(path), weights, str(path), setting)
    if not (path / TOKENIZER).is_file():
        raise InputError(
            f"{path} has no {TOKENIZER}, which other tokenizer files can't replace; download it "
            "with the model"
        )
    folder = ModelFolder(path, path.resolve().name, chosen, setting)
    recorded = folder.mapping(RECORD).get("model")
    name = recorded if isinstance(recorded, str) else folder.name
    return ModelFolder(path, name, chosen, setting)


def chosen_weights(
    files: Sequence[str], wanted: str | None, where: str, setting: ModelSetting
) -> str:
    """The wanted ONNX file, the usual one, or the only one."""
    found = sorted(file for file in files if file.endswith(".onnx"))
    if wanted is not None:
        if wanted in found:
            return wanted
        known = ", ".join(found) or "none"
        raise InputError(f"{where} has no {wanted}; set {setting.file} to one of: {known}")
    for usual in USUAL_WEIGHTS:
        if usual in found:
            return usual
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{where} has several; set {setting.file} to one of: {', '.join(found)}")
    raise InputError(
        f"{where} has no .onnx file; choose a model that is published as ONNX, or export it"
    )


def external_data(weights: str, files: Iterable[str]) -> list[str]:
    """The files beside an ONNX file that are named after it, which is how exporters name them."""
    stem = weights.removesuffix(".onnx")
    starts = (f"{weights}_data", f"{weights}.data", f"{stem}.data")
    return sorted(file for file in files if file.startswith(starts))


def files_of(path: Path) -> list[str]:
    """The files in a folder and in the folders directly in it, as `onnx/model.onnx`."""
    found = [*path.glob("*"), *path.glob("*/*")]
    return sorted(one.relative_to(path).as_posix() for one in found if one.is_file())


def onnx_files(path: Path) -> list[str]:
    return [file for file in files_of(path) if file.endswith(".onnx")]


def is_inside(name: str) -> bool:
    """Whether a relative path stays inside its folder."""
    parts = PurePosixPath(name).parts
    return not name.startswith("/") and ".." not in parts and "\\" not in name and "\0" not in name


def digest_of(recipe: object) -> str:
    """One hash for everything that determines a model's vectors."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
