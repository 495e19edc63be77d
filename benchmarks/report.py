"""The whole `forestall report` of a busy site's year: seconds and memory, part by part.

`python -m benchmarks.report [ROWS] [dirty]`

Rows are those of `slurm_rows` (default 1,000,000; the bound is 60 s and 2 GiB for 5,000,000). The
parts are timed in this process; the last line is the command itself in a new one, page and all.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.given.slurm_rows import write_rows
from forestall.site import report
from forestall.site.advice import advice
from forestall.slurm.sources import sources
from forestall.slurm.sources.sources import GivenRecords


def main() -> None:
    words = sys.argv[1:]
    count = next((int(word.replace(",", "")) for word in words if word[0].isdigit()), 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.txt"
        write_rows(path, count, dirty="dirty" in words)
        print(f"{count:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
        parts(path)
        command(path, Path(folder) / "report.html")


def parts(path: Path) -> None:
    """Time reading and each section."""
    given = GivenRecords(paths=(path,))
    began = time.perf_counter()
    site = sources.gather(given)
    asked = sources.asked_of(site, given)
    site = sources.cut(site, asked)
    began = told("reading", began)
    advice.study(site, asked)
    began = told("advice", began)
    for key, name in report.SECTIONS.items():
        report.one_section(key, name, site, asked)
        began = told(name.rpartition(".")[2], began)


def told(what: str, began: float) -> float:
    """Print what a part took, and return the time now."""
    now = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:20} {now - began:6.1f} s  peak {peak:5.2f} GiB")
    return time.perf_counter()


def command(path: Path, page: Path) -> None:
    """Time the command in a process of its own."""
    began = time.perf_counter()
    line = [sys.executable, "-m", "forestall", "report", str(path), "--out", str(page), "--quiet"]
    subprocess.run(line, check=True)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{'forestall report':20} {took:6.1f} s  peak {peak:5.2f} GiB")


if __name__ == "__main__":
    main()
