"""Every lie about runs of every kind, told to the certifier: `make lies`.

    python -m benchmarks.lies [--runs NAME,...] [--seed N] [--workers N]

Changes each field of each file of the runs in `tests/runs/falsified.py`, one at a time, by a
little and by much, and takes away each key, some rows and each file, each time with a manifest that
fits. What the certifier neither finds nor lists as what it cannot check is printed, and makes the
exit code 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from runs.falsified import RUNS, fates, lies, make, prepare


def told_of(name: str, root: Path, seed: int) -> dict[str, list[str]]:
    """Return what became of all lies about a run."""
    folder = make(name, root)
    return fates(folder, list(lies(folder, seed)))


def main(arguments: list[str]) -> int:
    """Tell them; return the exit code."""
    known = argparse.ArgumentParser(description=__doc__)
    known.add_argument("--runs", default=",".join(RUNS))
    known.add_argument("--seed", type=int, default=0)
    known.add_argument("--workers", type=int, default=os.cpu_count())
    asked = known.parse_args(arguments)
    names, passed = asked.runs.split(","), 0
    anew = multiprocessing.get_context("spawn")  # a fork would have Polars without its threads
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(asked.workers, mp_context=anew) as pool,
    ):
        os.chdir(folder)
        prepare(Path(folder))
        found = pool.map(told_of, names, repeat(Path(folder)), repeat(asked.seed))
        for name, known in zip(names, found, strict=True):
            counts = ", ".join(f"{len(those):,} {what}" for what, those in known.items())
            print(f"{name}: {sum(map(len, known.values())):,} lies: {counts}", flush=True)
            for one in known["escaped"]:
                print(f"    {one}")
            passed += len(known["escaped"])
        os.chdir("/")
    return int(passed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
