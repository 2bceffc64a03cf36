"""The pairs that the embedder is tuned on, and the files that carry them to the GPU and back."""

from pathlib import Path

import numpy as np
import pytest

from training.dataset import FIELDS, Pairs
from training.pairs import TreePairs, pairs_of
from training.trees import Tree, trees
from training.weights import packed, unpacked

TREE = Tree("example/docs", "0" * 40, "MIT", "LICENSE", ("docs",))
GUIDE = """---
description: How an editor takes back its last change, and the one before it.
---
# Undo

Every change of a file can be taken back. Press Ctrl Z once for each change that you made since
you opened the file.

## Configuring the history

The history keeps a hundred changes. Set `history.maxLength` to keep more of them, or fewer on
small machines.
"""
INDEX = """# Editing

An editor changes files, and says [how to keep more changes](undo.md#configuring-the-history).
See [here](undo.md) for everything else that is known about it.
"""


@pytest.fixture
def made(tmp_path: Path) -> TreePairs:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/undo.md").write_text(GUIDE)
    (tmp_path / "docs/editing.md").write_text(INDEX)
    return pairs_of(TREE, tmp_path, lambda text: len(text.split()))


def asked(made: TreePairs, kind: str) -> dict[str, str]:
    """The questions of this kind, with the heading of their passage."""
    return {text: made.passages[at].name for one, at, text in made.questions if one == kind}


def test_a_heading_asks_for_its_section(made: TreePairs) -> None:
    assert "Configuring the history" in asked(made, "heading").values()
    [question] = [
        text for text in asked(made, "question") if text.endswith("configure the history")
    ]
    assert question.startswith("how")


def test_a_link_and_a_description_ask_for_their_target(made: TreePairs) -> None:
    assert asked(made, "link") == {"how to keep more changes": "Configuring the history"}
    [(description, heading)] = asked(made, "description").items()
    assert (description[:18], heading) == ("How an editor take", "Undo")


def test_a_first_sentence_is_apart_from_the_rest(made: TreePairs) -> None:
    [passage] = [one for one in made.passages if one.name == "Undo"]
    assert passage.sentence == "Every change of a file can be taken back."
    assert passage.rest.startswith("Press Ctrl Z")
    assert passage.heading == "# Undo"


def test_pairs_survive_their_file(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    passages, questions = 30, 70
    tables = {
        name: chance.integers(0, 9, questions if name.startswith("question") else passages)
        for name in FIELDS
    }
    tables["question_passage"] = np.sort(chance.integers(0, passages, questions))
    pairs = Pairs(
        chance.integers(0, 30000, 2000).astype(np.uint16),
        **{name: array.astype(FIELDS[name]) for name, array in tables.items()},
    )
    pairs.write(tmp_path / "pairs.xz")
    again = Pairs.read(tmp_path / "pairs.xz")
    for name in ("tokens", *FIELDS):
        assert np.array_equal(getattr(again, name), getattr(pairs, name))


@pytest.mark.parametrize(("bits", "error"), [(6, 0.04), (7, 0.02), (8, 0.01)])
def test_weights_are_packed_within_half_a_step(bits: int, error: float) -> None:
    weights = np.random.default_rng(1).uniform(-1, 1, (128, 64)).astype(np.float32)
    bias = np.arange(5, dtype=np.float32)
    again = unpacked(packed({"matrix": weights, "bias": bias}, {"": bits}))
    assert np.abs(again["matrix"] - weights).max() < error
    assert np.array_equal(again["bias"], bias)


def test_every_source_is_permissive_and_none_is_judged_on() -> None:
    judged = (
        "react.dev",
        "vitejs/vite",
        "docusaurus",
        "tailwind",
        "fastapi",
        "cpython",
        "anthropic",
    )
    for tree in trees():
        assert tree.license.startswith(("MIT", "BSD-", "Apache-2.0", "CC-BY-3.0", "CC-BY-4.0"))
        assert len(tree.commit) == 40
        assert not any(name in tree.repository.lower() for name in judged)
