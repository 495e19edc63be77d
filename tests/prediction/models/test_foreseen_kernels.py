"""Predicted failures as arrays, perhaps repeated for ever, against the log written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.prediction.models import foreseen_kernels as kernels
from forestall.prediction.models.foreseen_kernels import FAR, Foreseen
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.simulation.prepare import foreseen_by

Row = tuple[int, int, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(1, 25)),
    max_size=8, unique_by=lambda r: r[:2],
)  # fmt: skip
LATEST = 400


def foreseen(rows: list[Row], extra: int) -> tuple[Foreseen, list[Row]]:
    """Return the arrays, and (time, node, downtime) of the first few copies of the log."""
    rows = sorted(rows)
    time, node, down = (
        (np.array(c, dtype=np.int64) for c in zip(*rows, strict=True)) if rows else ([],) * 3
    )
    log = Failures.build(time, node, down, np.full(len(rows), 0.5))
    period = log.span + extra if extra >= 0 else 0
    copies = LATEST // period + 2 if period else 1
    written = [(t + k * period, n, d) for k in range(copies) for t, n, d in rows]
    return foreseen_by(TracePredictor(1.0), log, period), written


@settings(max_examples=200)
@given(ROWS, st.integers(-1, 5), st.integers(-10, 150))
def test_first_from_and_what_follows(rows: list[Row], extra: int, time: int) -> None:
    arrays, written = foreseen(rows, extra)
    number = kernels.first_from(arrays, time)
    expected = [row for row in written if row[0] >= time][:20]
    for k, (t, node, down) in enumerate(expected):
        index, shift = kernels.shift_of(arrays, number + k)
        failure = arrays.failures[index]
        found = (failure.time + shift, failure.node, failure.until - failure.time)
        assert found == (t, node, down)
    if not expected:
        assert kernels.shift_of(arrays, number)[0] == -1


@settings(max_examples=300)
@given(ROWS, st.integers(-1, 5), st.integers(-10, 90), st.integers(0, 60))
def test_next_recovery(rows: list[Row], extra: int, now: int, ahead: int) -> None:
    arrays, written = foreseen(rows, extra)
    lower = now + ahead
    ends = [t + down for t, _, down in written if t >= now and t + down >= lower]
    assert kernels.next_recovery(arrays, now, lower) == min(ends, default=int(FAR))
