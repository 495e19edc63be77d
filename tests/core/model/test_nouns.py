"""Node sets, times in words, remarks, errors, decisions in words, tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.errors import (
    ForestallError,
    InputError,
    MissingExtraError,
    ParameterError,
    TraceError,
)
from forestall.core.model.events import EventKind
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.nodes import NodeSet
from forestall.core.model.units import MAX_SECONDS, format_duration, parse_duration, parse_time

NUMBERS = st.sets(st.integers(0, 200), max_size=40)

# ------------------------------------------------------------------------------- node sets


@given(NUMBERS)
def test_hostlists_there_and_back(nodes: set[int]) -> None:
    mine = NodeSet.of(nodes)
    assert NodeSet.parse(str(mine)) == mine
    assert set(mine) == nodes
    assert list(mine) == mine.array().tolist() == sorted(nodes)
    assert len(mine) == len(nodes)
    assert all(low < high for low, high in mine.ranges)
    assert all(a[1] < b[0] for a, b in pairwise(mine.ranges))
    assert hash(mine) == hash(NodeSet.of(sorted(nodes, reverse=True)))


@given(NUMBERS, NUMBERS, st.integers(-1, 201))
def test_algebra(one: set[int], other: set[int], node: int) -> None:
    a, b = NodeSet.of(one), NodeSet.of(other)
    assert set(a | b) == one | other
    assert set(a & b) == one & other
    assert set(a - b) == one - other
    assert (node in a) == (node in one)


def test_hostlists_in_other_spellings() -> None:
    assert str(NodeSet.parse(" 3, 0-1,2 ,9-9")) == "0-3,9"
    assert NodeSet.parse("") == NodeSet()
    assert repr(NodeSet.of([5, 6])) == "NodeSet(5-6)"


@pytest.mark.parametrize("text", ["3-1", "a", "1-", "-1", "1-2-3", "1;2", "1.5"])
def test_bad_hostlists(text: str) -> None:
    with pytest.raises(ParameterError, match="hostlist"):
        NodeSet.parse(text)


# ------------------------------------------------------------------------------- times in words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("15m", 900), ("36h", 129_600), ("4d", 345_600), ("2w", 1_209_600),
        ("1d12h", 129_600), ("1d 12h", 129_600), ("1.5h", 5400), ("1-12:00:00", 129_600),
        ("1-12:30", 131_400), ("1-12", 129_600), ("02:03:04", 7384), ("03:04", 184), ("0", 0),
        (" 5 M ", 300), (90, 90), (1.4, 1), ("1e3", 1000), ("0.5", 0),
    ],
)  # fmt: skip
def test_durations(text: str | float, seconds: int) -> None:
    assert parse_duration(text, plain=True) == seconds


@pytest.mark.parametrize("text", ["90", " 285 ", "1e3", "0.5"])
def test_a_bare_number_needs_a_unit(text: str) -> None:
    number = text.strip()
    with pytest.raises(ParameterError, match=f"{number}s, {number}m, {number}h or {number}d"):
        parse_duration(text, "mttf")
    assert parse_duration("0") == 0


@pytest.mark.parametrize(
    "text", ["", "x", "-5", "5y", "nan", "inf", "1:2:3:4", "h", "5 5", str(2**36), -1, float("nan")]
)
def test_bad_durations(text: str | float) -> None:
    with pytest.raises(ParameterError, match="overhead"):
        parse_duration(text, "overhead")


@pytest.mark.parametrize("text", ["0.5", "59.6", "59.6s", "0.001h", 1.4])
def test_parts_of_a_second_can_be_refused(text: str | float) -> None:
    with pytest.raises(ParameterError, match=r"overhead: .* in whole seconds"):
        parse_duration(text, "overhead", exact=True, plain=True)
    assert parse_duration("1.3333h", exact=True) == 4800
    assert parse_duration("0.1h", exact=True) == 360


@given(st.integers(0, 10_000), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_slurm_durations(days: int, hours: int, minutes: int, seconds: int) -> None:
    whole = days * 86_400 + hours * 3600 + minutes * 60 + seconds
    assert parse_duration(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == whole
    assert parse_duration(f"{days}d{hours}h{minutes}m{seconds}s") == whole


def test_moments() -> None:
    assert parse_time("2003-07-18T16:00") == 1_058_544_000
    assert parse_time("2003-07-18T18:00+02:00") == 1_058_544_000
    assert parse_time(" -7 ") == -7
    with pytest.raises(ParameterError, match="from"):
        parse_time("yesterday", "from")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (45, "45 s"),
        (119, "119 s"),
        (720, "12 min"),
        (12_240, "3.4 h"),
        (1_045_440, "12.1 d"),
        (-90, "-90 s"),
    ],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_the_longest_time() -> None:
    assert parse_duration(MAX_SECONDS - 1) == MAX_SECONDS - 1


# ------------------------------------------------------------------------------- remarks and errors


def test_remarks_count_and_name() -> None:
    none = Cleaning()
    assert none.plus("kind", "text", "left out", []) is none
    some = none.plus("late", "jobs are late", "changed", range(12)).plus(
        "odd", "odd ones", "kept", ["a"]
    )
    more = some + none.plus("late", "jobs are late", "changed", [99])
    assert more.counts() == {"late": 13, "odd": 1}
    assert (
        str(some.remarks[0])
        == "12 jobs are late (changed): 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more"
    )
    assert str(some.remarks[1]) == "1 odd one (kept): a"


def test_errors_say_where_and_what() -> None:
    assert str(TraceError("a.swf", "is empty")) == "a.swf: is empty"
    assert str(TraceError("a.swf", "is bad", line=3, field="size")) == "a.swf:3: size: is bad"
    error = ParameterError("risk", 2, "0 to 1")
    assert str(error) == "risk: 2 is not allowed; expected 0 to 1"
    assert (error.name, error.value, error.allowed) == ("risk", 2, "0 to 1")
    assert (
        str(MissingExtraError("plots", "plot"))
        == "plots needs an extra: pip install 'forestall[plot]'"
    )
    assert issubclass(TraceError, InputError)
    assert issubclass(ParameterError, InputError)
    assert issubclass(InputError, ForestallError)
    assert not issubclass(MissingExtraError, InputError)


# ------------------------------------------------------------------------------- decisions

FIGURES: dict[str, Any] = {
    "node": 17, "start": 100, "end": 160, "deadline": 999, "probability": 0.25, "count": 5,
    "at": 42,
    "nodes": NodeSet.of([1, 2, 3]),
}  # fmt: skip
WORDS = {
    Reason.FREE_NOW: "enough nodes are free at once",
    Reason.WAITS_FOR_NODES: "3 nodes are free for 60 s",
    Reason.WAITS_FOR_SAFETY: "5 earlier offers refused for their risk; first free at 42",
    Reason.BEST_OFFER: "no start reaches the wanted probability",
    Reason.NODE_DOWN_AT_START: "node 17 is down",
    Reason.NODE_FAILED: "node 17 failed; 5 node-seconds",
    Reason.RESERVED_START: "reserved start",
    Reason.HEAD_OF_QUEUE: "first in the queue",
    Reason.ENDS_BEFORE_SHADOW: "can start at 42",
    Reason.FITS_EXTRA_NODES: "5 nodes that the head leaves over",
    Reason.MOVED_EARLIER: "from 42",
    Reason.REBUILT_AFTER_FAILURE: "after a failure",
    Reason.RISK_WORTH_IT: "risk 0.250 times 5 intervals is worth",
    Reason.RISK_TOO_LOW: "risk 0.250 times 5 intervals is not worth",
    Reason.DEADLINE_FIRST: "deadline at 999",
    Reason.ALWAYS: "every request",
    Reason.TOO_LARGE: "3 nodes asked for, 5 there",
    Reason.OWN_POLICY: "chosen by a policy in Python",
    Reason.NODE_BUSY_AT_START: "node 17 still has another job",
    Reason.NODE_TAKEN: "node 17 of its reservation has another job for longer",
    Reason.NODE_AWAY: "node 17 of its reservation is away",
    Reason.SAFER_NODES: "the prediction for node 17 has changed",
    Reason.TOO_FEW_NODES: "5 nodes are up or known to return",
    Reason.CHECKPOINT_LOST: "its last checkpoint cannot be read; it goes back to one that can",
    Reason.NODES_BACK: "enough nodes are back",
    Reason.RUNS_ON: "past the end of its reservation, which was 42",
    Reason.REQUEUED: "sent back to the queue",
    Reason.START_REFUSED: "its last start was refused",
}


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_in_words(reason: Reason) -> None:
    decision = Decision(time=1, kind=DecisionKind.RESERVE, reason=reason, job=0, **FIGURES)
    assert WORDS[reason] in decision.why
    assert "{" not in decision.why
    named = Decision(
        time=1,
        kind=DecisionKind.RESERVE,
        reason=reason,
        job=0,
        left_out=7,
        left_out_at=88,
        **FIGURES,
    )
    assert named.why == decision.why + "; node 7 left out: predicted to fail at 88"


def test_order_of_events_within_a_second() -> None:
    order = [
        EventKind.FINISHED, EventKind.CHECKPOINT_FINISHED, EventKind.NODE_RECOVERED,
        EventKind.NODE_FAILED, EventKind.CHECKPOINT_REQUESTED, EventKind.START_DUE,
        EventKind.SUBMITTED, EventKind.PASS,
    ]  # fmt: skip
    assert sorted(EventKind)[:8] == order
    assert sorted(order, key=lambda kind: kind.rank) == order
    assert sorted(kind.rank for kind in EventKind) == list(range(17))
    assert [kind for kind in order if kind.about_node] == order[2:4]


# ------------------------------------------------------------------------------- tables


def test_jobs_are_sorted_and_numbered() -> None:
    jobs = Jobs.build([5, 0, 5], [1, 2, 3], [10, 20, 30])
    assert jobs.job.tolist() == [2, 1, 3]
    assert (jobs.size.tolist(), jobs.estimate.tolist()) == ([2, 1, 3], [-1, -1, -1])
    assert jobs.take(np.array([False, True, True])).runtime.tolist() == [10, 30]
    assert jobs.table().columns == ["job", "submit", "size", "runtime", "estimate"]
    with pytest.raises(AssertionError, match="submit order"):
        Jobs(*(np.array([2, 1]),) * 5)


def test_failures_are_sorted_and_span_their_seconds() -> None:
    log = Failures.build([9, 3, 3], [0, 4, 1], downtime=[1, 2, 3])
    assert (log.time.tolist(), log.node.tolist(), log.downtime.tolist()) == (
        [3, 3, 9],
        [1, 4, 0],
        [3, 2, 1],
    )
    assert (log.span, log.nodes) == (7, 5)
    assert log.table().columns == ["time", "node", "downtime"]
    assert log.take(log.node > 0).node.tolist() == [1, 4]
    assert len(Failures.none()) == 0
