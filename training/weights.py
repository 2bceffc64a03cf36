"""The weights of bge-small: read from and written to its ONNX graph, and packed into few bytes.

The graph is the one that the published int8 model was made from, so a tuned model has the same
nodes, inputs and outputs. Matrices have no names there; each is known by the bias behind it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Weights = dict[str, Floats]

WORDS = "embeddings.word_embeddings.weight"
BITS = {WORDS: 6, "": 7}
"""Cosines to the original are .9996 on average."""
_GROUP = 64
_LEAST = 1e-7


def matrix_names(model: Any) -> dict[str, str]:
    """The initializer of each matrix, by the name that it has in the original model."""
    stored = {one.name for one in model.graph.initializer}
    made = {output: node for node in model.graph.node for output in node.output}
    names = {}
    for node in model.graph.node:
        if node.op_type != "Add":
            continue
        bias = [one for one in node.input if one in stored and one.endswith(".bias")]
        product = [made[one] for one in node.input if one in made and made[one].op_type == "MatMul"]
        if bias and product:
            [matrix] = [one for one in product[0].input if one in stored]
            names[bias[0].removesuffix("bias") + "weight"] = matrix
    return names


def from_onnx(path: Path) -> Weights:
    """Named as in the original model; matrices as (inputs, outputs)."""
    import onnx

    model = onnx.load(path)
    held = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    matrices = matrix_names(model)
    named = {name: array for name, array in held.items() if "." in name}
    named |= {name: held[matrix] for name, matrix in matrices.items()}
    return {
        name: array.astype(np.float32)
        for name, array in named.items()
        if array.dtype == np.float32 and array.ndim
    }


def into_onnx(path: Path, weights: Mapping[str, Floats], target: Path) -> None:
    """A copy of the ONNX file with other weights."""
    import onnx

    model = onnx.load(path)
    by_initializer = {matrix: name for name, matrix in matrix_names(model).items()}
    for one in model.graph.initializer:
        array = weights.get(by_initializer.get(one.name, one.name))
        if array is not None:
            one.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float32), one.name))
    onnx.save(model, target)


# --- packing ----------------------------------------------------------------------------------


def packed(weights: Mapping[str, Floats], bits: Mapping[str, int] = BITS) -> bytes:
    """Matrices as small integers with a scale for each group of values; vectors as they are.

    `bits` is by name; the empty name is for all other matrices.
    """
    header: list[tuple[str, list[int], int]] = []
    parts: list[bytes] = []
    for name, array in sorted(weights.items()):
        width = bits.get(name, bits[""]) if array.ndim > 1 else 0
        header.append((name, list(array.shape), width))
        if not width:
            parts.append(array.astype(np.float32).tobytes())
            continue
        rows = array.reshape(-1, _GROUP)
        top = 2 ** (width - 1) - 1
        scales = np.maximum(np.abs(rows).max(axis=1) / top, _LEAST).astype(_scales(width))
        whole = np.clip(np.rint(rows / scales[:, None].astype(np.float32)), -top, top)
        shifted = (whole + top).astype(np.uint8)
        if width < 8:
            shifted = np.packbits(np.unpackbits(shifted.reshape(-1, 1), axis=1)[:, 8 - width :])
        parts += [scales.tobytes(), shifted.tobytes()]
    head = json.dumps(header).encode()
    return b"".join((len(head).to_bytes(4, "little"), head, *parts))


def unpacked(content: bytes) -> Weights:
    length = int.from_bytes(content[:4], "little")
    header = json.loads(content[4 : 4 + length])
    weights: Weights = {}
    at = 4 + length
    for name, shape, width in header:
        size = int(np.prod(shape))
        if not width:
            weights[name] = np.frombuffer(content, np.float32, size, at).reshape(shape).copy()
            at += 4 * size
            continue
        scales = np.frombuffer(content, _scales(width), size // _GROUP, at)
        at += scales.nbytes
        used = size * width // 8
        shifted = np.frombuffer(content, np.uint8, used, at)
        at += used
        if width < 8:
            few = np.unpackbits(shifted).reshape(size, width)
            shifted = np.packbits(few, axis=1)[:, 0] >> (8 - width)
        whole = shifted.astype(np.int16)
        centred = (whole - (2 ** (width - 1) - 1)).reshape(-1, _GROUP).astype(np.float32)
        weights[name] = (centred * scales[:, None].astype(np.float32)).reshape(shape)
    return weights


def _scales(width: int) -> type[np.floating[Any]]:
    """Changes are packed in 8 bits, and too small for the exponents of 16."""
    return np.float32 if width == 8 else np.float16
