"""Guests at priorities between normal and lowest: what the owner loses, and what the guest gets, at
owner's loads of 10 to 70 %. `python -m benchmarks.priorities [--seconds 4] [--repeats 3]`

The slides' question ("Studies on Resource Contention: CPU"): a finer priority made no significant
difference at 20 to 50 %, and always the lowest is too conservative. Guests spin on every core; an
owner of as many processes as cores works and rests. All priorities take turns of half a second
beside the same owner, in random order, so that whatever else runs on the host meets all alike.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

from forestall.live.contention.curves import mean_interval
from forestall.live.contention.measure import background, measure
from forestall.live.contention.plan import ExperimentPlan

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
NICES = (2, 5, 10, 15)
NAMES = {"normal": "nice 0", **{f"nice{one}": f"nice {one}" for one in NICES}, "lowest": "lowest"}


def main() -> None:
    """Measure and print, a row for each load."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    plan = ExperimentPlan(cpus, (len(cpus),), LOADS, asked.seconds, asked.repeats, nices=NICES)
    print(f"{len(cpus)} cores, others use {background(cpus, 1.0):.0%} now; {plan.takes:.0f} s")
    points = measure(plan).points
    found = {(one.asked, one.guest, one.repeat): one for one in points}
    print(f"others used {np.mean([one.background for one in points]):.0%} in the mean")
    print("owner's load alone | " + " | ".join(NAMES.values()))
    for load in LOADS:
        alone = np.array([found[load, "none", k].load for k in range(asked.repeats)])
        cells = []
        for guest in NAMES:
            some = [found[load, guest, k] for k in range(asked.repeats)]
            lost = 1 - np.array([one.load for one in some]) / alone
            low, high = mean_interval(lost[None])[0]
            got = np.mean([one.guest_cpu / (one.seconds * one.cores) for one in some])
            cells.append(f"{lost.mean():5.1%} ({low:.0%} to {high:.0%}), guest {got:.0%}")
        print(f"{alone.mean():.0%} | " + " | ".join(cells), flush=True)


if __name__ == "__main__":
    main()
