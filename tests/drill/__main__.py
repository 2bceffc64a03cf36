"""`python -m drill`: what `make drill` runs. Prints one table; all but its first column is 0."""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

from drill.damage import FLIPPED_BITS, LOST_FILES
from drill.editions import MODES
from drill.full_disk import FullDisk
from drill.kills import Kill
from drill.operations import OPERATIONS
from drill.overload import Overload
from drill.table import Tally, table
from drill.workshop import Limits, Mishap, Workshop, opened

MISHAPS: tuple[Mishap, ...] = (
    *map(Kill, OPERATIONS),
    *(FullDisk(operation) for operation in OPERATIONS if operation.fills_disk),
    FLIPPED_BITS,
    LOST_FILES,
    *map(Overload, MODES),
)


def main() -> int:
    options = _options()
    chosen = [one for one in MISHAPS if not options.only or options.only in one.name]
    if not chosen:
        _say(f"no mishap is called {options.only!r}: {', '.join(one.name for one in MISHAPS)}")
        return 2
    _say(f"seed {options.seed}")
    with opened() as shop:
        tallies = _run_all(shop, chosen, options)
    sys.stdout.write(f"{table(tallies)}\n")
    return int(any(tally.findings for tally in tallies))


def _run_all(shop: Workshop, chosen: Sequence[Mishap], options: argparse.Namespace) -> list[Tally]:
    """Each gets its share of the time that is left, so what ends early leaves more to others."""
    ends = time.monotonic() + options.seconds
    tallies = []
    for number, mishap in enumerate(chosen):
        left = sum(one.share for one in chosen[number:])
        seconds = max(0.0, ends - time.monotonic()) * mishap.share / left
        chance = random.Random(f"{options.seed} {mishap.name}")
        tally = mishap.run(shop, chance, Limits.of(options.cycles, seconds))
        _say(
            f"{mishap.name}: {tally.cycles} cycles, {tally.interrupted} interrupted, "
            f"{len(tally.findings)} findings"
        )
        for (harm, message), times in Counter(tally.findings).items():
            _say(f"  {harm}, {times} times: {message}")
        tallies.append(tally)
    return tallies


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=420.0, help="for all of it, roughly")
    parser.add_argument("--cycles", type=int, default=1000, help="at most, of each mishap")
    parser.add_argument("--only", default="", help="the mishaps whose names hold this")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
