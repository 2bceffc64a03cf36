"""The modules that follow the encoder: pooling, dense layers and layer normalization.

They are read from the files of sentence-transformers and computed with NumPy.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefind.adapters.onnx.model_folder import MODULES, ModelFolder, is_inside
from surefind.errors import InputError

Floats = NDArray[np.float32]
Step = Callable[[Floats], Floats]

OWN_PACKAGE = "sentence_transformers."
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
"""The order in which several poolings are joined."""
_MODES = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
_EPSILON = 1e-5  # of PyTorch's LayerNorm


@dataclass(frozen=True, slots=True)
class Pooling:
    """`width` is the size of the encoder's vectors, if the files state it."""

    modes: tuple[str, ...]
    width: int | None = None
    include_prompt: bool = True

    def apply(self, hidden: Floats, mask: NDArray[np.int64]) -> Floats:
        """The vector of each text. `hidden` has a vector for each token of each text."""
        weights = mask.astype(np.float32)[:, :, None]
        return np.concatenate([_POOLERS[mode](hidden, weights) for mode in self.modes], axis=1)


@dataclass(frozen=True, slots=True)
class Head:
    """All modules after the encoder, the files that they use, and a description of them."""

    pooling: Pooling | None
    steps: tuple[Step, ...]
    files: tuple[str, ...]
    names: tuple[str, ...]


def head_of(folder: ModelFolder, pooling: str | None) -> Head:
    """`pooling` is the user's choice for a folder whose files name none."""
    listed = folder.items(MODULES)
    if listed is None:
        config = "1_Pooling/config.json"
        found = _pooling(folder, config) if (folder.path / config).is_file() else None
        chosen = Pooling((_mode_of(pooling),)) if pooling and not found else found
        return Head(chosen, (), (), ())
    read: Pooling | None = None
    steps: list[Step] = []
    files: list[str] = []
    names: list[str] = []
    for module in listed:
        kind, place = _kind_of(folder, module)
        if kind == "Pooling":
            read = _pooling(folder, f"{place}/config.json")
        elif kind in {"Dense", "LayerNorm"}:
            file = f"{place}/model.safetensors"
            steps.append(_STEPS[kind](folder, place, tensors_of(folder.path / file)))
            files.append(file)
        names.append(kind)
    return Head(read, tuple(steps), tuple(files), tuple(names))


def _kind_of(folder: ModelFolder, module: Mapping[str, Any]) -> tuple[str, str]:
    """The module's class, and its folder."""
    kind, place = str(module.get("type", "")), str(module.get("path", ""))
    name = kind.rpartition(".")[2]
    if not kind.startswith(OWN_PACKAGE):
        raise InputError(
            f"{folder.path} needs code of its own ({kind}), which surefind does not run; choose "
            "another model"
        )
    if name not in {"Transformer", "Pooling", "Dense", "LayerNorm", "Normalize"}:
        raise InputError(
            f"{folder.path} has a module {name}, which surefind does not implement; choose a model "
            "with Transformer, Pooling, Dense, LayerNorm and Normalize"
        )
    if not is_inside(place):
        raise InputError(f"{folder.path / MODULES} leads out of the folder ({place}); correct it")
    return name, place


# --- pooling ----------------------------------------------------------------------------------


def _pooling(folder: ModelFolder, name: str) -> Pooling:
    config = folder.mapping(name)
    if not config:
        raise InputError(f"{folder.path / name} is missing or empty; download it with the model")
    if isinstance(config.get("pooling_mode"), str):
        wanted = {_mode_of(mode) for mode in config["pooling_mode"].lower().split("+")}
    else:
        wanted = {mode for mode, key in _MODES.items() if config.get(key) is True}
    if not wanted:
        raise InputError(f"{folder.path / name} names no pooling; correct it")
    width = config.get("word_embedding_dimension", config.get("embedding_dimension"))
    return Pooling(
        tuple(mode for mode in POOLINGS if mode in wanted),
        width if isinstance(width, int) else None,
        config.get("include_prompt") is not False,
    )


def _mode_of(name: str) -> str:
    mode = "lasttoken" if name == "last" else name
    if mode not in POOLINGS:
        raise InputError(f"unknown pooling: {name}; known ones are {', '.join(POOLINGS)}")
    return mode


def _cls(hidden: Floats, _weights: Floats) -> Floats:
    return hidden[:, 0]


def _max(hidden: Floats, weights: Floats) -> Floats:
    pooled: Floats = np.where(weights > 0, hidden, np.float32(-1e9)).max(axis=1)
    return pooled


def _mean(hidden: Floats, weights: Floats, power: float = 1.0) -> Floats:
    total = np.maximum(weights.sum(axis=1), 1e-9) ** power
    pooled: Floats = (hidden * weights).sum(axis=1) / total
    return pooled


def _mean_sqrt(hidden: Floats, weights: Floats) -> Floats:
    return _mean(hidden, weights, power=0.5)


def _weighted_mean(hidden: Floats, weights: Floats) -> Floats:
    positions = np.arange(1, hidden.shape[1] + 1, dtype=np.float32)[None, :, None]
    return _mean(hidden, weights * positions)


def _last(hidden: Floats, weights: Floats) -> Floats:
    length = weights.shape[1]
    last = length - 1 - np.argmax(weights[:, ::-1, 0] > 0, axis=1)
    pooled: Floats = hidden[np.arange(len(hidden)), last]
    return pooled


_POOLERS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "cls": _cls,
    "max": _max,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_sqrt,
    "weightedmean": _weighted_mean,
    "lasttoken": _last,
}

# --- layers -----------------------------------------------------------------------------------


def _dense(folder: ModelFolder, place: str, tensors: Mapping[str, Floats]) -> Step:
    config = folder.mapping(f"{place}/config.json")
    activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    name = activation.rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise InputError(
            f"{folder.path / place} has the activation {activation}; known ones are "
            f"{', '.join(_ACTIVATIONS)}"
        )
    weight = _tensor(folder, place, tensors, "linear.weight")
    bias = tensors.get("linear.bias", np.zeros(len(weight), dtype=np.float32))
    activate = _ACTIVATIONS[name]

    def step(vectors: Floats) -> Floats:
        if vectors.shape[1] != weight.shape[1]:
            raise InputError(
                f"{folder.path / place} needs vectors of {weight.shape[1]} dimensions, but gets "
                f"{vectors.shape[1]}; download the model again"
            )
        return activate(vectors @ weight.T + bias)

    return step


def _layer_norm(folder: ModelFolder, place: str, tensors: Mapping[str, Floats]) -> Step:
    weight = _tensor(folder, place, tensors, "norm.weight")
    bias = tensors.get("norm.bias", np.zeros(len(weight), dtype=np.float32))

    def step(vectors: Floats) -> Floats:
        centred = vectors - vectors.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + _EPSILON)
        scaled: Floats = centred / spread * weight + bias
        return scaled

    return step


def _tensor(folder: ModelFolder, place: str, tensors: Mapping[str, Floats], name: str) -> Floats:
    if name not in tensors:
        raise InputError(
            f"{folder.path / place / 'model.safetensors'} has no tensor {name}; download the model "
            "again"
        )
    return tensors[name]


def _gelu(values: Floats) -> Floats:
    halves = np.vectorize(math.erf, otypes=[np.float32])(values / math.sqrt(2))
    activated: Floats = (values * (1 + halves) / 2).astype(np.float32)
    return activated


def _sigmoid(values: Floats) -> Floats:
    return (1 / (1 + np.exp(-values))).astype(np.float32)


_STEPS: Mapping[str, Callable[[ModelFolder, str, Mapping[str, Floats]], Step]] = {
    "Dense": _dense,
    "LayerNorm": _layer_norm,
}
_ACTIVATIONS: Mapping[str, Step] = {
    "Identity": lambda values: values,
    "Tanh": np.tanh,
    "ReLU": lambda values: np.maximum(values, 0),
    "Sigmoid": _sigmoid,
    "GELU": _gelu,
}

# --- safetensors ------------------------------------------------------------------------------

_MAX_HEADER = 2**20
_FLOATS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def tensors_of(path: Path) -> dict[str, Floats]:
    """The tensors of numbers in a safetensors file: a header in JSON, then the data."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} can't be read ({error.strerror}); a pytorch_model.bin can't replace it, since "
            "reading it may run code"
        ) from error
    end = 8 + min(int.from_bytes(content[:8], "little"), _MAX_HEADER)
    try:
        header = json.loads(content[8:end])
        data = memoryview(content)[end:]
        return {
            name: _floats(data[slice(*entry["data_offsets"])], entry["dtype"], entry["shape"])
            for name, entry in header.items()
            if entry.get("dtype") in _FLOATS
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a safetensors file ({error}); download it again"
        ) from error


def _floats(data: memoryview, dtype: str, shape: list[int]) -> Floats:
    numbers = np.frombuffer(data, dtype=_FLOATS[dtype])
    if dtype == "BF16":  # the upper half of a float32
        return (numbers.astype("<u4") << 16).view("<f4").reshape(shape)
    return numbers.reshape(shape).astype(np.float32)
