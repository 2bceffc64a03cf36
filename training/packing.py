"""Packs pairs and start weights into one folder that training needs, and nothing else.

    pairs.xz     tokens, passages and questions, as `Pairs` reads them
    start.bin    the weights of the original model, in 6 and 7 bits

Passages that occur in several trees are kept once. No tree has more than `--limit` passages; those
with links and descriptions are preferred, because people wrote these questions.
"""

import argparse
import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from training.dataset import FIELDS, KINDS, PARTS, Pairs
from training.trees import trees
from training.weights import from_onnx, packed

LONGEST, LONGEST_QUESTION, LEAST = 190, 46, 12
_CROWDED = {"github+docs": 0.4}
"""github/docs has templates in its sentences."""


def _chosen(held: dict[str, Any], limit: int, seen: set[bytes]) -> list[int]:
    by_people = Counter(n for kind, n, _ in held["questions"] if kind in ("link", "description"))
    chance = random.Random(held["tree"])
    candidates = []
    for number, one in enumerate(held["passages"]):
        digest = hashlib.sha256("".join((one["sentence"] + one["rest"]).split()).encode()).digest()
        if digest not in seen:
            seen.add(digest)
            candidates.append((chance.random() - 0.5 * bool(by_people[number]), number))
    return sorted(number for _, number in sorted(candidates)[:limit])


def build(folder: Path, tokenizer_file: Path, limit: int) -> Pairs:
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def tokens(texts: list[str]) -> list[list[int]]:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    stream: list[int] = []
    table: dict[str, list[int]] = {name: [] for name in FIELDS}
    seen: set[bytes] = set()
    pages = 0
    for site, tree in enumerate(trees()):
        held = json.loads((folder / f"{tree.name}.json").read_text())
        numbers = _chosen(held, int(limit * _CROWDED.get(tree.name, 1)), seen)
        asked: dict[int, list[tuple[int, str]]] = {}
        for kind, number, text in held["questions"]:
            asked.setdefault(number, []).append((KINDS.index(kind), text))
        known_pages: dict[str, int] = {}
        columns = [tokens([held["passages"][n][part] for n in numbers]) for part in PARTS]
        for at, number in enumerate(numbers):
            parts = [column[at] for column in columns]
            room = LONGEST
            for place, part in enumerate(parts):
                parts[place] = part[:room]
                room -= len(parts[place])
            if number not in asked or len(parts[2]) + len(parts[3]) < LEAST:
                continue
            page = known_pages.setdefault(
                held["passages"][number]["page"], pages + len(known_pages)
            )
            row = len(table["site"])
            table["site"].append(site)
            table["page"].append(page)
            for name, part in zip(PARTS, parts, strict=True):
                table[name].append(len(part))
                stream += part
            texts = tokens([text for _, text in asked[number]])
            for (kind, _), question in zip(asked[number], texts, strict=True):
                if KINDS[kind] == "sentence" and len(parts[3]) < LEAST:
                    continue
                table["question_kind"].append(kind)
                table["question_passage"].append(row)
                table["question_length"].append(len(question[:LONGEST_QUESTION]))
                stream += question[:LONGEST_QUESTION]
        pages += len(known_pages)
        print(f"{tree.name}: {len(numbers)} passages", flush=True)
    arrays = {name: np.array(table[name], FIELDS[name]) for name in FIELDS}
    return Pairs(np.array(stream, np.uint16), **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pairs", type=Path, help="what training.pairs made")
    parser.add_argument("into", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json")
    parser.add_argument("--model", type=Path, required=True, help="bge-small-en-v1.5 as fp32 ONNX")
    parser.add_argument("--limit", type=int, default=3500, help="passages of one tree, at most")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    made = build(options.pairs, options.tokenizer, options.limit)
    made.write(options.into / "pairs.xz")
    start = packed(from_onnx(options.model))
    (options.into / "start.bin").write_bytes(start)
    kinds = Counter(KINDS[kind] for kind in made.question_kind.tolist())
    print(f"{len(made.site)} passages, {len(made.question_kind)} pairs, {len(made.tokens)} tokens")
    print(dict(kinds))
    for path in sorted(options.into.glob("*.*")):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
