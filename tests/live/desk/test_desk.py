"""A desk over a controller whose cluster is slow: nobody waits for who waits for Slurm."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.live.desk import JobOrder, QuoteQuestion, Viewer
from forestall.live.desk.desk import AT_ONCE, ControllerDesk, DeskSettings
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.store import LiveLedger

ALICE, OLGA = Viewer("alice", "user"), Viewer("olga", "operator")
NOBODY = Viewer("", "user")
ORDER = JobOrder("#!/bin/sh\n")


class Slow:
    """A controller that never comes back from Slurm until it is let go."""

    view = None

    def __init__(self) -> None:
        self.go, self.inside = threading.Event(), threading.Semaphore(0)

    def accept(self, *_: Any) -> Any:
        self.inside.release()
        self.go.wait(60)
        raise InputError("there is no such offer")


def desk_of(controller: Any, ledger: LiveLedger, **more: Any) -> ControllerDesk:
    return ControllerDesk(controller, ledger, GuardSettings(), lambda: 1000, DeskSettings(**more))


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db") as opened:
        yield opened


def test_only_so_many_wait_for_slurm(ledger: LiveLedger) -> None:
    slow = Slow()
    desk = desk_of(slow, ledger)

    def take() -> None:
        with pytest.raises(InputError, match="there is no such offer"):
            desk.accept(ALICE, "ab", ORDER)

    threads = [threading.Thread(target=take) for _ in range(AT_ONCE)]
    for one in threads:
        one.start()
    for _ in threads:
        assert slow.inside.acquire(timeout=60)
    with pytest.raises(InputError, match="other requests wait for Slurm"):
        desk.accept(ALICE, "ab", ORDER)
    assert desk.cluster(ALICE).said == "the cluster has not been read yet"  # others are answered
    slow.go.set()
    for one in threads:
        one.join()
    take()


@pytest.mark.parametrize(
    ("offer", "order"),
    [
        ("../x", ORDER), ("", ORDER), ("ab", JobOrder("#!/bin/sh", consents=("drain",))),
    ],
    ids=range(3),
)  # fmt: skip
def test_what_cannot_be_submitted_is_not_promised(
    ledger: LiveLedger, offer: str, order: JobOrder
) -> None:
    with pytest.raises(ParameterError):
        desk_of(None, ledger).accept(ALICE, offer, order)


def test_nor_for_whom_nothing_can_be_submitted(ledger: LiveLedger) -> None:
    desk = desk_of(None, ledger, submits_for=lambda name: name == "forestall")
    with pytest.raises(InputError, match="does not submit jobs for alice; submit it yourself"):
        desk.accept(ALICE, "ab", ORDER)


def test_before_the_first_look(ledger: LiveLedger) -> None:
    desk = desk_of(Slow(), ledger)
    assert desk.nodes(ALICE) == desk.jobs(ALICE) == desk.promises(ALICE) == []
    told = desk.cluster(OLGA)
    assert (told.looked, told.nodes, told.promises_open, told.proposals_open) == (None, 0, 0, 0)
    assert told.roles == {"advisor": "on", "keeper": "off", "warden": "off"}
    assert desk.promises(NOBODY) == []
    for name in ("", "x", "ab%", "0" * 65):
        with pytest.raises(InputError, match="there is no promise"):
            desk.promise(ALICE, name)


@pytest.mark.parametrize(
    "question",
    [QuoteQuestion(0, 1), QuoteQuestion(1, 0), QuoteQuestion(1, 1, 1000),
     QuoteQuestion(1, 1, None, 1.0), QuoteQuestion(1, 1, None, float("nan"))],
    ids=range(5),
)  # fmt: skip
def test_questions_that_cannot_be(ledger: LiveLedger, question: QuoteQuestion) -> None:
    desk = desk_of(Slow(), ledger)
    desk.failed("queue: late")  # the first look was tried
    with pytest.raises(ParameterError):
        desk.quote(ALICE, question)


@pytest.mark.parametrize("ask", ["proposals", "costs"])
def test_operators_only(ledger: LiveLedger, ask: str) -> None:
    desk = desk_of(Slow(), ledger)
    with pytest.raises(InputError, match="only operators"):
        getattr(desk, ask)(ALICE)
    assert getattr(desk, ask)(OLGA) == []
    with pytest.raises(InputError, match="only operators"):
        desk.decide(ALICE, "ab", True, "")
    with pytest.raises(InputError, match="there is no proposal ab"):
        desk.decide(OLGA, "ab", True, "")
