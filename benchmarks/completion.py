"""Completion times: the computed distribution beside simulated runs, in time and in agreement.

No library that we know computes this distribution; the yardstick is the simulation, whose error
falls with the root of its runs. `python -m benchmarks.completion`
"""

from __future__ import annotations

import math
import time

import numpy as np

from forestall.reliability.checkpoints.checkpoints import checkpoint_interval, mean_completion
from forestall.reliability.checkpoints.completion import completion_of
from forestall.reliability.checkpoints.completion_simulated import simulate_completion
from forestall.reliability.checkpoints.segments import CheckpointPlan
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.ageing import SystemLifetime
from forestall.reliability.systems.equilibrium import Equilibrium
from forestall.reliability.systems.systems import from_mttf

RUNS = 1_000_000
PLANS = {
    "50 checkpoints": CheckpointPlan(5050.0, 100.0, 10.0, 20.0, 7.0),
    "no checkpoints": CheckpointPlan(1500.0, math.inf, 10.0, 20.0, 7.0),
    "700 checkpoints": CheckpointPlan(7000.0, 10.0, 1.0, 5.0, 2.0),
}
SYSTEMS = {
    "exponential": SystemLifetime(lifetime("exponential", scale=1000.0)),
    "Weibull 0.5": SystemLifetime(from_mttf(1000.0, 0.5)),
    "Weibull 0.7": SystemLifetime(from_mttf(1000.0, 0.7)),
    "Weibull 1.5": SystemLifetime(from_mttf(1000.0, 1.5)),
    "lognormal": SystemLifetime(lifetime("lognormal", mu=6.0, sigma=1.2)),
    "Weibull 0.7, 64 nodes, steady": SystemLifetime(from_mttf(64_000.0, 0.7), 64, "steady"),
}


def agreement() -> None:
    """Print for each law and plan both times, the distance of the distributions and its bound."""
    print(f"{'law':<31}{'plan':<17}{'computed':>10}{'simulated':>11}{'apart':>10}{'1 % bound':>11}"
          f"{'own error':>11}{'mean, in s.e.':>14}")  # fmt: skip
    for name, system in SYSTEMS.items():
        for title, plan in PLANS.items():
            began = time.perf_counter()
            job = completion_of(plan, system)
            middle = time.perf_counter()
            runs = simulate_completion(plan, system, RUNS, np.random.default_rng(1))
            ended = time.perf_counter()
            t = np.quantile(runs.times, np.linspace(0, 1, 5001)) * (1 + 1e-9)
            apart = float(np.max(np.abs(job.cdf(t) - runs.cdf(t))))
            off = (runs.mean() - job.mean()) / runs.standard_error()
            print(
                f"{name:<31}{title:<17}{middle - began:>8.2f} s{ended - middle:>9.2f} s"
                f"{apart:>10.5f}{1.63 / math.sqrt(RUNS):>11.5f}{job.error:>11.1e}{off:>14.2f}"
            )


def steady_state() -> None:
    """Print how good independent times between failures are for nodes renewed one by one."""
    print("\nsteady state: nodes followed one by one, over independent times between failures")
    plan = PLANS["50 checkpoints"]
    for nodes in (2, 4, 8, 16, 32, 64):
        law = from_mttf(1000.0 * nodes, 0.7)
        ages = np.asarray(Equilibrium(law).quantile((np.arange(nodes) + 0.5) / nodes))
        job = completion_of(plan, SystemLifetime(law, nodes, "steady"))
        system = SystemLifetime(law, nodes, tuple(ages.tolist()))
        runs = simulate_completion(plan, system, 50_000, np.random.default_rng(2))
        print(f"{nodes:>5} nodes: mean x{runs.mean() / job.mean():.4f}, "
              f"90 % x{float(runs.quantile(0.9)) / job.promise(0.9):.4f}")  # fmt: skip


def fresh_nodes() -> None:
    """Print what Young's interval costs on new nodes, by the approximation and by simulation."""
    print("\n1000 nodes of shape 0.5, MTTF 1000 d, checkpoints of 5 min, 30 d of work")
    for age in (0.0, 30.0, 365.0):
        found = checkpoint_interval(
            1000.0, 5 / 1440, shape=0.5, nodes=1000, ages=age, work=30.0
        )  # fmt: skip
        system = SystemLifetime(from_mttf(1000.0, 0.5), 1000, age)
        means = []
        for interval in (found.young, found.optimal):
            plan = CheckpointPlan(30.0, interval, 5 / 1440)
            runs = simulate_completion(plan, system, 3000, np.random.default_rng(3))
            means += [mean_completion(plan, system), runs.mean()]
        print(
            f"{age:>5.0f} d old: best / Young {found.optimal / found.young:.3f}, makespan "
            f"{means[0] / means[2] - 1:.1%} better ({means[1] / means[3] - 1:.1%} simulated)"
        )


if __name__ == "__main__":
    agreement()
    steady_state()
    fresh_nodes()
