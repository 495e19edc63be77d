"""The slides' figures redrawn: accuracy, linear models, training, noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from forestall import style
from studies.availability.claims import Found
from studies.availability.study import relative_errors
from studies.kit.figures import legend_below, line, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE: Final = (9.6, 4.2)
DPI: Final = 110
WINDOW: Final = "Length of the window (h)"
ERROR: Final = "Relative error of TR (%)"


def draw(found: Found) -> dict[str, Figure]:
    """Return all figures, by the names of their files."""
    return {
        "accuracy.png": figure_accuracy(found.accuracy),
        "linear.png": figure_linear(found.linear),
        "training.png": figure_training(found.training),
        "noise.png": figure_noise(found.noise),
    }


def _line(axes: Axes, rows: pl.DataFrame, x: str, y: str, place: int, label: str) -> None:
    ordered = rows.sort(x)
    values = 100 * ordered[y].cast(pl.Float64).to_numpy()
    line(axes, ordered[x].to_list(), values, look(place, label))


def figure_accuracy(rows: pl.DataFrame) -> Figure:
    """Draw the error by length of the window, weekdays beside weekends."""
    figure = style.new_figure(WIDE, DPI)
    panels = figure.subplots(1, 2, sharey=True)
    errors = relative_errors(rows, each=True)
    floor = relative_errors(rows, each=True, truth="drawn")
    names = errors.select("set", "model").unique(maintain_order=True).rows()
    for axes, weekend in zip(panels, (False, True), strict=True):
        for place, (name, model) in enumerate(names):
            mine = (pl.col("set") == name) & (pl.col("model") == model)
            some = errors.filter(mine & (pl.col("weekend") == weekend))
            if len(some):
                _line(axes, some, "length_h", "error", place, f"{name}: {model}")
        least = floor.filter(
            (pl.col("set") == names[0][0])
            & (pl.col("model") == names[0][1])
            & (pl.col("weekend") == weekend)
        ).sort("length_h")
        axes.plot(least["length_h"].to_numpy(), 100 * least["error"].to_numpy(), color=style.GREY,
                  linewidth=3, alpha=0.6, label=f"{names[0][0]}: chance alone")  # fmt: skip
        style.dress(axes, "Weekends" if weekend else "Weekdays", WINDOW, "" if weekend else ERROR)
    _shared_legend(figure, panels[0])
    return figure


def figure_linear(rows: pl.DataFrame) -> Figure:
    """Draw the error of each model by length of the window; of AR and MA as the slides fit them."""
    told = rows.filter(~pl.col("model").is_in(("AR(8)", "MA(8)")))
    return _errors(told, "model", "{}", "length_h", WINDOW)


def figure_training(rows: pl.DataFrame) -> Figure:
    """Draw the error over the share of the days that training takes."""
    return _errors(rows, "length_h", "{:g} h", "training", "Share of the days for training")


def _errors(rows: pl.DataFrame, column: str, label: str, x: str, xlabel: str) -> Figure:
    """Draw the error over x, weekdays beside weekends, a line for each value of a column."""
    figure = style.new_figure(WIDE, DPI)
    panels = figure.subplots(1, 2, sharey=True)
    errors = relative_errors(rows, each=True)
    values = errors[column].unique(maintain_order=True).to_list()
    for axes, weekend in zip(panels, (False, True), strict=True):
        for place, value in enumerate(values if column == "model" else sorted(values)):
            mine = errors.filter((pl.col(column) == value) & (pl.col("weekend") == weekend))
            _line(axes, mine, x, "error", place, label.format(value))
        style.dress(axes, "Weekends" if weekend else "Weekdays", xlabel, "" if weekend else ERROR)
    _shared_legend(figure, panels[0])
    return figure


def figure_noise(rows: pl.DataFrame) -> Figure:
    """Draw the change of predictions over the number of false events."""
    figure = style.new_figure(WIDE, DPI)
    models = rows["model"].unique(maintain_order=True).to_list()
    panels = np.atleast_1d(figure.subplots(1, len(models), sharey=True))
    lengths = [h for h in (0.5, 1.0, 2.0, 3.0, 5.0, 10.0) if h in set(rows["length_h"].to_list())]
    mean = rows.group_by("model", "events", "length_h", maintain_order=True).agg(
        pl.col("change").mean()
    )
    for k, (axes, model) in enumerate(zip(panels, models, strict=True)):
        for place, hours in enumerate(lengths):
            mine = mean.filter((pl.col("model") == model) & (pl.col("length_h") == hours))
            _line(axes, mine, "events", "change", place, f"{hours:g} h")
        label = "Change of TR (%)" if k == 0 else ""
        style.dress(axes, model, "False events between 8:00 and 9:00 (number)", label)
    _shared_legend(figure, panels[0])
    return figure


def _shared_legend(figure: Figure, axes: Axes) -> None:
    """Place one legend for panels that share their upright axis, and let that begin at 0."""
    axes.set_ylim(bottom=0)
    legend_below(figure, axes, ncols=3)
