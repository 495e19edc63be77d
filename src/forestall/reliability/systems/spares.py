"""How many spares a job needs for a wanted probability to finish.

Two questions are told apart. `within` (the paper's): N nodes are given to the job, m of them as
spares, and it needs N - m; the spares age and fail like the others, and nothing is repaired.
`beyond`: the job needs N nodes, and m more stand by.

Source: Hacker and Meglicki, HPDC 2007, Section 7, Equation 24 and Table 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.systems import ring
from forestall.reliability.systems.pools import Pool, failures_of_pool, fewest
from forestall.reliability.systems.systems import (
    Age,
    ComponentGroup,
    assumption,
    checked_age,
    k_out_of_n,
    log_survival,
)

SHOWN_BEYOND = 3
"""Numbers of spares that a table has after the answer."""
LONGEST_TABLE = 12


@dataclass(frozen=True)
class SparesAnswer:
    """The fewest spares for a target, and the reliability of each number of spares.

    Attributes
    ----------
    spares : the answer, None where no number reaches the target
    target : the wanted probability
    reliability : (spares, probability) from 0 up to the answer and a few more
    assumes : the model in words
    """

    spares: int | None
    target: float
    reliability: tuple[tuple[int, float], ...]
    assumes: str

    def rows(self) -> tuple[tuple[int, float], ...]:
        """Return at most twelve rows: a long table is thinned, its ends and the answer stay."""
        if len(self.reliability) <= LONGEST_TABLE:
            return self.reliability
        last = len(self.reliability) - 1
        picked = {round(k * last / (LONGEST_TABLE - 1)) for k in range(LONGEST_TABLE)}
        if self.spares is not None:
            picked |= {max(self.spares - 1, 0), self.spares}
        return tuple(self.reliability[k] for k in sorted(picked))


def spares_within(
    nodes: int, law: Lifetime, time: float, spares: int, *, age: Age = "new", copies: int = 0
) -> float:
    """Return the probability that a job with N nodes, `spares` of them spare, lasts `time`.

    `copies` above 0 also asks that no checkpoint is gone: at most `spares` of all N nodes are lost,
    and no `copies` of them in a row on the ring of all N; copies are not made again.

    >>> from forestall.reliability.systems.systems import from_mttf
    >>> round(100 * spares_within(256, from_mttf(102_840.0), 128.0, 1), 2)
    95.9
    """
    if copies:
        lost = -math.expm1(float(log_survival(law, time, age)))
        return ring.survival(lost, nodes, copies, spares)
    return k_out_of_n([ComponentGroup(nodes, law, age)], time, spares)


def answer_spares(
    nodes: int,
    law: Lifetime,
    time: float,
    target: float,
    *,
    age: Age = "new",
    copies: int = 0,
    beyond: bool = False,
) -> SparesAnswer:
    """Return how many spares a job of `nodes` needs to last `time` with probability `target`.

    Parameters
    ----------
    nodes : with the spares among them, as the paper counts; with `beyond` those that the job needs
    law : of a node's life
    age : of all nodes when the job starts
    copies : checkpoint copies on the ring, 0 for none; see `spares_within`
    beyond : whether spares come on top of `nodes`
    """
    _check(nodes, time)
    checked = checked_age(age)

    def reached(spares: int) -> float:
        whole = nodes + spares if beyond else nodes
        return spares_within(whole, law, time, spares, age=checked, copies=copies)

    most = 10 * nodes + 100 if beyond else nodes - 1
    found = fewest(reached, target, most)
    counts = "on top of the nodes" if beyond else "counted among the nodes"
    words = [f"spares {counts}", "lost nodes are not repaired", assumption(checked), str(law)]
    if copies:
        words.append(f"{copies} copies of each checkpoint on a ring, not made again")
    return SparesAnswer(found, target, _table(reached, found, most), "; ".join(words))


def answer_pool(
    pool: Pool,
    mission: float,
    target: float,
    *,
    law: Lifetime | None = None,
    age: Age = "steady",
) -> SparesAnswer:
    """Return how many spares a pool needs so that with probability `target` no job waits.

    Without repair: in all the mission; for a `law` of lives by renewal counts, else by the Poisson
    bound. With repair: at any one moment of a machine in steady state, by the Poisson bound, which
    holds for any law of lives and repairs.
    """
    _check(pool.nodes, mission)
    if pool.repair is None and law is not None and law.family.name != "exponential":
        counts = failures_of_pool(law, pool.nodes, mission, age).cumsum()

        def reached(spares: int) -> float:
            return float(min(1.0, counts[min(spares, len(counts) - 1)]))

        words = f"no repair; failures counted over the mission; {assumption(age)}; {law}"
    else:

        def reached(spares: int) -> float:
            return pool.bound(spares, mission)

        when = "in all the mission, no repair" if pool.repair is None else "at any one moment"
        words = f"spares on top of the nodes; {when}; Poisson failures in steady state"
    found = fewest(reached, target)
    return SparesAnswer(found, target, _table(reached, found, 10 * pool.nodes + 100), words)


def never_short(pool: Pool, mission: float, target: float, most: int = 600) -> int | None:
    """Return the spares with which a pool, whole at first, is never short in all the mission.

    By the birth-death chain; None beyond `most` spares, whose matrices take long.
    """
    return fewest(lambda spares: pool.never_short(spares, mission), target, most)


def aged(groups: Sequence[ComponentGroup], age: Age) -> tuple[ComponentGroup, ...]:
    """Return the groups, all of them of that age."""
    return tuple(replace(group, age=age) for group in groups)


def _table(
    reached: Callable[[int], float], found: int | None, most: int
) -> tuple[tuple[int, float], ...]:
    last = min(most, LONGEST_TABLE) if found is None else min(most, found + SHOWN_BEYOND)
    return tuple((spares, reached(spares)) for spares in range(max(last, found or 0) + 1))


def _check(nodes: int, time: float) -> None:
    if not (nodes >= 1 and nodes == int(nodes)):
        raise ParameterError("nodes", nodes, "a whole number of at least 1")
    if not (time > 0 and math.isfinite(time)):
        raise ParameterError("hours", time, "a finite time above 0")
