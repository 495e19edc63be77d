"""The experiment on real cores, and the background before it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from forestall.sharing.contention.curves import curves
from forestall.sharing.contention.herd import SPIN, ContentionError, Herd
from forestall.sharing.contention.measure import (
    background,
    idle_time,
    lowest_priority,
    measure,
    refuse_if_busy,
)
from forestall.sharing.contention.plan import ExperimentPlan
from sharing.contention.contention_cases import children_of

CORE = max(os.sched_getaffinity(0))
STAT = """cpu  100 0 100 5000 50 0 0 7 0 0
cpu0 50 0 50 2000 20 0 0 3 0 0
cpu1 50 0 50 3000 30 0 0 4 0 0
cpu11 50 0 50 9999 30 0 0 4 0 0
intr 1 2 3
"""


def test_idle_time_of_the_chosen_cores() -> None:
    assert idle_time([0], STAT) == (20.2, 0.03)
    assert idle_time([0, 1], STAT) == (50.5, 0.07)
    assert idle_time([1], "cpu1 1 0 1 300 30\n") == (3.3, 0.0)


def test_a_busy_host_is_refused_in_words() -> None:
    refuse_if_busy(0.15, 4)
    with pytest.raises(ContentionError, match=r"others use 40 % of the core .* force"):
        refuse_if_busy(0.4, 1)


def test_the_background_sees_a_spinning_process() -> None:
    with Herd.of([SPIN], cpus=[CORE]):
        assert background([CORE], 0.3) > 0.5


def test_the_lowest_priority_is_told() -> None:
    told = lowest_priority()
    assert set(told) == {"nice", "idle", "autogroup"}
    assert told["nice"]


def test_a_spinning_owner_loses_much_to_an_equal_guest_and_little_to_a_lowest_one() -> None:
    plan = ExperimentPlan(cpus=(CORE,), groups=(1,), loads=(1.0,), seconds=0.4, repeats=2)
    steps: list[tuple[int, int]] = []
    found = measure(plan, lambda done, total: steps.append((done, total)))
    assert len(found.points) == 2 * 3
    assert {p.guest_cpu for p in found.points if p.guest == "none"} == {0.0}
    assert all(0.4 <= p.seconds < 4 and 0 < p.load <= 1.02 for p in found.points)
    # Of what both get on the core, which others may use as well.
    part = {
        guest: sum(p.guest_cpu for p in found.points if p.guest == guest)
        / sum(p.owner + p.guest_cpu for p in found.points if p.guest == guest)
        for guest in ("normal", "lowest")
    }
    assert part["normal"] > 0.3
    assert part["lowest"] < 0.15
    if not found.disturbed:
        normal = float(np.mean([c.reduction for c in curves(found.points, "normal")]))
        lowest = float(np.mean([c.reduction for c in curves(found.points, "lowest")]))
        assert normal > 0.2
        assert lowest < 0.5 * normal
    assert steps[-1] == (2 + found.again, 2 + found.again)
    assert not _ours()


def _ours() -> list[int]:
    """Return load processes below this one."""
    found = []
    for pid in children_of(os.getpid()):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"contention/workload.py" in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def test_an_error_in_between_leaves_no_process() -> None:
    plan = ExperimentPlan(cpus=(CORE,), groups=(2,), loads=(0.5, 1.0), seconds=0.1, repeats=1)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(plan, stop)
    assert not _ours()
