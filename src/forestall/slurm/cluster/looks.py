"""A whole look from its parts, and whether it can be true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from forestall.core.model.faults import LookError, LookFault
from forestall.slurm.cluster.limits import ClusterLimits
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterPartition,
    ClusterReservation,
    ClusterRun,
    ClusterSnapshot,
)

SLACK: Final = 60
"""Seconds by which Slurm's clock may be ahead of ours."""


class LookAnswers(NamedTuple):
    """What a cluster answered to one look, before it is believed.

    Attributes
    ----------
    runs : None where accounting could not be had; `accounting` says why
    the others as in `ClusterSnapshot`
    """

    began: int
    at: int
    told_at: int | None
    jobs: Sequence[ClusterJob]
    nodes: Sequence[ClusterNode]
    reservations: Sequence[ClusterReservation]
    runs: Sequence[ClusterRun] | None
    accounting: LookError | None
    version: str
    replaced: int = 0
    default: str = ""
    partitions: Sequence[ClusterPartition] = ()
    limits: ClusterLimits | None = None


def snapshot(answers: LookAnswers, before: ClusterSnapshot | None) -> ClusterSnapshot:
    """Return a look as a snapshot; LookError where it cannot be true.

    Not believed are: an id twice, no node at all, fewer nodes than before, clocks that run
    backwards, and a clock of Slurm's that is ahead of ours by more than a minute. Where the cluster
    was truly made smaller, look once without `before`.
    """
    _clocks(answers, before)
    jobs = {job.id: job for job in answers.jobs}
    nodes = {node.name: node for node in answers.nodes}
    reservations = {one.name: one for one in answers.reservations}
    _once("queue", "job", len(jobs), len(answers.jobs))
    _once("nodes", "node", len(nodes), len(answers.nodes))
    _once("reservations", "reservation", len(reservations), len(answers.reservations))
    if not nodes:
        raise LookError(LookFault.FEWER_NODES, "nodes", "the answer names no node at all")
    if before is not None and (gone := sorted(set(before.nodes) - set(nodes))):
        shown = ", ".join(gone[:3]) + (" ..." if len(gone) > 3 else "")
        message = f"{len(gone)} of {len(before.nodes)} nodes are missing: {shown}"
        raise LookError(LookFault.FEWER_NODES, "nodes", message)
    mark = answers.began if answers.runs is not None or before is None else before.mark
    return ClusterSnapshot(
        jobs, nodes, reservations, tuple(answers.runs or ()), answers.began, answers.at,
        answers.told_at, mark, answers.accounting, answers.version, answers.replaced,
        answers.default, {one.name: one for one in answers.partitions},
        answers.limits,
    )  # fmt: skip


def _once(what: str, noun: str, there: int, told: int) -> None:
    if there != told:
        message = f"{told - there} of {told} come twice; each {noun} stands once"
        raise LookError(LookFault.DOUBLED, what, message)


def _clocks(answers: LookAnswers, before: ClusterSnapshot | None) -> None:
    if answers.at < answers.began or (before is not None and answers.began < before.began):
        last = answers.began if before is None else before.began
        moved = last - min(answers.at, answers.began)
        raise LookError(LookFault.BACKWARDS, "clock", f"this machine's clock went back {moved} s")
    told = answers.told_at
    if told is None:
        return
    if before is not None and before.told_at is not None and told < before.told_at:
        message = f"the answer is {before.told_at - told} s older than the one before"
        raise LookError(LookFault.BACKWARDS, "queue", message)
    if told > answers.at + SLACK:
        message = f"Slurm's clock is {told - answers.at} s ahead of this machine's"
        raise LookError(LookFault.CLOCKS, "clock", message)
