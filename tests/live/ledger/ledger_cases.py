"""Rows for tests of the ledger, and a day at a cluster that writes them one call after another."""

from __future__ import annotations

from collections.abc import Iterator

from forestall.core.model.live.intents import Action, Intent
from forestall.live.ledger.rows import (
    ApprovalRow,
    CycleRow,
    IntentRow,
    LedgerRow,
    LookRow,
    OfferRow,
    OutcomeRow,
    PredictionRow,
    PromiseRow,
    RunRow,
    StateRow,
)


def offer(name: str, at: int = 100, probability: float = 0.9) -> OfferRow:
    return OfferRow(
        id=name, at=at, expires=at + 600, asked_by="ann", question={"nodes": 4, "time": 3600},
        size=4, length=3600, start=at + 50, deadline=at + 5000, before=0.93,
        probability=probability, reasons=["enough nodes are free at once"],
        record={"low": 0.9, "high": 1.0, "made": 412, "kept": 371},
    )  # fmt: skip


def promise(of: OfferRow, at: int | None = None) -> PromiseRow:
    return PromiseRow(
        id=f"p-{of.id}", at=of.at + 5 if at is None else at, offer=of.id, job="17", owner="ann",
        deadline=of.deadline, probability=of.probability, held=1, consents=["requeue"],
    )  # fmt: skip


def drain(target: str = "n1", decided: int = 100, expires: int = 1000) -> Intent:
    return Intent(
        Action.DRAIN, target, decided, expires, "up by= boot=7", "likely to fail",
        {"probability": 0.41}, cycle=3,
    )  # fmt: skip


def day(cycles: int = 3) -> Iterator[tuple[LedgerRow, ...]]:
    """Yield the calls of a day, oldest first."""
    yield (RunRow(1, 10, "1.0", {"policy": "promise"}, {"nodes": [1, 2]}),)
    for number in range(1, cycles + 1):
        at = 100 * number
        yield (
            LookRow(number, at, 1, 4, 9, {"accounting": at}, ""),
            CycleRow(number, 1, at, {"events": [{"kind": "submitted"}]}, [{"kind": "reserve"}]),
            PredictionRow(number, at, "hazard", "n1", at, at + 60, 0.25),
        )
        made = offer(f"o{number}", at)
        yield (made, offer(f"o{number}-later", at, 0.95))
        yield (promise(made),)
        intent = drain(f"n{number}", at, at + 50)
        yield IntentRow.of(intent), StateRow(intent.id, "proposed", at, "likely to fail")
        yield (
            ApprovalRow(intent.id, at + 1, "bob", 1, ""),
            StateRow(intent.id, "approved", at + 1, "by bob"),
        )
        yield (StateRow(intent.id, "written", at + 2, ""),)
        yield (StateRow(intent.id, "carried out", at + 3, ""),)
        yield (StateRow(intent.id, "confirmed", at + 4, ""),)
        yield (OutcomeRow(f"p-o{number}", at + 4000, "kept", "", at + 3900),)
