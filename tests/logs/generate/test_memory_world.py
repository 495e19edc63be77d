"""Leaking memory under policies: what can never happen, and what was done, told a second way."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.logs.generate.memory import MemoryMachine, generate_memory, memory_machine
from forestall.logs.generate.memory_world import HAZARD, NOTHING, MemoryFate, MemoryPolicy, drawn

ROUTINE = MemoryPolicy("routine", -math.inf)
CASES = {
    "nothing": NOTHING,
    "routine": ROUTINE,
    "some": MemoryPolicy("some", -math.inf, share=0.3),
    "reboot": MemoryPolicy("reboot", 0.09),
    "clear": MemoryPolicy("clear", 0.05, seconds=10, gives_back=0.5),
    "drain": MemoryPolicy("drain", 0.05, seconds=40_000),
    "steer": MemoryPolicy("steer", steers=True),
    "half": MemoryPolicy("half", -math.inf, only=frozenset(range(0, 200, 2))),
    "slow": MemoryPolicy("slow", -math.inf, seconds=20_000, steers=True),
}


@cache
def machine(seed: int, nodes: int = 60, load: float = 0.7) -> MemoryMachine:
    return memory_machine(seed, nodes=nodes, days=6, load=load, period=300, relation=8.0)


def stays(one: MemoryMachine, fate: MemoryFate) -> dict[int, list[tuple[int, int, int]]]:
    """Begin and end of each campaign on each node."""
    plan = one.as_it_went(fate)
    found = defaultdict(list)
    for c, held in enumerate(fate.held):
        mine = plan.campaign == c
        for node in held.tolist():
            found[node].append((int(plan.start[mine].min()), int(plan.end[mine].max()), c))
    return {node: sorted(rows) for node, rows in found.items()}


def plainly_killed(one: MemoryMachine, fate: MemoryFate) -> tuple[list[bool], list[float]]:
    """Who is killed, from what nodes lacked as each job began, read off the steps."""
    plan, draws = one.as_it_went(fate), drawn(one.seed, one.plan)
    told = defaultdict(list)
    for node, time, level in fate.steps:
        told[node].append((time, level))
    killed, lacks = [], []
    for k, c in enumerate(plan.campaign.tolist()):
        here = [
            [level for time, level in told[n] if time < plan.start[k] or time == 0][-1]
            for n in fate.held[c].tolist()
        ]
        lacks.append(max(here))
        killed.append(draws.chances[k] < 1 - math.exp(-one.relation * HAZARD * max(here)))
    return killed, lacks


@given(st.integers(1, 30), st.sampled_from(sorted(CASES)), st.sampled_from([0.5, 0.7, 1.0]))
@settings(max_examples=25, deadline=None)
def test_what_always_holds(seed: int, name: str, load: float) -> None:
    one, policy = machine(seed, load=load), CASES[name]
    fate = one.lived(policy)
    plan = one.plan
    first = np.searchsorted(plan.campaign, np.arange(len(plan.nodes_of)))
    assert (fate.begun >= plan.start[first]).all()
    assert [len(set(held.tolist())) for held in fate.held] == [len(h) for h in plan.nodes_of]
    found = stays(one, fate)
    for rows in found.values():
        assert all(a[1] < b[0] for a, b in pairwise(rows))
    for time, node, value, acts in fate.looks:
        assert 0 < value < 1
        assert not any(begin <= time < end for begin, end, _ in found.get(node, []))
        if acts:
            assert value >= policy.threshold
            assert policy.only is None or node in policy.only
            away = time + policy.seconds
            assert not any(time <= begin < away for begin, _, _ in found.get(node, []))
    levels = np.array([step[2] for step in fate.steps])
    assert ((levels >= 0) & (levels <= 0.8)).all()
    if name == "nothing":
        assert (fate.begun == plan.start[first]).all()
        assert all((a == b).all() for a, b in zip(fate.held, plan.nodes_of, strict=True))


@pytest.mark.parametrize("name", sorted(CASES))
def test_who_is_killed_told_a_second_way(name: str) -> None:
    one = machine(3)
    fate = one.lived(CASES[name])
    killed, lacks = plainly_killed(one, fate)
    assert fate.killed.tolist() == killed
    np.testing.assert_allclose(fate.leak, lacks)


def test_a_policy_that_never_acts_changes_nothing() -> None:
    one = machine(1)
    alone, never = one.lived(), one.lived(MemoryPolicy("never", 0.995))
    assert (alone.killed == never.killed).all()
    assert alone.looks == never.looks
    assert sum(acts for *_, acts in one.lived(ROUTINE).looks) == len(one.lived(ROUTINE).looks)


def test_acting_saves_and_waiting_costs() -> None:
    one = machine(4)
    killed = {name: int(one.lived(policy).killed.sum()) for name, policy in CASES.items()}
    assert killed["routine"] <= killed["half"] <= killed["nothing"]
    assert killed["reboot"] < killed["nothing"]
    assert killed["steer"] < killed["nothing"]
    full = machine(4, load=1.0)
    slow = MemoryPolicy("slow", -math.inf, seconds=40_000)
    assert full.lived(slow).begun.sum() > full.lived().begun.sum()


def test_records_under_a_policy() -> None:
    given: dict[str, int] = {"nodes": 60, "days": 6, "period": 300, "relation": 8}
    alone, _, was = generate_memory(4, **given)  # type: ignore[arg-type]
    acted, metrics, is_ = generate_memory(4, policy=ROUTINE, **given)  # type: ignore[arg-type]
    assert len(alone) == len(acted)
    assert is_.killed.sum() < was.killed.sum()
    assert acted.failed().sum() == alone.failed().sum() - was.killed.sum() + is_.killed.sum()
    mean = metrics.value[:, 0].mean()
    assert mean < generate_memory(4, **given)[1].value[:, 0].mean()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"threshold": math.nan}, {"share": 1.5}, {"gives_back": -0.1}, {"seconds": -1}],
    ids=str,
)
def test_policies_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        MemoryPolicy("wrong", **wrong)  # type: ignore[arg-type]
