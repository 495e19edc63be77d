"""Remarks as plain values."""

from __future__ import annotations

from forestall.core.model.cleaning import Cleaning


def test_remarks_are_told_with_their_counts() -> None:
    cleaning = (
        Cleaning()
        .plus("late", "jobs that are late", "kept", ["1"])
        .plus("cut", "rows cut", "left out", ["2", "3"])
    )
    assert cleaning.told() == [
        {"kind": "late", "text": "1 job that is late", "action": "kept", "count": 1},
        {"kind": "cut", "text": "2 rows cut", "action": "left out", "count": 2},
    ]
