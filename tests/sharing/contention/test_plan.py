"""Plans: what is measured, in which order, and loads that come out as asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.sharing.contention.herd import SPIN
from forestall.sharing.contention.plan import GUESTS, ExperimentPlan, busy, share_of_each

ONE = ExperimentPlan(cpus=(0,), groups=(1, 2))


def test_every_point_once_a_repeat_in_an_order_of_its_own() -> None:
    order = list(ONE.order())
    assert len(order) == ONE.blocks == 3 * 22
    for repeat in range(3):
        rows = [row[1:] for row in order if row[0] == repeat]
        assert sorted(rows) == sorted(ONE.points())
        assert rows != sorted(rows)
    assert order == list(ONE.order())
    assert order != list(ExperimentPlan(cpus=(0,), groups=(1, 2), seed=2).order())


def test_guests_take_turns() -> None:
    turns = list(ONE.turns(0, 1, 0.5))
    assert len(turns) == 3 * ONE.slices == 12
    for k in range(0, 12, 3):
        assert sorted(turns[k : k + 3]) == sorted(GUESTS)
    assert ExperimentPlan(cpus=(0,), groups=(1,), seconds=0.05).slices == 1


def test_further_priorities_take_their_turns_too() -> None:
    plan = ExperimentPlan(cpus=(0,), groups=(1,), loads=(0.5,), nices=(5, 10))
    assert plan.guests == ("none", "normal", "lowest", "nice5", "nice10")
    turns = list(plan.turns(0, 1, 0.5))
    for k in range(0, len(turns), 5):
        assert sorted(turns[k : k + 5]) == sorted(plan.guests)
    assert plan.takes > ExperimentPlan(cpus=(0,), groups=(1,), loads=(0.5,)).takes
    for nices in ((0,), (19,), (10, 5), (5, 5)):
        with pytest.raises(ParameterError, match="nice"):
            ExperimentPlan(cpus=(0,), groups=(1,), nices=nices)


def test_a_process_uses_one_core_at_most() -> None:
    plan = ExperimentPlan(cpus=(0, 1), groups=(1, 2), loads=(0.4, 0.5, 0.6))
    assert list(plan.points()) == [(1, 0.4), (1, 0.5), (2, 0.4), (2, 0.5), (2, 0.6)]
    assert plan.owner(0, 1, 0.5) == [SPIN]  # all of its core
    with pytest.raises(ParameterError, match="one core at most"):
        ExperimentPlan(cpus=(0, 1), groups=(1,), loads=(0.6,))


def test_the_time_told_counts_every_slice() -> None:
    plan = ExperimentPlan(cpus=(0,), groups=(1,), loads=(0.5, 1.0), seconds=1.0, repeats=2)
    # 4 blocks of 3 (1 s + 2 settlings of 0.05 s), 0.2 s for the owner and 3 starts of 0.06 s.
    assert plan.takes == pytest.approx(4 * (3 * 1.1 + 0.2 + 0.18))


def test_the_share_of_one_and_of_two_processes_on_one_core() -> None:
    assert share_of_each(0.3, 1, 1) == pytest.approx(0.3)
    # Two with work / rest = r: states 0, 1, 2 weigh 1, 2 r, 2 r^2; r = 1 gives 4/5.
    assert busy(0.5, 2, 1) == pytest.approx(0.8)
    assert share_of_each(0.8, 2, 1) == pytest.approx(0.5)
    # Two on two cores do not meet: the share of each is the share of both.
    assert share_of_each(0.35, 2, 2) == pytest.approx(0.35)
    assert busy(1.0, 1, 4) == 0.25
    assert busy(1.0, 8, 4) == 1.0
    assert 0.999 < busy(0.9, 2000, 16) <= 1.0


@given(st.floats(0.01, 0.97), st.integers(1, 64), st.integers(1, 16))
def test_shares_make_the_load(load: float, processes: int, cores: int) -> None:
    if load * cores >= 0.99 * processes:
        return
    share = share_of_each(load, processes, cores)
    assert 0 < share < 1
    assert busy(share, processes, cores) == pytest.approx(load, abs=1e-6)
    assert share >= load * cores / processes - 1e-9  # they get into each other's way


@given(st.floats(0.05, 0.95), st.integers(1, 8), st.sampled_from(["paused", "periodic"]))
def test_processes_of_a_group_differ_and_add_up(load: float, group: int, pattern: str) -> None:
    plan = ExperimentPlan(cpus=(0,), groups=(group,), loads=(load,), pattern=pattern)  # type: ignore[arg-type]
    loads = plan.owner(0, group, load)
    assert len(loads) == group
    shares = [one.burst / (one.burst + one.pause) for one in loads]
    wanted = load if pattern == "periodic" else share_of_each(load, group, 1) * group
    if max(shares) < 1:
        assert sum(shares) == pytest.approx(wanted)
    if group > 1:
        assert len(set(shares)) > 1
    assert all(0.014 < one.burst + one.pause < 0.046 and one.offset >= 0 for one in loads)
    assert loads == plan.owner(0, group, load)
    assert loads != plan.owner(1, group, load)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seconds": 0.01}, "seconds"),
        ({"repeats": 0}, "repeats"),
        ({"limit": 0.0}, "limit"),
        ({"limit": 1.0}, "limit"),
        ({"loads": (0.0,)}, "loads"),
        ({"loads": (1.2,)}, "loads"),
        ({"groups": (0,)}, "groups"),
        ({"cpus": ()}, "cpus"),
        ({"pattern": "idle"}, "pattern"),
    ],
)
def test_what_cannot_be_is_named(options: dict, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ParameterError, match=said):
        ExperimentPlan(**{"cpus": (0,), "groups": (1,), **options})
