"""Options of every command that reads a site's records: which, from when to when, and what of
them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT
from forestall.core.commands.questions import Given, TextOptions, texts
from forestall.core.commands.spellings import spelled
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration

with lazily():
    from forestall.reliability.report import failure_rate
    from forestall.slurm.sources import sources

if TYPE_CHECKING:
    from forestall.reliability.report.failure_rate import MeasuredRate
    from forestall.slurm.sources.sources import GivenRecords

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
    *texts(
        RECORDS,
        ("slurm", "Query Slurm on this machine (read only)", "off"),
        (
            "zone",
            "Time zone of the records and of hours of the day, such as Europe/Berlin (default: "
            "UTC)",
            "ZONE",
        ),
        (
            "processors_per_node",
            "Processors per node, to convert the job sizes of SWF logs (default 1)",
            "P",
        ),
        ("cluster", "Cluster to read, where records are of several", "NAME"),
        ("timeout", "Time limit of each Slurm command (default 10m)", "DURATION"),
        ("strict", "Reject a log with rows that would be skipped or changed", "off"),
        rare={"processors_per_node", "cluster", "timeout", "strict"},
    ),
    *texts(
        CUT,
        (
            "since",
            "Start of the period: a date, an age such as 90d, or all (default: all; 90d with "
            "{slurm})",
            "TIME|DURATION|all",
        ),
        ("until", "End of the period (default: the end of the records)", "TIME"),
        ("partition", "Only runs in this partition", "NAME"),
        ("min_nodes", "Only runs on at least this many nodes (default 1)", "N"),
        rare={"min_nodes"},
    ),
    *texts(
        FAILURE_LOG,
        ("failures", "Failure log, for records without Slurm's node outages", "FILE"),
        ("failure_format", "File format (default: detected)", "NAME"),
        ("system", "System to read, where the log holds several", "NAME"),
        (
            "from",
            "Start of the window in the failure log, such as 2003-07-18T16:00; it is aligned with "
            "the first job",
            "TIME",
        ),
        ("days", "Length of that window, in days", "DAYS"),
        ("fold_nodes", "Count this many neighboring nodes as one", "K"),
        rare={"failure_format", "system", "from", "days", "fold_nodes"},
    ),
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
        cluster=told.get("cluster"),
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
    for one in SITE:
        name = "start" if one.name == "from" else one.name
        value = getattr(given, name)
        if value != getattr(plain, name):
            raise ParameterError(
                spelled(one.name), value, "records to go with it: --slurm or FILES"
            )


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
