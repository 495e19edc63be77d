"""The pieces of the map of hosts over time: states, stays of guests, and where hosts ended them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import draw_bars
from forestall.core.figures.series import held_by_row
from forestall.core.show.style import BLACK, INK, TRACK, TRACK_LAYER, AxisClock, legend
from forestall.prediction.models.semi_markov.states import NAMES
from forestall.sharing.report import counts
from forestall.sharing.report.tables import GUEST_COLOUR, STATE_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

MOST_ROWS: Final = 400
COLUMNS: Final = 900
GUEST: Final = "guest"
ENDED: Final = "guest ended by its host"
DONE: Final = "guest's work done"
MOVED: Final = "guest moves"


def draw_map(
    axes: Axes,
    availability: pl.DataFrame,
    stays: pl.DataFrame,
    hosts: int,
    window: tuple[int, int],
    clock: AxisClock,
    *,
    crowded: bool,
) -> list[str]:
    """Draw states and guests within a window; return what the legend has to explain."""
    near = availability.filter((pl.col("start") < window[1]) & (pl.col("end") > window[0]))
    here = stays.filter((pl.col("start") < window[1]) & (pl.col("end") > window[0]))
    state = counts.states_of(near)
    found = [name for k, name in enumerate(NAMES) if (state == k).any()]
    if crowded:
        _draw_cells(axes, near, here, hosts, window, clock)
        return [*found, *([GUEST] if len(here) else [])]
    since, until = (np.clip(series.column(near, name), *window) for name in ("start", "end"))
    for k in range(len(NAMES)):  # what ends guests comes last, and so is on top
        mine = state == k
        row, colour = series.column(near, "host")[mine], STATE_COLOURS[NAMES[k]]
        draw_bars(axes, row, since[mine], until[mine], clock, colour)
    return found + _draw_guests(axes, here, window, clock)


def _draw_guests(
    axes: Axes, stays: pl.DataFrame, window: tuple[int, int], clock: AxisClock
) -> list[str]:
    """Draw each stay as a line with a mark where it ended; return what marks there are."""
    host = series.column(stays, "host")
    since, until = (np.clip(series.column(stays, name), *window) for name in ("start", "end"))
    draw_bars(axes, host, since, until, clock, GUEST_COLOUR, 0.14)
    within = series.column(stays, "end") < window[1]
    left = stays["ended"].is_in(counts.LEFT).to_numpy() & within
    done = (stays["ended"] == "completed").to_numpy() & within
    moved = (stays["ended"] == "moved").to_numpy() & within
    size = 4.6
    axes.plot(
        clock(until[done]), host[done], "|", color=INK, markersize=size + 1, markeredgewidth=1.2,
        linestyle="none", zorder=4,
    )  # fmt: skip
    if moved.any():
        axes.plot(
            clock(until[moved]), host[moved], ">", color=INK, markersize=size, markeredgewidth=0.4,
            markeredgecolor="white", linestyle="none", zorder=5,
        )  # fmt: skip
    axes.plot(
        clock(until[left]), host[left], "X", color=BLACK, markersize=size, markeredgewidth=0.4,
        markeredgecolor="white", linestyle="none", zorder=5,
    )  # fmt: skip
    marks = ((GUEST, len(stays) > 0), (DONE, done.any()), (ENDED, left.any()),
             (MOVED, moved.any()))  # fmt: skip
    return [name for name, there in marks if there]


def _draw_cells(
    axes: Axes,
    availability: pl.DataFrame,
    stays: pl.DataFrame,
    hosts: int,
    window: tuple[int, int],
    clock: AxisClock,
) -> None:
    """Draw what most of the hosts of a cell are for most of its time; guests count as a state of
    their own, in place of S1 and S2."""
    from matplotlib.colors import ListedColormap

    rows = min(hosts, MOST_ROWS)
    edges = series.edges_of(*window, COLUMNS)
    state = counts.states_of(availability)
    held = cells(stays, hosts, rows, edges)
    time = np.stack(
        [cells(availability.filter(pl.Series(state == k)), hosts, rows, edges)
         for k in range(len(NAMES))]
    )  # fmt: skip
    free = time[0] + time[1]
    rest = np.where(free > 0, np.maximum(1 - held / np.where(free > 0, free, 1), 0.0), 0.0)
    time[:2] *= rest
    told = np.concatenate((time, held[None]))
    most = np.argmax(told, axis=0).astype(np.float64)
    most[told.sum(axis=0) == 0] = np.nan
    left, right = (float(t) for t in clock(window))
    layers: dict[str, Any] = {
        name: TRACK_LAYER for name, colour in STATE_COLOURS.items() if colour == TRACK
    }
    axes.imshow(
        most, origin="upper", aspect="auto", extent=(left, right, hosts - 0.5, -0.5), vmin=-0.5,
        vmax=len(NAMES) + 0.5, interpolation="nearest",
        cmap=ListedColormap([*(layers.get(name, STATE_COLOURS[name]) for name in NAMES),
                             GUEST_COLOUR]),
    )  # fmt: skip


def cells(table: pl.DataFrame, hosts: int, rows: int, edges: series.Floats) -> series.Floats:
    """Return float64[rows, bins]: how many hosts of each row are in the times of the table, mean
    within each bin; host h is in row ``h * rows // hosts``."""
    told = table.select(
        node="host", start="start", end="end", rate=pl.lit(1.0)
    )  # a host in a time is a node that is held
    return held_by_row(told, hosts, rows, edges)


def draw_map_legend(figure: Figure, drawn: list[str], *, crowded: bool) -> None:
    """Give the map its legend: what it shows, no more."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = []
    for name in drawn:
        if name in NAMES:
            handles.append(Patch(facecolor=STATE_COLOURS[name], edgecolor=INK, linewidth=0.3,
                                 label=name))  # fmt: skip
        elif name == GUEST:
            label = "S1 or S2 with a guest" if crowded else "guest"
            handles.append(Patch(facecolor=GUEST_COLOUR, label=label))
        else:
            marker = {ENDED: "X", MOVED: ">"}.get(name, "|")
            handles.append(
                Line2D([], [], color=BLACK if name == ENDED else INK, marker=marker, label=name,
                       linestyle="none", markersize=5)
            )  # fmt: skip
    if handles:
        legend(
            figure, handles=handles, ncols=len(handles), loc="outside lower center",
            bbox_to_anchor=None,
        )  # fmt: skip
