"""Are promises with spares kept as often as they say?

`python -m benchmarks.spares_kept [JOBS] [SEEDS] [FIRST SEED]`

Each world (`tests/scheduling/simulation/spared_worlds.py`) has so many generated jobs on 64 nodes
that fail as the predictor knows; its seeds are put together. Judged are the promises that end while
jobs still arrive; those that end later are told beside. Printed are the mean promise and the share
kept, and by deciles of the promise with enough jobs the mean of each and the difference in points,
with what right promises would show in 19 of 20 cases. Enough are as many as let that be no more
than the aim, 3 points.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt

from benchmarks import common
from scheduling.simulation.spared_worlds import SparedWorld, promised_and_kept

AIM = 0.03
NORMAL = 1.96
WORLDS = (
    SparedWorld(),
    SparedWorld(mttf=150),
    SparedWorld(mttf=150, failovers=1),
    SparedWorld(mttf=150, spares=4),
    SparedWorld(mttf=150, downtime=1 / 3),
    SparedWorld(mttf=300, spares=2, failovers=2, load=1.2),
    SparedWorld(mttf=300, spares=2, failovers=2, load=0.3),
)


def main() -> None:
    """Print the deciles of each world, and the largest difference."""
    given = [int(word) for word in sys.argv[1:]]
    jobs, seeds, first = (*given, *(10_000, 30, 1001)[len(given) :])
    judged = []
    for world in (one._replace(jobs=jobs) for one in WORLDS):
        each = [promised_and_kept(world, first + seed) for seed in range(seeds)]
        said, kept, ahead = (np.concatenate(part) for part in zip(*each, strict=True))
        print(", ".join(f"{name} {value:g}" for name, value in world._asdict().items()))
        judged += told_by_deciles(said[ahead], kept[ahead])
        print("  that end after the last job has come:")
        told_by_deciles(said[~ahead], kept[~ahead])
    off = sum(points > AIM for points in judged)
    print(f"{len(judged)} deciles of enough jobs: at most {100 * max(judged):.1f} points off, "
          f"{off} beyond {100 * AIM:.0f}")  # fmt: skip


def told_by_deciles(said: npt.NDArray[np.float64], kept: npt.NDArray[np.bool_]) -> list[float]:
    """Print what was promised and kept; return how far off each decile with enough jobs is."""
    if len(said) == 0:
        return []
    print(
        f"  all: {len(said):,} jobs, promised {said.mean():.4f}, kept {kept.mean():.4f}", flush=True
    )
    decile, off = np.minimum((10 * said).astype(np.int64), 9), []
    for number in range(10):
        here = decile == number
        count = int(np.count_nonzero(here))
        mean = float(said[here].mean()) if count else 0.0
        chance = NORMAL * math.sqrt(mean * (1 - mean) / max(count, 1))
        if count == 0 or chance > AIM:
            continue
        share = float(kept[here].mean())
        off.append(abs(share - mean))
        print(f"  {number / 10:.1f}: {count:6,} jobs, promised {mean:.3f}, kept {share:.3f}, "
              f"{100 * (share - mean):+.1f} points (± {100 * chance:.1f})")  # fmt: skip
    return off


if __name__ == "__main__":
    assert common.ROOT
    main()
