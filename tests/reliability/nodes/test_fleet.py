"""Outages become failures: spells, natures, watches, and bursts, by hand and by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.reliability.history.history import history
from forestall.reliability.nodes.fleet import bursts_of, fleet_of_events, fleet_of_failures
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, NATURES, UNCLEAR
from reliability.nodes.site_nodes import DAY, HOUR, OPEN, outages


def test_by_hand() -> None:
    rows = [
        ("a", 10 * HOUR, 12 * HOUR, FAULT),
        ("a", 12 * HOUR, 20 * HOUR, ADMINISTRATIVE),  # touches: the same time out of service
        ("b", 5 * HOUR, 6 * HOUR, ADMINISTRATIVE),
        ("b", 6 * HOUR, 7 * HOUR, FAULT),  # found when it was down for maintenance
        ("b", 30 * HOUR, OPEN, FAULT),
        ("c", 1 * HOUR, 2 * HOUR, UNCLEAR),
        ("c", 2 * HOUR, 3 * HOUR, FAULT),  # says what the unclear one was
        ("d", 8 * HOUR, 9 * HOUR, UNCLEAR),
    ]
    events = outages(rows, (0, 48 * HOUR), names=("a", "b", "c", "d", "e"))
    fleet = fleet_of_events(events, 0, 48 * HOUR)
    assert fleet.history.time.tolist() == [1 * HOUR, 10 * HOUR, 30 * HOUR]
    assert [fleet.names[k] for k in fleet.history.node.tolist()] == ["c", "a", "b"]
    assert fleet.down.tolist() == [2 * HOUR, 10 * HOUR, 18 * HOUR]
    assert fleet.ended.tolist() == [True, True, False]
    assert fleet.spells == {FAULT: 3, ADMINISTRATIVE: 1, UNCLEAR: 1}
    assert fleet.seconds == {FAULT: 30 * HOUR, ADMINISTRATIVE: 2 * HOUR, UNCLEAR: HOUR}
    assert (fleet.joined, fleet.found_down, fleet.before) == (3, 1, 0)
    assert (fleet.node_days * 24).tolist() == [38, 28, 46, 47, 48]
    assert fleet.watched_days == 10
    unclear = fleet_of_events(events, 0, 48 * HOUR, natures=(FAULT, UNCLEAR))
    assert len(unclear) == 4
    assert unclear.history.time.tolist() == [1 * HOUR, 8 * HOUR, 10 * HOUR, 30 * HOUR]


def test_the_watch_cuts_outages() -> None:
    rows = [("a", -5 * HOUR, 5 * HOUR, FAULT), ("a", 20 * HOUR, 30 * HOUR, FAULT)]
    fleet = fleet_of_events(outages(rows, (0, DAY)), 0, DAY)
    assert fleet.history.time.tolist() == [20 * HOUR]
    assert fleet.before == 1
    assert fleet.down.tolist() == [10 * HOUR], "the records go on and tell the end"
    assert fleet.node_days.tolist() == [pytest.approx(15 / 24)]
    assert fleet.days_between(0, 12 * HOUR).tolist() == [pytest.approx(7 / 24)]


def test_nodes_without_events_and_nodes_unknown() -> None:
    events = outages([("x", HOUR, 2 * HOUR, FAULT)], (0, DAY))
    fleet = fleet_of_events(events, 0, DAY, names=("a", "b"))
    assert fleet.names == ("a", "b", "x")
    assert fleet.counts().tolist() == [0, 0, 1]
    nothing = fleet_of_events(outages([], (0, DAY), names=("a",)), 0, DAY)
    assert (len(nothing), nothing.events, nothing.bursts) == (0, 0, 0)
    assert nothing.node_days.tolist() == [1.0]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(-20, 60), st.integers(0, 25), st.integers(0, 2),
            st.booleans(),
        ),
        max_size=14,
    )
)  # fmt: skip
def test_exposure_and_failures_by_brute_force(rows: list[tuple[int, int, int, int, bool]]) -> None:
    named = [
        (f"n{node}", begin, OPEN if still else begin + length, NATURES[nature])
        for node, begin, length, nature, still in rows
    ]
    fleet = fleet_of_events(outages(named, (0, 50), names=["n0", "n1", "n2", "n3"]), 0, 50)
    failures = []
    for k in range(4):
        mine = sorted(
            (begin, NATURES.index(nature), end)
            for name, begin, end, nature in named
            if name == f"n{k}"
        )
        up = [all(not b <= t < e for b, _, e in mine) for t in range(50)]
        assert fleet.node_days[k] * DAY == pytest.approx(sum(up))
        reached, spells = None, []
        for begin, nature, end in mine:
            if reached is None or begin > reached:
                spells.append((begin, []))
                reached = end
            reached = max(reached, end)
            spells[-1][1].append(NATURES[nature])
        for begin, natures in spells:
            clear = [nature for nature in natures if nature != UNCLEAR]
            if 0 <= begin < 50 and clear and clear[0] == FAULT:
                failures.append((begin, k))
    found = zip(fleet.history.time.tolist(), fleet.history.node.tolist(), strict=True)
    assert list(found) == sorted(failures)


def test_failure_logs_are_as_history_has_them() -> None:
    rng = np.random.default_rng(3)
    log = Failures.build(rng.integers(0, 900, 80), rng.integers(0, 5, 80), rng.integers(1, 40, 80))
    log = replace(log, span=1000)
    fleet = fleet_of_failures(log, 0, int(log.time[0]) + 1000)
    start = np.zeros(5, dtype=np.int64)
    stated = replace(
        log, service_start=start, service_end=start + int(log.time[0]) + 1000,
        service_new=start > 0,
    )  # fmt: skip
    seen = history(stated, clock="uptime")
    assert fleet.node_days == pytest.approx(seen.node_days)
    # Failures in the very second in which a node is back count as the same here.
    assert len(seen) - 5 <= len(fleet) <= len(seen)
    assert fleet.history.kind is None
    untold = fleet_of_failures(replace(log, downtime=np.full(80, -1)), 0, 1000)
    assert untold.down.tolist() == [-1] * len(untold)


def slow_bursts(time: list[int], node: list[int], within: int) -> list[set[int]]:
    """Return the bursts of failures of one label, where they are rare."""
    groups: list[list[int]] = []
    for k in range(len(time)):
        if groups and time[k] - time[groups[-1][-1]] <= within:
            groups[-1].append(k)
        else:
            groups.append([k])
    return [set(group) for group in groups if len({node[k] for k in group}) >= 3]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=25))
def test_bursts_by_brute_force(rows: list[tuple[int, int]]) -> None:
    rows.sort()
    time, node = [10 * t for t, _ in rows], [n for _, n in rows]
    label = np.zeros(len(rows), dtype=np.int64)
    event, shared = bursts_of(np.array(time), np.array(node), label, (0, 10**9), within=20)
    want = slow_bursts(time, node, 20)
    got = [set(np.flatnonzero((event == e) & shared).tolist()) for e in np.unique(event[shared])]
    assert sorted(map(sorted, got)) == sorted(map(sorted, want))
    first = [int(np.flatnonzero(event == e)[0]) for e in range(int(event.max()) + 1)]
    assert first == sorted(first)
    assert len(set(event[~shared].tolist())) == int((~shared).sum())


def test_bursts_are_of_like_failures_and_not_of_chance() -> None:
    time = np.array([0, 1, 2, 1000, 1001, 1002])
    node = np.array([0, 1, 2, 0, 1, 2])
    label = np.array([0, 0, 0, 0, 1, 2])
    event, shared = bursts_of(time, node, label, (0, 10**7))
    assert shared.tolist() == [True] * 3 + [False] * 3
    assert event.tolist() == [0, 0, 0, 1, 2, 3]
    # A large machine where some node fails every 30 s: neighbours in time are chance.
    rng = np.random.default_rng(1)
    when = np.sort(rng.integers(0, 300_000, 10_000))
    which = rng.integers(0, 20_000, 10_000)
    _, shared = bursts_of(when, which, np.zeros(10_000, dtype=np.int64), (0, 300_000))
    assert shared.mean() < 0.01
