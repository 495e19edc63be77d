"""Every lie about runs of every kind, told to the certifier: `make lies`.

    python -m benchmarks.lies [--runs NAME,...] [--seed N] [--workers N]

Changes each field of each file of the runs in `tests/app/runs/falsified.py`, one at a time, by a
little and by much, and takes away each key, some rows and each file, each time with a manifest that
fits. What the certifier neither finds nor lists as what it cannot check is printed, and makes the
exit code 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from app.runs.falsified import RUNS, escaped, lies, make, prepare


def told_of(name: str, root: Path, seed: int) -> tuple[int, list[str]]:
    """Return how many lies were told of a run, and those that passed."""
    folder = make(name, root)
    every = list(lies(folder, seed))
    return len(every), escaped(folder, every)


def main(arguments: list[str]) -> int:
    """Tell them; return the exit code."""
    known = argparse.ArgumentParser(description=__doc__)
    known.add_argument("--runs", default=",".join(RUNS))
    known.add_argument("--seed", type=int, default=0)
    known.add_argument("--workers", type=int, default=os.cpu_count())
    asked = known.parse_args(arguments)
    names, passed = asked.runs.split(","), 0
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(asked.workers) as pool:
        os.chdir(folder)
        prepare(Path(folder))
        found = pool.map(told_of, names, repeat(Path(folder)), repeat(asked.seed))
        for name, (count, missed) in zip(names, found, strict=True):
            print(f"{name}: {count:,} lies, {len(missed):,} neither found nor listed", flush=True)
            for one in missed:
                print(f"    {one}")
            passed += len(missed)
        os.chdir("/")
    return int(passed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
