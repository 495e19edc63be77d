"""Lines and bands of figures over one parameter of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from forestall.core._lazy import lazily
from forestall.core.show.style import DASHES, LINES, MARKERS

with lazily():
    from scipy import special

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def draw_line(
    axes: Axes,
    rows: pl.DataFrame,
    columns: tuple[str, str],
    scales: tuple[float, float],
    number: int,
    *,
    within: tuple[float, float] = (-np.inf, np.inf),
    seeds: bool = False,
    **style: Any,
) -> str:
    """Draw the mean of one column over another as a line with its band; return what the band is,
    nothing where there is none.

    Parameters
    ----------
    columns, scales : of the two axes: column of `rows`, factor into the unit that is drawn
    number : of the line, which chooses its mark and its dashes
    within : what a band cannot reach beyond
    seeds : whether only intervals over seeds are bands
    style : of `Axes.plot`
    """
    x, y = columns
    drawn = spread(rows.filter(pl.col(y).is_not_null()), [x], y).sort(x)
    at = drawn[x].to_numpy() * scales[0]
    axes.plot(
        at, drawn["m"].to_numpy() * scales[1], marker=MARKERS[number % len(MARKERS)],
        linestyle=DASHES[number % len(DASHES)], **style,
    )  # fmt: skip
    ends = reach(drawn, scales[1])
    if ends is None or (seeds and ends[2] != INTERVAL):
        return ""
    low, high = (np.clip(end, *within) for end in ends[:2])
    axes.fill_between(at, low, high, color=style["color"], alpha=0.18, linewidth=0)
    return ends[2]


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
