"""How time and memory grow with jobs and with nodes, node sets and failures included.

Each case runs in a process of its own, so that peak memory is its own; the ratio is the time per
job beside that of the smallest case of the same row. `python -m benchmarks.growth`
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from forestall.core.model.failures import Failures

CASES = (
    ("promise", 10_000, 128),
    ("promise", 100_000, 128),
    ("promise", 1_000_000, 128),
    ("promise", 10_000, 1_024),
    ("promise", 100_000, 1_024),
    ("promise", 10_000, 10_000),
    ("promise", 100_000, 10_000),
    ("easy", 10_000, 128),
    ("easy", 100_000, 128),
    ("easy", 1_000_000, 128),
    ("conservative", 10_000, 128),
    ("conservative", 100_000, 128),
    ("conservative", 1_000_000, 128),
)
LOAD = 0.5
FAILURES_PER_YEAR = 1_000.0


def case(policy: str, count: int, nodes: int) -> None:
    """Run one case and print seconds, peak memory in MiB and mean wait in s."""
    import forestall as fs

    jobs = fs.generate_jobs(nodes, 1, count=count, load=LOAD)
    days = (int(jobs.submit[-1]) - int(jobs.submit[0])) / 86_400 * 1.05 + 1
    failures = fs.generate_failures(nodes, days, 1, rate_per_year=FAILURES_PER_YEAR)
    small = fs.Jobs.build([0], [1], [60])
    fs.simulate(small, Failures.none(), nodes=nodes, policy=policy)  # loads the kernels
    start = time.perf_counter()
    result = fs.simulate(jobs, failures, nodes=nodes, policy=policy)
    spent = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(spent, peak, result.measures["wait"]["mean"])


def main() -> None:
    """Print one line per case."""
    base: dict[tuple[str, int], float] = {}
    print(f"offered load {LOAD}, {FAILURES_PER_YEAR:.0f} failures a year, node sets kept")
    for policy, count, nodes in CASES:
        command = [sys.executable, "-m", "benchmarks.growth", policy, str(count), str(nodes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        spent, peak, wait = (float(v) for v in done.stdout.split())
        each = spent / count * 1e6
        first = base.setdefault((policy, nodes), each)
        print(
            f"{policy:<13}{count:>10,} jobs {nodes:>7,} nodes {spent:>9.2f} s {each:>8.2f} us a job"
            f"  x{each / first:.2f}  peak {peak:>5.0f} MiB  mean wait {wait / 3600:.1f} h"
        )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        case(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
