"""What it takes to bring a checkpoint to its stores and back, in whole microseconds and seconds."""

from __future__ import annotations

from typing import Final

from forestall.core._compile import kernel

MICRO: Final = 1_000_000


@kernel
def micros(amount, rate):
    """Return the whole microseconds that bytes take at a rate in B/s, rounded down."""
    return amount // rate * MICRO + amount % rate * MICRO // rate


@kernel
def seconds_of(work, carried):
    """Return the whole seconds of a transfer, at least 1: compressing and sending go on side by
    side, so that the longer of them (both in microseconds) counts."""
    return max((max(work, carried) + MICRO - 1) // MICRO, 1)
