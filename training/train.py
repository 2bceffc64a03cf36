"""Tunes bge-small on pairs of questions and passages, in a given time on one GPU.

Contrastive: each question has to find its passage among all passages of its batch. Passages that
the start model holds to be nearer to the question than its own do not count as wrong. A batch is
made of blocks: a pair and its nearest pairs of the same site, which are the hard negatives. So that
general knowledge stays, the similarities of a batch are kept close to those of the start model.

Each of the `--settings` gets its share of the time. The folder `--out` gets:

    SETTING-1.bin, SETTING-2.bin   the changes of the weights, in 8 bits
    runs.json                      settings, losses, and MRR@10 of held-out pages
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from training.batches import Texts, blocks, encoded, neighbours, texts_of, vectors
from training.dataset import KINDS, Pairs
from training.encoder import Encoder, loaded, named
from training.weights import packed, unpacked

Integers = NDArray[np.int64]

STARTED = time.monotonic()
_SHARDS = 24
_HELD_OUT = 29
"""One page of this number is for measuring."""
_WARM_UP = 0.05
_MEASURES = 3
_LAST_MEASURES = 6
_DELTA_BITS = {"": 8}


@dataclass(frozen=True)
class Setting:
    """`block` 1 makes random batches. `distilled` weighs the start model's similarities.

    `share` is the part of the time, in relation to the other settings.
    """

    name: str
    share: float
    rate: float
    block: int
    temperature: float
    distilled: float
    batch: int = 1024
    decay: float = 0.01
    averaged: float = 0.98


SETTINGS = [
    Setting("blocks", 0.56, 8e-5, block=8, temperature=0.03, distilled=0.3),
    Setting("random", 0.44, 8e-5, block=1, temperature=0.05, distilled=0.0),
    Setting("mixed", 0.5, 6e-5, block=2, temperature=0.04, distilled=0.6),
]
_DISTILLATION_TEMPERATURE = 0.05
_MARGIN = 0.02


@dataclass
class Prepared:
    """What all settings share. Vectors of the start model are by pair."""

    pairs: Pairs
    start: Encoder
    questions: Texts
    passages: Texts
    question_vectors: Tensor
    passage_vectors: Tensor
    near: Integers
    training: Integers
    held_out: Integers
    tokens_at_once: int
    trained_at_once: int
    records: list[dict[str, Any]] = field(default_factory=list)

    def note(self, **values: Any) -> None:
        values = {"seconds": round(time.monotonic() - STARTED, 1), **values}
        self.records.append(values)
        print(json.dumps(values), flush=True)


def prepare(
    data: Path, device: torch.device, until: float, limit: int | None, *, bfloat16: bool
) -> Prepared:
    """Encode all pairs with the start model; those that `until` cuts off are not trained on."""
    encoder = loaded(unpacked((data / "start.bin").read_bytes())).to(device)
    if bfloat16:
        encoder = encoder.to(torch.bfloat16)
    pairs = Pairs.read(data / "pairs.xz")
    questions, passages = texts_of(pairs, device)
    at_once = 2**17 if device.type == "cuda" else 2**12
    trained_at_once = 2**15 if device.type == "cuda" else 2**12
    rows = np.random.default_rng(1).permutation(len(questions))[:limit]
    print(f"{time.monotonic() - STARTED:.1f} s: {len(rows)} pairs, {device}", flush=True)
    found: list[tuple[Tensor, Tensor]] = []
    done: list[Integers] = []
    for shard in np.array_split(rows, _SHARDS):
        one = vectors(encoder, questions, shard, at_once)
        found.append((one, vectors(encoder, passages, shard, at_once)))
        done.append(shard)
        if device.type == "cuda":
            torch.cuda.synchronize()
        if time.monotonic() - STARTED > until:
            break
    known = np.concatenate(done)
    shape = (len(questions), found[0][0].shape[1])
    at = torch.from_numpy(known).to(device)
    question_vectors = torch.zeros(shape, dtype=torch.float16, device=device)
    passage_vectors = torch.zeros(shape, dtype=torch.float16, device=device)
    question_vectors[at] = torch.cat([one for one, _ in found])
    passage_vectors[at] = torch.cat([one for _, one in found])
    print(f"{time.monotonic() - STARTED:.1f} s: {len(known)} pairs encoded", flush=True)
    pages = pairs.page.astype(np.int64)[pairs.question_passage[known]]
    held_out = pages % _HELD_OUT == 0
    training = known[~held_out]
    sites = pairs.site.astype(np.int64)[pairs.question_passage]
    nearest = neighbours(passage_vectors[torch.from_numpy(training).to(device)], sites[training])
    near = np.full((len(questions), nearest.shape[1]), -1, np.int64)
    near[training] = np.where(nearest >= 0, training[nearest], -1)
    print(f"{time.monotonic() - STARTED:.1f} s: neighbours found", flush=True)
    return Prepared(
        pairs, encoder, questions, passages, question_vectors, passage_vectors, near, training,
        known[held_out], at_once, trained_at_once,
    )  # fmt: skip


# --- one setting ------------------------------------------------------------------------------


class Optimizer:
    """AdamW on 32-bit copies of the parameters."""

    def __init__(self, encoder: Encoder, setting: Setting) -> None:
        self._parameters = list(encoder.parameters())
        self.names = [name for name, _ in encoder.named_parameters()]
        self.copies = [one.detach().float().clone() for one in self._parameters]
        self.average = [one.clone() for one in self.copies]
        matrices = [one for one in self.copies if one.ndim > 1]
        vectors_ = [one for one in self.copies if one.ndim == 1]
        self._adam = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": setting.decay},
                {"params": vectors_, "weight_decay": 0.0},
            ],
            lr=setting.rate,
            betas=(0.9, 0.98),
        )
        self._setting = setting

    def step(self, rate: float) -> Tensor:
        """Returns the norm of the gradients."""
        for copied, one in zip(self.copies, self._parameters, strict=True):
            copied.grad = None if one.grad is None else one.grad.float()
            one.grad = None
        norm = torch.nn.utils.clip_grad_norm_(self.copies, 1.0)
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
        torch._foreach_lerp_(self.average, self.copies, 1 - self._setting.averaged)
        self.into(self._parameters, self.copies)
        return norm

    @staticmethod
    @torch.no_grad()
    def into(parameters: list[Any], copies: list[Tensor]) -> None:
        for one, copied in zip(parameters, copies, strict=True):
            one.copy_(copied)


def tune(ready: Prepared, setting: Setting, until: float) -> dict[str, NDArray[np.float32]]:
    """The parameters after training until this moment."""
    encoder = copy.deepcopy(ready.start)
    optimizer = Optimizer(encoder, setting)
    chance = np.random.default_rng(7)
    began = time.monotonic() - STARTED
    ready.note(setting=setting.name, step=0, **measured(ready, encoder))
    measuring = time.monotonic() - STARTED - began
    training_s = max(until - began - min(_LAST_MEASURES * measuring, 8.0), 1.0)
    order = np.empty(0, np.int64)
    step = seen = epoch = 0
    losses: list[Tensor] = []
    measured_at = 0
    while True:
        done = (time.monotonic() - STARTED - began) / training_s
        if done >= 1:
            break
        if len(order) < setting.batch:
            passage = ready.pairs.question_passage.astype(np.int64)
            order = blocks(ready.near, passage, ready.training, setting.block, chance)
            epoch += 1
        rows, order = order[: setting.batch], order[setting.batch :]
        loss, contrastive = batch_loss(ready, encoder, rows, setting)
        loss.backward()
        norm = optimizer.step(setting.rate * schedule(done))
        losses.append(contrastive.detach())
        step += 1
        seen += len(rows)
        if step % 20 == 0:
            mean = float(torch.stack(losses[-20:]).mean())
            spent = time.monotonic() - STARTED - began
            ready.note(
                setting=setting.name, step=step, epoch=epoch, loss=round(mean, 4),
                norm=round(float(norm), 3), pairs_per_s=round(seen / spent),
            )  # fmt: skip
        if int(done * _MEASURES) > measured_at:
            measured_at = int(done * _MEASURES)
            ready.note(setting=setting.name, step=step, **measured(ready, encoder))
    return best_of(ready, setting, encoder, optimizer, step)


def best_of(
    ready: Prepared, setting: Setting, encoder: Encoder, optimizer: Optimizer, step: int
) -> dict[str, NDArray[np.float32]]:
    """The last weights or their average, whichever is better on held-out pages; shares of both."""
    parameters = list(encoder.parameters())
    start = [one.detach().float() for one in ready.start.parameters()]
    scores = {}
    for name, values in {"last": optimizer.copies, "average": optimizer.average}.items():
        optimizer.into(parameters, values)
        scores[name] = measured(ready, encoder)
        ready.note(setting=setting.name, step=step, weights=name, **scores[name])
    best = max(scores, key=lambda name: scores[name]["mrr"])
    chosen = optimizer.copies if best == "last" else optimizer.average
    for share in (0.4, 0.6, 0.8):
        optimizer.into(
            parameters, [a + share * (b - a) for a, b in zip(start, chosen, strict=True)]
        )
        ready.note(setting=setting.name, weights=best, share=share, **measured(ready, encoder))
    changes = [(b - a).cpu().numpy() for a, b in zip(start, chosen, strict=True)]
    return named(dict(zip(optimizer.names, changes, strict=True)))


def schedule(done: float) -> float:
    if done < _WARM_UP:
        return max(done / _WARM_UP, 0.02)
    return 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))


def batch_loss(
    ready: Prepared, encoder: Encoder, rows: Integers, setting: Setting
) -> tuple[Tensor, Tensor]:
    device = encoder.words.device
    at = torch.from_numpy(rows).to(device)
    questions = _with_gradients(encoder, ready.questions, rows, ready.trained_at_once)
    passages = _with_gradients(encoder, ready.passages, rows, ready.trained_at_once)
    similar = questions @ passages.T
    known = (ready.question_vectors[at] @ ready.passage_vectors[at].T).float()
    own = torch.eye(len(rows), dtype=torch.bool, device=device)
    passage = torch.from_numpy(ready.pairs.question_passage[rows].astype(np.int64)).to(device)
    same = passage[:, None] == passage[None, :]
    nearer = known > known.diagonal()[:, None] + _MARGIN
    left_out = (same | nearer) & ~own
    target = torch.arange(len(rows), device=device)
    logits = (similar / setting.temperature).masked_fill(left_out, -1e4)
    contrastive = functional.cross_entropy(logits, target)
    if not setting.distilled:
        return contrastive, contrastive
    wanted = functional.softmax(known.masked_fill(own, -1) / _DISTILLATION_TEMPERATURE, dim=-1)
    others = similar.masked_fill(own, -1) / _DISTILLATION_TEMPERATURE
    kept = functional.kl_div(functional.log_softmax(others, -1), wanted, reduction="batchmean")
    return contrastive + setting.distilled * kept, contrastive


def _with_gradients(encoder: Encoder, texts: Texts, rows: Integers, at_once: int) -> Tensor:
    unique = np.arange(len(texts))  # rows of a batch are distinct
    parts = list(encoded(encoder, texts, rows, at_once))
    order = np.concatenate([chosen for chosen, _ in parts])
    unique[order] = np.arange(len(order))
    back = torch.from_numpy(unique[rows]).to(encoder.words.device)
    return torch.cat([part for _, part in parts])[back]


def measured(ready: Prepared, encoder: Encoder) -> dict[str, float]:
    """MRR@10 of held-out questions among the held-out passages, by kind."""
    rows = ready.held_out
    if not len(rows):
        return {"mrr": 0.0}
    questions = vectors(encoder, ready.questions, rows, ready.tokens_at_once).float()
    passages = vectors(encoder, ready.passages, rows, ready.tokens_at_once).float()
    of_passage = torch.from_numpy(ready.pairs.question_passage[rows].astype(np.int64))
    of_passage = of_passage.to(questions.device)
    similar = questions @ passages.T
    own = similar.diagonal()
    same = of_passage[:, None] == of_passage[None, :]
    better = ((similar > own[:, None]) & ~same).sum(dim=1)
    values = torch.where(better < 10, 1 / (better + 1), 0).float().cpu().numpy()
    kinds = ready.pairs.question_kind[rows]
    by_kind = {
        KINDS[kind]: round(float(values[kinds == kind].mean()), 4) for kind in np.unique(kinds)
    }
    return {"mrr": round(float(values.mean()), 4), **by_kind}


# --- results ----------------------------------------------------------------------------------


def save(changes: Mapping[str, NDArray[np.float32]], out: Path, name: str) -> None:
    """In two files of about 11 MB."""
    names = sorted(changes)
    reached = np.cumsum([changes[one].size for one in names])
    first = int(np.searchsorted(reached, reached[-1] / 2)) + 1
    for number, half in enumerate((names[:first], names[first:]), start=1):
        part = {one: np.ascontiguousarray(changes[one]) for one in half}
        (out / f"{name}-{number}.bin").write_bytes(packed(part, _DELTA_BITS))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="what training.packing made")
    parser.add_argument("--out", type=Path, required=True)
    names = [one.name for one in SETTINGS]
    parser.add_argument("--settings", nargs="+", choices=names, default=names)
    parser.add_argument("--seconds", type=float, default=210, help="from start to end")
    parser.add_argument("--until", type=float, help="instead, the end in seconds since 1970")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--float32", action="store_true", help="instead of bfloat16")
    parser.add_argument("--limit", type=int, help="maximum number of pairs, for a trial")
    parser.add_argument("--batch", type=int, help="pairs in a batch, for a trial")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    spent = time.monotonic() - STARTED
    seconds = options.until - time.time() + spent if options.until else options.seconds
    left = seconds - 4  # for writing files
    ready = prepare(
        options.data,
        torch.device(options.device),
        0.35 * left,
        options.limit,
        bfloat16=not options.float32,
    )
    began = time.monotonic() - STARTED
    until = began
    settings = [
        replace(one, batch=options.batch or one.batch)
        for one in SETTINGS
        if one.name in options.settings
    ]
    parts = sum(one.share for one in settings)
    failed = False
    for setting in settings:
        until += setting.share / parts * (left - began)
        try:
            changes = tune(ready, setting, until)
            save(changes, options.out, setting.name)
        except Exception:  # noqa: BLE001 - the next setting may work
            failed = True
            ready.note(setting=setting.name, failed=traceback.format_exc())
        runs = {"settings": [asdict(one) for one in settings], "records": ready.records}
        (options.out / "runs.json").write_text(json.dumps(runs, indent=1))
    sys.exit(failed)


if __name__ == "__main__":
    main()
