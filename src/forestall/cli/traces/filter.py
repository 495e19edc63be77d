"""`forestall traces filter` and `forestall traces generate ras`: event logs and their failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import Choice, Given, Table
from forestall.cli.registry import command
from forestall.cli.runs.options import OUTPUT, Json, Quiet
from forestall.cli.screen import ProgressBar, say, say_json, show
from forestall.model.errors import TraceError
from forestall.model.settings import Setting

with lazily():
    from forestall.app.reliability.events import filter as events_filter
    from forestall.app.reliability.events import words
    from forestall.traces.generate import ras as made
    from forestall.traces.generate import times
    from forestall.traces.metrics import write
    from forestall.traces.ras import write as ras_write

READING = "Event log"
FILTERS = "Filters"
MADE = "What is made up"


def add_to(group: typer.Typer) -> None:
    """Register `filter` in the group of traces."""
    command(
        group,
        "filter",
        "forestall traces filter BGL.log --out failures.csv",
        "forestall traces filter BGL.log --steps alerts,temporal,spatial --level midplane",
        "forestall traces filter messages.gz --year 2024 --severity ERROR --temporal 10m --json",
    )(filter_log)


def add_generate_to(group: typer.Typer) -> None:
    """Register `ras` in the group of made-up logs."""
    command(
        group,
        "ras",
        "forestall traces generate ras events.csv --nodes 512 --days 90 --truth failures.csv",
        "forestall traces generate ras events.parquet --nodes 64 --days 365 --warned 0.8",
    )(generate_ras)


READ = (
    Choice("format", READING, "Its form, where it shall not be guessed.", "NAME"),
    Choice("from", READING, "Time 0, such as 2005-06-05 (default: first record).", "TIME"),
    Choice("days", READING, "Length of the window from there.", "DAYS"),
    Choice("year", READING, "Of the first line of a syslog whose times have none.", "YEAR"),
    Choice(
        "templates",
        READING,
        "Kinds: messages without numbers and paths, grouped by Drain too, or no messages at all "
        "(default masked).",
        choices=("masked", "drain", "none"),
    ),
    Choice("strict", READING, "A line that must be left out is an error.", flag=True),
)
"""Options of reading."""

MERGE = (
    Choice("severity", FILTERS, "The least that counts (default FATAL).", "WORD"),
    Choice(
        "steps",
        FILTERS,
        "Which, in order: severity, alerts, temporal, spatial, causal, clusters (default "
        "severity,temporal,spatial,causal; alerts for severity where the log tells none).",
        "STEP,...",
    ),
    Choice(
        "temporal", FILTERS, "Same place and kind within this are one (default 5m).", "DURATION"
    ),
    Choice(
        "spatial", FILTERS, "Same kind at any place within this is one (default 5m).", "DURATION"
    ),
    Choice(
        "causal",
        FILTERS,
        "What regularly follows another kind within this goes (default 5m).",
        "DURATION",
    ),
    Choice(
        "clusters",
        FILTERS,
        "Whatever comes within this of another record is one (default 5m).",
        "DURATION",
    ),
    Choice(
        "rule",
        FILTERS,
        "Measured against the record before, or the last one kept (default seen).",
        choices=("seen", "kept"),
    ),
    Choice(
        "within",
        FILTERS,
        "The part of the machine that spatial and clusters merge over (default system).",
        "LEVEL",
    ),
    Choice("support", FILTERS, "Causes: times that the other must have followed (default 5).", "N"),
    Choice(
        "confidence",
        FILTERS,
        "Causes: share of the cause's occurrences that are followed (default 0.5).",
        "SHARE",
    ),
    Choice("lift", FILTERS, "Causes: that share over what chance would give (default 2).", "X"),
)
"""Options of the filters: keys of `FilterSettings`."""


def filter_log(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="An event log of any known form: RAS or syslog."),
    ],
    given: Annotated[Given, Table(READ, MERGE)],
    level: Annotated[
        str,
        Setting(
            "What a node of the failures is: whole, node, card, nodecard, midplane, rack, prefix "
            "or system",
            shown="LEVEL",
            group=FILTERS,
        ),
    ] = "node",
    out: Annotated[
        Path | None,
        Setting("Where the failures go, as our own CSV with dates and names", group=OUTPUT),
    ] = None,
    names: Annotated[
        Path | None, Setting("Where the names of the nodes go: node,name", group=OUTPUT)
    ] = None,
    records: Annotated[
        Path | None, Setting("Where the records that are left go", group=OUTPUT)
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn the records of an event log into failures, and say what each filter took."""
    settings, reading = events_filter.settings_of(given), events_filter.reading_of(given)
    with ProgressBar("megabytes", quiet=quiet) as bar:
        done = events_filter.study(log, reading, settings, level, bar)
    written = events_filter.write_failures(done, out, names, records)
    if as_json:
        say_json(done.summary)
    elif not quiet:
        print_filtered(done.summary)
        if written:
            say()
        for line in written:
            say(line)


def print_filtered(summary: Mapping[str, Any]) -> None:
    """Print what each step took, which kinds are left, and the failures a day."""
    say(words.headline(summary))
    for line in words.warnings(summary):
        say(line)
    say()
    show(words.step_rows(summary), words.STEP_HEADS, right=(2, 3, 4, 5))
    kinds = words.kind_rows(summary["top_kinds"], summary["left"])
    if kinds:
        say()
        say("Kinds left")
        show(kinds, ("records", "share", "kind"), right=(0, 1))
    rules = words.rule_rows(summary)
    if rules:
        say()
        say(words.rules_line(summary))
        show(rules, words.RULE_HEADS, right=(2, 3), wrap=(0, 1))
    say()
    for line in words.on_failures(summary):
        say(line)
    months = words.period_rows(summary)
    if months:
        show(months, ("period", "failures", "a day"), right=(1, 2))
    remarks = words.remark_rows(summary)
    if remarks:
        say()
    for line in remarks:
        say(line)


def generate_ras(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    nodes: Annotated[int, Setting("Nodes of the machine", group=MADE)] = 128,
    days: Annotated[float, Setting("Length", shown="DAYS", group=MADE)] = 90,
    mttf_hours: Annotated[
        float, Setting("Mean time between failures of a node", shown="HOURS", group=MADE)
    ] = 7305,
    burst_share: Annotated[
        float, Setting("Failures that follow one of their cause", shown="SHARE", group=MADE)
    ] = 0.333,
    repeats: Annotated[
        float, Setting("Further records of a failure by its node", shown="N", group=MADE)
    ] = 5.0,
    echoes: Annotated[
        float, Setting("Records of a failure by other nodes", shown="N", group=MADE)
    ] = 3.0,
    warned: Annotated[
        float, Setting("Failures that records warn of beforehand", shown="SHARE", group=MADE)
    ] = 0.5,
    lead_hours: Annotated[
        float, Setting("Mean time from first warning to failure", shown="HOURS", group=MADE)
    ] = 1.0,
    false_warnings: Annotated[
        float, Setting("Warnings of nothing, a node and day", shown="N", group=MADE)
    ] = 0.002,
    noise: Annotated[
        float, Setting("Records of no failure, a node and day", shown="N", group=MADE)
    ] = 2.0,
    fatal_noise: Annotated[
        float, Setting("Those of them that are FATAL", shown="SHARE", group=MADE)
    ] = 0.0,
    seed: Annotated[int, Setting("Of all that is drawn", group=MADE)] = 1,
    truth: Annotated[
        Path | None, Setting("Where the true failures go: our own CSV and more", group=OUTPUT)
    ] = None,
) -> None:
    """Make up an event log with known failures, told many times over, and warnings before them.

    OUT is a .csv (.gz, .xz and .zst are packed) or a .parquet file.
    """
    if not write.is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    bursts = times.Bursts(share=burst_share, size=3.0, spread=30.0)
    warnings = made.Warnings(warned, lead_hours, false_per_node_day=false_warnings)
    log, failures, known = made.generate_ras(
        nodes,
        days,
        seed,
        mttf_hours=mttf_hours,
        bursts=bursts,
        reports=made.Reports(repeats, echoes),
        warnings=warnings,
        noise=made.Noise(noise, fatal_noise),
    )
    ras_write.write_ras(log, out)
    say(f"{len(log):,} records of {len(failures):,} failures on {nodes:,} nodes in {out}")
    if truth is not None:
        events_filter.write_truth(failures, known, truth)
        say(
            f"{len(failures):,} failures, {int(known.warned.sum()):,} of them warned of, in {truth}"
        )
