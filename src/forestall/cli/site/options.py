"""Options of every command that reads a site's records: which, from when to when, and what of
them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from forestall._lazy import lazily
from forestall.cli.choice import Choice, Given, TextOptions
from forestall.cli.runs.options import OUTPUT
from forestall.cli.spellings import spelled
from forestall.model.errors import ParameterError
from forestall.model.settings import Setting
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.site import sources
    from forestall.app.site.nodes import failure_rate

if TYPE_CHECKING:
    from forestall.app.site.nodes.failure_rate import MeasuredRate
    from forestall.app.site.sources import GivenRecords

RECORDS: Final = "Records"
CUT: Final = "Filters"
FAILURE_LOG: Final = "Failure log"

OpenMetrics: TypeAlias = Annotated[
    str | None,
    Setting(
        "Write all figures for Prometheus; -: print only these",
        shown="FILE|-", group=OUTPUT,
    ),
]  # fmt: skip
Files: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Output of sacct, sacctmgr, scontrol and squeue, a folder of `import slurm`, a job "
        "log in SWF, or a failure log. Formats are detected from the content.",
        show_default=False,
    ),
]
"""The files of a site, told apart by content."""

SITE: Final = (
    Choice("slurm", RECORDS, "Query Slurm on this machine (read only).", flag=True),
    Choice(
        "zone",
        RECORDS,
        "Time zone of the records and of hours of the day, such as Europe/Berlin (default: UTC).",
        "ZONE",
    ),
    Choice(
        "processors_per_node",
        RECORDS,
        "Processors per node, to convert the job sizes of SWF logs (default 1).",
        "P",
    ),
    Choice("timeout", RECORDS, "Time limit of each Slurm command (default 10m).", "DURATION"),
    Choice(
        "strict",
        RECORDS,
        "Reject a log with rows that would be skipped or changed.",
        flag=True,
    ),
    Choice(
        "since",
        CUT,
        "Start of the period: a date, an age such as 90d, or all (default: all; 90d with --slurm).",
        "TIME|DURATION|all",
    ),
    Choice("until", CUT, "End of the period (default: the end of the records).", "TIME"),
    Choice("partition", CUT, "Only runs in this partition.", "NAME"),
    Choice("min_nodes", CUT, "Only runs on at least this many nodes (default 1).", "N"),
    Choice(
        "failures", FAILURE_LOG, "Failure log, for records without Slurm's node outages.", "FILE"
    ),
    Choice("failure_format", FAILURE_LOG, "File format (default: detected).", "NAME"),
    Choice("system", FAILURE_LOG, "System to read, where the log holds several.", "NAME"),
    Choice(
        "from",
        FAILURE_LOG,
        "Start of the window in the failure log, such as 2003-07-18T16:00; it is aligned with"
        " the first job.",
        "TIME",
    ),
    Choice("days", FAILURE_LOG, "Length of that window, in days.", "DAYS"),
    Choice("fold_nodes", FAILURE_LOG, "Count this many neighboring nodes as one.", "K"),
)
SiteOptions: TypeAlias = Annotated[Given, TextOptions(SITE)]
"""A command hands them to `given_of`."""


def given_of(files: Sequence[Path] | None, told: Given) -> sources.GivenRecords:
    """Return what a command was told about its records; ParameterError names the option.

    `told` are options of `SITE`, as text.
    """
    failures = told.get("failures")
    timeout = told.get("timeout")
    return sources.GivenRecords(
        paths=tuple(Path(path) for path in files or ()),
        slurm=bool(told.get("slurm")),
        failures=None if failures is None else Path(failures),
        system=told.get("system"),
        start=told.get("from"),
        days=_number(told, "days"),
        fold_nodes=_whole(told, "fold_nodes"),
        failure_format=told.get("failure_format"),
        processors_per_node=_whole(told, "processors_per_node"),
        zone=told.get("zone"),
        since=told.get("since"),
        until=told.get("until"),
        partition=told.get("partition"),
        min_nodes=_whole(told, "min_nodes"),
        timeout=sources.TIMEOUT if timeout is None else _waiting(timeout),
        strict=bool(told.get("strict")),
        spell=spelled,
    )


def rate_of(given: GivenRecords, told: object = None) -> MeasuredRate | None:
    """Return a node's failure rate as records tell it; None where none are given.

    `told` is a rate or mean time that was told besides. Raises ParameterError where both are, and
    where the records have no failure to count.
    """
    if given.nothing:
        _refuse_alone(given)
        return None
    if told is not None:
        allowed = f"either {spelled('mttf')} or --rate, or records: --slurm, FILES"
        raise ParameterError("--slurm" if given.slurm else "FILES", _named(given), allowed)

    return failure_rate.rate_of_records(given)


def _refuse_alone(given: sources.GivenRecords) -> None:
    """Raise ParameterError for an option about records where there are none."""
    plain = sources.GivenRecords()
    for choice in SITE:
        name = "start" if choice.name == "from" else choice.name
        value = getattr(given, name)
        if value != getattr(plain, name):
            raise ParameterError(choice.spelling, value, "records to go with it: --slurm or FILES")


def metrics_place(openmetrics: str | None, *, as_json: bool) -> None:
    """Check where metrics go before any work is done: not where JSON goes too, and into a folder
    that is there. Raises ParameterError."""
    if openmetrics is None:
        return
    if openmetrics == "-":
        if as_json:
            allowed = "a file beside --json: both cannot be printed"
            raise ParameterError("--openmetrics", openmetrics, allowed)
        return
    place = Path(openmetrics)
    if place.is_dir():
        raise ParameterError("--openmetrics", openmetrics, "a file, not a folder of that name")
    if not place.parent.is_dir():
        raise ParameterError("--openmetrics", openmetrics, "a file in a folder that is there")


def _waiting(timeout: str) -> int:
    seconds = parse_duration(timeout, "--timeout")
    if seconds == 0:
        raise ParameterError("--timeout", timeout, "a duration of at least 1s")
    return seconds


def _named(given: GivenRecords) -> str:
    paths = [str(path) for path in given.paths]
    if given.failures is not None:
        paths.append(str(given.failures))
    return ", ".join(paths)


def _whole(told: dict[str, Any], name: str) -> int:
    text = told.get(name, "1")
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ParameterError(spelled(name), text, "a whole number of at least 1")
    return value


def _number(told: dict[str, Any], name: str) -> float | None:
    text = told.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:  # also refuses nan
        raise ParameterError(f"--{name}", text, "a number above 0")
    return value
