"""Fitted laws beside the sample: P-P, Q-Q, hazard and survival. Needs the extra `plot`.

Each takes one fit or several of the same sample and returns the Matplotlib figure; given `axes`, it
draws there and returns the figure that they are of. What the sample says is Kaplan and Meier's or
Nelson and Aalen's estimate, so right-censored gaps count for what is known of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.show.style import (
    DASHES,
    FAINT,
    GREY,
    INK,
    LINES,
    MARKERS,
    dress,
    legend,
    new_figure,
)
from forestall.reliability.fits.redraw import Fit
from forestall.reliability.fits.sample import Sample
from forestall.reliability.history.life_table import hazard_of, survival_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SQUARE: Final = (5.6, 5.4)
WIDE: Final = (8.0, 4.6)
PARTS_A_ROW: Final = 4
MOST_POINTS: Final = 600
WIDE_RANGE: Final = 50.0
"""From this ratio of long gaps (0.95 quantile) to short (0.05) on, time is drawn to a log scale."""


def probabilities(fitted: Fit) -> tuple[Floats, Floats]:
    """Return float64[k] twice: the share failed by each time of a failure, observed and fitted.

    The observed share is the middle of the step of the Kaplan-Meier curve, without censoring
    (i - 1/2) / n.
    """
    time, share = _observed(fitted.sample)
    return share, fitted.lifetime.cdf(time)


def plot_pp(
    fits: Fit | Sequence[Fit], axes: Axes | None = None, *, title: str = "P-P plot"
) -> Figure:
    """Draw the share failed by each gap, as fitted over as observed: a good law lies on the
    diagonal."""
    laws = _laws(fits)
    place = _axes(axes, SQUARE)
    place.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, zorder=1)
    for k, law in enumerate(laws):
        observed, fitted = probabilities(law)
        some = _some(len(observed))
        _points(place, observed[some], fitted[some], k, _label(law))
    place.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    dress(place, title, "Share failed, observed", "Share failed, fitted")
    return _finished(place)


def plot_pp_each(fits: Mapping[str, Sequence[Fit]], *, title: str = "P-P plots") -> Figure:
    """Draw a small P-P plot of each part of a sample: its name, and the fits to it, alike for all.

    The parameters of the first fit of each part stand in its plot.
    """
    columns = min(PARTS_A_ROW, len(fits))
    rows = -(-len(fits) // columns)
    figure = new_figure((2.35 * columns + 0.6, 2.5 * rows + 0.8))
    places = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    for axes, (name, laws) in zip(places, fits.items(), strict=False):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, zorder=1)
        for k, law in enumerate(laws):
            _line(axes, *probabilities(law), k, _label(law))
        told = "\n".join(f"{key} {value:.3g}" for key, value in laws[0].lifetime.params.items())
        axes.text(0.03, 0.97, told, transform=axes.transAxes, va="top", fontsize=8.5, color=INK)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        dress(axes, name)
    for axes in places[len(fits) :]:
        axes.set_axis_off()
    legend(places[0], loc="lower right", bbox_to_anchor=(1.03, 0.0), ncols=1)
    figure.supxlabel("Share failed, observed", fontsize=9, color=INK)
    figure.supylabel("Share failed, fitted", fontsize=9, color=INK)
    figure.suptitle(title, x=0.02, ha="left", fontsize=10.5, color=INK, fontweight="bold")
    return figure


def plot_qq(
    fits: Fit | Sequence[Fit],
    axes: Axes | None = None,
    *,
    unit: str | None = None,
    title: str = "Q-Q plot",
) -> Figure:
    """Draw each observed gap over the one that the law expects at its rank.

    Both axes are logarithmic where gaps and expected gaps are all above 0 and range widely.
    """
    laws = _laws(fits)
    place = _axes(axes, SQUARE)
    time, share = _observed(laws[0].sample)
    some = _some(len(time))
    expected = [law.lifetime.quantile(share[some]) for law in laws]
    low = min(float(np.min(values, initial=np.inf)) for values in (*expected, time[some]))
    high = max(float(np.max(values, initial=0.0)) for values in (*expected, time[some]))
    log = low > 0 and high > WIDE_RANGE * low
    if log:
        place.set(xscale="log", yscale="log")
    if len(time):
        place.plot([low, high], [low, high], color=GREY, linewidth=1.0, zorder=1)
    for k, (law, values) in enumerate(zip(laws, expected, strict=True)):
        _points(place, values, time[some], k, _label(law))
    suffix = _unit(unit)
    dress(place, title, f"Gap expected by the law ({suffix})", f"Gap observed ({suffix})")
    place.set_aspect("equal", adjustable="datalim")
    if log:
        _plain_decades(place, "xy")
    return _finished(place)


def plot_hazard(
    fits: Fit | Sequence[Fit],
    axes: Axes | None = None,
    *,
    unit: str | None = None,
    bins: int | None = None,
    level: float = 0.95,
    title: str = "Hazard rate",
) -> Figure:
    """Draw the fitted hazard rates over the observed one.

    The observed rate is the growth of Nelson and Aalen's estimate over stretches of age that hold
    about equally many failures, with its confidence interval at `level`.

    Parameters
    ----------
    bins : how many stretches; default one per 25 failures, 4 to 20
    """
    laws = _laws(fits)
    sample = laws[0].sample
    place = _axes(axes, WIDE)
    place.set(xscale="log", yscale="log")
    curve = hazard_of(sample.exact, sample.right, sample.left, level=level)
    edges = _edges(curve.time, curve.failed, bins)
    if len(edges) > 1:
        rate, low, high = curve.rates(edges)
        grown = np.asarray(curve.at(edges))
        half = (grown[:-1] + grown[1:]) / 2  # a wide stretch is shown where its failures are
        middle = curve.time[np.searchsorted(curve.estimate, half)]
        place.errorbar(
            middle, rate, xerr=(middle - edges[:-1], edges[1:] - middle),
            yerr=(rate - low, high - rate), fmt="o", color=INK, markersize=3.0, linewidth=0.9,
            label=f"observed, {100 * level:.0f} % interval", zorder=2,
        )  # fmt: skip
    ages = _ages(sample, log=True)
    for k, law in enumerate(laws):
        _line(place, ages, law.lifetime.hazard(ages), k, _label(law))
    suffix = _unit(unit)
    dress(place, title, f"Time since the last failure ({suffix})", _per(unit))
    _plain_decades(place, "xy")
    return _finished(place)


def plot_survival(
    fits: Fit | Sequence[Fit],
    axes: Axes | None = None,
    *,
    unit: str | None = None,
    log_time: bool | None = None,
    level: float = 0.95,
    title: str = "Survival",
) -> Figure:
    """Draw the fitted share that lasts longer than each age, over Kaplan and Meier's with its band.

    Parameters
    ----------
    log_time : whether age is drawn to a log scale; default where gaps range widely
    """
    laws = _laws(fits)
    sample = laws[0].sample
    place = _axes(axes, WIDE)
    curve = survival_of(sample.exact, sample.right, sample.left, level=level)
    log = _ranges_widely(curve.time) if log_time is None else log_time
    ages = _ages(sample, log=log)
    time = np.concatenate([[ages[0]], curve.time, [curve.until]])
    low, high = (np.concatenate([[1.0], part, part[-1:]]) for part in (curve.low, curve.high))
    if len(curve.time):
        place.fill_between(time, low, high, step="post", color=FAINT, linewidth=0, zorder=1)
        survival = np.concatenate([[1.0], curve.estimate, curve.estimate[-1:]])
        place.step(
            time, survival, where="post", color=INK, linewidth=1.0,
            label=f"Kaplan-Meier, {100 * level:.0f} % band", zorder=2,
        )  # fmt: skip
    for k, law in enumerate(laws):
        _line(place, ages, law.lifetime.sf(ages), k, _label(law))
    if log:
        place.set_xscale("log")
    place.set_ylim(-0.02, 1.02)
    suffix = _unit(unit)
    dress(place, title, f"Time since the last failure ({suffix})", "Share that lasts longer")
    if log:
        _plain_decades(place, "x")
    return _finished(place)


# What is drawn -----------------------------------------------------------------------------------


def _observed(sample: Sample) -> tuple[Floats, Floats]:
    """Return times of failures above what is left-censored, and the middle of each one's step."""
    curve = survival_of(sample.exact, sample.right, sample.left)
    after = 1 - curve.estimate
    before = np.concatenate([[0.0], after[:-1]])
    seen = np.isin(curve.time, sample.exact)
    return curve.time[seen], ((before + after) / 2)[seen]


def _some(count: int) -> npt.NDArray[np.intp]:
    """Return places of at most `MOST_POINTS` of `count` points in order, all at both ends."""
    if count <= MOST_POINTS:
        return np.arange(count)
    ends = MOST_POINTS // 6
    middle = np.linspace(ends, count - 1 - ends, MOST_POINTS - 2 * ends).astype(np.intp)
    return np.unique(np.concatenate([np.arange(ends), middle, np.arange(count - ends, count)]))


def _edges(time: Floats, failed: Ints, bins: int | None) -> Floats:
    """Return times of failures that part the ages so that about equally many fail in each."""
    total = int(failed.sum())
    if bins is not None and bins < 1:
        raise ParameterError("bins", bins, "a whole number of at least 1")
    wanted = int(np.clip(total // 25, 4, 20)) if bins is None else bins
    if len(time) < 2:
        return time[:0]
    share = (np.cumsum(failed) - failed[0]) / (total - failed[0])
    places = np.searchsorted(share, np.linspace(0, 1, wanted + 1) - 1e-9)
    edges = time[np.unique(places)]
    return edges[edges > 0]


def _ages(sample: Sample, *, log: bool) -> Floats:
    """Return the ages at which curves are drawn."""
    known = np.concatenate([sample.exact[sample.exact > 0], sample.right, sample.left])
    if log:
        return np.geomspace(float(known.min()), float(known.max()), 400)
    return np.linspace(float(known.max()) * 1e-6, float(known.max()), 400)


def _ranges_widely(time: Floats) -> bool:
    positive = time[time > 0]
    if len(positive) < 2:
        return False
    short, long = np.quantile(positive, [0.05, 0.95])
    return bool(long > WIDE_RANGE * short)


def _label(law: Fit) -> str:
    return law.family.title


# How ----------------------------------------------------------------------------------------------


def _laws(fits: Fit | Sequence[Fit]) -> list[Fit]:
    laws = list(fits) if isinstance(fits, Sequence) else [fits]
    if not laws:
        raise ParameterError("fits", "nothing", "at least one fit")
    first = laws[0].sample
    for law in laws[1:]:
        if law.sample is not first and not np.array_equal(law.sample.exact, first.exact):
            raise ParameterError("fits", law.family.name, "fits of one sample")
    return laws


def _axes(axes: Axes | None, size: tuple[float, float]) -> Axes:
    return new_figure(size).subplots() if axes is None else axes


def _points(axes: Axes, x: Floats, y: Floats, k: int, label: str) -> None:
    axes.plot(
        x, y, linestyle="none", marker=MARKERS[k % len(MARKERS)], markersize=3.2,
        markerfacecolor="none", markeredgewidth=0.7, color=LINES[k % len(LINES)], label=label,
        zorder=3 + k,
    )  # fmt: skip


def _line(axes: Axes, x: Floats, y: Floats, k: int, label: str) -> None:
    fine = np.isfinite(y)
    axes.plot(
        x[fine], y[fine], linestyle=DASHES[k % len(DASHES)], color=LINES[k % len(LINES)],
        linewidth=1.6, label=label, zorder=3 + k,
    )  # fmt: skip


def _unit(unit: str | None) -> str:
    return "unit of the gaps" if unit is None else unit


def _per(unit: str | None) -> str:
    return "Failures per unit of time" if unit is None else f"Failures per {unit}"


def _plain_decades(axes: Axes, which: str) -> None:
    """Write the ticks of log axes as plain numbers where they are neither tiny nor huge."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def text(value: float, _position: int | None = None) -> str:
        if 1e-3 <= value < 1e6:
            return f"{value:,.10g}"
        power = round(float(np.log10(value))) if value > 0 else 0
        return f"$10^{{{power}}}$"

    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(text))
        axis.set_minor_formatter(NullFormatter())


def _finished(axes: Axes) -> Figure:
    """Put the legend above the axes, under the title, and return the figure."""
    from matplotlib.figure import Figure

    count = len(axes.get_legend_handles_labels()[1])
    axes.set_title(axes.get_title(loc="left"), loc="left", pad=8 + 14 * -(-count // 4),
                   fontsize=10.5, fontweight="bold")  # fmt: skip
    legend(axes, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=4)
    figure = axes.figure
    assert isinstance(figure, Figure), "axes of a figure, not of a part of one"
    return figure
