"""Finds a model by folder or by its id on the Hugging Face hub, and downloads it once.

A download has the files that a model is read from, and a record of their hashes.
Nothing else is fetched from the hub, and nothing is executed.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from surefind.adapters.onnx.downloads import DOWNLOAD_ERRORS, HUB, keep, opened, sha256_of, short
from surefind.adapters.onnx.model_folder import (
    MODULES,
    RECORD,
    TOKENIZER,
    ModelSetting,
    chosen_weights,
    external_data,
    is_inside,
)
from surefind.errors import EmbeddingError, InputError, RerankingError
from surefind.ports import Notify

_ID = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w.-]+))?", re.ASCII)
_CONFIGS = (
    MODULES,
    "config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    TOKENIZER,
)
_MAX_LISTING_BYTES = 16 * 2**20
_MAX_FILE_BYTES = 16 * 2**30


@dataclass(frozen=True, slots=True)
class Hub:
    """Where models are downloaded from and kept. `failure` is raised if it is unavailable."""

    cache_dir: Path
    notify: Notify
    url: str = HUB
    failure: type[EmbeddingError | RerankingError] = EmbeddingError


@dataclass(frozen=True, slots=True)
class _Remote:
    """A file on the hub; `sha256` is None for small ones, whose hash the hub does not state."""

    path: str
    size: int
    sha256: str | None


def locate(model: str, file: str | None, hub: Hub, setting: ModelSetting) -> Path:
    """The folder of a model; a model of the hub is downloaded unless it is complete in the cache.

    `model` is a folder, or an id such as `intfloat/e5-small-v2`, with `@` and a revision if wanted.
    """
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return folder
    match = _ID.fullmatch(model)
    if match is None or model.startswith((".", "~")):
        raise InputError(
            f"{setting.model} is {model}, which is neither a folder nor the id of a model such as "
            "intfloat/e5-small-v2; correct it"
        )
    folder = cached_folder(model, hub.cache_dir)
    if _is_complete(folder, file):
        return folder
    return _fetched(match["name"], match["revision"] or "main", file, hub, setting, folder)


def fetch(model: str, file: str | None, hub: Hub, setting: ModelSetting) -> Path:
    """Like `locate`, but downloads files again that are missing or damaged."""
    folder = cached_folder(model, hub.cache_dir)
    for name, digest in _recorded(folder).items():
        if sha256_of(folder / name) != digest:
            (folder / RECORD).unlink(missing_ok=True)
            break
    return locate(model, file, hub, setting)


def cached_folder(model: str, cache_dir: Path) -> Path:
    return cache_dir / "models" / model.replace("/", "--")


def is_cached(model: str, cache_dir: Path) -> bool:
    return _is_complete(cached_folder(model, cache_dir), None)


def _is_complete(folder: Path, file: str | None) -> bool:
    """Whether the record, which is written last, lists the wanted files and they exist."""
    recorded = _recorded(folder)
    has_file = file in recorded if file else any(name.endswith(".onnx") for name in recorded)
    return has_file and all((folder / name).is_file() for name in recorded)


def _recorded(folder: Path) -> dict[str, str]:
    try:
        files = json.loads((folder / RECORD).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}


# --- downloading ------------------------------------------------------------------------------


def _fetched(
    name: str, revision: str, file: str | None, hub: Hub, setting: ModelSetting, folder: Path
) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise hub.failure(
            f"the model cache {folder} can't be written ({error.strerror}); "
            "set SUREFIND_CACHE_DIR to a folder you own"
        ) from error
    hub.notify(f"downloading {name} from {hub.url}")
    try:
        commit = _read_json(f"{hub.url}/api/models/{name}/revision/{quote(revision)}")["sha"]
        base = f"{hub.url}/{name}/resolve/{quote(str(commit))}"
        files = _listing(f"{hub.url}/api/models/{name}/tree/{quote(str(commit))}?recursive=true")
        hashes = _recorded(folder)
        for remote in _wanted(name, file, files, base, setting):
            hashes[remote.path] = _download(remote, base, folder, hub.notify)
    except HTTPError as error:
        if error.code in {401, 403, 404}:
            raise InputError(
                f"{hub.url} has no public model {name} at {revision} ({error.code}); check the id, "
                f"or download the model by hand and set {setting.model} to its folder"
            ) from error
        raise hub.failure(_unavailable(name, hub, setting, error)) from error
    except (*DOWNLOAD_ERRORS, AttributeError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise hub.failure(_unavailable(name, hub, setting, error)) from error
    record = {"model": name, "revision": str(commit), "files": hashes}
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
    return folder


def _unavailable(name: str, hub: Hub, setting: ModelSetting, error: Exception) -> str:
    return (
        f"the model {name} could not be downloaded from {hub.url} ({short(error)}). Run "
        f"`surefind model fetch {name}` on a machine with a network, copy the folder that it "
        f"prints, and set {setting.model} to the copy"
    )


def _download(remote: _Remote, base: str, folder: Path, notify: Notify) -> str:
    target = folder / remote.path
    if remote.sha256 is not None and sha256_of(target) == remote.sha256:
        return remote.sha256
    if remote.size > 10**7:
        notify(f"downloading {remote.path} ({remote.size / 10**6:.0f} MB)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with opened(f"{base}/{quote(remote.path)}") as stream:
        return keep(stream, target, remote.size, remote.sha256)


def _wanted(
    name: str, file: str | None, files: Sequence[_Remote], base: str, setting: ModelSetting
) -> list[_Remote]:
    """The configuration, the tokenizer, the chosen weights, and the tensors of later modules."""
    by_path = {remote.path: remote for remote in files}
    weights = chosen_weights(list(by_path), file, name, setting)
    paths = [*_CONFIGS, weights, *external_data(weights, by_path)]
    if MODULES in by_path:
        for module in _read_json(f"{base}/{MODULES}"):
            if place := str(module.get("path") or ""):
                paths += [f"{place}/config.json", f"{place}/model.safetensors"]
    else:
        paths.append("1_Pooling/config.json")
    return [by_path[path] for path in dict.fromkeys(paths) if path in by_path]


def _listing(url: str) -> list[_Remote]:
    """The files of a repository; names that would leave its folder are left out."""
    found = []
    for entry in _read_json(url):
        path = str(entry["path"])
        if entry.get("type") != "file" or not is_inside(path):
            continue
        lfs = entry.get("lfs") or {}
        size = min(int(lfs.get("size") or entry["size"]), _MAX_FILE_BYTES)
        found.append(_Remote(path, size, lfs.get("oid")))
    return found


def _read_json(url: str) -> Any:
    with opened(url) as stream:
        content = stream.read(_MAX_LISTING_BYTES + 1)
    if len(content) > _MAX_LISTING_BYTES:
        raise ValueError("the answer is too large")
    return json.loads(content)
