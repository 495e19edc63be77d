"""What became of a promise, by what is seen of its job and what accounting tells.

Kept: its job is done, by the deadline. Void: its owner took the job back, or it failed by itself
(a fault of its own), before the deadline; or it was never submitted. Missed: all else, and every
job that has not ended when the queue is seen to be past the deadline. A look that shows nothing of
a job is no word on it before its deadline has long passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from forestall.core.model.marks import Mark
from forestall.core.model.units import told_moment
from forestall.live.ledger.rows import OfferRow, OutcomeRow, PromiseRow
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.limits import stopped
from forestall.live.slurm.reconcile import holds_nodes
from forestall.live.slurm.submissions import BY_OWNER, mismatch
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot

PAST: Final = 60
"""s by which a look must be past a deadline: so much Slurm's clock may differ from ours."""
LAG: Final = 600
"""s after the deadline until which accounting may still tell of a job that is not seen."""
_OWN: Final = frozenset({"FAILED", "OUT_OF_MEMORY", "CANCELLED"})
_CAUSES: Final = {
    "TIMEOUT": "longer run", "DEADLINE": "longer run", "NODE_FAIL": "failure",
    "BOOT_FAIL": "failure",
}  # fmt: skip
_NOT_LAST: Final = frozenset({"REQUEUED", "PENDING", "RUNNING", "SUSPENDED", "RESIZING"})


class Followed(NamedTuple):
    """A promise, the offer that it was, the job where it is seen, and its number where it was seen
    before (0: never)."""

    promise: PromiseRow
    offer: OfferRow
    job: ClusterJob | None
    number: int


def judge(
    promises: Mapping[str, PromiseRow],
    carried: Mapping[str, ClusterJob],
    books: LedgerBooks,
    seen: ClusterSnapshot,
    now: int,
) -> list[OutcomeRow]:
    """Return what became of promises, and remember the numbers of the others' jobs.

    carried : the job of each promise, where it is seen
    """
    found = []
    for name, promise in promises.items():
        job, number = carried.get(name), books.numbers.get(name, 0)
        row = judged(Followed(promise, books.offer_of(promise), job, number), seen, now)
        if row is not None:
            found.append(replace(row, job=(number or row.job) if job is None else job.id))
        elif job is not None:
            books.numbers[name] = job.id
    return found


def judged(one: Followed, seen: ClusterSnapshot, now: int) -> OutcomeRow | None:
    """Return what became of a promise, None while that is open."""
    promise, job = one.promise, one.job
    first_seen = promise.job == BY_OWNER and job is not None and not one.number
    if first_seen and job is not None and (why := mismatch(job, one.offer)):
        return OutcomeRow(promise.id, now, "void", "user", -1, why=f"job {job.id}: {why}")
    runs = [run for run in seen.runs if _is_of(run, one)]
    if promise.job == BY_OWNER and runs and not one.number:  # a tag is good for one job
        first = min(run.job for run in runs) if job is None else job.id
        runs = [run for run in runs if run.job == first]
        one = one._replace(number=first)
    done = [run.end for run in runs if run.state == "COMPLETED" and run.end is not None]
    if done and min(done) <= promise.deadline:  # whatever came after: it was done by then
        return OutcomeRow(promise.id, now, "kept", "", min(done), one.number)
    if job is not None:
        return _of_job(one, job, runs, seen, now)
    if not one.number and not runs and _came_to_nothing(one, seen):
        why = f"no job with its tag was submitted by {told_moment(one.offer.expires)}"
        return OutcomeRow(promise.id, now, "void", "user", -1, why=why)
    ended = [run for run in runs if run.end is not None and run.state not in _NOT_LAST]
    if ended:
        last = max(ended, key=lambda run: run.end or 0)
        return replace(_ended(one, last.state, last.end or 0, runs, now), job=one.number)
    if _taken_off(one, seen):
        return OutcomeRow(promise.id, now, "void", "user", -1)
    if seen.accounting is None and seen.began > promise.deadline + LAG:
        what, why = ("missed", "failure") if one.number else ("void", "operator")
        return OutcomeRow(promise.id, now, what, why, -1)
    return None


def _came_to_nothing(one: Followed, seen: ClusterSnapshot) -> bool:
    """Whether the owner of a promise let the time pass in which its job could be submitted."""
    return one.promise.job == BY_OWNER and seen.began > one.offer.expires + PAST


def _of_job(
    one: Followed, job: ClusterJob, runs: list[ClusterRun], seen: ClusterSnapshot, now: int
) -> OutcomeRow | None:
    """Return what became of a promise whose job is seen."""
    if not job.waits and not holds_nodes(job) and job.end is not None:
        return _ended(one, job.state, job.end, runs, now)
    newest = seen.began if seen.told_at is None else min(seen.told_at, seen.began)
    if newest > one.promise.deadline + PAST:
        cause = "operator" if stopped(job, seen.partitions) else _cause(one, runs)
        return OutcomeRow(one.promise.id, now, "missed", cause, -1)
    return None


def _is_of(run: ClusterRun, one: Followed) -> bool:
    """Whether a run in the books is of a promise's job; where they keep no comments, by number."""
    promise = one.promise
    if run.user != promise.owner:
        return False
    if run.comment:
        mark = Mark.parse(run.comment, "")
        if mark.promise != promise.id or bool(mark.seal) != (promise.job == BY_OWNER):
            return False
        if promise.job != BY_OWNER:
            return True
        if one.number:
            return run.job == one.number
        as_quoted = len(run.nodes) == one.offer.size
        return as_quoted and (run.submit or 0) <= one.offer.expires
    return run.job == one.number and (run.submit or 0) >= promise.at - PAST


def _taken_off(one: Followed, seen: ClusterSnapshot) -> bool:
    """Whether the job is there, and carries the promise's tag no more."""
    job = seen.jobs.get(one.number)
    return (
        job is not None
        and job.user == one.promise.owner
        and not job.mark.promise
        and (job.submit or 0) >= one.promise.at - PAST
    )


def _ended(one: Followed, state: str, end: int, runs: list[ClusterRun], now: int) -> OutcomeRow:
    promise = one.promise
    in_time = end <= promise.deadline
    if state == "COMPLETED" and in_time:
        return OutcomeRow(promise.id, now, "kept", "", end)
    if state in _OWN and in_time:
        return OutcomeRow(promise.id, now, "void", "user", end)
    cause = _CAUSES.get(state) or (
        _cause(one, runs) if state in _OWN | {"COMPLETED"} else "operator"
    )
    return OutcomeRow(promise.id, now, "missed", cause, end)


def _cause(one: Followed, runs: list[ClusterRun]) -> str:
    """Return why a job was late."""
    job = one.job
    if any(run.state == "NODE_FAIL" for run in runs):
        return "failure"
    if job is not None and job.held:
        return "user" if job.reason == "JobHeldUser" else "operator"
    if (job is not None and job.restarts) or any(run.state == "REQUEUED" for run in runs):
        return "operator"
    begun = job.start if job is not None and not job.waits else None
    if job is None:
        begun = min((run.start for run in runs if run.start is not None), default=None)
    late = begun is None or begun > one.offer.start + PAST
    return "longer wait" if late else "longer run"
