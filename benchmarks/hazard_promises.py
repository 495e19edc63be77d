"""Whether promises under hazards are kept as often as stated: 24 nodes, each with a Weibull law of
its own, and jobs that are quoted by the engine of a live cluster, promised, and run.

Beside the hazards as they are and those that a predictor has learned stand the former treatment, a
hazard as one failure at a moment, and a rival that states the share of all that is kept, for every
job. `python -m benchmarks.hazard_promises [JOBS [SEEDS [full|light [SOURCE ...]]]]`
"""

from __future__ import annotations

import sys

import numpy as np

from live.slurm.hazard_world import FULL, LIGHT, SOURCES, brier, deciles, played, resolution

ENOUGH = 100
"""Promises from which on a decile is judged."""


def main() -> None:
    """Print the deciles of each source, and how sharp they are."""
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    every = LIGHT if sys.argv[3:4] == ["light"] else FULL
    for name in sys.argv[4:] or SOURCES:
        runs = [played(name, jobs, seed, every) for seed in range(seeds)]
        stated, kept = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        for one in deciles(stated, kept):
            mark = "" if one.count < ENOUGH else "holds" if abs(one.off) <= 0.03 else "off"
            print(f"{name:8} {one.count:6,} stated {one.stated:.3f} kept {one.kept:.3f} "
                  f"({one.low:.3f} to {one.high:.3f}) {mark}")  # fmt: skip
        rival = np.full(len(kept), kept.mean())
        for who, said in ((name, stated), ("constant", rival)):
            print(f"{who:8} {len(kept):6,} stated {said.mean():.4f} kept {kept.mean():.4f}; Brier "
                  f"{brier(said, kept):.4f}, resolution {resolution(said, kept):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
