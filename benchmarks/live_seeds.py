"""Scenarios of the live controller by the hundred thousand: `make live-seeds`.

    python -m benchmarks.live_seeds [--first N] [--count N] [--workers N] [--until HH:MM]

plays seeds on a modelled cluster where everything goes wrong: short scenarios with few nodes and a
ledger that fails (`small`), and of every hundredth seed also a long one. A seed that breaks a rule
prints its story, and belongs into `tests/live/slurm/test_scenarios.py`. What is done stands in the
file `--kept` names (`live-seeds.jsonl`): called again it goes on from there.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from typing import Any

from benchmarks.seed_parts import play_parts
from live.slurm.scenarios import play, play_small

FORGET = 20
"""Scenarios after which what holds itself is let go."""
LONG = 100
"""Of so many seeds one is also played at length."""


def run_part(first: int, count: int) -> dict[str, Any]:
    """Play seeds; return how often what happened, and what went wrong."""
    begun, seen, wrong = time.process_time(), Counter[str](), list[str]()
    if gc.isenabled():  # most goes by counts of references
        play_small(first)  # loads what stays: nobody need look through it again
        gc.collect()
        gc.freeze()
        gc.disable()
    for seed in range(first, first + count):
        if seed % FORGET == 0:
            gc.collect()  # the rest goes here
        for kind in (play_small, play) if seed % LONG == 0 else (play_small,):
            try:
                seen.update(kind(seed).happened())
            except AssertionError as error:
                wrong.append(f"{kind.__name__}: {error}")
            seen[kind.__name__] += 1
    taken = time.process_time() - begun
    return {"first": first, "count": count, "seen": seen, "wrong": wrong, "seconds": taken}


if __name__ == "__main__":
    sys.exit(play_parts(sys.argv[1:], run_part, __doc__, "live-seeds.jsonl"))
