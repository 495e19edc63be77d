"""What is known where an offer is made or taken: of the cluster, of a promise's job and start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from forestall.core.model.live.desk import JobOrder
from forestall.core.model.live.intents import Action, Intent, IntentState
from forestall.core.model.marks import reservation_name
from forestall.core.model.units import told_moment
from forestall.live.guard.sight import GONE, ClusterSight
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.background import BackgroundRate
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.keeping import Keeping
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.quoting import wanted_job
from forestall.live.slurm.record import PromiseRecord
from forestall.live.slurm.scripts import check_script
from forestall.live.slurm.submissions import order_of
from forestall.prediction.watching.foreseen import parts_of
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.cluster.nouns import ClusterJob, ClusterSnapshot
from forestall.slurm.cluster.standing import Standing

GRACE: Final = 60
"""s by which a reservation begins after the start that it holds: Slurm refuses one that begins as
jobs end by their limits; by FLEX its job need not wait for it."""
_HELD: Final = (IntentState.CARRIED_OUT, IntentState.CONFIRMED)


@dataclass
class LastLook:
    """The last look that was one."""

    seen: ClusterSnapshot
    sight: ClusterSight
    carried: Mapping[str, ClusterJob] = field(default_factory=dict)


@dataclass(frozen=True)
class QuoteBasis:
    """What quotes are made from: as it is, or, while a cycle takes in a look, as it was before."""

    mind: Mind
    known: LastLook
    record: PromiseRecord
    background: BackgroundRate

    def knows(self, job: WantedJob, now: int, fresh: int) -> bool:
        """Whether it is at most `fresh` s old, and says which nodes a job may have."""
        partition = job.partition or self.known.seen.default
        is_fresh = abs(now - self.known.sight.at) <= fresh
        return is_fresh and self.mind.has_pool(partition, job.features)


def trial_of(job: WantedJob, known: LastLook) -> Intent:
    """Return what would hold a job's start, to ask whether that may be."""
    return Intent(
        Action.RESERVE, reservation_name("trial"), known.sight.at, known.sight.at + 1, GONE,
        "would it be held", size=job.nodes, partition=job.partition,
    )  # fmt: skip


def checked(offer: OfferRow, job: JobOrder) -> JobOrder:
    """Return the order of a script that goes with its offer, without the consents that it takes
    back. Raises InputError for what cannot be submitted: that is promised to nobody."""
    asked = check_script(job.script, {**offer.question, "time": offer.length})
    if "no-requeue" in asked:  # Slurm would not do it
        kept = tuple(one for one in job.consents if one != Action.REQUEUE)
        job = replace(job, consents=kept)
    order_of(offer, job, 0)
    return job


def is_there(cluster: LiveCluster, promise: PromiseRow, offer: OfferRow) -> bool:
    """Whether Slurm has a job of the owner's with the tag of a promise."""
    return cluster.find(order_of(offer, JobOrder("#!"), promise.at)) is Standing.DONE


def is_held(ledger: LiveLedger, name: str) -> bool:
    """Whether a reservation was made and is known to be there."""
    for row, state in ledger.latest_states(*_HELD):
        if row.action == Action.RESERVE and row.target == name:
            return bool(state.state)
    return False


def excluded(
    offer: OfferRow, partition: str, mind: Mind | None, known: LastLook | None
) -> tuple[str, ...]:
    """Return the nodes that are foreseen to fail before the deadline, or have too great a hazard
    over the run, where enough others are left."""
    if mind is None or known is None:
        return ()
    risky = {
        name
        for name, part in parts_of(mind.outlook)
        if part.is_acted_on(
            offer.start if part.curve else min(offer.start, part.at), offer.deadline
        )
    }
    left = [
        name
        for name, node in known.seen.nodes.items()
        if name not in risky and node.in_service and partition in ("", *node.partitions)
    ]
    return tuple(sorted(risky)) if len(left) >= offer.size else ()


def reservation_of(
    promise: PromiseRow, offer: OfferRow, partition: str, asked: QuoteBasis, now: int, life: int,
    books: LedgerBooks,
) -> Intent:  # fmt: skip
    """Return what holds the start of a promise."""
    known = asked.known
    keeping = Keeping(
        known.seen, known.sight, asked.mind, {}, {}, books.saved, books.cycle, now, life
    )  # fmt: skip
    numbers = {
        "start": float(offer.start + GRACE), "time": float(offer.deadline - offer.start)
    }  # fmt: skip
    why = f"holds a promise from {told_moment(offer.start)} on"
    return keeping.intend(
        Action.RESERVE, reservation_name(promise.id), why,
        numbers, size=offer.size, partition=wanted_job(offer, partition).partition,
        promise=promise.id,
    )  # fmt: skip
