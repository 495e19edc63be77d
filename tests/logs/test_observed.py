"""Logs of one machine on one clock: names, numbers, shifts, and what cannot be joined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.ras import RasLog
from forestall.logs.observed import numbers_of, observed
from forestall.logs.ras import pipeline, read_ras


def failures(origin: int | None = None, names: tuple[str, ...] | None = None) -> Failures:
    log = Failures.build([10, 500], [1, 2])
    return replace(log, span=1000, nodes=3, origin=origin, names=names)


def events(origin: int | None = None) -> RasLog:
    return RasLog(
        np.array([0, 20, 990]),
        np.array([0, 1, 2], dtype=np.int32),
        np.array([2, 7, 7], dtype=np.int8),
        np.array([0, 0, 0], dtype=np.int32),
        places=("rack", "node-1", "node-2"),
        kinds=("x",),
        span=991,
        origin=origin,
    )


def metrics(origin: int | None = None) -> Metrics:
    value = np.array([[1.0], [2.0], [3.0]])
    return Metrics(
        np.array([5, 5, 5]), np.array([0, 1, 2]), value, ("load",), 3, ("b", "c", "x"), 60, origin
    )


def test_events_by_the_number_in_a_name() -> None:
    seen = observed(failures(), events())
    assert seen.events is not None
    assert seen.events.place.tolist() == [-1, 1, 2]
    assert (seen.begin, seen.end, seen.nodes) == (0, 1000, 3)


def test_clocks_are_brought_together() -> None:
    seen = observed(failures(origin=100), events(origin=90))
    assert seen.events is not None
    assert seen.events.time.tolist() == [10, 980]  # the first lies before the failure log's window
    assert seen.events.origin == 100


def test_metrics_by_name() -> None:
    seen = observed(failures(names=("a", "b", "c")), metrics=metrics())
    assert seen.metrics is not None
    assert seen.metrics.node.tolist() == [1, 2]
    assert seen.metrics.value.tolist() == [[1.0], [2.0]]


def test_metrics_of_two_names_for_one_number() -> None:
    both = replace(metrics(), node_names=("r1-n0", "r2-n0", "x"), source="day.csv")
    with pytest.raises(TraceError, match=r"day.csv: names 'r1-n0' and 'r2-n0' both end in 0"):
        observed(failures(), metrics=both)
    with pytest.raises(ParameterError, match=r"'r1-n0, r2-n0' is not allowed; .* one name"):
        observed(failures(), metrics=replace(both, source=""))


def test_until() -> None:
    seen = observed(failures(), events(), until=500)
    assert (len(seen.failures), seen.end) == (1, 500)


def test_nodes_that_only_their_failures_name() -> None:
    """Each counts from when it is heard of; that all of them will fail is not told in advance."""
    log = Failures.build([5, 10, 20, 30, 40], [1, 0, 1, 2, 0])
    named = replace(log, span=50, nodes=3, names=("a", "b", "c"))
    seen = observed(named)
    assert seen.failures.time.tolist() == [20, 40]
    assert seen.failures.node.tolist() == [1, 0]
    assert seen.failures.service_start is not None
    assert seen.failures.service_start.tolist() == [10, 5, 30]
    assert (seen.begin, seen.end) == (0, 50)
    assert [remark.count for remark in seen.failures.aside.remarks] == [3]
    assert len(observed(named, nodes=9).failures) == 5  # the machine is known
    assert len(observed(log).failures) == 5  # numbers, up to the machine's size
    quiet = replace(named, nodes=4, names=("a", "b", "c", "d"))
    assert len(observed(quiet).failures) == 5  # the log knows of a node that never failed


def test_clocks_that_cannot_be_compared() -> None:
    with pytest.raises(ParameterError, match="dates"):
        observed(failures(origin=100), events())
    with pytest.raises(ParameterError, match="without dates"):
        observed(failures(), events(origin=5))


def test_logs_of_another_machine() -> None:
    with pytest.raises(ParameterError, match="names of nodes"):
        observed(failures(names=("p", "q", "r")), metrics=metrics())
    with pytest.raises(ParameterError, match="names of nodes"):
        observed(failures(names=("p", "q", "r")), events())


def test_numbers() -> None:
    assert numbers_of(["n07", "x", "r1c2-s", "9"], None, 8).tolist() == [7, -1, 2, -1]
    assert numbers_of(["vm1048575", "vm1048576", "i-999999999"], None).tolist() == [1048575, -1, -1]
    assert numbers_of(["b", "z"], ["a", "b"]).tolist() == [1, -1]


def test_places_within_a_node() -> None:
    """The smallest part around a place that is a node counts; what is at none is counted."""
    places = ("R00-M0-N0-C:J02-U01", "R00-M1-N3", "R00", "R01-M0", "dn7", "R00-M0")
    log = replace(
        events(origin=0),
        time=np.arange(6),
        place=np.arange(6, dtype=np.int32),
        severity=np.full(6, 7, dtype=np.int8),
        kind=np.zeros(6, dtype=np.int32),
        places=places,
    )
    named = replace(failures(origin=0, names=("R00-M0", "R00-M1", "dn")), span=1000)
    seen = observed(named, log)
    assert seen.events is not None
    assert seen.events.place.tolist() == [0, 1, -1, -1, -1, 0]
    (remark,) = seen.events.cleaning.remarks
    assert (remark.kind, remark.names) == ("no_node", ("R00", "R01-M0", "dn7"))
    assert str(remark).startswith("3 events at no node of the failure log (of 6 events) (kept)")
    whole = replace(named, node=np.zeros(2, dtype=np.int64), nodes=1, names=("system",))
    all_of_it = observed(whole, log, nodes=1).events
    assert all_of_it is not None
    assert all_of_it.place.tolist() == [0] * 6
    assert all_of_it.cleaning.remarks == ()


def test_events_of_nodes_among_failures_of_midplanes(data: Path) -> None:
    log = read_ras(data / "bluegene-l-fatal" / "Best.all-fail.xz")
    seen = observed(pipeline(log).failures("midplane"), log)
    assert seen.events is not None
    assert np.all(seen.events.place >= 0)  # 0.4 % where only equal names count
