"""`forestall traces filter` and `forestall traces generate ras`: event logs and their failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import Choice, with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, OUTPUT, QUIET, chosen
from forestall.cli.screen import ProgressBar, say, say_json, show
from forestall.model.errors import TraceError

with lazily():
    from forestall.app.reliability.events import filter as events_filter
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


LOG = Annotated[
    Path, typer.Argument(metavar="LOG", help="An event log of any known form: RAS or syslog.")
]
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

LEVEL = Annotated[
    str,
    typer.Option(
        "--level",
        metavar="LEVEL",
        help="What a node of the failures is: whole, node, card, nodecard, midplane, rack, prefix "
        "or system.",
        rich_help_panel=FILTERS,
    ),
]


def _file(name: str, what: str) -> Any:
    return typer.Option(
        f"--{name}", metavar="FILE", help=what, rich_help_panel=OUTPUT, show_default=False
    )


OUT = Annotated[
    Path | None, _file("out", "Where the failures go, as our own CSV with dates and names.")
]
NAMES = Annotated[Path | None, _file("names", "Where the names of the nodes go: node,name.")]
RECORDS = Annotated[Path | None, _file("records", "Where the records that are left go.")]


@with_options(READ, MERGE)
def filter_log(
    log: LOG,
    level: LEVEL = "node",
    out: OUT = None,
    names: NAMES = None,
    records: RECORDS = None,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Turn the records of an event log into failures, and say what each filter took."""
    settings, reading = (
        events_filter.settings_of(chosen(given)),
        events_filter.reading_of(chosen(given)),
    )
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
    say(events_filter.headline(summary))
    for line in events_filter.warnings(summary):
        say(line)
    say()
    show(events_filter.step_rows(summary), events_filter.STEP_HEADS, right=(2, 3, 4, 5))
    kinds = events_filter.kind_rows(summary["top_kinds"], summary["left"])
    if kinds:
        say()
        say("Kinds left")
        show(kinds, ("records", "share", "kind"), right=(0, 1))
    rules = events_filter.rule_rows(summary)
    if rules:
        say()
        say(events_filter.rules_line(summary))
        show(rules, events_filter.RULE_HEADS, right=(2, 3), wrap=(0, 1))
    say()
    for line in events_filter.on_failures(summary):
        say(line)
    months = events_filter.period_rows(summary)
    if months:
        show(months, ("period", "failures", "a day"), right=(1, 2))
    remarks = events_filter.remark_rows(summary)
    if remarks:
        say()
    for line in remarks:
        say(line)


def _made(name: str, metavar: str, what: str) -> Any:
    return typer.Option(f"--{name}", metavar=metavar, help=what, rich_help_panel=MADE)


MADE_OUT = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]
NODES = Annotated[int, _made("nodes", "N", "Nodes of the machine.")]
LENGTH = Annotated[float, _made("days", "DAYS", "Length.")]
MTTF = Annotated[float, _made("mttf-hours", "HOURS", "Mean time between failures of a node.")]
BURSTS = Annotated[float, _made("burst-share", "SHARE", "Failures that follow one of their cause.")]
REPEATS = Annotated[float, _made("repeats", "N", "Further records of a failure by its node.")]
ECHOES = Annotated[float, _made("echoes", "N", "Records of a failure by other nodes.")]
WARNED = Annotated[float, _made("warned", "SHARE", "Failures that records warn of beforehand.")]
LEAD = Annotated[float, _made("lead-hours", "HOURS", "Mean time from first warning to failure.")]
FALSE = Annotated[float, _made("false-warnings", "N", "Warnings of nothing, a node and day.")]
NOISE = Annotated[float, _made("noise", "N", "Records of no failure, a node and day.")]
FATAL = Annotated[float, _made("fatal-noise", "SHARE", "Those of them that are FATAL.")]
SEED = Annotated[int, _made("seed", "N", "Of all that is drawn.")]
TRUTH = Annotated[Path | None, _file("truth", "Where the true failures go: our own CSV and more.")]


def generate_ras(
    out: MADE_OUT,
    nodes: NODES = 128,
    days: LENGTH = 90,
    mttf_hours: MTTF = 7305,
    burst_share: BURSTS = 0.333,
    repeats: REPEATS = 5.0,
    echoes: ECHOES = 3.0,
    warned: WARNED = 0.5,
    lead_hours: LEAD = 1.0,
    false_warnings: FALSE = 0.002,
    noise: NOISE = 2.0,
    fatal_noise: FATAL = 0.0,
    seed: SEED = 1,
    truth: TRUTH = None,
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
