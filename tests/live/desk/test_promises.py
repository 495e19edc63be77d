"""What is told of an open promise is what is known of its job and its reservation."""

from __future__ import annotations

from forestall.core.model.live.desk import JobOrder, PromiseTold
from forestall.core.model.live.intents import Action, Intent, IntentState
from forestall.live.desk.promises import promise_told
from forestall.live.ledger.queries import BookedIntent, BookedPromise
from forestall.live.ledger.rows import IntentRow, OfferRow, StateRow
from forestall.live.quotes.offers import WantedJob
from forestall.slurm.simulation.limits import stop_by_limits
from forestall.slurm.simulation.moves import hold
from live.slurm.scenarios import Scenario

KEEPER = 15


def begun() -> tuple[Scenario, BookedPromise]:
    """Return a calm scenario with a promise whose partition went down after its offer."""
    one = Scenario(KEEPER, calm=True)
    one.world.advance(one.world.state.now + 60)
    one.controller.cycle()
    offer = one.controller.quote(WantedJob(2, 900, user="forestall")).offers[0]
    state = one.world.state
    state.partition = state.partition._replace(is_up=False)
    promise, _ = one.controller.accept(offer.id, "forestall", JobOrder("#!/bin/sh\n", below=True))
    return one, BookedPromise(promise, one.ledger.one(OfferRow, offer.id), None)  # type: ignore[arg-type]


def told_next(one: Scenario, promise: BookedPromise, *done: BookedIntent) -> PromiseTold:
    one.world.advance(one.world.state.now + 30)
    one.controller.cycle()
    return promise_told(promise, one.controller.view, done)


def test_a_partition_that_is_down_and_up_again() -> None:
    one, promise = begun()
    told = told_next(one, promise)
    assert (told.stopped, told.likely, told.likely_end) == (True, None, None)
    assert told.why == "its job does not start: partition main starts no jobs now"
    state = one.world.state
    state.partition = state.partition._replace(is_up=True)
    stop_by_limits(state)
    told = told_next(one, promise)
    assert (told.stopped, told.why) == (False, "")
    assert told.likely is not None


def test_a_reservation_that_somebody_deleted_holds_nothing() -> None:
    one, promise = begun()
    state = one.world.state
    state.partition = state.partition._replace(is_up=True)
    hold(state, state.jobs[max(state.jobs)], "JobHeldAdmin", "")
    name = f"forestall_{promise.promise.id}"
    intent = IntentRow.of(Intent(Action.RESERVE, name, state.now, state.now + 300, "gone", "held"))
    for at, gone in ((state.now, True), (state.now + 60, False)):
        row = StateRow(intent.id, str(IntentState.CONFIRMED), at, "seen")
        told = told_next(one, promise, BookedIntent(intent, row))
        assert told.reserved is not gone
        assert ("its reservation is gone" in told.why) is gone
