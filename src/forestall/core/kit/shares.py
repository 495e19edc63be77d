"""Shares of what shares its fate: how wide their intervals are, and how these read."""

from __future__ import annotations

import numpy as np
import polars as pl

from forestall.core.proportions import wilson

DAY = 86_400


FEWEST_UNITS = 20
"""Days (or jobs) below which nothing is said of how far what belongs together shares its fate."""


def shared_fate(
    jobs: pl.DataFrame, done: str | pl.Expr, of: str | None = None, *, by_job: bool = False
) -> float | None:
    """Return how much wider than chance a share is, as what comes on one day shares its fate: the
    design effect, at least 1.

    The variance of the share where days are drawn (a ratio of sums over days) over that where jobs
    or tasks are drawn one by one (Kish, Survey Sampling, 1965). None with fewer than 20 days, or
    where all or none are done.

    Parameters
    ----------
    jobs : ``submit`` and the columns that follow
    done, of : columns whose sums make the share; without `of` each job counts as one
    by_job : draw jobs in place of days, for a share of tasks
    """
    drawn = pl.int_range(pl.len()) if by_job else pl.col("submit") // DAY
    units = (
        jobs.group_by(drawn.alias("unit"))
        .agg(
            n=pl.len().cast(pl.Float64) if of is None else pl.col(of).cast(pl.Float64).sum(),
            y=(pl.col(done) if isinstance(done, str) else done).cast(pl.Float64).sum(),
        )
        .sort("unit")
    )
    n, y = units["n"].to_numpy(), units["y"].to_numpy()
    share = float(y.sum() / n.sum()) if len(units) else 0.0
    if len(units) < FEWEST_UNITS or share in (0.0, 1.0):
        return None
    spread = float(np.sum((y - share * n) ** 2)) * len(units) / (len(units) - 1) / n.sum() ** 2
    return max(float(spread / (share * (1 - share) / n.sum())), 1.0)


TINY = 1e-9
"""Per cent that rounding can leave of 0."""


def between(ends: tuple[float, float]) -> str:
    """Return an interval of shares: ``96.6 to 97.1 %``.

    It has digits enough, up to three, to tell its ends from each other, from 0 and from 100."""
    low, high = (100 * end for end in ends)
    low, high = 0.0 if low < TINY else low, 100.0 if high > 100 - TINY else high
    texts = ["", ""]
    for digits in (1, 2, 3):
        texts = [f"{end:.{digits}f}" for end in (low, high)]
        first, last = (float(text) for text in texts)
        if first < last and (first > 0 or low == 0) and (last < 100 or high == 100):
            break
    texts[0], texts[1] = "0" if low == 0 else texts[0], "100" if high == 100 else texts[1]
    return f"{texts[0]} to {texts[1]} %"


def sureness(done: int, count: int, shared: float | None, over: str = "days") -> str:
    """Return the 95 % interval of a share, as wide as its design effect makes it."""
    ends = between(wilson(done, count, shared=shared or 1.0))
    return f"95 % interval {ends}" + (f" (over {over})" if shared is not None else "")
