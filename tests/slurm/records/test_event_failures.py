"""From outages to failures: spells, natures, what the span cuts off."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from forestall.core.model.job_records import NEVER
from forestall.slurm.records.event_failures import failures_of, overlaps, spells
from forestall.slurm.records.node_events import NATURES, NodeEvents
from slurm.files.site_tables import outages, some_outages


def test_events_that_touch_are_one_failure() -> None:
    events = outages(
        ("a", 10, 20, "fault"),  # not responding
        ("a", 20, 50, "administrative"),  # drained for the repair
        ("a", 50, 60, "fault"),
        ("a", 61, 70, "fault"),  # was back for a second
        ("b", 15, None, "fault"),
        ("c", 12, 40, "unclear"),
        span=(0, 100),
        names=("a", "b", "c", "d"),
    )
    failures = failures_of(events)
    assert failures.time.tolist() == [10, 15, 61]
    assert failures.node.tolist() == [0, 1, 0]
    assert failures.downtime.tolist() == [50, -1, 9]
    assert failures.kind == ("fault", "fault", "fault")
    assert (failures.span, failures.nodes, failures.origin) == (100, 4, 0)
    assert failures.repairs
    assert failures_of(events, natures=("unclear",)).node.tolist() == [2]


def test_a_fault_within_an_administrative_outage_begins_there() -> None:
    events = outages(("a", 10, 50, "administrative"), ("a", 30, 40, "fault"), span=(0, 100))
    failures = failures_of(events)
    assert (failures.time.tolist(), failures.downtime.tolist()) == ([30], [20])


def test_the_span_cuts() -> None:
    events = outages(
        ("a", 5, 30, "fault"),  # down already: in service from 30 on
        ("a", 40, 45, "fault"),
        ("b", 2, None, "administrative"),  # never in service
        ("c", 100, 110, "fault"),  # after the end
        span=(10, 100),
    )
    failures = failures_of(events, names=("z", "a"))
    assert failures.time.tolist() == [30]
    assert failures.names == ("a", "b", "c", "z")
    assert failures.service_start is not None
    assert failures.service_start.tolist() == [20, 90, 0, 0]
    assert failures.service_end is not None
    assert failures.service_end.tolist() == [90] * 4
    assert failures.origin == 10


def test_kinds_are_those_given() -> None:
    events = outages(("a", 1, 2, "unclear"), ("a", 5, 6, "fault"), span=(0, 10))
    assert failures_of(events, kinds=("x", "gpu")).kind == ("gpu",)


def test_undated_outages_have_no_origin() -> None:
    events = outages(("a", 1, 2, "fault"), span=(0, 10), dated=False)
    assert failures_of(events).origin is None


def test_nothing_at_all() -> None:
    events = outages(span=(5, 5))
    assert len(spells(events)) == 0
    assert len(failures_of(events)) == 0
    assert failures_of(events, names=("a",)).nodes == 1
    assert overlaps(events).tolist() == []


def plain_spells(events: NodeEvents) -> list[tuple[int, int, int]]:
    """Return (node, begin, end) one event after another."""
    found: list[list[int]] = []
    rows = sorted(
        zip(events.node.tolist(), events.begin.tolist(), events.end.tolist(), strict=True)
    )
    for node, begin, end in rows:
        if found and found[-1][0] == node and begin <= found[-1][2]:
            found[-1][2] = max(found[-1][2], end)
        else:
            found.append([node, begin, end])
    return [(a, b, c) for a, b, c in found]


@given(some_outages())
def test_spells_are_the_union(events: NodeEvents) -> None:
    found = spells(events)
    assert list(
        zip(found.node.tolist(), found.begin.tolist(), found.end.tolist(), strict=True)
    ) == plain_spells(events)
    for row, spell in enumerate(found.spell.tolist()):
        assert found.node[spell] == events.node[row]
        assert found.begin[spell] <= events.begin[row]
        assert found.end[spell] >= events.end[row]


@given(some_outages())
def test_overlaps_are_those_of_a_plain_search(events: NodeEvents) -> None:
    found = overlaps(events)
    for row in range(len(events)):
        if found[row]:
            earlier = (events.node == events.node[row]) & (events.begin <= events.begin[row])
            assert (events.end[earlier] > events.begin[row]).sum() >= 1
    rows = sorted(
        zip(events.node.tolist(), events.begin.tolist(), events.end.tolist(), strict=True)
    )
    latest: dict[int, int] = {}
    count = 0
    for node, begin, end in rows:
        count += begin < latest.get(node, -1)
        latest[node] = max(latest.get(node, -1), end)
    assert int(found.sum()) == count


@given(some_outages())
def test_failures_are_the_first_faults_of_spells(events: NodeEvents) -> None:
    failures = failures_of(events, natures=("fault", "unclear"))
    begin, until = events.span
    expected = []
    for node, first, last in plain_spells(events):
        inside = [
            b
            for n, b, k in zip(
                events.node.tolist(), events.begin.tolist(), events.nature.tolist(), strict=True
            )
            if n == node and first <= b <= last and NATURES[k] != "administrative"
        ]
        if inside and begin <= min(inside) < until:
            end = -1 if last == NEVER else last - min(inside)
            expected.append((min(inside) - begin, node, end))
    got = zip(
        failures.time.tolist(), failures.node.tolist(), failures.downtime.tolist(), strict=True
    )
    assert list(got) == sorted(expected)
    assert failures.service_start is not None
    assert np.all(failures.service_start >= 0)
    assert np.all(failures.service_start <= until - begin)
