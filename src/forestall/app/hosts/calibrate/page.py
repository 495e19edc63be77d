"""The report on a calibration as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from forestall.app.hosts.calibrate import words
from forestall.app.kit.report import NO_FIGURES
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    cards,
    html,
    page,
    pairs,
    paragraph,
    section,
    table,
    write_page,
)
from forestall.show.words import Summary

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


def write_calibration_page(path: Path, summary: Summary, drawn: Mapping[str, Html]) -> Path:
    """Write the page; `drawn` has the figures by name, none where they cannot be drawn."""
    parameters = summary["parameters"]
    cores = len(parameters["cpus"])
    lead = (
        f"{summary['host']}, {'one core' if cores == 1 else f'{cores} cores'}, {summary['date']}; "
        f"limit {words.share(parameters['limit'])} of the owner's CPU time."
    )
    lines = [*words.threshold_lines(summary), *words.memory_lines(summary)]
    said = "".join(f"<p>{html(line)}</p>" for line in lines)
    text = page(
        "What a guest takes from this host's owner",
        lead,
        Html(f'<div class="verdict">{said}</div>'),
        cards(_headlines(summary)),
        EMPTY if drawn else paragraph(NO_FIGURES, "soft"),
        section(
            "CPU",
            paragraph(f"{HOW} {PATTERN[parameters['pattern']]}", "soft"),
            drawn.get("contention", EMPTY),
            table(words.HEADS, words.rows(summary), "Reduction of the owner's CPU time."),
        ),
        section(
            "Memory",
            paragraph(MEMORY, "soft") if not summary["memory"]["left_out"] else EMPTY,
            drawn.get("memory", EMPTY),
            *(paragraph(line) for line in words.memory_lines(summary)),
            table(
                words.MEMORY_HEADS, words.memory_rows(summary), "Reduction of the owner's speed."
            ),
        ),
        section("How it was measured", *(paragraph(line) for line in words.remarks(summary))),
        section("Made with", pairs(_made_with(summary), ("What", "Value"))),
    )
    return write_page(path, text)


def _headlines(summary: Summary) -> list[tuple[str, str, str]]:
    found = []
    for name, title in words.NAMES.items():
        one = summary[name]
        ends = "" if one["interval"] is None else f"95 %: {words.between(*one['interval'])}; "
        found.append(
            (title, words.share(one["value"]), f"{ends}guest at {words.PRIORITY[name]} priority")
        )
    told = summary["background"]
    found.append(
        (
            "Used by others",
            words.share(told["mean"]),
            f"of the cores; {words.share(told['before'])} before",
        )
    )
    return found


def _made_with(summary: Summary) -> dict[str, object]:
    given = {name: _plain(name, value) for name, value in summary["parameters"].items()}
    return {"host": summary["host"], "kernel": summary["kernel"], **given, **summary["versions"]}


def _plain(name: str, value: object) -> object:
    if isinstance(value, list):
        return ", ".join(words.share(one, 0) if name == "loads" else str(one) for one in value)
    return value
