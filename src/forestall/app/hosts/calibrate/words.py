"""A calibration in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from forestall.show.words import Summary

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
    return [_threshold_line(summary, name) for name in NAMES]


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
            f"{lead}: {beside} the owner loses more than {share(limit)} at the least load that "
            f"was measured, {share(least)}, with a group of {found['group']}."
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
        f"Others used {share(told['before'])} of the {which} before, and {share(told['mean'])} in "
        f"the mean meanwhile (at most {share(told['most'])})."
    ]
    if told["measured_again"]:
        lines.append(
            f"Measured again as others had used more than 5 % meanwhile: {told['measured_again']} "
            "groups."
        )
    if told["points_disturbed"]:
        lines.append(
            f"{told['points_disturbed']} of {told['points']} points were disturbed all the same: "
            "repeat this on a quiet host before the thresholds are relied on."
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
