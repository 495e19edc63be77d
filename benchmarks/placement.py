"""Choosing storage hosts anew at each save, beside the best fixed choice in hindsight.

`python -m benchmarks.placement [SEEDS] [FIRST]`

Each seed is a world of 45 days (`tests/decide/vault/store_worlds.py`): 6 to 10 hosts in rooms that
go dark together, the compute host with one of them; bandwidths that drift, follow the day and fall
while a host is loaded; an hourly save. Printed is the time lost, storing and work for which there
was no checkpoint, and the net benefit, work saved less time lost, as a share of that of the best
fixed hosts, known afterwards: the aim is 90 % at least in every world. The ratio of the time lost
says how much better or worse; where next to nothing is lost it is the price of an insurance that in
hindsight was not needed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, median

from benchmarks import common
from decide.vault import store_worlds

AIM = 0.9


def played(seed: int) -> tuple[float, float, float]:
    """Return what choosing anew loses in a world, the best fixed choice, and what is at risk."""
    world = store_worlds.drawn(seed)
    mine = float(store_worlds.chosen_anew(world).sum())
    return mine, store_worlds.best_fixed(world), world.at_risk


def main() -> None:
    """Print a line for each world, and the worst."""
    count, first = (int(word) for word in [*sys.argv[1:], "40", "0"][:2])
    nets, ratios = [], []
    with ProcessPoolExecutor() as pool:
        for seed, told in enumerate(pool.map(played, range(first, first + count)), first):
            mine, fixed, risk = told
            nets.append((risk - mine) / (risk - fixed))
            ratios.append(mine / fixed)
            print(f"seed {seed:4}: lost {mine:9,.0f} s of {risk:9,.0f} s, best fixed "
                  f"{fixed:9,.0f} s: {ratios[-1]:.3f}; net benefit {nets[-1]:.1%}",
                  flush=True)  # fmt: skip
    print(
        f"{count} worlds: net benefit {min(nets):.1%} of the best fixed choice's at worst, "
        f"{mean(nets):.1%} on average; {sum(one < AIM for one in nets)} below {AIM:.0%}"
    )
    print(
        f"Time lost: {median(ratios):.3f} of the best fixed choice's in the middle, less than it "
        f"in {sum(one < 1 for one in ratios)} worlds"
    )


if __name__ == "__main__":
    assert common.ROOT
    main()
