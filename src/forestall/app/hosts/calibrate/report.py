"""The report on a calibration: thresholds, what the owner loses, how it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.app.hosts.calibrate import words
from forestall.live.contention.figure import contention_figure, memory_figure
from forestall.show import closing
from forestall.show.blocks import Block, Figure, Listing, Table
from forestall.show.facts import Fact
from forestall.show.report import Report, Section
from forestall.show.words import Summary

if TYPE_CHECKING:
    from forestall.app.hosts.calibrate.calibrate import HostCalibration

FIGURES: Final = ("contention", "memory")
HOW: Final = (
    "Owner groups of several processes, which work and rest, were measured without a guest and "
    "beside one spinning process for each core, at normal and at lowest priority. A reduction is "
    "1 - CPU time of the group with the guest / without it, both of the same repeat. A threshold "
    "is the least load at which a group loses more than the limit, on straight lines between the "
    "loads that were measured, and the least over the groups."
)
PATTERN: Final = {
    "paused": "The processes of the owner work, and then rest as long as they do without a guest.",
    "periodic": "The work of the owner's processes falls due by the clock.",
}
MEMORY: Final = (
    "In a memory limit of their own, the owner reads pages of a file at random, and the guest "
    "holds memory. The host itself was never short of memory."
)


def report_of(found: HostCalibration) -> Report:
    """Return what a guest takes from this host's owner as a report."""
    summary = found.summary
    parameters = summary["parameters"]
    cores = len(parameters["cpus"])
    how = Section("how", "How it was measured", body=(Listing(tuple(words.remarks(summary))),))
    return Report(
        "What a guest takes from this host's owner",
        f"{summary['host']}, {'one core' if cores == 1 else f'{cores} cores'}, {summary['date']}; "
        f"limit {words.share(parameters['limit'])} of the owner's CPU time.",
        (_cpu(found), _memory(found), how),
        verdict=(*words.threshold_lines(summary), *words.memory_lines(summary)),
        closing=(closing.made_with(_made_with(summary)),),
    )


def _facts(summary: Summary) -> tuple[Fact, ...]:
    """Return both thresholds, and what others used of the cores meanwhile."""
    facts = []
    for name, title in words.NAMES.items():
        one = summary[name]
        low, high = one["interval"] or (None, None)
        ends = "" if low is None else f"95 %: {words.between(low, high)}; "
        facts.append(
            Fact(name, title, one["value"], "ratio", shown=words.share(one["value"]),
                 meaning=f"{ends}guest at {words.PRIORITY[name]} priority")
        )  # fmt: skip
    told = summary["background"]
    meaning = f"of the cores; {words.share(told['before'])} before"
    used = Fact("used_by_others", "Used by others", told["mean"], "ratio", meaning=meaning,
                shown=words.share(told["mean"]))  # fmt: skip
    return (*facts, used)


def _cpu(found: HostCalibration) -> Section:
    """Return what the owner loses of its CPU time."""
    figure = Figure(
        FIGURES[0],
        lambda: contention_figure(
            found.normal, found.lowered, (found.th1, found.th2), found.plan.limit
        ),
        "What the owner loses of its CPU time against its load, for guests at normal and at "
        "lowest priority.",
        "Bars are 95 % intervals of the mean over the repeats; the dotted line is the limit, the "
        "vertical one the threshold, with its 95 % interval from resampled repeats. The scales of "
        "both sides differ.",
    )
    rule = f"{HOW} {PATTERN[found.summary['parameters']['pattern']]}"
    return Section(
        "cpu", "CPU", facts=_facts(found.summary), body=(figure, cpu_table(found.summary)),
        notes=(rule,),
    )  # fmt: skip


def cpu_table(summary: Summary) -> Table:
    """Return a row for each group and load: the owner's load alone, and what it loses."""
    by = {(one["group"], one["guest"]): one["points"] for one in summary["curves"]}
    rows, records = [], []
    for (group, guest), points in by.items():
        if guest != "normal":
            continue
        lowest = {point["asked"]: point for point in by.get((group, "lowest"), [])}
        for point in points:
            other = lowest[point["asked"]]
            rows.append((f"{group}", words.share(point["load"]), *_losses(point, other)))
            records.append({"processes": group, "load": point["load"],
                            **_reductions(point, other)})  # fmt: skip
    heads = ("Processes", "Load alone", "Reduction, normal", "95 %", "Lowest", "95 %")
    caption = "Reduction of the owner's CPU time."
    return Table.of("cpu", heads, rows, records, right=range(6), caption=caption, most=0)


def _losses(*points: Mapping[str, Any]) -> list[str]:
    """Return each reduction with its interval as text."""
    told = ((words.share(one["reduction"]), words.between(one["low"], one["high"]))
            for one in points)  # fmt: skip
    return [cell for cells in told for cell in cells]


def _reductions(normal: Mapping[str, Any], lowest: Mapping[str, Any]) -> dict[str, Any]:
    return {"reduction_normal": normal["reduction"], "reduction_lowest": lowest["reduction"]}


def _memory(found: HostCalibration) -> Section:
    """Return what the owner loses of its speed to a guest's memory."""
    summary = found.summary
    table = memory_table(summary)
    body: tuple[Block, ...] = (table,)
    if found.memory_curves:
        drawn = Figure(
            FIGURES[1],
            lambda: memory_figure(found.memory_curves, found.plan.limit),
            "What the owner loses of its speed against free memory.",
            "Bars reach from the least to the largest of the repeats. Left of 0 both working sets "
            "fit; right of it they do not, and the owner's pages come from the disk.",
        )
        body = (drawn, table)
    rules = () if summary["memory"]["left_out"] else (MEMORY,)
    return Section("memory", "Memory", body=body, notes=rules)


def memory_table(summary: Summary) -> Table:
    """Return a row for each size of the guest; none where the part was left out."""
    by = {one["guest"]: one["points"] for one in summary["memory"]["curves"]}
    pairs: Sequence[tuple[Any, Any]] = list(
        zip(by.get("normal", []), by.get("lowest", []), strict=True)
    )
    rows, records = [], []
    for point, other in pairs:
        free = (point["free"] + other["free"]) / 2
        rows.append((words.mb(point["size"]), words.mb(free), *_losses(point, other)))
        records.append({"guest_bytes": point["size"], "free_bytes": free,
                        **_reductions(point, other)})  # fmt: skip
    heads = ("Guest", "Free beside both", "Reduction, normal", "95 %", "Lowest", "95 %")
    caption = "Reduction of the owner's speed."
    return Table.of("memory", heads, rows, records, right=range(6), caption=caption, most=0)


def _made_with(summary: Summary) -> dict[str, object]:
    given = {name: _plain(name, value) for name, value in summary["parameters"].items()}
    return {"host": summary["host"], "kernel": summary["kernel"], **given, **summary["versions"]}


def _plain(name: str, value: object) -> object:
    if isinstance(value, list):
        return ", ".join(words.share(one, 0) if name == "loads" else str(one) for one in value)
    return value
