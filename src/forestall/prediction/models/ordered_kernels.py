"""Places in ascending values, by bisection."""

from __future__ import annotations

from forestall.core._compile import kernel


@kernel
def below(ordered, begin, end, value):
    """Return the first place in ordered[begin:end], which ascends, whose value is not less than
    `value`; `end` where all are less."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def up_to(ordered, end, value):
    """Return how many of the first `end` values, which ascend, are at most `value`."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
