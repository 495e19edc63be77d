"""Figures of what a predictor brings: ROC, net benefit, lead times, recall. Needs the extra `plot`.

Each draws on the `axes` given, or on a new figure, and returns the figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.core.show.style import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    GREY,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    SKY,
    VERMILLION,
    dress,
    legend,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.prediction.assess.alarms import JudgedAlarms
    from forestall.prediction.assess.benefit import Band, BenefitCurve

SIZE: Final = (7.6, 4.3)
MOST_POINTS: Final = 2000
HOUR: Final = 3600


def plot_benefit(
    curve: BenefitCurve,
    band: Band,
    ideal: tuple[Floats, Floats],
    axes: Axes | None = None,
    *,
    name: str = "predictor",
    blind: Band | None = None,
    per_node_hour: float = 1.0,
    unit: str = "node-hours",
    title: str = "Net benefit of acting",
) -> Figure:
    """Draw the net benefit over the share acted on, beside chance and the perfect predictor.

    `name` is that of the predictor; `blind` is what the same actions would bring if it told
    nothing; `per_node_hour` turns node-hours into `unit`: cores of a node, or a price.
    """
    place = axes_of(axes, SIZE)
    share, net = ideal
    best = np.append(share, max(1.0, float(share[-1])))
    place.plot(
        100 * best, np.append(net, net[-1]) * per_node_hour, color=SKY, linewidth=1.6,
        linestyle="-.", label="perfect predictor",
    )  # fmt: skip
    some = _some(len(curve.net))
    place.plot(
        100 * curve.share[some], curve.net[some] * per_node_hour, color=GREEN, linewidth=2.0,
        label=name,
    )  # fmt: skip
    if blind is not None:
        _band(place, blind, per_node_hour, (ORANGE, ":"), "no relation (5 to 95 %)")
    _band(place, band, per_node_hour, (BLACK, "--"), "at random (5 to 95 %)", GREY)
    _marks(place, curve, per_node_hour)
    place.axhline(0, color=INK, linewidth=0.8)
    place.set_xlim(-1, 101)
    dress(place, "", "Occasions acted on (%)", f"Net benefit ({unit})")
    legend(place, ncols=3)
    place.set_title(title, loc="left", fontsize=10.5, color=INK, fontweight="bold", pad=34)
    return figure_of(place)


def _band(
    place: Axes,
    band: Band,
    scale: float,
    line: tuple[str, str],
    label: str,
    fill: str | None = None,
) -> None:
    place.plot(100 * band.share, band.mean * scale, color=line[0], linewidth=1.4,
               linestyle=line[1], label=label)  # fmt: skip
    place.fill_between(100 * band.share, band.low * scale, band.high * scale,
                       color=fill or line[0], alpha=0.3, linewidth=0)  # fmt: skip


def _marks(place: Axes, curve: BenefitCurve, scale: float) -> None:
    """Mark the knee and the best threshold, where acting pays."""
    knee = curve.knee()
    if knee is None:
        return
    for at, marker, name in ((knee, "o", "80 % of the gain"), (curve.best(), "D", "best")):
        place.plot([100 * curve.share[at]], [curve.net[at] * scale], marker=marker,
                   color=VERMILLION, markeredgecolor=INK, markersize=6, linestyle="none",
                   label=name)  # fmt: skip


def plot_actions(rows: Sequence[Mapping[str, Any]], axes: Axes | None = None) -> Figure:
    """Draw the share saved over the number of actions, played (filled) and as counted in a record
    (hollow), a line for each policy; `rows` are those of `forestall assess policies`."""
    place = axes_of(axes, SIZE)
    able = [one for one in rows if one["saved_share"] is not None]
    names = list(dict.fromkeys(one["policy"].split(" from ")[0] for one in able))
    for k, name in enumerate(names):
        mine = [one for one in able if one["policy"].split(" from ")[0] == name]
        colour, mark = LINES[k % len(LINES)], MARKERS[k % len(MARKERS)]
        place.plot([one["actions"] for one in mine], [100 * one["saved_share"] for one in mine],
                   color=colour, marker=mark, markersize=7, label=name)  # fmt: skip
        counted = [one for one in mine if one["static_saved_share"] is not None]
        place.plot([one["static_actions"] for one in counted],
                   [100 * one["static_saved_share"] for one in counted], color=colour, marker=mark,
                   markersize=7, linestyle=":", markerfacecolor="none")  # fmt: skip
    for label, face in {"played": INK, "counted in the record": "none"}.items():
        place.plot([], [], color=INK, marker="o", markerfacecolor=face, linestyle="none",
                   markersize=7, label=label)  # fmt: skip
    place.set_xscale("symlog", linthresh=10)
    ticks = [0, *(figure * 10**k for k in range(1, 7) for figure in (1, 2, 5))]
    most = max((max(one["actions"], one["static_actions"] or 0) for one in able), default=0)
    place.set_xticks([one for one in ticks if one <= most])
    place.xaxis.set_major_formatter("{x:,.0f}")
    place.set_xlim(left=-1)
    dress(place, "", "Actions on a machine", "Loss saved (%)")
    legend(place, ncols=4)
    return figure_of(place)


def plot_collection(rows: Sequence[Mapping[str, Any]], axes: Axes | None = None) -> Figure:
    """Draw the area over the bytes sent a day, a line for each number of metrics; `rows` are those
    of `forestall assess collection`."""
    place = axes_of(axes, SIZE)
    able = [one for one in rows if one["auc"] is not None]
    for k, metrics in enumerate(sorted({one["metrics"] for one in able})):
        mine = [one for one in able if one["metrics"] == metrics]
        label = f"{metrics} metric{'s' * (metrics > 1)}"
        place.plot([one["sent_bytes_per_day"] for one in mine], [one["auc"] for one in mine],
                   color=LINES[k % len(LINES)], linestyle=DASHES[k % len(DASHES)],
                   marker=MARKERS[k % len(MARKERS)], label=label)  # fmt: skip
    place.set_xscale("log")
    dress(place, "What collecting less costs", "Bytes sent a day", "Area under the ROC curve")
    legend(place, ncols=3)
    return figure_of(place)


def plot_lead_times(found: Sequence[JudgedAlarms], axes: Axes | None = None) -> Figure:
    """Draw the share of failures with a last alarm at least so long ahead, for each horizon."""
    place = axes_of(axes, SIZE)
    for k, one in enumerate(found):
        leads = np.sort(one.last[one.last >= 0])[::-1] / HOUR
        count = max(len(one.last), 1)
        share = np.arange(1, len(leads) + 1) / count
        x = np.concatenate(([one.horizon / HOUR], leads, [0.0]))
        y = np.concatenate(([0.0], share, [len(leads) / count]))
        place.step(x, 100 * y, where="post", color=LINES[k % len(LINES)],
                   linestyle=DASHES[k % len(DASHES)], linewidth=1.7,
                   label=f"within {horizon_text(one.horizon)}")  # fmt: skip
    place.set_ylim(bottom=0)
    title = "How early failures are announced"
    dress(place, title, "Lead time of the last alarm, at least (hours)", "Failures (%)")
    legend(place)
    return figure_of(place)


def plot_recall(found: Sequence[JudgedAlarms], axes: Axes | None = None) -> Figure:
    """Draw recall and precision of each horizon with their intervals, recall beside chance."""
    place = axes_of(axes, SIZE)
    x = np.arange(len(found), dtype=np.float64)
    series = (("recall", BLUE, "o", -0.12), ("precision", ORANGE, "s", 0.12))
    for name, colour, marker, shift in series:
        shares = [getattr(one, name) for one in found]
        known = [k for k, share in enumerate(shares) if share.value is not None]
        value = np.array([100 * shares[k].value for k in known])
        low, high = (np.array([100 * shares[k].ci[end] for k in known]) for end in (0, 1))
        place.errorbar(
            x[known] + shift, value, [np.maximum(value - low, 0), np.maximum(high - value, 0)],
            fmt=marker, color=colour, capsize=4, markersize=6, elinewidth=1.4,
            label=f"{name} (95 %)",
        )  # fmt: skip
    chance = [100 * one.covered for one in found]
    place.scatter(x - 0.12, chance, marker="_", s=260, color=INK, linewidth=2.0, zorder=3,
                  label="recall by chance")  # fmt: skip
    place.set_xticks(x, [horizon_text(one.horizon) for one in found])
    place.set_xlim(-0.5, len(found) - 0.5)
    place.set_ylim(0, 102)
    dress(place, "Recall and precision", "Horizon", "Share (%)")
    legend(place)
    place.grid(visible=False, axis="x")
    return figure_of(place)


def horizon_text(seconds: int) -> str:
    """Return a horizon as short text: 1 h, 90 min, 30 s, 7 d."""
    for size, unit in ((86_400, "d"), (HOUR, "h"), (60, "min")):
        if seconds % size == 0 and (size != 86_400 or seconds > 86_400):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _some(count: int) -> Ints:
    """Return places of at most `MOST_POINTS` points, the ends among them."""
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, MOST_POINTS).round().astype(np.int64))


def axes_of(axes: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure."""
    if axes is not None:
        return axes
    return new_figure(size).subplots()


def figure_of(axes: Axes) -> Figure:
    """Return the figure of axes."""
    from matplotlib.figure import Figure

    figure = axes.figure
    assert isinstance(figure, Figure)
    return figure
