"""Which nodes the job of an offer is kept off."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from forestall.live.slurm.taken import excluded
from forestall.prediction.watching.foreseen import NodeForecast

NOW, DAY, HOUR = 1_700_000_000, 86_400, 3600
RATE = -math.log(0.99) / HOUR  # one percent an hour
CURVE = tuple(1 - math.exp(-RATE * DAY * (k + 1) / 24) for k in range(24))
HAZARD = NodeForecast(NOW, NOW + DAY, CURVE[-1], "law", CURVE)
MOMENT = NodeForecast(NOW + HOUR, NOW + 2 * HOUR, 0.3, "list")


def kept_off(outlook: dict[str, NodeForecast], start: int, end: int, size: int) -> tuple[str, ...]:
    node = SimpleNamespace(in_service=True, partitions=("p",))
    known: Any = SimpleNamespace(seen=SimpleNamespace(nodes=dict.fromkeys(("n1", "n2"), node)))
    offer: Any = SimpleNamespace(start=NOW + start, deadline=NOW + end, size=size)
    mind: Any = SimpleNamespace(outlook=outlook)
    return excluded(offer, "p", mind, known)


@pytest.mark.parametrize(
    ("one", "start", "end", "off"),
    [
        (HAZARD, 12 * HOUR, 14 * HOUR, False),  # two percent in the run, thirteen until its end
        (HAZARD, 12 * HOUR, 18 * HOUR, True),
        (HAZARD, 0, HOUR, False),
        (MOMENT, 0, 30 * 60, False),
        (MOMENT, 0, 3 * HOUR, True),
        (MOMENT, 5 * HOUR, 6 * HOUR, True),  # it comes before the start: who knows when it is over
        (MOMENT._replace(beside=HAZARD), 12 * HOUR, 14 * HOUR, True),
    ],
)
def test_a_hazard_counts_over_the_run(one: NodeForecast, start: int, end: int, off: bool) -> None:
    assert kept_off({"n1": one}, start, end, 1) == (("n1",) if off else ())


def test_nobody_is_kept_off_where_too_few_are_left() -> None:
    assert kept_off({"n1": MOMENT}, 0, 3 * HOUR, 2) == ()
