"""What became of a promise: kept, missed with its cause, or void."""

from __future__ import annotations

from typing import Any

import pytest

from forestall.core.model.faults import LookError, LookFault
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.slurm.outcomes import LAG, PAST, Followed, judged
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot
from live.slurm.test_reconcile import NOW, job, node

PROMISE = PromiseRow("p1", NOW - 100, "p1", "", "ann", NOW + 3600, 0.9, 1, [])
OFFER = OfferRow("p1", NOW - 100, NOW + 200, "ann", {}, 1, 3600, NOW, NOW + 3600, 0.9, 0.9, [], {})
AFTER = NOW + 3600 + PAST + 1


def run(state: str, end: int | None, **changed: Any) -> ClusterRun:
    one = ClusterRun(7, "ann", state, NOW - 100, NOW - 50, end, ("n1",), "forestall:p1")
    return one._replace(**changed)


def outcome(
    *runs: ClusterRun, of: ClusterJob | None = None, at: int = NOW, number: int = 7,
    accounting: LookError | None = None, others: tuple[ClusterJob, ...] = (),
) -> tuple[str, str, int] | None:  # fmt: skip
    jobs = {one.id: one for one in (*others, *(() if of is None else (of,)))}
    seen = ClusterSnapshot(
        jobs, {"n1": node("n1")}, {}, runs, began=at, at=at, told_at=at, accounting=accounting
    )
    found = judged(Followed(PROMISE, OFFER, of, number), seen, at)
    return None if found is None else (found.outcome, found.cause, found.ended)


@pytest.mark.parametrize(
    ("state", "end", "expected"),
    [
        ("COMPLETED", NOW + 3600, ("kept", "", NOW + 3600)),
        ("COMPLETED", NOW + 3601, ("missed", "longer run", NOW + 3601)),
        ("CANCELLED", NOW, ("void", "user", NOW)),
        ("FAILED", NOW, ("void", "user", NOW)),
        ("TIMEOUT", NOW, ("missed", "longer run", NOW)),
        ("NODE_FAIL", NOW, ("missed", "failure", NOW)),
        ("PREEMPTED", NOW, ("missed", "operator", NOW)),
    ],
)
def test_by_the_end_of_its_job(state: str, end: int, expected: tuple[str, str, int]) -> None:
    assert outcome(of=job(7, "n1", state=state, end=end, comment="forestall:p1")) == expected
    assert outcome(run(state, end)) == expected


def test_open_while_it_may_be_kept() -> None:
    assert outcome(of=job(7)) is None
    assert outcome(of=job(7, "n1"), at=NOW + 3600 + PAST) is None
    assert outcome(run("REQUEUED", NOW), of=job(7, restarts=1)) is None
    assert outcome(at=NOW + 3600 + LAG) is None


def test_done_once_is_done_whatever_came_after() -> None:
    assert outcome(run("COMPLETED", NOW), of=job(7, restarts=1), at=AFTER) == ("kept", "", NOW)


@pytest.mark.parametrize(
    ("of", "runs", "cause"),
    [
        (job(7), (), "longer wait"),
        (job(7, "n1", start=NOW + PAST + 1), (), "longer wait"),
        (job(7, "n1", start=NOW), (), "longer run"),
        (job(7, "n1", restarts=1), (run("NODE_FAIL", NOW),), "failure"),
        (job(7, "n1", restarts=1), (run("REQUEUED", NOW),), "operator"),
        (job(7, priority=0, reason="JobHeldUser"), (), "user"),
        (job(7, priority=0, reason="JobHeldAdmin"), (), "operator"),
    ],
)
def test_late_and_why(of: ClusterJob, runs: tuple[ClusterRun, ...], cause: str) -> None:
    assert outcome(*runs, of=of, at=AFTER) == ("missed", cause, -1)


def test_a_job_that_nothing_tells_of() -> None:
    late = NOW + 3600 + LAG + 1
    away = LookError(LookFault.UNREACHABLE, "accounting", "slurmdbd does not answer")
    assert outcome(at=late, accounting=away) is None
    assert outcome(at=late) == ("missed", "failure", -1)
    assert outcome(at=late, number=0) == ("void", "operator", -1)


def test_a_job_without_its_tag_is_held_no_more() -> None:
    assert outcome(others=(job(7),)) == ("void", "user", -1)
    assert outcome(others=(job(7, user="bob"),)) is None
    assert outcome(others=(job(7, submit=NOW - 9000),)) is None


def test_books_without_comments_tell_by_number() -> None:
    assert outcome(run("COMPLETED", NOW, comment="")) == ("kept", "", NOW)
    assert outcome(run("COMPLETED", NOW, comment="", job=8)) is None
    assert outcome(run("COMPLETED", NOW, comment="", user="bob")) is None
    assert outcome(run("COMPLETED", NOW, comment="forestall:p2")) is None
