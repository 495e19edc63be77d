"""How promises were kept, as it is shown with the next ones."""

from __future__ import annotations

import pytest

from forestall.core.model.quotes import DecileRecord
from forestall.live.ledger.store import SettledPromise
from forestall.live.slurm.record import PromiseRecord
from live.slurm.memory_ledger import MemoryLedger


def settled(said: float, outcome: str, *, held: bool = True) -> SettledPromise:
    return SettledPromise(said, said, held, outcome)


def test_deciles_count_what_is_over_but_void_ones() -> None:
    record = PromiseRecord(MemoryLedger())
    record.add(settled(0.9, "kept"), settled(1.0, "missed"), settled(0.95, "void"))
    record.add(settled(0.89, "kept"))
    assert record.of(0.93) == DecileRecord(0.9, 1.0, 2, 1)
    assert record.of(1.0) == record.of(0.9)
    assert record.of(0.8) == DecileRecord(0.8, 0.9, 1, 1)
    assert record.of(0.0) == DecileRecord(0.0, 0.1, 0, 0)


def test_over_confidence_of_the_engine_is_corrected() -> None:
    record = PromiseRecord(MemoryLedger())
    record.add(*[settled(1.0, "missed" if k % 4 == 0 else "kept") for k in range(100)])
    assert record.corrected(1.0) == pytest.approx(0.875, abs=0.002)


def test_what_a_book_of_jobs_said_does_not_correct_the_engine() -> None:
    record = PromiseRecord(MemoryLedger())
    record.add(*[settled(0.9, "missed", held=False) for _ in range(100)])
    assert record.corrected(0.9) == 0.9
    assert record.of(0.9).made == 100
