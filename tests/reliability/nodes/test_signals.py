"""The seven signals and which node ended a run, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.hostlist import expand
from forestall.reliability.nodes.signals import (
    HOW,
    SEVEN,
    Signals,
    node_fail_runs,
    operator_ended,
    signals,
)
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, UNCLEAR
from reliability.nodes.site_nodes import DAY, outages, runs

NAMES = ("n1", "n2", "n3", "n4")
SPAN = (0, 10 * DAY)


def failed(nodelist: str, end: int, nodes: int, **more: object) -> dict[str, object]:
    return {
        "start": 0, "end": end, "state": "NODE_FAIL", "nodelist": nodelist, "nodes": nodes, **more,
    }  # fmt: skip


def test_which_node_ended_a_run() -> None:
    rows = [
        failed("n[1-3]", 1000, 3, failed_node="n2"),  # named
        failed("n4", 2000, 1),  # alone
        failed("n[1-3]", 3000, 3),  # n3 went down a minute before
        failed("n[1-2]", 4000, 2),  # both went down in one second
        failed("n[1-2]", 5000, 2),  # n1 a second before n2
        failed("n[1-4]", 6000, 4),  # nobody knows
        failed("n[1-2]", 7000, 2),  # an outage, but somebody wanted it
        {**failed("n1", 8000, 1), "state": "FAILED"},
    ]
    down = [
        ("n3", 2940, 9000, FAULT),
        ("n1", 4000, 4100, FAULT),
        ("n2", 4000, 4100, FAULT),
        ("n1", 4999, 5100, FAULT),
        ("n2", 5000, 5100, FAULT),
        ("n1", 7000, 7100, ADMINISTRATIVE),
    ]
    accounting = runs(rows, SPAN)
    found = node_fail_runs(accounting, NAMES, outages(down, SPAN, names=NAMES))
    assert [HOW[k] for k in found.how] == [
        "named", "alone", "outage", "several", "outage", "untold", "untold",
    ]  # fmt: skip
    assert found.node.tolist() == [1, 3, 2, -1, 0, -1, -1]
    assert found.untold == 3
    assert found.shares(4) == pytest.approx([1 + 0.5 + 0.25 + 0.5, 2.25 - 0.0, 1.25, 1.25])
    without = node_fail_runs(accounting, NAMES)
    assert without.node.tolist() == [1, 3, -1, -1, -1, -1, -1]


def test_runs_that_an_operator_ended() -> None:
    rows = [
        failed("n1", 1000, 1),  # set DOWN in the same second
        failed("n[2-3]", 2000, 2),  # n3, 60 s before
        failed("n[2-3]", 3000, 2),  # n3, 61 s after
        failed("n4", 4000, 1),  # another node
        failed("n[1-2]", 5000, 2),  # n1 taken out, but n2 broke in the same minute
        failed("n[1-2]", 6000, 2, failed_node="n2"),  # n1 taken out; n2 is the one that failed
        failed("n[1-2]", 7000, 2, failed_node="n1", state="REQUEUED"),
        {**failed("n1", 8000, 1), "state": "FAILED"},  # not ended by a node
        failed("n1", 9000, 1),  # nobody knows why
        failed("", 10_000, 1),  # nor where
    ]
    down = [
        ("n1", 1000, 1500, ADMINISTRATIVE),
        ("n3", 1940, 2500, ADMINISTRATIVE),
        ("n3", 3061, 3500, ADMINISTRATIVE),
        ("n3", 4000, 4500, ADMINISTRATIVE),
        ("n2", 4980, 5100, FAULT),
        ("n1", 5000, 5100, ADMINISTRATIVE),
        ("n1", 6000, 6100, ADMINISTRATIVE),
        ("n1", 7010, 7100, ADMINISTRATIVE),
        ("n1", 8000, 8100, ADMINISTRATIVE),
        ("n1", 9000, 9100, UNCLEAR),
        ("n1", 10_000, 10_100, ADMINISTRATIVE),
    ]
    accounting, events = runs(rows, SPAN), outages(down, SPAN, names=NAMES)
    found = operator_ended(accounting, events, NAMES)
    assert found.tolist() == [True, True, False, False, False, False, True, False, False, False]
    assert operator_ended(accounting, events, NAMES, near=59).tolist()[:2] == [True, False]
    faults = outages([(node, at, to, FAULT) for node, at, to, _ in down], SPAN, names=NAMES)
    for other in (faults, outages([], SPAN), outages([], SPAN, names=NAMES)):
        assert not operator_ended(accounting, other, NAMES).any()
    assert not operator_ended(accounting, events, ()).any(), "no node is known"
    assert operator_ended(runs([], SPAN), events, NAMES).tolist() == []


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 400), st.booleans()), max_size=8),
    st.lists(
        st.tuples(st.sampled_from(["n1", "n[1-2]", "n[2-4]", "n9"]), st.integers(1, 400)),
        max_size=6,
    ),
)
def test_operators_by_brute_force(
    down: list[tuple[str, int, bool]], ends: list[tuple[str, int]]
) -> None:
    accounting = runs([failed(where, end, 1) for where, end in ends], SPAN)
    rows = [(node, at, at + 5, ADMINISTRATIVE if one else FAULT) for node, at, one in down]
    found = operator_ended(accounting, outages(rows, SPAN, names=NAMES), NAMES)
    for k in range(len(accounting)):
        mine = set(expand(accounting.nodelist[k]))
        close = {one for node, at, one in down
                 if node in mine and abs(at - int(accounting.end[k])) <= 60}  # fmt: skip
        assert found[k] == (close == {True})


def test_the_seven_by_hand() -> None:
    rows: list[dict[str, object]] = [
        failed("n[1-2]", 1000, 2, failed_node="n1", user="u", excluded="n[3-4]", which=7),
        failed("n4", 2000, 1, user="u"),
        {"start": 5, "end": 9, "state": "COMPLETED", "nodelist": "n4", "user": "v",
         "excluded": "n3", "which": 8},
        {"start": 6, "end": 9, "state": "COMPLETED", "nodelist": "n4", "user": "v",
         "excluded": "n[3-4]", "which": 8},
        {"start": 7, "end": 9, "state": "COMPLETED", "nodelist": "n1", "user": "u",
         "excluded": "n3,other9", "which": 9},
    ]  # fmt: skip
    down = [("n1", 10, 20, FAULT), ("n1", 30, 40, FAULT), ("n3", 50, 60, ADMINISTRATIVE)]
    events = outages(down, SPAN, names=NAMES, reasons=["Xid 79", "RT #1234", "Xid 13 RT #99"])
    accounting = runs(rows, SPAN)
    got = signals(
        NAMES,
        accounting=accounting,
        events=events,
        gpu=np.array([True, False, True]),
        ticket=np.array([False, True, True]),
        failed=node_fail_runs(accounting, NAMES, events),
    )
    assert got.excl_jobid_count is not None
    assert got.excl_jobid_count.tolist() == [0, 0, 3, 2]
    assert got.excl_user_count is not None
    assert got.excl_user_count.tolist() == [0, 0, 2, 2]
    assert got.missing == ()
    assert got.row(0) == {
        "excl_jobid_count": 0, "xid_cnt": 1, "tickets": 1, "out_count": 2,
        "multi_node_node_fails": 1, "single_node_node_fails": 0,
        "single_node_node_failure_rate": 0.0, "excl_user_count": 0, "single_node_runs": 1,
    }  # fmt: skip
    assert got.row(3)["single_node_node_failure_rate"] == pytest.approx(1 / 3)
    assert got.row(2)["single_node_node_failure_rate"] is None, "no run on it alone"
    assert got.row(2)["xid_cnt"] == 1


def test_what_the_records_cannot_tell_is_none_and_not_0() -> None:
    assert signals(NAMES).missing == SEVEN
    assert Signals().row(0)["tickets"] is None
    silent = outages([("n1", 10, 20, FAULT)], SPAN, names=NAMES)
    mask = np.array([False])
    got = signals(NAMES, events=silent, gpu=mask, ticket=mask)
    assert (got.xid_cnt, got.tickets) == (None, None), "no reasons are told at all"
    assert got.out_count is not None
    accounting = runs([failed("n[1-4]", 1000, 4)], SPAN)
    got = signals(NAMES, accounting=accounting, failed=node_fail_runs(accounting, NAMES))
    assert got.excl_jobid_count is None
    assert got.multi_node_node_fails is None, "it is not known which of the four failed"
    assert got.single_node_node_fails is not None
    bare = runs([{"start": 0, "end": 5, "state": "NODE_FAIL"}], SPAN)
    got = signals(NAMES, accounting=bare, failed=node_fail_runs(bare, NAMES))
    assert got.missing == SEVEN, "no run tells its nodes"


def test_bad_and_unknown_hosts_are_no_crash() -> None:
    rows = [failed("n[1", 10, 1), failed("x9", 11, 1), failed("n[1-2],y3", 12, 3, failed_node="z")]
    accounting = runs(rows, SPAN)
    found = node_fail_runs(accounting, NAMES)
    assert found.node.tolist() == [-1, -1, -1]
    assert found.nodes.tolist() == [1, 1, 3]
    got = signals(NAMES, accounting=accounting, failed=found)
    assert got.single_node_runs is not None
    assert got.single_node_runs.tolist() == [0, 0, 0, 0]


LISTS = ("n1", "n[1-2]", "n[2-4]", "n4,n1", "q[1-3]", "n[3", "")


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(LISTS), st.sampled_from("abc"))))
def test_exclusions_by_brute_force(rows: list[tuple[int, str, str]]) -> None:
    made = [
        {"start": k, "end": k, "state": "COMPLETED", "which": job, "excluded": text, "user": user}
        for k, (job, text, user) in enumerate(rows)
    ]
    got = signals(NAMES, accounting=runs(made, SPAN))
    if not any(text for _, text, _ in rows):
        assert got.excl_jobid_count is None
        return
    assert got.excl_jobid_count is not None
    assert got.excl_user_count is not None
    for k, name in enumerate(NAMES):
        hit = [(job, user) for job, text, user in rows if text != "n[3" and name in expand(text)]
        assert got.excl_jobid_count[k] == len({job for job, _ in hit})
        assert got.excl_user_count[k] == len({user for _, user in hit})
