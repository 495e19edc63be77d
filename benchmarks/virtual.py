"""Virtual machines: the paper's year, growth in tasks, and what choosing a node costs.

The year (112,454 jobs of 1 to 256 tasks on 256 nodes of 4 processors, 307 failures and 30 times as
many) for each strategy, without and with files; growth from a tenth of a year to three; the choice
of a node on 128 to 32,768 nodes beside a compiled scan of all of them that chooses the same; a
smaller machine beside the plain reference of the tests, which agrees to the second.
`python -m benchmarks.virtual [year|growth|choice|reference]`
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.common import line, seconds
from forestall.core.model.predictions import Predictions
from forestall.core.world.failures import prepare_failures
from forestall.logs.generate.failures import generate_failures
from forestall.logs.generate.tasks import JOBS, generate_task_jobs
from forestall.logs.predictions import perfect, synthetic
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import prepare_virtual
from forestall.machines.simulation.run import play_virtual

PAPER = 0.765
LOAD = 0.7
RATES = (307, 30 * 307)
STRATEGIES: tuple[tuple[str, Any], ...] = (
    ("random", 0.5),
    ("first-fit", 0.5),
    ("best-fit", 0.5),
    ("best-fit", "dynamic"),
    ("omniscient", 0.5),
)
DEADLINE, SPAN, WORK = 10**9, 10**5, 36 * 10**6
"""Of tasks that choose: the deadline and the time until then, s, and work of 10 h."""
CHOICES = 200_000
STANDING = 64


def study(strategy: str, alpha: Any, count: int, days: float, rate: float, **more: Any) -> Any:
    """Return what `play_virtual` is called with."""
    settings: dict[str, Any] = {"nodes": 256, "processors_per_node": 4, "downtime": "log"} | more
    parameters = VirtualParameters(strategy=strategy, alpha=alpha, **settings)
    nodes = parameters.nodes
    capacity = nodes * parameters.processors_per_node
    jobs = generate_task_jobs(
        1, count=count, days=days, load=LOAD, capacity=capacity, largest=min(256, capacity // 4)
    )
    workload = prepare_virtual(jobs, parameters)
    log = generate_failures(nodes, days, 1, rate_per_year=rate)
    failures = prepare_failures(log, parameters)
    start = min([int(jobs.submit[0]), *failures.time[:1].tolist()])
    if strategy == "random":
        predictions = Predictions.none()
    elif strategy == "omniscient":
        predictions = perfect(failures, start=start)
    else:
        predictions = synthetic(failures, accuracy=PAPER, seed=1, start=start)
    return workload, failures, predictions, parameters


def spent(given: Any) -> tuple[float, VirtualOutcome]:
    """Return how long a run takes, s, and what came out."""
    start = time.perf_counter()
    outcome = play_virtual(*given)
    return time.perf_counter() - start, outcome


def year() -> None:
    """Print a line for each strategy, and rate: the run alone, and with files and report."""
    from forestall.machines.simulate import simulate_virtual

    jobs = generate_task_jobs(1, load=LOAD)
    print(f"the paper's year, {len(jobs):,} jobs, {int(jobs.size.sum()):,} tasks, load {LOAD}")
    for rate in RATES:
        log = generate_failures(256, 365, 1, rate_per_year=rate)
        for strategy, alpha in STRATEGIES:
            given = study(strategy, alpha, JOBS, 365, rate)
            spent(study(strategy, alpha, 100, 1, rate))  # loads the kernels
            alone, outcome = spent(given)
            took = []
            for report in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    start = time.perf_counter()
                    result = simulate_virtual(
                        jobs, log, nodes=256, processors_per_node=4, strategy=strategy,
                        alpha=alpha, prediction_accuracy=PAPER, downtime="log",
                    )  # fmt: skip
                    result.save(Path(folder) / "run", report=report)
                    took.append(time.perf_counter() - start)
            print(
                f"{strategy:<11}{alpha!s:<8} {len(log):>6,} failures {outcome.events:>9,} events "
                f"run {alone:>5.2f} s   with files {took[0]:>5.1f} s   and report {took[1]:>5.1f} s"
            )


def growth() -> None:
    """Print time a task from a tenth of a year to three years, and over the number of nodes."""
    for strategy, alpha in STRATEGIES[:3]:
        first = 0.0
        for years in (0.1, 0.3, 1.0, 3.0):
            given = study(strategy, alpha, round(JOBS * years), 365 * years, RATES[1])
            spent(study(strategy, alpha, 100, 1, RATES[1]))
            took = min(spent(given)[0] for _ in range(2))
            tasks = int(given[0].jobs.size.sum())
            each = took / tasks * 1e6
            first = first or each
            print(
                f"{strategy:<11}{tasks:>10,} tasks {took:>8.2f} s {each:>6.2f} us a task "
                f"x{each / first:.2f}"
            )
    for strategy, alpha in STRATEGIES[:3]:
        first = 0.0
        for nodes in (128, 512, 2_048, 8_192, 32_768):
            rate = RATES[0] * nodes / 256
            days = 365 * 256 / nodes
            given = study(strategy, alpha, JOBS, days, rate, nodes=nodes)
            took, _ = spent(given)
            tasks = int(given[0].jobs.size.sum())
            each = took / tasks * 1e6
            first = first or each
            print(
                f"{strategy:<11}{nodes:>7,} nodes {tasks:>9,} tasks {took:>8.2f} s {each:>6.2f} us "
                f"a task x{each / first:.2f}"
            )


# The choice of a node ----------------------------------------------------------------------------


@numba.njit(cache=False)
def by_trees(fleet, choosing, alpha, draws, chosen):
    """Choose, take, and give back what was taken 64 choices ago."""
    for i in range(len(draws)):
        node, _ = placement.choose(
            fleet, choosing, alpha, WORK, DEADLINE, DEADLINE - SPAN, draws[i]
        )
        chosen[i] = node
        fleets.take(fleet, node, 1000)
        if i >= STANDING:
            fleets.take(fleet, chosen[i - STANDING], -1000)


@numba.njit(cache=False)
def by_scan(free, foreseen, strategy, alpha, draws, chosen):
    """Do the same by looking at every node, every time."""
    for i in range(len(draws)):
        node = -1
        if strategy == placement.RANDOM:
            count = 0
            for j in range(len(free)):
                count += free[j] >= 100
            wanted = int(draws[i] * count)
            for j in range(len(free)):
                if free[j] >= 100:
                    if wanted == 0:
                        node = j
                        break
                    wanted -= 1
        elif strategy == placement.FIRST_FIT:
            for j in range(len(free)):
                ok = free[j] >= 100 and foreseen[j] >= DEADLINE
                if ok and (node < 0 or free[j] > free[node]):
                    node = j
        else:
            least = np.inf
            needed = WORK / SPAN / 1000
            for j in range(len(free)):
                if free[j] * SPAN >= WORK and foreseen[j] >= DEADLINE:
                    delta = foreseen[j] - (DEADLINE - SPAN)
                    cr = alpha * (free[j] / 1000 - needed) / needed
                    cr += (1 - alpha) * (delta - SPAN) / SPAN
                    if cr < least:
                        least, node = cr, j
        chosen[i] = node
        free[node] -= 1000
        if i >= STANDING:
            free[chosen[i - STANDING]] += 1000


def choice() -> None:
    """Print the cost of one choice, by trees and by a scan, which choose the same."""
    kinds = (
        ("random", placement.RANDOM, 0.5),
        ("first-fit", placement.FIRST_FIT, 0.5),
        ("best-fit", placement.BEST_FIT, 0.5),
    )
    for name, strategy, alpha in kinds:
        for nodes in (128, 512, 2_048, 8_192, 32_768):
            rng = np.random.default_rng(1)
            free = rng.integers(1, 5, nodes) * 1000
            foreseen = DEADLINE - SPAN + rng.integers(0, 40 * SPAN, nodes)
            choosing = placement.Choosing(strategy, alpha, 1, 12)
            count = CHOICES
            draws = rng.random(count)

            def fleet(strategy=strategy, free=free, foreseen=foreseen) -> Any:
                made = fleets.new_fleet(
                    free,
                    1000,
                    100,
                    by_level=strategy == placement.BEST_FIT,
                    counted=strategy == placement.RANDOM,
                )
                made.nodes["foreseen"] = foreseen
                return made

            one, two = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
            by_trees(fleet(), choosing, alpha, draws[:1], one)
            by_scan(free.copy(), foreseen, strategy, alpha, draws[:1], two)
            ready = fleet()
            start = time.perf_counter()
            by_trees(ready, choosing, alpha, draws, one)
            ours = (time.perf_counter() - start) / count
            few = max(2_000, min(count, 10**9 // (nodes * 8)))
            copy = free.copy()
            start = time.perf_counter()
            by_scan(copy, foreseen, strategy, alpha, draws[:few], two)
            theirs = (time.perf_counter() - start) / few
            assert np.array_equal(one[:few], two[:few]), "another choice"
            print(
                f"{name:<11}{nodes:>7,} nodes {ours * 1e9:>8.0f} ns a choice   scan "
                f"{theirs * 1e9:>9,.0f} ns  x{theirs / ours:,.1f}"
            )


def reference() -> None:
    """Print the ratio to the plain reference on a machine that it can bear."""
    from machines.simulation.virtual_reference import simulate_plainly

    small = {"nodes": 16}
    for strategy, alpha in STRATEGIES[:3]:
        given = study(strategy, alpha, 500, 365 * 500 / JOBS * 16, 30 * 307 / 16, **small)
        (ours,) = seconds(lambda g=given: play_virtual(*g))
        start = time.perf_counter()
        plain = simulate_plainly(*given)
        theirs = time.perf_counter() - start
        outcome = play_virtual(*given)
        assert plain.jobs == [tuple(row) for row in outcome.jobs.tolist()], "another outcome"
        assert sorted(plain.runs) == sorted(tuple(row) for row in outcome.runs.tolist())
        line(f"{strategy}, 500 jobs, 16 nodes", ours, "plain Python", theirs)


def main() -> None:
    """Print all, or what is named."""
    parts = {"year": year, "growth": growth, "choice": choice, "reference": reference}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
