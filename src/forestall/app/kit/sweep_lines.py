"""Lines and bands of figures over one parameter of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from forestall._lazy import lazily
from forestall.show.style import LINES

with lazily():
    from scipy import special

INTERVAL: Final = "95 % interval of the mean over seeds"


def spread(table: pl.DataFrame, keys: Sequence[str], column: str) -> pl.DataFrame:
    """Return what the rows of each set of `keys` have in `column`, in the order of the table.

    Its columns: `keys`; ``m``, the mean; ``half``, half the 95 % interval of the mean by Student's
    t over seeds, null where there are fewer than three or more than the seed varies; ``lo`` and
    ``hi``, the least and the most; ``seeds``, whether the seed alone tells the rows apart. All but
    `keys` are null or false where no row has a value.
    """
    value = pl.col(column)
    seeds = pl.col("seed").filter(value.is_not_null()).n_unique() if "seed" in table.columns else 1
    apart = seeds if isinstance(seeds, pl.Expr) else pl.lit(seeds)
    found = (
        (table.group_by(*keys, maintain_order=True) if keys else table.group_by(pl.lit(0)))
        .agg(
            m=value.mean(), s=value.std(), n=value.count(), k=apart, lo=value.min(), hi=value.max()
        )
        .with_columns(seeds=(pl.col("k") == pl.col("n")))
    )
    counts, deviations = found["n"].to_numpy(), found["s"].to_list()
    alone = found["seeds"].to_list()
    half = [
        float(special.stdtrit(n - 1, 0.975)) * deviation / n**0.5
        if n >= FEWEST_SEEDS and one and deviation is not None
        else None
        for n, deviation, one in zip(counts, deviations, alone, strict=True)
    ]
    halves = pl.Series("half", half, dtype=pl.Float64)
    return found.with_columns(halves).select(*keys, "m", "half", "lo", "hi", "seeds")


def reach(drawn: pl.DataFrame, scale: float) -> tuple[Any, Any, str] | None:
    """Return the lower and upper ends around the means of `spread`, and what they are; or None.

    Means over seeds have their interval, and none where there are fewer than three or all are
    alike; where more is averaged over, least and most are told.
    """
    middle = drawn["m"].to_numpy() * scale
    if bool(drawn["seeds"].all()):
        if drawn["half"].null_count() == len(drawn):
            return None
        half = drawn["half"].fill_null(0.0).to_numpy() * scale
        if not bool((half > 0).any()):  # the seed draws nothing here
            return None
        return middle - half, middle + half, INTERVAL
    low, high = drawn["lo"].to_numpy() * scale, drawn["hi"].to_numpy() * scale
    return (low, high, EXTREMES) if bool((high > low).any()) else None


def line_colours(count: int) -> list[str]:
    """Return distinct colours for a few lines, an ordered scale (dark to light) for many."""
    if count <= len(LINES):
        return list(LINES[:count])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](0.92 * i / (count - 1))) for i in range(count)]


FEWEST_SEEDS: Final = 3
"""Seeds from which an interval of their mean is told."""


EXTREMES: Final = "least to most"
