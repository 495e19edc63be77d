"""`forestall traces filter` and `forestall traces generate ras`: event logs and their failures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json, Quiet
from forestall.core.commands.questions import Given, TextOptions, texts
from forestall.core.commands.screen import ProgressBar, say, say_json, say_report
from forestall.core.model.settings import Setting

with lazily():
    from forestall.logs import filter as events_filter

READING = "Event log"
FILTERS = "Filters"
MADE = "Generated log"


READ = texts(
    READING,
    ("format", "File format (default: detected)", "NAME"),
    ("from", "Time 0, such as 2005-06-05 (default: first record)", "TIME"),
    ("days", "Length of the window, in days", "DAYS"),
    ("year", "Year of the first line of a syslog whose times have no year", "YEAR"),
    (
        "templates",
        "How messages are told apart: without numbers and paths (masked), grouped by Drain as "
        "well, or not at all (default masked)",
        "masked|drain|none",
    ),
    ("strict", "Reject a log with lines that would be skipped", "off"),
)
"""Options of reading."""

MERGE = texts(
    FILTERS,
    ("severity", "Lowest severity that counts (default FATAL)", "WORD"),
    (
        "steps",
        "Filters in order: severity, alerts, temporal, spatial, causal, clusters (default "
        "severity,temporal,spatial,causal; alerts instead of severity where the log has none)",
        "STEP,...",
    ),
    (
        "temporal",
        "Merge records of the same place and kind within this time (default 5m)",
        "DURATION",
    ),
    (
        "spatial",
        "Merge records of the same kind at any place within this time (default 5m)",
        "DURATION",
    ),
    (
        "causal",
        "Remove kinds of records that regularly follow another kind within this time (default 5m)",
        "DURATION",
    ),
    ("clusters", "Merge all records within this time of another (default 5m)", "DURATION"),
    (
        "rule",
        "Measure gaps from the previous record (seen), or from the last one kept (default seen)",
        "seen|kept",
    ),
    (
        "within",
        "Part of the machine over which the spatial and clusters filters merge (default system)",
        "LEVEL",
    ),
    (
        "support",
        "Causal filter: minimum number of times that one kind followed the other (default 5)",
        "N",
    ),
    (
        "confidence",
        "Causal filter: minimum share of a kind's records that are followed by the other "
        "(default 0.5)",
        "SHARE",
    ),
    ("lift", "Causal filter: minimum ratio of that share to chance (default 2)", "X"),
    rare={"rule", "within", "support", "confidence", "lift", "clusters", "causal", "spatial"},
)
"""Options of the filters: keys of `FilterSettings`."""


def filter_log(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="Event log: RAS or syslog, in any known format."),
    ],
    given: Annotated[Given, TextOptions(READ, MERGE)],
    level: Annotated[
        str,
        Setting(
            "Part of the machine that counts as one node: whole, node, card, nodecard, "
            "midplane, rack, prefix or system",
            shown="LEVEL",
            group=FILTERS,
        ),
    ] = "node",
    out: Annotated[
        Path | None,
        Setting("File for the failures: forestall's own CSV, with dates and names", group=OUTPUT),
    ] = None,
    names: Annotated[
        Path | None, Setting("File for the names of the nodes: node,name", group=OUTPUT)
    ] = None,
    records: Annotated[
        Path | None, Setting("File for the records that remain", group=OUTPUT)
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn the records of an event log into failures, and show what each filter removed."""
    settings, reading = events_filter.settings_of(given), events_filter.reading_of(given)
    with ProgressBar("megabytes", quiet=quiet) as bar:
        done = events_filter.study(log, reading, settings, level, bar)
    written = events_filter.write_failures(done, out, names, records)
    if as_json:
        say_json(done.summary)
    elif not quiet:
        say_report(events_filter.report_of(done.summary))
        if written:
            say()
        for line in written:
            say(line)
