"""Offers and promises as they are told, and how likely an open one is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from forestall.core.model.live.desk import ActTold, OfferTold, PromiseTold, RecordTold
from forestall.core.model.live.intents import HALF_WAY, Action, IntentState
from forestall.core.model.quotes import DecileRecord
from forestall.live.ledger.queries import BookedIntent, BookedPromise
from forestall.live.ledger.rows import OfferRow
from forestall.live.slurm.limits import stopped
from forestall.live.slurm.view import DAY, ControllerView
from forestall.slurm.cluster.nouns import ClusterJob

HOLDING: Final = (*HALF_WAY, IntentState.CONFIRMED)
"""States of an intent to reserve in which a reservation is there, or about to be."""
UNHELD: Final = (
    IntentState.REFUSED, IntentState.FAILED, IntentState.EXPIRED, IntentState.DROPPED,
)  # fmt: skip


def offer_told(row: OfferRow) -> OfferTold:
    """Return an offer."""
    reasons = tuple(str(one) for one in row.reasons)
    return OfferTold(
        row.id, row.start, row.deadline, row.probability, bool(row.held), row.expires,
        record_told(row.record), reasons,
    )  # fmt: skip


def record_told(record: Mapping[str, Any]) -> RecordTold:
    """Return a record as it stands in the ledger."""
    told = DecileRecord(
        float(record["low"]), float(record["high"]), int(record["made"]), int(record["kept"])
    )
    return RecordTold(told.low, told.high, told.made, told.kept, told.brief)


def promise_told(
    one: BookedPromise, view: ControllerView | None, done: Iterable[BookedIntent]
) -> PromiseTold:
    """Return a promise with what is known of it now."""
    row, offer, outcome = one
    done = list(done)
    hold = [each for each in done if each.intent.action == Action.RESERVE]
    state = IntentState(hold[-1].state.state) if hold else None
    why = "" if outcome is None else outcome.why
    job = None if view is None else view.carried.get(row.id)
    likely = end = None
    stops = ""
    if outcome is None:
        why = _unheld(hold[-1], view, job) if hold else ""
    if outcome is None and view is not None and job is not None:
        stops = stopped(job, view.seen.partitions)
        if stops:
            why = f"its job does not start: {stops}"
        else:
            likely, end = likelihood(view, job.id, row.deadline)
    number = None if job is None else job.id
    if outcome is not None:
        number = outcome.job or None
    ended = None if outcome is None or outcome.ended < 0 else outcome.ended
    return PromiseTold(
        row.id, row.owner, row.at, row.deadline, row.probability, bool(row.held),
        number, offer.size, offer.length, offer.start,
        "open" if outcome is None else outcome.outcome, "" if outcome is None else outcome.cause,
        ended, likely, end, tuple(act_told(each) for each in done),
        why, outcome is None and state in HOLDING and not why, stopped=bool(stops),
    )  # fmt: skip


def _unheld(hold: BookedIntent, view: ControllerView | None, job: ClusterJob | None) -> str:
    """Return why nothing holds the start of a promise, "" where something does, or need not."""
    state = IntentState(hold.state.state)
    if state in UNHELD:
        return f"nothing holds its start: {hold.state.why}"
    if state != IntentState.CONFIRMED or view is None or job is None or not job.waits:
        return ""
    gone = hold.intent.target not in view.seen.reservations and view.looked > hold.state.at
    return "nothing holds its start: its reservation is gone" if gone else ""


def likelihood(view: ControllerView, job: int, deadline: int) -> tuple[float | None, int | None]:
    """Return the probability that no node of a job's plan fails before it ends, and that end.

    The probability is None where nobody has a plan, or where the job by its limit ends after the
    deadline: it may still be in time, and nobody knows how likely that is.
    """
    plan = view.plans.get(job)
    if plan is None:
        return None, None
    if plan.end > deadline:
        return None, plan.end
    begin = max(plan.start, view.looked)
    kept = 1.0
    for name in plan.nodes:
        one = view.outlook.get(name)
        if one is None or one.hazard is None:  # a hazard is all that is known of a node
            kept *= float(view.lasting ** (max(plan.end - begin, 0) / DAY))
        if one is not None:
            kept *= 1.0 - one.risk(plan.start, plan.end, begin)
    return kept, plan.end


def act_told(one: BookedIntent) -> ActTold:
    """Return what was done or proposed for a promise."""
    row, state = one
    reason = row.reason
    if state.state not in (IntentState.PROPOSED, IntentState.WRITTEN) and state.why:
        reason = f"{row.reason} ({state.why})"
    return ActTold(state.at, row.action, row.target, state.state, reason)
