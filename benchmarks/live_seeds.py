"""Scenarios of the live controller by the thousand: `python -m benchmarks.live_seeds`.

    python -m benchmarks.live_seeds [FIRST [COUNT [WORKERS]]]

plays COUNT seeds from FIRST on (0, 1,000,000, 2) on a modelled cluster where everything goes wrong.
A seed that breaks a rule prints its story, and belongs into `tests/live/slurm/test_scenarios.py`.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from forestall.live.ledger.rows import OutcomeRow
from live.slurm.scenarios import play

DEFAULTS = ("0", "1000000", "2")
PART = 50


def run_many(first: int, count: int) -> tuple[Counter[str], list[str]]:
    """Play seeds; return how often what happened, and what went wrong."""
    seen, wrong = Counter[str](), []
    for seed in range(first, first + count):
        try:
            one = play(seed)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        seen.update(row.outcome for row in one.ledger.read(OutcomeRow))
        seen.update(type(deed.action).__name__ for deed in one.world.state.deeds)
        seen["killed"] += one.deaths
    return seen, wrong


def main(arguments: list[str]) -> int:
    """Play the seeds; return 1 where one broke a rule."""
    given = [*arguments, *DEFAULTS[len(arguments) :]]
    first, count, workers = (int(one) for one in given)
    begun, done, failed, seen = time.perf_counter(), 0, 0, Counter[str]()
    starts = range(first, first + count, PART)
    sizes = [min(PART, first + count - one) for one in starts]
    with ProcessPoolExecutor(workers) as pool:
        for size, (told, wrong) in zip(sizes, pool.map(run_many, starts, sizes), strict=True):
            done, failed = done + size, failed + len(wrong)
            seen.update(told)
            for one in wrong:
                print(one, flush=True)
            if done % 1000 == 0 or done == count:
                taken = time.perf_counter() - begun
                print(f"{done:,} seeds, {failed} broke a rule, {taken:,.0f} s: {dict(seen)}",
                      flush=True)  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
