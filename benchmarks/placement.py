"""Choosing storage hosts anew at each save, beside the best fixed choice in hindsight.

`python -m benchmarks.placement [SEEDS] [FIRST]`

Each seed is a world of 120 days (`tests/vaults/rules/store_worlds.py`): 6 to 10 hosts in rooms that
go dark together, the compute host with one of them; bandwidths that drift, follow the day and fall
while a host is loaded; an hourly save. Printed is the time lost, storing and work for which there
was no checkpoint, and by how much of its net benefit, work saved less time lost, the best fixed
choice does better: the aim is 10 % at most in every world. The ratio of the time lost says how much
better or worse; where next to nothing is lost it is the price of an insurance that in hindsight was
not needed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, median

from benchmarks import common
from vaults.rules import store_worlds

AIM = 0.1


def played(seed: int) -> tuple[float, float, float]:
    """Return what choosing anew loses in a world, the best fixed choice, and by how much that does
    better."""
    world = store_worlds.drawn(seed, hours=24 * 120)
    mine, fixed = float(store_worlds.chosen_anew(world).sum()), store_worlds.best_fixed(world)
    return mine, fixed, store_worlds.shortfall(world, mine, fixed)


def main() -> None:
    """Print a line for each world, and the worst."""
    given = [int(word) for word in sys.argv[1:]]
    count, first = (*given, *(40, 0)[len(given) :])
    short, ratios = [], []
    with ProcessPoolExecutor() as pool:
        for seed, told in enumerate(pool.map(played, range(first, first + count)), first):
            mine, fixed, by = told
            short.append(by)
            ratios.append(mine / fixed)
            told_of = f"lost {mine:9,.0f} s, best fixed {fixed:9,.0f} s: {ratios[-1]:.3f}"
            print(f"seed {seed:4}: {told_of}; worse by {by:.1%} of the net benefit", flush=True)
    print(f"{count} worlds: worse than the best fixed choice by {max(short):.1%} of its net "
          f"benefit at most, {mean(short):.1%} on average; "
          f"{sum(one > AIM for one in short)} above {AIM:.0%}")  # fmt: skip
    print(f"Time lost: {median(ratios):.3f} of the best fixed choice's in the middle, less than it "
          f"in {sum(one < 1 for one in ratios)} worlds")  # fmt: skip


if __name__ == "__main__":
    assert common.ROOT
    main()
