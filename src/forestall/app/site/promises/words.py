"""How deciles, differences and multiples are written, in sections and figures on promises."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from forestall.show.quantities import number

if TYPE_CHECKING:
    from forestall.assess.promises import ScoredDecile


def band(one: ScoredDecile) -> str:
    """Return a decile in words: ``80-90 %``."""
    return f"{100 * one.low:.0f}-{100 * one.high:.0f} %"


def interval(one: ScoredDecile) -> tuple[float | None, float | None]:
    """Return the interval of the share kept: by weeks, or as if independent within two weeks."""
    if not one.made:
        return None, None
    if math.isnan(one.low_block):
        return one.low_seen, one.high_seen
    return one.low_block, one.high_block


def points(off: float) -> str:
    """Return a difference of shares in points, with its sign; a dash for none."""
    return "-" if math.isnan(off) else f"{100 * off:+.1f}"


def times(value: float) -> str:
    """Return a multiple: ``2.5x``."""
    return "-" if math.isnan(value) else f"{number(value)}x"


def digits(score: float) -> str:
    """Return a score with four digits after the point; a dash for none."""
    return "-" if math.isnan(score) else f"{score:.4f}"
