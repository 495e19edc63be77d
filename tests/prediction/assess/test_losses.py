"""Lost node-seconds by cause: counted by hand, against plain loops, and exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_cases import accounts, outages
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess import losses as lost
from forestall.slurm.records import run_ends
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.run_ends import (
    CAUSES,
    INTERRUPTIONS,
    KEPT,
    LOST,
    RULES,
    Ends,
    causes_of,
    followed,
    following,
    tells_interruptions,
)

HOUR = 3600


def named(records: Accounting) -> list[str]:
    return [CAUSES[code] for code in causes_of(records).tolist()]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("COMPLETED", "completed"),
        ("NODE_FAIL", "node_failure"),
        ("OUT_OF_MEMORY", "out_of_memory"),
        ("OUT_OF_ME+", "unknown_end"),
        ("TIMEOUT", "timeout"),
        ("DEADLINE", "deadline"),
        ("PREEMPTED", "preemption"),
        ("REQUEUED", "requeue"),
        ("FAILED", "job_failure"),
        ("BOOT_FAIL", "launch_failure"),
        ("CANCELLED", "cancel_untold"),
        ("CANCELLED+", "cancel_untold"),
        ("CANCELLED by 0", "operator_cancel"),
        ("RESIZING", "unknown_end"),
        ("", "unknown_end"),
    ],
)
def test_states_alone(state: str, expected: str) -> None:
    assert named(accounts([{"start": 0, "end": 9, "state": state}])) == [expected]


def test_times_come_before_words() -> None:
    rows = [
        {"start": 5, "state": "COMPLETED"},
        {"state": "NODE_FAIL"},
        {"end": 7, "state": "CANCELLED by 5"},
    ]
    records = accounts(rows, until=50)
    assert named(records) == ["running", "never_started", "never_started"]


def test_requeued_runs() -> None:
    """A word that leaves the end open is a requeue where the job ran again; a failed node counts
    as that."""
    rows = [
        {"job": 1, "start": 0, "end": 5, "state": "CANCELLED by 7", "user": "a"},
        {"job": 1, "submit": 5, "start": 6, "end": 9, "state": "COMPLETED"},
        {"job": 2, "start": 0, "end": 5, "state": "PENDING"},
        {"job": 2, "submit": 5},
        {"job": 3, "start": 0, "end": 5, "state": "REQUEUED", "failed_node": "n1"},
        {"job": 3, "submit": 5, "start": 7, "state": "RUNNING"},
        {"job": 4, "start": 0, "end": 5, "state": "PREEMPTED"},
        {"job": 4, "submit": 5, "start": 7, "end": 8, "state": "PREEMPTED"},
    ]
    records = accounts(rows, until=20)
    by_job = {
        (job, attempt): name
        for job, attempt, name in zip(
            records.job.tolist(), records.attempt.tolist(), named(records), strict=True
        )
    }
    assert by_job == {
        (1, 0): "requeue", (1, 1): "completed", (2, 0): "requeue", (2, 1): "never_started",
        (3, 0): "node_failure", (3, 1): "running", (4, 0): "preemption", (4, 1): "preemption",
    }  # fmt: skip
    assert followed(records).sum() == 4
    earlier, later = following(records)
    pairs = {(int(records.job[a]), int(records.attempt[a]), int(records.attempt[b]))
             for a, b in zip(earlier, later, strict=True)}  # fmt: skip
    assert pairs == {(1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 0, 1)}


def test_a_node_taken_down_on_purpose_is_no_failure() -> None:
    rows = [
        {"job": 1, "start": 0, "end": 5, "state": "NODE_FAIL"},
        {"job": 2, "start": 0, "end": 5, "state": "NODE_FAIL"},
        {"job": 3, "start": 0, "end": 5, "state": "FAILED"},
        {"job": 4, "start": 0, "end": 5, "state": "REQUEUED", "failed_node": "n1"},
        {"job": 5, "start": 0, "state": "NODE_FAIL"},
    ]
    records = accounts(rows, until=20)
    by_operator = records.job != 2
    found = [CAUSES[code] for code in causes_of(records, by_operator).tolist()]
    by_job = dict(zip(records.job.tolist(), found, strict=True))
    assert by_job == {
        1: "operator_down", 2: "node_failure", 3: "job_failure", 4: "operator_down", 5: "running",
    }  # fmt: skip
    assert "operator_down" in INTERRUPTIONS
    assert "operator_down" in LOST
    ends = Ends.of(records, by_operator)
    assert lost.losses(records, HOUR, ends).of("operator_down").runs == 2
    assert lost.losses(records, HOUR, ends).of("node_failure").runs == 1


def cancels(pairs: list[tuple[str, str]]) -> list[str]:
    rows = [
        {"start": 0, "end": 9, "user": user, "state": f"CANCELLED by {by}"} for by, user in pairs
    ]
    return named(accounts(rows))


def test_who_cancelled() -> None:
    own, other, untold = "user_cancel", "operator_cancel", "cancel_untold"
    assert cancels([("ann", "ann"), ("bob", "ann"), ("root", "ann"), ("0", "ann")]) == [
        own, other, other, other,
    ]  # fmt: skip
    # Numbers and names: 7 is ann's, 8 bob's; 9 cancelled for three, more than half of none.
    assert cancels(
        [("7", "ann"), ("7", "ann"), ("7", "bob"), ("8", "bob"),
         ("9", "ann"), ("9", "bob"), ("9", "eve")]
    ) == [own, own, other, own, other, other, other]  # fmt: skip
    # Of two numbers for one user, the one with more; a tie tells nothing.
    assert cancels([("7", "ann"), ("7", "ann"), ("8", "ann")]) == [own, own, other]
    assert cancels([("7", "ann"), ("8", "ann")]) == [untold, untold]
    # Where users are numbers themselves, they are compared.
    assert cancels([("7", "7"), ("8", "7"), ("8", "7")]) == [own, other, other]
    assert cancels([("7", ""), ("0", "")]) == [untold, other]


def test_every_rule_is_a_cause_with_its_words() -> None:
    assert len(set(CAUSES)) == len(RULES) == len(CAUSES)
    assert set(LOST) | set(KEPT) | {"never_started", "unknown_end"} == set(CAUSES)
    assert all(rule.label and rule.lost and (rule.states or rule.when) for rule in RULES)


def test_logs_that_know_few_words() -> None:
    coarse = [{"start": 0, "end": 9, "state": s} for s in ("COMPLETED", "FAILED", "CANCELLED", "")]
    assert not tells_interruptions(accounts(coarse))
    assert not tells_interruptions(accounts([]))
    assert tells_interruptions(accounts([*coarse, {"state": "TIMEOUT"}]))
    assert tells_interruptions(accounts([*coarse, {"state": "CANCELLED by 5"}]))
    assert tells_interruptions(accounts([coarse[0] | {"exit_code": 0}]))


def test_by_hand() -> None:
    rows = [
        {"start": 0, "end": 2 * HOUR, "nodes": 4, "gpus": 16, "state": "COMPLETED"},
        {"start": 0, "end": 10 * HOUR, "nodes": 8, "gpus": 0, "state": "NODE_FAIL"},
        {"start": 0, "end": 600, "nodes": 2, "gpus": 4, "state": "NODE_FAIL"},
        {"start": 0, "end": 3 * HOUR, "nodes": 1, "suspended": HOUR, "state": "TIMEOUT"},
        {"start": HOUR, "nodes": 3, "gpus": 3, "state": "RUNNING"},
        {"start": 0, "end": 5, "nodes": -1, "state": "FAILED"},
        {"start": 0, "end": 100, "nodes": 5, "state": "strange"},
        {"state": "PENDING"},
    ]
    found = lost.losses(accounts(rows, until=20 * HOUR), HOUR)
    failure = found.of("node_failure")
    assert (failure.runs, failure.node_seconds) == (2, 80 * HOUR + 1200)
    assert failure.node_seconds_after == 8 * HOUR // 2 + 1200
    assert (failure.gpu_seconds, failure.gpu_seconds_after) == (2400, 2400)
    assert found.of("completed").node_seconds == 8 * HOUR
    assert found.of("completed").node_seconds_after == 0
    assert found.of("running").node_seconds == 3 * 19 * HOUR
    assert found.of("timeout").node_seconds == 2 * HOUR
    assert found.of("unknown_end").node_seconds == 500
    assert found.lost.node_seconds == 80 * HOUR + 1200 + 2 * HOUR
    assert (found.runs, found.nodes_untold, found.gpus_told, found.gpu_runs) == (7, 1, 4, 3)
    assert found.of("never_started").runs == 1
    assert found.ends_told


states = st.sampled_from(
    ["COMPLETED", "NODE_FAIL", "TIMEOUT", "FAILED", "CANCELLED by 4", "CANCELLED", "", "PREEMPTED"]
)
run = st.fixed_dictionaries(
    {
        "job": st.integers(1, 6),
        "submit": st.integers(0, 50),
        "start": st.integers(50, 10**6) | st.just(NEVER),
        "length": st.integers(0, 10**7) | st.none(),
        "nodes": st.integers(-1, 2**31 - 1),
        "gpus": st.integers(-1, 2**20),
        "suspended": st.integers(0, 100),
        "state": states,
    }
)


@given(rows=st.lists(run, max_size=30), interval=st.integers(1, 10**5))
def test_all_adds_up_exactly(rows: list[dict[str, int]], interval: int) -> None:
    for row in rows:
        length = row.pop("length")
        row["end"] = NEVER if length is None or row["start"] == NEVER else row["start"] + length
    records = accounts(rows, until=10**7)
    found = lost.losses(records, interval)
    assert found.over().node_seconds == sum(records.node_seconds.tolist())
    parts = ("never_started", *KEPT, *LOST, "unknown_end")
    assert sum(found.of(name).node_seconds for name in parts) == found.over().node_seconds
    assert found.over().runs == len(records)
    why = causes_of(records).tolist()
    for k, name in enumerate(CAUSES):
        whole = after = 0
        for one, nodes, seconds in zip(
            why, records.nodes.tolist(), records.elapsed.tolist(), strict=True
        ):
            if one == k:
                whole += max(nodes, 0) * seconds
                part = seconds if seconds < interval else interval // 2
                after += max(nodes, 0) * part if name in LOST else 0
        row = found.of(name)
        assert (row.node_seconds, row.node_seconds_after) == (whole, after)
        assert 0 <= row.node_seconds_after <= row.node_seconds


@given(
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**58)), max_size=20),
)
def test_sums_are_exact_beyond_floats(pairs: list[tuple[int, int]]) -> None:
    code = np.array([code for code, _ in pairs], dtype=np.int64)
    value = np.array([value for _, value in pairs], dtype=np.int64)
    plain = [sum(v for c, v in pairs if c == k) for k in range(4)]
    assert lost.exact_sums(code, value, 4).tolist() == plain


def test_an_interval_must_be_a_time() -> None:
    with pytest.raises(ParameterError, match="checkpoint_interval"):
        lost.losses(accounts([]), 0)


def test_timeouts_that_look_continued() -> None:
    day = lost.DAY
    like = {"user": "ann", "name": "md", "partition": "p", "nodes": 2, "state": "TIMEOUT"}
    rows = [
        like | {"start": 0, "end": 100},  # continued by the next
        like | {"submit": 100, "start": 200, "end": 300},  # continued a day later, just so
        like | {"submit": 300 + day, "start": 300 + day, "end": 400 + day},  # one second too late
        like | {"submit": 401 + 2 * day, "start": 401 + 2 * day, "end": 402 + 2 * day},
        like | {"user": "bob", "start": 0, "end": 100},
        like | {"user": "", "start": 0, "end": 100},
        like | {"user": "eve", "start": 50, "end": 50, "submit": 50},  # itself is no follower
        like | {"user": "joe", "submit": 0, "start": 0, "end": 90},  # eligible when it ends
        like | {"user": "joe", "submit": 1, "eligible": 90, "start": 95, "end": 99,
                "state": "COMPLETED"},
    ]  # fmt: skip
    records = accounts(rows)
    found = lost.continued_timeouts(records, Ends.of(records))
    assert (found.runs, found.looked_at, found.continued) == (8, 7, 3)
    assert found.node_seconds_continued == 2 * (100 + 100 + 90)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 400_000), st.integers(0, 90_000),
                  st.booleans()),
        max_size=12,
    )
)  # fmt: skip
def test_continued_by_a_plain_loop(rows: list[tuple[int, int, int, bool]]) -> None:
    records = accounts(
        [
            {"user": f"u{user}", "name": "x", "partition": "p", "submit": submit,
             "start": submit, "end": submit + length, "state": "TIMEOUT" if out else "COMPLETED"}
            for user, submit, length, out in rows
        ]
    )  # fmt: skip
    found = lost.continued_timeouts(records, Ends.of(records))
    plain = 0
    for k in range(len(records)):
        if records.state[k] == "TIMEOUT":
            end = int(records.end[k])
            plain += any(
                j != k
                and records.user[j] == records.user[k]
                and end <= records.submit[j] <= end + lost.DAY
                for j in range(len(records))
            )
    assert found.continued == plain


def test_pieces_and_large_tables_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(4)
    rows = [
        {"job": k - (k % 10 == 1), "submit": 9000 * k, "start": 9000 * k + 60, "nodes": k % 5 - 1,
         "end": 9000 * k + 60 + int(draw.integers(0, 90_000)), "gpus": k % 3 - 1,
         "suspended": k % 4, "user": f"u{draw.integers(3)}", "name": f"n{draw.integers(4)}",
         "partition": ["", "p", "q"][k % 3],
         "state": ["TIMEOUT", "COMPLETED", "NODE_FAIL", "RUNNING"][k % 4]}
        for k in range(300)
    ]  # fmt: skip
    records = accounts(rows)
    whole = lost.losses(records, HOUR)
    assert 0 < whole.continued.continued < whole.continued.looked_at
    assert Ends.of(records).elapsed.tolist() == records.elapsed.tolist()
    room = lost.held(records, 5000, 2_000_000)
    for module in (lost, run_ends):
        monkeypatch.setattr(module, "CHUNK", 7)
    assert lost.losses(records, HOUR) == whole
    assert lost.held(records, 5000, 2_000_000) == room
    assert Ends.of(records).elapsed.tolist() == records.elapsed.tolist()
    monkeypatch.setattr(lost, "LARGEST_TABLE", 0)
    assert lost.losses(records, HOUR) == whole


outage = st.tuples(
    st.integers(0, 2), st.integers(0, 60), st.integers(0, 40) | st.none(),
    st.sampled_from(["fault", "administrative", "unclear"]),
)  # fmt: skip


@given(rows=st.lists(outage, max_size=12), begin=st.integers(0, 30), length=st.integers(1, 60))
def test_outages_count_once(rows: list[tuple[int, int, int, str]], begin: int, length: int) -> None:
    until = begin + length
    events = outages(
        [
            {"node": f"n{node}", "begin": at, "nature": nature}
            | ({} if took is None else {"end": at + took})
            for node, at, took, nature in rows
        ],
        (0, 100),
    )
    plain = {"fault": 0, "administrative": 0, "unclear": 0}
    for node in range(3):
        for second in range(begin, until):
            here = [
                nature
                for one, at, took, nature in rows
                if one == node and at <= second < at + (10**9 if took is None else took)
            ]
            if here:
                plain[min(here, key=list(plain).index)] += 1
    assert lost.downtime(events, begin, until) == plain


def test_capacity_by_hand() -> None:
    records = accounts(
        [
            {"start": 0, "end": 60, "nodes": 2, "state": "COMPLETED"},
            {"start": 80, "nodes": 1},
            {"submit": 3},
        ],
        until=100,
    )
    events = outages(
        [{"node": "a", "begin": 40, "end": 70}, {"node": "b", "begin": 90, "nature": "unclear"}],
        (0, 100),
    )
    room = lost.capacity(records, 4, events, 10, 100)
    assert (room.total, room.used) == (360, 2 * 50 + 20)
    assert room.down == {"fault": 30, "administrative": 0, "unclear": 10}
    assert room.ungiven == 240
    assert room.idle == (200, 240)
    bare = lost.capacity(records, 1, None, 10, 100)
    assert (bare.ungiven, bare.idle, bare.down) == (-30, (0, 0), {})
