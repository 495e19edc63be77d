"""Reading 5,000,000 rows of sacct, beside plain Python's csv module.

The rows are generated (`benchmarks.given.slurm_rows`): bursts by user, arrays, requeued runs,
names that are partly unique. The plain loop reads the first rows field by field into lists of
numbers and
interned text, without looking for anything odd; its time is scaled to all of them. Ours runs in a
process of its own, so that its peak memory is its own. Times are those of the processor where two
are compared: other work on the machine does not count.

`python -m benchmarks.sacct_read [ROWS]`
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks.common import ROOT
from benchmarks.given.slurm_rows import write_rows

ROWS = 5_000_000
SLICE = 200_000

OURS = """
import json, resource, sys, time
start = time.perf_counter()
from forestall.slurm.jobs import read_sacct
read = read_sacct(sys.argv[1])
wall, spent = time.perf_counter() - start, time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ran = read.ran
work = int((read.nodes[ran].astype("int64") * read.elapsed[ran]).sum())
print(json.dumps([wall, spent, peak, len(read), work, len(read.nodelist.words)]))
"""


def ours(path: Path) -> list[float]:
    """Return seconds, those of the processor, KiB, rows, node-seconds, lists of nodes."""
    done = subprocess.run(
        [sys.executable, "-c", OURS, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


def plain(path: Path, count: int) -> tuple[int, int]:
    """Return how many rows there are among the first ones, and their node-seconds."""
    numbers: dict[str, list[int]] = {}
    texts: dict[str, list[str]] = {}
    known: dict[str, str] = {}
    work = 0
    with path.open(newline="") as file:
        for row in islice(csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE), count):
            for name in ("JobIDRaw", "Submit", "Eligible", "Start", "End", "ElapsedRaw",
                         "TimelimitRaw", "AllocNodes", "ReqNodes", "AllocCPUS"):  # fmt: skip
                value = row[name]
                numbers.setdefault(name, []).append(int(value) if value.isdigit() else -1)
            for name in ("State", "User", "Account", "Partition", "QOS", "NodeList", "JobName",
                         "Reason", "FailedNode"):  # fmt: skip
                texts.setdefault(name, []).append(known.setdefault(row[name], row[name]))
            gpus = [item for item in row["AllocTRES"].split(",") if item.startswith("gres/gpu=")]
            numbers.setdefault("gpus", []).append(int(gpus[0][9:]) if gpus else 0)
            if row["Start"].isdigit():
                work += int(row["AllocNodes"]) * int(row["ElapsedRaw"])
    return len(numbers["JobIDRaw"]), work


def main() -> None:
    """Print seconds, memory and the ratio."""
    rows = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else ROWS
    count = min(SLICE, rows)
    with tempfile.TemporaryDirectory() as folder:
        some = Path(folder) / "some.txt"
        write_rows(some, count)
        start = time.process_time()
        theirs = plain(some, count)
        slow = (time.process_time() - start) * rows / count
        assert tuple(ours(some)[3:5]) == theirs, "the two do not agree"
        whole = Path(folder) / "whole.txt"
        write_rows(whole, rows)
        size = whole.stat().st_size
        wall, spent, peak, found, _, lists = ours(whole)
    assert found == rows
    print(f"{rows:,} rows, {size / 1e6:,.0f} MB, {lists:,.0f} lists of nodes")
    print(f"reading {wall:.1f} s, peak memory {peak / 1024:,.0f} MiB")
    print(f"of the processor {spent:.1f} s; plain Python {slow:.0f} s ({count:,} rows, scaled)")
    print(f"x{slow / spent:.1f}")


if __name__ == "__main__":
    main()
