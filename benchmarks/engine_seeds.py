"""Streams of events that a seed makes up, by the million: `python -m benchmarks.engine_seeds`.

    python -m benchmarks.engine_seeds [FIRST [COUNT [WORKERS]]]

plays COUNT seeds from FIRST on (0, 1,000,000, 2) against the books of `engine.streams`. A
seed that breaks a rule prints its story, and belongs into
`tests/scheduling/engine/test_streams.py`.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

from scheduling.engine.streams import run

DEFAULTS = ("0", "1000000", "2")
PART = 500


def run_many(first: int, count: int) -> tuple[int, list[str]]:
    """Play seeds; return how many events they told, and what went wrong."""
    events, wrong = 0, []
    for seed in range(first, first + count):
        try:
            events += sum(len(told) for told, _ in run(seed).told)
        except AssertionError as error:
            wrong.append(str(error))
    return events, wrong


def main(arguments: list[str]) -> int:
    """Play the seeds; return 1 where one broke a rule."""
    given = [*arguments, *DEFAULTS[len(arguments) :]]
    first, count, workers = (int(one) for one in given)
    begun, events, failed, done = time.perf_counter(), 0, 0, 0
    starts = range(first, first + count, PART)
    sizes = [min(PART, first + count - one) for one in starts]
    with ProcessPoolExecutor(workers) as pool:
        for size, (told, wrong) in zip(sizes, pool.map(run_many, starts, sizes), strict=True):
            done, events, failed = done + size, events + told, failed + len(wrong)
            for one in wrong:
                print(one, flush=True)
            if done % 20_000 == 0 or done == count:
                taken = time.perf_counter() - begun
                said = f"{done:,} seeds, {events:,} events, {failed} broke a rule"
                print(f"{said}, {taken:,.0f} s", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
