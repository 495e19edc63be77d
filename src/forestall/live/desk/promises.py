"""Offers and promises as they are told, and how likely an open one is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forestall.live.ledger.queries import BookedIntent, BookedPromise
from forestall.live.ledger.rows import OfferRow
from forestall.live.slurm.view import DAY, ControllerView
from forestall.model.live.desk import ActTold, OfferTold, PromiseTold, RecordTold
from forestall.model.live.intents import IntentState
from forestall.model.quotes import DecileRecord


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
    job = None if view is None else view.carried.get(row.id)
    likely = end = None
    if outcome is None and view is not None and job is not None:
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
    )  # fmt: skip


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
    left = max(plan.end - max(plan.start, view.looked), 0)
    kept = float(view.lasting ** (len(plan.nodes) * left / DAY))
    for name in plan.nodes:
        one = view.outlook.get(name)
        if one is not None and one.at < plan.end and one.until > plan.start:
            kept *= 1.0 - one.probability
    return kept, plan.end


def act_told(one: BookedIntent) -> ActTold:
    """Return what was done or proposed for a promise."""
    row, state = one
    reason = row.reason
    if state.state not in (IntentState.PROPOSED, IntentState.WRITTEN) and state.why:
        reason = f"{row.reason} ({state.why})"
    return ActTold(state.at, row.action, row.target, state.state, reason)
