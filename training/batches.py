"""Which pairs are trained together, and their tokens on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.dataset import Pairs
from training.encoder import HIDDEN, Encoder

Integers = NDArray[np.int64]

_START, _END = 101, 102
_PADDED_TO = 16
_NEIGHBOURS = 48


class Texts:
    """Texts that are spans of one stream of tokens, each without a part in the middle."""

    def __init__(
        self, stream: Tensor, starts: Integers, lengths: Integers, cuts: Integers, skips: Integers
    ) -> None:
        self._stream = stream
        self.lengths = lengths - skips
        device = stream.device
        self._starts, self._cuts, self._skips, self._kept = (
            torch.from_numpy(np.ascontiguousarray(one)).to(device)
            for one in (starts, cuts, skips, self.lengths)
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Integers) -> tuple[Tensor, Tensor]:
        """Tokens and mask, padded to a multiple that suits the device."""
        width = -(-(int(self.lengths[rows].max()) + 2) // _PADDED_TO) * _PADDED_TO
        at = torch.from_numpy(rows).to(self._stream.device, non_blocking=True)
        kept = self._kept[at][:, None]
        place = torch.arange(width, device=self._stream.device)[None, :] - 1
        shifted = place + torch.where(place >= self._cuts[at][:, None], self._skips[at][:, None], 0)
        index = (self._starts[at][:, None] + shifted).clamp(0, len(self._stream) - 1)
        tokens = self._stream[index].to(torch.int32)
        tokens = torch.where(place < 0, _START, torch.where(place == kept, _END, tokens))
        mask = place <= kept
        return torch.where(mask, tokens, 0), mask


def texts_of(pairs: Pairs, device: torch.device) -> tuple[Texts, Texts]:
    """The question and the passage of each pair."""
    stream = torch.from_numpy(pairs.tokens.astype(np.int16)).to(device)  # tokens are below 2^15
    spans = pairs.spans()
    none = np.zeros_like(spans["question_start"])
    questions = Texts(stream, spans["question_start"], spans["question_length"], none, none)
    passages = Texts(stream, spans["passage_start"], spans["length"], spans["cut"], spans["skip"])
    return questions, passages


def encoded(
    encoder: Encoder, texts: Texts, rows: Integers, tokens_at_once: int
) -> Iterator[tuple[Integers, Tensor]]:
    """Vectors of the rows, in groups of similar length, so that little is padding."""
    order = rows[np.argsort(texts.lengths[rows], kind="stable")]
    for group in groups(texts.lengths[order] + 2, tokens_at_once):
        chosen = order[group]
        yield chosen, encoder(*texts.batch(chosen))


def groups(lengths: Integers, tokens_at_once: int) -> Iterator[slice]:
    """Cuts ascending lengths so that each group has a limited number of tokens with its padding."""
    start = 0
    for at, length in enumerate(lengths.tolist()):
        width = -(-length // _PADDED_TO) * _PADDED_TO
        if at > start and width * (at + 1 - start) > tokens_at_once:
            yield slice(start, at)
            start = at
    if start < len(lengths):
        yield slice(start, len(lengths))


def vectors(encoder: Encoder, texts: Texts, rows: Integers, tokens_at_once: int) -> Tensor:
    """In the order of the rows, without gradients."""
    place = np.full(len(texts), -1, np.int64)
    place[rows] = np.arange(len(rows))
    device = encoder.words.device
    found = torch.empty((len(rows), HIDDEN), dtype=torch.float16, device=device)
    with torch.no_grad():
        for chosen, part in encoded(encoder, texts, rows, tokens_at_once):
            found[torch.from_numpy(place[chosen]).to(device)] = part.half()
    return found


# --- which pairs are trained together ----------------------------------------------------------


def neighbours(passages: Tensor, sites: Integers) -> Integers:
    """The nearest rows of the same site by the start model; -1 where a site has too few."""
    found = np.full((len(sites), _NEIGHBOURS), -1, np.int64)
    for site in np.unique(sites):
        rows = np.flatnonzero(sites == site)
        at = torch.from_numpy(rows).to(passages.device)
        held = passages[at]
        count = min(_NEIGHBOURS, len(rows) - 1)
        if count < 1:
            continue
        for start in range(0, len(rows), 4096):
            near = held[start : start + 4096] @ held.T
            lines = torch.arange(len(near), device=near.device)
            near[lines, lines + start] = -1
            best = near.topk(count, dim=1).indices.cpu().numpy()
            found[rows[start : start + 4096], :count] = rows[best]
    return found


def blocks(
    near: Integers, passage: Integers, rows: Integers, size: int, chance: np.random.Generator
) -> Integers:
    """All rows in random order, in blocks of a row and its nearest that are still free.

    A block has no passage twice.
    """
    order = chance.permutation(rows)
    if size == 1:
        return order
    free = np.zeros(len(near), bool)
    free[rows] = True
    alone: list[Integers] = []
    made: list[Integers] = []
    for row in order:
        if not free[row]:
            continue
        some = near[row]
        some = some[(some >= 0) & free[some]]
        block = np.concatenate(([row], some))
        _, first = np.unique(passage[block], return_index=True)
        block = block[np.sort(first)[:size]]
        free[block] = False
        (made if len(block) == size else alone).append(block)
    chance.shuffle(made)
    spread = np.concatenate(alone) if alone else np.empty(0, np.int64)
    return _interleaved(made, spread)


def _interleaved(made: Sequence[Integers], spread: Integers) -> Integers:
    """The rows of incomplete blocks, evenly among the complete ones."""
    if not made:
        return spread
    parts = np.array_split(spread, len(made))
    return np.concatenate([one for pair in zip(made, parts, strict=True) for one in pair])
