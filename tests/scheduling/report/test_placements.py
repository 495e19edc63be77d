"""What help says of each placement is what it does: looked up by the words, played, and compared
with all sets of nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

import forestall as fs
from forestall.scheduling.rules.entries import PLACEMENTS
from forestall.scheduling.settings import PROMISE

NODES, SIZE, LENGTH = 5, 3, 5000
Failure = tuple[int, int, float]
"""When, of which node, and the probability that is foreseen."""


def risk(nodes: Sequence[int], failures: Sequence[Failure]) -> float:
    """Return the probability of the first foreseen failure of these nodes, 0 without one."""
    return next((p for _, node, p in sorted(failures) if node in nodes), 0.0)


def one_by_one(failures: Sequence[Failure]) -> float:
    alone = sorted((risk([node], failures), node) for node in range(NODES))
    return risk([node for _, node in alone[:SIZE]], failures)


def together(failures: Sequence[Failure]) -> float:
    return min(risk(some, failures) for some in combinations(range(NODES), SIZE))


def lowest(failures: Sequence[Failure]) -> float:
    return risk(range(SIZE), failures)


RULES: dict[str, Callable[[Sequence[Failure]], float]] = {
    "one by one": one_by_one, "together": together, "lowest number": lowest,
}  # fmt: skip
"""What the words mean."""


def test_help_names_every_placement_once() -> None:
    said = PROMISE.declared["placement"].setting.help
    assert sorted(re.findall(r"\((\S+)\)", said)) == sorted(PLACEMENTS)


@pytest.mark.parametrize("words", RULES)
def test_what_the_words_say_is_done(words: str) -> None:
    found = re.search(rf"{words} \((\S+)\)", PROMISE.declared["placement"].setting.help)
    assert found is not None
    assert words in PLACEMENTS[found[1]].about
    rng = np.random.default_rng(0)
    jobs = fs.Jobs.build(submit=[0], size=[SIZE], runtime=[LENGTH])
    told_apart = 0
    for _ in range(60):
        when = np.sort(rng.choice(np.arange(1, LENGTH), 6, replace=False)).tolist()
        where, foreseen = rng.integers(0, NODES, 6).tolist(), rng.uniform(0.01, 0.99, 6).tolist()
        failures = list(zip(when, where, foreseen, strict=True))
        log = fs.Failures.build(when, where, downtime=[60] * 6, detectability=foreseen)
        done = fs.simulate(
            jobs, log, nodes=NODES, placement=found[1], accuracy=1.0, risk=0.0, checkpoint="none"
        )
        assert done.jobs["promise"][0] == pytest.approx(1 - RULES[words](failures))
        told_apart += len({rule(failures) for rule in RULES.values()}) == len(RULES)
    assert told_apart > 3
