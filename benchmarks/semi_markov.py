"""Semi-Markov temporal reliability: all horizons by one series inversion, beside the recursion.

The yardstick is the plain recursion in NumPy, once with only the needed entries kept
(P_1j and P_2j of the failing states together, a dot product a step), once with the whole matrix
P_ij of five states kept. `python -m benchmarks.semi_markov [--all-entries]`
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.common import line, seconds
from forestall.prediction.models.semi_markov import SemiMarkov
from forestall.prediction.models.semi_markov.learning import DAY, MONDAY, learn_host, learn_hosts
from forestall.prediction.models.semi_markov.states import host_states

STEPS = 7200
HOSTS = 1000


def needed_only(q: np.ndarray, h: np.ndarray, horizon: int) -> np.ndarray:
    """TR from S1: P_1 and P_2 of any failing state."""
    c12, c21 = q[0, 1] * h[0, 1], q[1, 0] * h[1, 0]
    f1, f2 = (np.cumsum((q[i, 2:, None] * h[i, 2:]).sum(axis=0)) for i in (0, 1))
    p1, p2 = np.zeros(horizon + 1), np.zeros(horizon + 1)
    for m in range(1, horizon + 1):
        p1[m] = c12[1:m] @ p2[m - 1 : 0 : -1] + f1[m]
        p2[m] = c21[1:m] @ p1[m - 1 : 0 : -1] + f2[m]
    return 1 - p1


def all_entries(q: np.ndarray, h: np.ndarray, horizon: int) -> np.ndarray:
    """TR from S1, with the matrix P(m) of all states kept at every step."""
    kernel = np.zeros((horizon + 1, 5, 5))
    kernel[:, :2] = np.moveaxis(q[..., None] * h, -1, 0)
    direct = np.cumsum(kernel, axis=0)
    p = np.zeros((horizon + 1, 5, 5))
    for m in range(1, horizon + 1):
        through = np.einsum("lij,ljk->ik", kernel[1:m, :, :2], p[m - 1 : 0 : -1, :2])
        p[m] = direct[m] + through
    return 1 - p[:, 0, 2:].sum(axis=1)


def drawn(rng: np.random.Generator, count: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    q = np.zeros((count, 2, 5))
    q[:, 0, 1], q[:, 1, 0] = 0.9, 0.85
    q[:, 0, 2:], q[:, 1, 2:] = 0.1 / 3, 0.05
    h = rng.random((count, 2, 5, steps))
    h[..., 0] = 0
    return q, h / h.sum(axis=-1, keepdims=True)


def load(rng: np.random.Generator, days: int, period: int) -> np.ndarray:
    """Owners' load: light, with some thousand stays of busier times."""
    samples = days * DAY // period
    level = np.repeat(rng.choice([0.05, 0.1, 0.4, 0.9], samples // 60 + 1), 60)[:samples]
    level = level + 0.05 * rng.random(samples)
    level[rng.random(samples) < 1e-4] = np.nan
    return level


def main() -> None:
    """Print a line a comparison."""
    rng = np.random.default_rng(1)
    q, h = drawn(rng, 1, STEPS + 1)
    process = SemiMarkov(q[0], h[0])
    q1, h1 = q[0], h[0]
    apart = np.abs(process.reliability(0, STEPS) - needed_only(q1, h1, STEPS)).max()
    print(f"all horizons to {STEPS:,}; largest difference {apart:.1e}")
    ours, theirs = seconds(
        lambda: process.reliability(0, STEPS), lambda: needed_only(q1, h1, STEPS), rounds=5
    )
    line("temporal reliability, one host", ours, "recursion, needed", theirs)
    if "--all-entries" in sys.argv:
        begun = time.perf_counter()
        slow = all_entries(q1, h1, STEPS)
        spent = time.perf_counter() - begun
        assert np.allclose(slow, process.reliability(0, STEPS), atol=1e-10)
        line("temporal reliability, one host", ours, "recursion, all", spent)
    many = SemiMarkov(*drawn(rng, HOSTS, 1200))
    (batch,) = seconds(lambda: many.reliability(0, STEPS), rounds=2)
    line(f"the same, {HOSTS:,} hosts in one call", batch, "as many recursions", HOSTS * theirs)

    levels = load(rng, 30, 6)
    states = host_states(levels)
    start = MONDAY + 29 * DAY + 9 * 3600
    history = learn_host(states)
    (classed,) = seconds(lambda: host_states(levels))
    (learned,) = seconds(lambda: learn_host(states).process(start, 12 * 3600))
    print(f"states of 432,000 samples {classed * 1e3:.2f} ms; {len(history.runs):,} stays")
    line("learning, 30 days at 6 s, 12 h ahead", learned, "asked for", 0.05)
    hosts = [history] * 100
    (batched,) = seconds(lambda: learn_hosts(hosts, start, 2 * 3600), rounds=2)
    print(f"learning of 100 hosts, 2 h ahead {batched * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
