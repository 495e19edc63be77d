"""The cheapest answer to a promise at risk, by figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.core.model.live.intents import Action
from forestall.live.slurm.answers import PAUSE, AtRisk, answers

ALL = frozenset({"exclude", "requeue", "signal", "start"})
RUNS = AtRisk(
    size=10, now=1000, fails_at=2000, probability=0.5, start=0, end=4000, saved=0, running=True,
    delay=100, deadline=9000, may=ALL,
)  # fmt: skip


def costs(one: AtRisk) -> dict[Action | None, float]:
    return {answer.action: answer.cost for answer in answers(one)}


def test_the_costs_in_node_seconds() -> None:
    assert costs(RUNS) == {
        None: 0.5 * 10 * (2000 + 100),
        Action.SIGNAL: 10 * PAUSE + 0.5 * 10 * (1000 + 100),
        Action.REQUEUE: 10 * (1000 + 100),
    }
    assert answers(RUNS)[0].action is Action.SIGNAL


def test_after_a_checkpoint_it_goes_elsewhere() -> None:
    assert answers(replace(RUNS, saved=990))[0].action is Action.REQUEUE


def test_what_is_unlikely_is_let_be() -> None:
    assert answers(replace(RUNS, probability=0.01))[0].action is None


def test_nobody_is_made_late_for_what_is_unlikely() -> None:
    late = replace(RUNS, saved=990, end=3900, deadline=3950, probability=0.4)
    assert Action.REQUEUE not in costs(late)
    assert Action.REQUEUE in costs(replace(late, probability=0.6))
    assert Action.REQUEUE in costs(replace(late, deadline=1000))  # it is late in any case


def test_before_its_start_a_job_gets_other_nodes_where_that_costs_less() -> None:
    waits = replace(RUNS, running=False, start=1500, end=5500, saved=1500, delay=500)
    assert costs(waits) == {None: 5.0 * (500 + 500), Action.EXCLUDE: 0.0}
    assert answers(waits)[0].action is Action.EXCLUDE
    assert answers(replace(waits, delay=4000))[0].action is None


@pytest.mark.parametrize("one", [RUNS, replace(RUNS, running=False, start=1500, saved=1500)])
def test_nothing_is_done_to_a_job_whose_owner_did_not_agree(one: AtRisk) -> None:
    assert set(costs(replace(one, may=frozenset()))) == {None}


def test_nobody_is_sent_to_where_no_start_is_known() -> None:
    assert set(costs(replace(RUNS, delay=-1))) == {None, Action.SIGNAL}
