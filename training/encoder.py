"""The encoder of bge-small in plain PyTorch: nothing but tensors, so that it starts at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

Floats = NDArray[np.float32]

HIDDEN, HEADS, INNER = 384, 12, 1536
_EPSILON = 1e-12


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.attended = nn.Linear(HIDDEN, HIDDEN)
        self.attended_norm = nn.LayerNorm(HIDDEN, eps=_EPSILON)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.outer = nn.Linear(INNER, HIDDEN)
        self.outer_norm = nn.LayerNorm(HIDDEN, eps=_EPSILON)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        texts, length, _ = hidden.shape
        parts = self.query_key_value(hidden).view(texts, length, 3, HEADS, HIDDEN // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        merged = attended.transpose(1, 2).reshape(texts, length, HIDDEN)
        hidden = self.attended_norm(hidden + self.attended(merged))
        return self.outer_norm(hidden + self.outer(functional.gelu(self.inner(hidden))))


class Encoder(nn.Module):
    """The embeddings of tokens and positions are frozen: a third of the weights."""

    words: Tensor
    positions: Tensor

    def __init__(self, words: Floats, positions: Floats, token_type: Floats, layers: int) -> None:
        super().__init__()
        self.register_buffer("words", torch.from_numpy(words))
        self.register_buffer("positions", torch.from_numpy(positions + token_type))
        self.norm = nn.LayerNorm(HIDDEN, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors of texts; `mask` is true where there is a token."""
        embedded = functional.embedding(tokens, self.words) + self.positions[: tokens.shape[1]]
        hidden = self.norm(embedded)
        # A bias of the same type, never copied: what the fused kernels take without a conversion.
        bias = torch.zeros_like(mask, dtype=hidden.dtype).masked_fill_(~mask, -math.inf)
        seen = bias[:, None, None, :].expand(-1, HEADS, tokens.shape[1], -1)
        for layer in self.layers:
            hidden = layer(hidden, seen)
        return functional.normalize(hidden[:, 0].float(), dim=-1)


_PARTS = {
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}
_PROJECTIONS = ("query", "key", "value")


def loaded(weights: Mapping[str, Floats]) -> Encoder:
    """`weights` are named as in the original model, matrices as (inputs, outputs)."""
    encoder = Encoder(
        weights["embeddings.word_embeddings.weight"],
        weights["embeddings.position_embeddings.weight"],
        weights["embeddings.token_type_embeddings.weight"][0],
        _layers(weights, "encoder.layer.{}.output.dense.bias"),
    )
    state = {name: torch.from_numpy(array) for name, array in _to_state(weights).items()}
    encoder.load_state_dict(state, strict=False)
    missing = set(dict(encoder.named_parameters())) - set(state)
    if missing:
        raise ValueError(f"weights without {sorted(missing)}")
    return encoder


def _to_state(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    state = {
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for number in range(_layers(weights, "encoder.layer.{}.output.dense.bias")):
        theirs, ours = f"encoder.layer.{number}.", f"layers.{number}."
        for part in ("weight", "bias"):
            rows = [weights[f"{theirs}attention.self.{one}.{part}"].T for one in _PROJECTIONS]
            state[f"{ours}query_key_value.{part}"] = np.concatenate(rows)
            for our, their in _PARTS.items():
                array = weights[f"{theirs}{their}.{part}"]
                state[f"{ours}{our}.{part}"] = np.ascontiguousarray(array.T)
    return state


def named(state: Mapping[str, Floats]) -> dict[str, Floats]:
    """The parameters under the names of the original model, matrices as (inputs, outputs)."""
    weights = {
        "embeddings.LayerNorm.weight": state["norm.weight"],
        "embeddings.LayerNorm.bias": state["norm.bias"],
    }
    for number in range(_layers(state, "layers.{}.outer.bias")):
        theirs, ours = f"encoder.layer.{number}.", f"layers.{number}."
        for part in ("weight", "bias"):
            rows = np.split(state[f"{ours}query_key_value.{part}"], len(_PROJECTIONS))
            for one, array in zip(_PROJECTIONS, rows, strict=True):
                weights[f"{theirs}attention.self.{one}.{part}"] = array.T
            for our, their in _PARTS.items():
                weights[f"{theirs}{their}.{part}"] = state[f"{ours}{our}.{part}"].T
    return weights


def _layers(names: Mapping[str, Floats], of_layer: str) -> int:
    return sum(of_layer.format(number) in names for number in range(99))
