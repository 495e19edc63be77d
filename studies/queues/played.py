"""Section 7 played: jobs on spares and a ring in simulated runs, beside what the formulas say.

A trial is one job on 256 blades, the spares among them, for 128 h: all blades are new as it starts,
fail once at most in the first 220 h, and are back after these; the next trial begins after 440 h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

import forestall as fs
from forestall import systems
from studies.queues import paper
from studies.queues.inputs import HOUR

TRIALS: Final = 4000
FAILING, APART = 220 * int(HOUR), 440 * int(HOUR)
RINGS: Final = (1, 2, 3)
"""Copies of each checkpoint that are tried."""


@dataclass(frozen=True)
class Played:
    """What became of the trials of one law, so many spares and copies, beside what is computed.

    Attributes
    ----------
    law, spares, copies : what was played
    computed : probability of no more losses than spares, recoverable ones, by the formulas
    kept : share of jobs that met a deadline with room for so many failures
    fallbacks : jobs whose newest checkpoint was gone with all its copies
    """

    law: str
    spares: int
    copies: int
    computed: float
    kept: float
    fallbacks: int

    @property
    def error(self) -> float:
        """The standard error of `kept` where `computed` is true."""
        return math.sqrt(self.computed * (1 - self.computed) / TRIALS)


def every_run() -> tuple[Played, ...]:
    """Return the trials of Table 5's spares on the paper's ring of three copies, and of the most
    spares with fewer copies."""
    laws = {
        "exponential": systems.from_mttf(paper.BLADE_MTTF),
        "Weibull, shape 0.75": systems.from_mttf(paper.BLADE_MTTF, paper.SHAPE),
    }
    most = len(paper.SPARES_WEIBULL) - 1
    asked = [(spares, RINGS[-1]) for spares in range(most + 1)]
    asked += [(most, copies) for copies in RINGS[:-1]]
    return tuple(
        _played(name, law, spares, copies) for name, law in laws.items() for spares, copies in asked
    )


TOGETHER: Final = {
    "one node": (0,),
    "two neighbors": (0, 1),
    "two nodes with one between them": (-1, 1),
    "a node and both its neighbors": (-1, 0, 1),
}
"""Places on the ring, beside a node drawn by chance, that fail in the same second."""
TOGETHER_TRIALS: Final = 200


@dataclass(frozen=True)
class Together:
    """What became of jobs some of whose nodes fail in the same second.

    Attributes
    ----------
    pattern, copies : which nodes fail, and how many copies there are of each checkpoint
    struck : failures of nodes that had a job
    gone : jobs whose newest checkpoint was gone with all its copies
    """

    pattern: str
    copies: int
    struck: int
    gone: int

    @property
    def item(self) -> str:
        """What it is, in words."""
        return f"{self.pattern} at once, {self.copies} {'copy' if self.copies == 1 else 'copies'}"


def together_runs() -> tuple[Together, ...]:
    """Return each pattern on the paper's ring, and two neighbors with a node's own copy alone."""
    runs = [(pattern, RINGS[-1]) for pattern in TOGETHER] + [("two neighbors", 1)]
    return tuple(_together(pattern, copies) for pattern, copies in runs)


def _together(pattern: str, copies: int) -> Together:
    spares = len(paper.SPARES_WEIBULL) - 1
    size, run, apart = paper.SPARES_NODES - spares, 12 * int(HOUR), 48 * int(HOUR)
    rng = np.random.default_rng(len(pattern))
    nodes = rng.integers(1, size - 1, TOGETHER_TRIALS)[:, None] + np.array(TOGETHER[pattern])
    start = np.arange(TOGETHER_TRIALS) * apart
    jobs = pl.DataFrame({"job": np.arange(1, TOGETHER_TRIALS + 1), "submit": start}).with_columns(
        size=pl.lit(size), runtime=pl.lit(run), estimate=pl.lit(run)
    )
    time = np.repeat(start + int(5.5 * HOUR), nodes.shape[1])
    failures = pl.DataFrame(
        {"time": time, "node": nodes.ravel(), "downtime": np.full(nodes.size, run)}
    )
    done: Any = fs.simulate(jobs, failures, **settings(spares, copies)).measures
    return Together(pattern, copies, done["failures_hit"], done["vault"]["fallbacks"])


def _played(name: str, law: systems.Lifetime, spares: int, copies: int) -> Played:
    jobs, failures = trials(law, spares, seed=spares)
    done = fs.simulate(jobs, failures, **settings(spares, copies))
    lost = -math.expm1(-float(law.cumulative_hazard(paper.SPARES_HOURS)))
    computed = systems.ring_survival(lost, paper.SPARES_NODES, copies, spares)
    told: Any = done.measures
    return Played(name, spares, copies, computed, told["promises_kept"], told["vault"]["fallbacks"])


def settings(spares: int, copies: int) -> dict[str, Any]:
    """Return the parameters of the runs: hourly checkpoints of 1 GiB, nothing foreseen, and room in
    each reservation for as many failures as there are spares."""
    return {
        "nodes": paper.SPARES_NODES, "spares": spares, "failovers": spares, "ring": copies,
        "checkpoint": "periodic", "checkpoint_interval": int(HOUR), "checkpoint_overhead": 0,
        "accuracy": 0.0, "risk": 0.0, "downtime": "log",
    }  # fmt: skip


def trials(law: systems.Lifetime, spares: int, *, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the jobs and the failures of all trials, one after the other."""
    rng = np.random.default_rng(seed)
    life = np.ceil(law.draw(rng, (TRIALS, paper.SPARES_NODES)) * HOUR)
    trial, node = np.nonzero(life < FAILING)
    time = trial * APART + life[trial, node].astype(np.int64)
    order = np.lexsort((node, time))
    failures = {"time": time, "node": node, "downtime": trial * APART + FAILING - time}
    run = int(paper.SPARES_HOURS * HOUR)
    jobs = {"job": np.arange(1, TRIALS + 1), "submit": np.arange(TRIALS) * APART}
    size = pl.lit(paper.SPARES_NODES - spares)
    columns = (size.alias("size"), pl.lit(run).alias("runtime"), pl.lit(run).alias("estimate"))
    return (
        pl.DataFrame(jobs).with_columns(*columns),
        pl.DataFrame({name: column[order] for name, column in failures.items()}),
    )
