"""What actions came to, by hand and held against what a modelled world did."""

from __future__ import annotations

from typing import Any

import pytest

from forestall.core.model.live.desk import CostTold
from forestall.core.model.live.intents import Action, Intent, IntentState
from forestall.live.ledger.failures import WITH_IT, LedgerFailures
from forestall.live.ledger.rows import (
    CycleRow,
    IntentRow,
    OfferRow,
    OutcomeRow,
    PromiseRow,
    RunRow,
    StateRow,
)
from forestall.live.rules.costs import CostBook, costs
from forestall.live.rules.settings import RuleSettings
from forestall.live.rules.turned_out import Judged, TurnedOut
from forestall.slurm.simulation.settings import WorldSettings
from live.rules.world import CYCLE, Oracle, Ruled
from live.slurm.memory_ledger import MemoryLedger

DRAIN = {
    "probability": 0.5, "fails at": 1000.0, "until": 2000.0, "busy": 0.8, "loss": 4000.0,
    "saved": 1500.0, "free": 300.0,
}  # fmt: skip
REQUEUE = {
    "probability": 0.5, "fails at": 1000.0, "cost of nothing": 2000.0,
    "cost of start elsewhere from the checkpoint": 400.0, "avoid n1": 1000.0,
}  # fmt: skip
SIGNAL = {
    "probability": 0.5, "fails at": 1000.0, "cost of nothing": 2000.0,
    "cost of a checkpoint now": 1720.0, "avoid n1": 1000.0,
}  # fmt: skip


def event(kind: str, key: int, time: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "key": key, "time": time, **more}


class Book:
    """A ledger of two nodes, n0 and n1, and of one promise of a job of two nodes, written by
    hand."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.cycles = self.runs = 0
        self.run(10)
        self.ledger.add(
            OfferRow("o", 1, 100, "ann", {}, 2, 900, 50, 9000, 0.9, 0.9, [], {}),
            PromiseRow("p", 5, "o", "job", "ann", 9000, 0.9, 1, []),
        )

    def run(self, at: int) -> None:
        self.runs += 1
        self.ledger.add(RunRow(self.runs, at, "1.0", {}, {"nodes": ["n0", "n1"], "engine": NONE}))

    def cycle(self, at: int, *events: dict[str, Any]) -> None:
        self.cycles += 1
        told = {"now": at, "arrivals": [], "events": list(events)}
        self.ledger.add(CycleRow(self.cycles, self.runs, at, told, []))

    def did(self, action: Action, at: int, figures: dict[str, float], target: str = "n1") -> None:
        promise = "p" if target != "n1" else ""
        one = Intent(action, target, at, at + 60, "here", "why", figures, promise=promise)
        self.ledger.add(
            IntentRow.of(one),
            *(StateRow(one.id, str(state), at, "") for state in (
                IntentState.PROPOSED, IntentState.WRITTEN, IntentState.CARRIED_OUT,
                IntentState.CONFIRMED,
            )),
        )  # fmt: skip

    def told(self, now: int) -> CostTold:
        return costs(self.ledger, now)[0]


def _empty() -> Any:
    one = Ruled(1, WorldSettings(nodes=2, load=0.0, failure=0.0), None)
    one.controller.cycle()
    return next(one.ledger.read(RunRow)).snapshot["engine"]


NONE = _empty()


@pytest.fixture
def book() -> Book:
    made = Book()
    made.cycle(50, event("started", 0, 50, nodes="0-1", until=500))
    made.did(Action.DRAIN, 100, DRAIN)
    return made


def test_a_failure_that_was_seen_after_the_job_had_ended_saved_what_was_at_stake(
    book: Book,
) -> None:
    book.cycle(400, event("finished", 0, 400))
    assert book.told(450).judged == 0  # it may come still
    book.cycle(1200, event("node_failed", 1, 1200))
    told = book.told(1200)
    assert (told.judged, told.came, told.expected, told.realised) == (1, 1, 1500.0, 4000.0)
    assert 0 < told.least < 4000.0  # of 1 failure, 1 came
    assert told.most == 4000.0
    assert told.spent == 0.0  # 900 s out of service, of 1000 that it would have been anyway
    book.did(Action.RESUME, 2500, {})
    book.cycle(2500)
    assert book.told(9000).spent == pytest.approx(0.8 * (2500 - 300 - 1000))


@pytest.mark.parametrize("end", ["failed", "requeued", "cancelled"])
def test_nothing_was_saved_where_the_job_was_lost_all_the_same(book: Book, end: str) -> None:
    book.cycle(1150, event(end, 0, 1150))
    book.cycle(1200, event("node_failed", 1, 1200))
    told = book.told(3000)
    assert (told.came, told.realised, told.least) == (1, 0.0, 0.0)
    assert told.most == 4000.0


def test_a_job_that_failed_long_before_was_not_lost_with_the_node(book: Book) -> None:
    book.cycle(300, event("failed", 0, 300))
    book.cycle(300 + WITH_IT + 1, event("node_failed", 1, 300 + WITH_IT + 1))
    assert book.told(3000).realised == 4000.0


def test_a_job_whose_end_nobody_saw_may_have_been_lost(book: Book) -> None:
    book.cycle(1200, event("node_failed", 1, 1200))
    assert book.told(1200).realised == 0.0


def test_so_may_those_that_shared_the_node(book: Book) -> None:
    book.cycle(60, event("finished", 0, 60), event("node_drained", 1, 60, until=700))
    book.cycle(1200, event("node_failed", 1, 1200))
    assert book.told(1200).realised == 0.0


def test_nothing_is_claimed_for_a_failure_that_nobody_saw(book: Book) -> None:
    book.cycle(400, event("finished", 0, 400), event("node_failed", 0, 400))  # another node
    book.cycle(1900)
    assert book.told(5000).judged == 0  # nobody looked since
    book.cycle(2100, event("node_failed", 1, 2100))  # after what was foreseen
    told = book.told(2100)
    assert (told.judged, told.came, told.realised, told.least) == (1, 0, 0.0, 0.0)
    assert 0 < told.most < 4000.0
    assert told.spent == pytest.approx(0.8 * 1800)  # no outage would have been there anyway


def test_a_reboot_of_ours_is_no_failure(book: Book) -> None:
    book.cycle(400, event("finished", 0, 400))
    book.did(Action.REBOOT, 900, {"spent": 72.0})
    book.cycle(930, event("node_failed", 1, 930))
    assert (book.told(930).judged, book.told(930).came) == (1, 0)


def test_a_node_that_is_down_at_a_restart_has_not_failed_again(book: Book) -> None:
    failures = LedgerFailures(book.ledger)
    book.cycle(60, event("node_failed", 0, 60))
    failures.read()
    book.run(500)
    book.cycle(500, event("node_failed", 0, 500), event("node_failed", 1, 500))
    failures.read()
    assert failures.first("n0", 61, 10_000) is None
    first = failures.first("n1", 0, 10_000)
    assert first is not None
    assert (first.at, first.run, first.number) == (500, 2, 1)
    assert failures.until == 500
    book.cycle(560, event("node_recovered", 0, 560))
    book.cycle(620, event("node_failed", 0, 620))
    failures.read()
    assert failures.first("n0", 61, 10_000) is not None


def test_a_job_sent_elsewhere_saved_its_work_where_its_node_failed(book: Book) -> None:
    book.did(Action.REQUEUE, 600, REQUEUE, target="7")
    book.cycle(1100, event("node_failed", 1, 1100))
    told = costs(book.ledger, 1100)[0]
    assert (told.action, told.judged, told.spent) == ("requeue", 0, 400.0)
    book.ledger.add(OutcomeRow("p", 1500, "kept", "", 1400, 7))
    told = costs(book.ledger, 1500)[0]
    # Of 2 nodes; on its old ones it would have ended 200 s sooner, after the failure.
    assert (told.judged, told.came, told.expected) == (1, 1, 2000.0)
    assert told.realised == 4000.0 + 2 * 100


def test_and_nothing_where_it_would_have_ended_before(book: Book) -> None:
    book.did(Action.REQUEUE, 600, REQUEUE, target="7")
    book.cycle(1100, event("node_failed", 1, 1100))
    book.ledger.add(OutcomeRow("p", 1300, "kept", "", 1299, 7))
    told = costs(book.ledger, 1500)[0]
    assert (told.judged, told.came, told.realised) == (1, 0, 0.0)


def test_a_checkpoint_saves_what_was_done_before_it(book: Book) -> None:
    book.did(Action.SIGNAL, 600, SIGNAL, target="7")
    book.cycle(1100, event("node_failed", 1, 1100))
    book.ledger.add(OutcomeRow("p", 1500, "kept", "", 1400, 7))
    told = costs(book.ledger, 1500)[0]
    assert told.spent == 120.0  # a pause of 60 s of 2 nodes
    assert (told.came, told.realised) == (1, (2000.0 - 1720.0 + 120.0) / 0.5)


def test_a_job_that_was_cancelled_is_not_judged(book: Book) -> None:
    book.did(Action.REQUEUE, 600, REQUEUE, target="7")
    book.ledger.add(OutcomeRow("p", 700, "void", "cancelled", 700, 7))
    assert costs(book.ledger, 1500)[0].judged == 0


def test_the_interval_is_that_of_the_failures() -> None:
    none, sums = Judged(), Judged()
    assert none.interval() == (0.0, 0.0)
    for came in (True, False, False, False):
        sums.add(TurnedOut(came, 10.0, 20.0, 30.0 * came))
    least, most = sums.interval()
    assert least == pytest.approx(0.0456 * 4 * 30, rel=0.01)  # Wilson of 1 in 4
    assert most == pytest.approx(0.6994 * 4 * 30, rel=0.01)


def test_what_came_is_what_the_world_did() -> None:
    world = WorldSettings(
        nodes=16, load=0.7, run=3600.0, widest=4, failure=6 * 3600.0, repair=3600.0, flap=0.0
    )
    one = Ruled(1, world, RuleSettings(), Oracle)
    one.play(43_200)
    failures = LedgerFailures(one.ledger)
    failures.read()
    lost = [run for run in one.world.state.runs if run.state == "NODE_FAIL"]
    judged, differ = 0, 0
    for name in one.world.state.nodes:
        since = 0
        while (failure := failures.first(name, since, 2**40)) is not None:
            told = failures.took_a_job(failure)
            taken = any(
                name in run.nodes and failure.at - 3 * CYCLE <= (run.end or 0) <= failure.at
                for run in lost
            )
            assert told or not taken  # what was lost is never claimed
            since, judged, differ = failure.at + 1, judged + 1, differ + (told != taken)
    assert judged > 20
    assert differ <= 0.1 * judged
    book = CostBook(one.ledger, failures)
    drains = book.told(one.world.state.now)[0]
    assert 0.8 * drains.judged < drains.came <= drains.judged <= drains.done  # said 0.9
    assert drains.least <= drains.realised <= drains.most
