"""Figures of the study: overhead, makespans, clients, and what each part contributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall import style
from studies.kit.figures import error_bars, headed, legend_below, line, look
from studies.kit.means import Mean, mean_of
from studies.vault.claims import MIB, PROGRAMS
from studies.vault.found import Found
from studies.vault.plan import FREE, GIB, LAYOUTS, LOCAL, PARTS, REMOTE, SERVER, SUBMITTER, VAULT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI: Final = 110
_TICKS: Final = (*(0.01, 0.02, 0.05, 0.1, 0.2, 0.5), *(1, 2, 5, 10, 20, 50, 100))
LABELS: Final = {
    VAULT: "vault, 3 + 2 pieces",
    SERVER: "server, same network",
    REMOTE: "server, other campus",
    SUBMITTER: "submitting machine",
    LOCAL: "own disk only",
}
LOOKS: Final = {name: look(place, label) for place, (name, label) in enumerate(LABELS.items())}


def draw(found: Found) -> dict[str, Figure]:
    """Return all figures, by the names of their files."""
    drawn = {"makespans.png": makespans(found), "overhead-simulated.png": overhead(found)}
    if found.plan.parts:
        drawn["parts.png"] = parts(found)
    if found.measured.there:
        drawn["overhead-measured.png"] = measured_overhead(found)
        drawn["programs.png"] = programs(found)
        drawn["clients.png"] = clients(found)
    return drawn


def makespans(found: Found) -> Figure:
    """Draw how much longer jobs take in each layout than with checkpoints that cost nothing."""
    figure = style.new_figure((10.5, 4.2), DPI)
    size = found.plan.sizes[0]
    panels = figure.subplots(1, len(found.sets), squeeze=False)[0]
    shown = (VAULT, SERVER, LOCAL, REMOTE)
    for axes, name in zip(panels, found.sets, strict=True):
        longer = [_longer(found, name, one, size) for one in shown]
        at = np.arange(len(shown))[::-1]
        for place, one, mean in zip(at, shown, longer, strict=True):
            colour = LOOKS[one].colour
            axes.barh(place, 100 * mean.mean, color=colour, height=0.6)
        error_bars(axes, list(at), longer, upright=False, fmt="none", ecolor=style.INK)
        labels = [LABELS[one] if axes is panels[0] else "" for one in shown]
        axes.set_yticks(at, labels)
        style.dress(axes, name, "Longer than with free checkpoints (%)", "")
    told = f"Mean makespan of jobs done, Falcon, checkpoints of {size / GIB:g} GiB every 30 min"
    headed(figure, told)
    return figure


def _longer(found: Found, name: str, layout: str, size: int) -> Mean:
    """Return how much longer jobs take in a layout than with checkpoints that cost nothing."""
    mine, free = (found.by_seed(name, one, size, "makespan") for one in (layout, FREE))
    return mean_of([mine[k] / free[k] - 1 for k in mine if k in free] or [float("nan")])


def overhead(found: Found) -> Figure:
    """Draw save, restore, time in transfers and unfinished jobs against the checkpoint's size."""
    figure = style.new_figure((10.5, 4.2), DPI)
    panels = figure.subplots(1, 3)
    name, sizes = found.sets[0], sorted(found.plan.sizes)
    at = [size / GIB for size in sizes]
    for layout in LAYOUTS:
        for axes, what, scale in (
            (panels[0], "save_seconds", 1.0),
            (panels[1], "restore_seconds", 1.0),
            (panels[2], "time_share", 100.0),
        ):
            values = [scale * found.mean(name, layout, size, what).mean for size in sizes]
            line(axes, at, values, LOOKS[layout])
    for axes, label in zip(
        panels, ("Save (s)", "Restore (s)", "Guests' time in transfers (%)"), strict=True
    ):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(at, [f"{one:g}" for one in at])
        style.dress(axes, "", "Checkpoint (GiB)", label)
    headed(figure, f"{name}, simulated: what checkpoints cost by their size")
    legend_below(figure, panels[0], ncols=5)
    return figure


def parts(found: Found) -> Figure:
    """Draw by how much the vault is ahead of itself without single parts."""
    figure = style.new_figure((8.5, 4.0), DPI)
    axes = figure.subplots()
    name, size = found.sets[0], found.plan.sizes[0]
    gains = [found.shorter(name, VAULT, one, size) for one in PARTS]
    at = np.arange(len(PARTS))[::-1]
    axes.barh(at, [100 * one.mean for one in gains], color=style.BLUE, height=0.6)
    error_bars(axes, list(at), gains, upright=False, fmt="none", ecolor=style.INK)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    axes.set_yticks(at, PARTS)
    title = f"{name}, simulated: makespan with the whole vault beside other ways"
    style.dress(axes, title, "The whole vault is shorter by (%)", "")
    return figure


def measured_overhead(found: Found) -> Figure:
    """Draw measured saves and restores against the checkpoint's size."""
    figure = style.new_figure((9.0, 4.2), DPI)
    panels = figure.subplots(1, 2)
    rows = found.measured
    for layout in LAYOUTS:
        sizes = sorted({int(one) for one in rows.values("bytes", test="size", layout=layout)})
        for axes, what in zip(panels, ("save", "restore"), strict=True):
            values = [rows.mean(what, test="size", layout=layout, bytes=size) for size in sizes]
            line(axes, [size / MIB for size in sizes], values, LOOKS[layout])
    for axes, label in zip(panels, ("Save (s)", "Restore (s)"), strict=True):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        sizes = sorted({int(one) for one in rows.values("bytes", test="size")})
        axes.set_xticks([size / MIB for size in sizes], [f"{size / MIB:g}" for size in sizes])
        low, high = axes.get_ylim()
        ticks = [one for one in _TICKS if low <= one <= high]
        axes.set_yticks(ticks, [f"{one:g}" for one in ticks])
        axes.minorticks_off()
        style.dress(axes, "", "Checkpoint (MiB)", label)
    headed(figure, "Real daemons in network namespaces: what checkpoints cost by their size")
    legend_below(figure, panels[0], ncols=3)
    return figure


def programs(found: Found) -> Figure:
    """Draw the makespans of the two programs under evictions."""
    figure = style.new_figure((9.0, 4.0), DPI)
    panels = figure.subplots(1, len(PROGRAMS))
    for axes, program in zip(panels, PROGRAMS, strict=True):
        at = np.arange(len(LAYOUTS))[::-1]
        for place, layout in zip(at, LAYOUTS, strict=True):
            named = {"test": "program", "layout": layout, "program": program}
            mean = found.measured.mean("seconds", **named)
            stopped = 0.0 in found.measured.values("done", **named)
            bar = {"alpha": 0.35, "hatch": "//"} if stopped else {}
            axes.barh(place, mean, color=LOOKS[layout].colour, height=0.6, **bar)
            _dots(axes, found.measured.values("seconds", **named), float(place))
        alone = found.measured.mean("seconds", test="program", layout="none", program=program)
        axes.axvline(alone, color=style.INK, linestyle="--", linewidth=1.0)
        axes.set_yticks(at, [LABELS[one] if axes is panels[0] else "" for one in LAYOUTS])
        style.dress(axes, program, "Makespan (s)", "")
    told = "dashed: left alone; hatched: given up, not done"
    headed(figure, f"Two programs whose guests are ended again and again ({told})")
    return figure


def _dots(axes: Axes, values: list[float], place: float) -> None:
    if len(values) > 1:
        axes.plot(values, [place] * len(values), "o", color=style.INK, markersize=3)


def clients(found: Found) -> Figure:
    """Draw saves against how many guests save at once."""
    figure = style.new_figure((6.5, 4.0), DPI)
    axes = figure.subplots()
    rows = found.measured
    counts = sorted({int(one) for one in rows.values("clients", test="clients")})
    for layout in (VAULT, SERVER, REMOTE):
        values = [rows.mean("save", test="clients", layout=layout, clients=n) for n in counts]
        line(axes, counts, values, LOOKS[layout])
    axes.set_xticks(counts)
    axes.set_ylim(bottom=0)
    style.dress(axes, "Guests that save at the same time", "Guests (count)", "Save (s)")
    legend_below(figure, axes, ncols=3)
    return figure
