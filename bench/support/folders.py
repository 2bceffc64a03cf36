"""The folders that benchmarks read from and write to."""

from pathlib import Path

BENCH = Path(__file__).parents[1]
ROOT = BENCH.parent
RESULTS = BENCH / "results"
ENVIRONMENTS = ROOT / ".venv-peers"
