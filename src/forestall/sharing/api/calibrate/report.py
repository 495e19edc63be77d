"""The report on a calibration: thresholds, what the owner loses, how it was measured; in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show import closing
from forestall.core.show.blocks import Block, Figure, Listing, Table
from forestall.core.show.facts import Fact
from forestall.core.show.report import Report, Section
from forestall.core.show.words import Summary
from forestall.sharing.contention.figure import contention_figure, memory_figure

if TYPE_CHECKING:
    from forestall.sharing.api.calibrate.calibrate import HostCalibration


MB: Final = 2**20
NAMES: Final = {"th1": "Th1", "th2": "Th2"}
PRIORITY: Final = {"th1": "normal", "th2": "lowest"}


def share(value: float, digits: int = 1) -> str:
    """Return a share as per cent."""
    return f"{round(100 * value, digits) + 0.0:.{digits}f} %"  # + 0.0: no "-0.0"


def between(low: float | None, high: float | None, digits: int = 1) -> str:
    """Return both ends of an interval of shares; a dash where there is none."""
    if low is None or high is None:
        return "\N{EN DASH}"
    return f"{share(low, digits)[:-2]} to {share(high, digits)}"


def mb(size: float) -> str:
    """Return bytes as MB."""
    value = round(size / MB, 1)
    return f"{0.0 if value == 0 else value:.1f} MB"


def threshold_lines(summary: Summary) -> list[str]:
    """Return a sentence for each threshold."""
    lines = [_threshold_line(summary, name) for name in NAMES]
    limit = share(summary["parameters"]["limit"])
    for nice, found in summary.get("nice", {}).items():
        lines.append(
            f"Nice {nice}: the owner loses more than {limit} above {share(found['value'])}."
        )
    return lines


def _threshold_line(summary: Summary, name: str) -> str:
    found, limit = summary[name], summary["parameters"]["limit"]
    lead = f"{NAMES[name]} = {share(found['value'])}"
    if found["interval"] is not None:
        lead += f" (95 %: {between(*found['interval'])})"
    beside = f"beside a guest at {PRIORITY[name]} priority"
    if found["kind"] == "never":
        return f"{lead}: {beside} the owner never loses more than {share(limit)}."
    if found["kind"] == "always":
        least = min(
            point["load"]
            for one in summary["curves"]
            for point in one["points"]
            if (one["group"], one["guest"]) == (found["group"], PRIORITY[name])
        )
        return (
            f"{lead}: {beside} the owner loses more than {share(limit)} at the lowest load "
            f"measured, {share(least)}, with a group of {found['group']}."
        )
    return (
        f"{lead}: {beside} the owner loses more than {share(limit)} above that load; the first of "
        f"the groups to do so is that of {found['group']}."
    )


def memory_lines(summary: Summary) -> list[str]:
    """Return what the part on memory showed, or why it was left out."""
    memory = summary["memory"]
    if memory["left_out"]:
        return [f"Memory was left out: {memory['left_out']}."]
    limit = summary["parameters"]["limit"]
    lines = []
    for one in memory["curves"]:
        most = max(point["reduction"] for point in one["points"])
        beside = f"Memory, guest at {one['guest']} priority: the owner loses"
        if one["kind"] == "never":
            lines.append(f"{beside} no more than {share(limit)} of its speed at any size.")
            continue
        until = "with less free memory than" if one["kind"] == "crossed" else "even with"
        lines.append(
            f"{beside} more than {share(limit)} of its speed {until} {mb(one['needed'])} beside "
            f"both, and up to {share(most, 0)} where they do not fit."
        )
    by = {one["guest"]: max(p["reduction"] for p in one["points"]) for one in memory["curves"]}
    if len(by) == 2 and by["lowest"] > 0.5 * by["normal"] > limit:
        lines.append("The lowest priority does not help against thrashing.")
    return lines


def remarks(summary: Summary) -> list[str]:
    """Return what has to be known about how it was measured."""
    told = summary["background"]
    cores = len(summary["parameters"]["cpus"])
    which = "core" if cores == 1 else f"{cores} cores"
    lines = [
        f"Others used {share(told['before'])} of the {which} before, and {share(told['mean'])} "
        f"on average meanwhile (at most {share(told['most'])})."
    ]
    if told["measured_again"]:
        lines.append(
            f"Measured again as others had used more than 5 % meanwhile: {told['measured_again']} "
            "groups."
        )
    if told["points_disturbed"]:
        lines.append(
            f"{told['points_disturbed']} of {told['points']} points were still disturbed: "
            "repeat this on a quiet host before you rely on the thresholds."
        )
    lines.append(lowest_line(summary["lowest_priority"]))
    th1, th2 = summary["th1"]["value"], summary["th2"]["value"]
    if th1 > th2:
        lines.append(
            f"Th1 was measured above Th2 ({share(th1)}, {share(th2)}); Th2 is taken for both."
        )
    return lines


def lowest_line(lowest: Mapping[str, bool]) -> str:
    """Say what the lowest priority is here."""
    names = {"idle": "SCHED_IDLE", "nice": "nice 19", "autogroup": "nice 19 of its session"}
    means = [text for name, text in names.items() if lowest.get(name)]
    return f"Lowest priority here: {', '.join(means) or 'none could be set'}."


def duration(seconds: float) -> str:
    """Return a time to be waited for."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


FIGURES: Final = ("contention", "memory")
HOW: Final = (
    "Owner groups of several processes, which work and rest, were measured without a guest and "
    "beside one spinning process for each core, at normal and at lowest priority. A reduction "
    "is 1 - CPU time of the group with the guest / without it, both of the same repeat. A "
    "threshold is the lowest load at which any group loses more than the limit, interpolated "
    "linearly between the measured loads."
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
    how = Section("how", "How it was measured", body=(Listing(tuple(remarks(summary))),))
    return Report(
        "How much a guest slows down this host's owner",
        f"{summary['host']}, {'one core' if cores == 1 else f'{cores} cores'}, {summary['date']}; "
        f"limit {share(parameters['limit'])} of the owner's CPU time.",
        (_cpu(found), _memory(found), how),
        verdict=(*threshold_lines(summary), *memory_lines(summary)),
        closing=(closing.made_with(_made_with(summary)),),
    )


def _facts(summary: Summary) -> tuple[Fact, ...]:
    """Return both thresholds, and what others used of the cores meanwhile."""
    facts = []
    for name, title in NAMES.items():
        one = summary[name]
        low, high = one["interval"] or (None, None)
        ends = "" if low is None else f"95 %: {between(low, high)}; "
        facts.append(
            Fact(name, title, one["value"], "ratio", shown=share(one["value"]),
                 meaning=f"{ends}guest at {PRIORITY[name]} priority")
        )  # fmt: skip
    told = summary["background"]
    meaning = f"of the cores; {share(told['before'])} before"
    used = Fact("used_by_others", "Used by others", told["mean"], "ratio", meaning=meaning,
                shown=share(told["mean"]))  # fmt: skip
    return (*facts, used)


def _cpu(found: HostCalibration) -> Section:
    """Return what the owner loses of its CPU time."""
    figure = Figure(
        FIGURES[0],
        lambda: contention_figure(
            found.normal, found.lowered, (found.th1, found.th2), found.plan.limit
        ),
        "Loss of the owner's CPU time over its load, for guests at normal and at lowest priority.",
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
            rows.append((f"{group}", share(point["load"]), *_losses(point, other)))
            records.append({"processes": group, "load": point["load"],
                            **_reductions(point, other)})  # fmt: skip
    heads = ("Processes", "Load alone", "Reduction, normal", "95 %", "Lowest", "95 %")
    caption = "Reduction of the owner's CPU time."
    return Table.of("cpu", heads, rows, records, right=range(6), caption=caption, most=0)


def _losses(*points: Mapping[str, Any]) -> list[str]:
    """Return each reduction with its interval as text."""
    told = ((share(one["reduction"]), between(one["low"], one["high"]))
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
            "Loss of the owner's speed over free memory.",
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
        rows.append((mb(point["size"]), mb(free), *_losses(point, other)))
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
        return ", ".join(share(one, 0) if name == "loads" else str(one) for one in value)
    return value
