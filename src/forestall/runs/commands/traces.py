"""`forestall traces`: what is in a log, other formats, filters, and made-up logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import READING, Json
from forestall.core.commands.questions import Given, TextOptions
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import say_json, show
from forestall.core.model.settings import Setting
from forestall.logs.commands import filter as traces_filter
from forestall.logs.commands import generate as traces_generate

with lazily():
    from forestall.logs import info as traces_info
    from forestall.logs import written
    from forestall.runs import logs

Reading: TypeAlias = Annotated[
    Given, TextOptions(choice for choice in READING if choice.name != "failures")
]
Count: TypeAlias = Annotated[int, Field(ge=1)]
app = group_of(
    "Describe a log, convert it, filter it, or generate one.",
    "forestall traces info jobs.swf",
    "forestall traces generate --help",
)


@command(
    app,
    "info",
    "forestall traces info jobs.swf",
    "forestall traces info lanl.csv --system 19 --from 2003-07-18T16:00 --days 365",
    "forestall traces info ras.log --as events",
)
def info(
    log: Annotated[Path, typer.Argument(metavar="FILE", help="A log of any known format.")],
    given: Reading,
    nodes: Annotated[
        Count | None,
        Setting("Nodes of the machine, to compute the load (default: from the log)"),
    ] = None,
    kind: Annotated[
        Literal["log", "events", "metrics", "records"] | None,
        Setting(
            "Kind of log: jobs, failures, events, node metrics or accounting records (default: "
            "detected; jobs or failures first)",
            option="as",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe a log: span, counts, sizes, load, gaps, oddities.

    FILE holds jobs, failures, events, metrics of nodes, or accounting records of jobs.
    """
    what = kind or ("log" if "failure_format" in given else logs.kind_of(log))
    if what == "log":
        rows = traces_info.describe(logs.read_log(log, given), nodes=nodes).rows()
    else:
        rows = logs.read_beside(log, what, given).rows()
    if as_json:
        say_json([{"what": label, "value": value} for label, value in rows])
    else:
        show(rows)


@command(
    app,
    "convert",
    "forestall traces convert jobs.swf.gz jobs.parquet",
    "forestall traces convert lanl.csv failures.csv --system 20",
)
def convert(
    log: Annotated[
        Path, typer.Argument(metavar="FILE", help="A job log or a failure log of any known format.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    given: Reading,
    as_json: Json = False,
) -> None:
    """Write a job log as SWF, CSV or Parquet (by the name of OUT), a failure log as our own CSV.

    Names that end in .gz, .xz or .zst are packed.
    """
    traces_generate.tell_written(written.write_log(logs.read_log(log, given), out), as_json=as_json)


command(
    app,
    "filter",
    "forestall traces filter BGL.log --out failures.csv",
    "forestall traces filter BGL.log --steps alerts,temporal,spatial --granularity midplane",
    "forestall traces filter messages.gz --year 2024 --severity ERROR --temporal 10m --json",
)(traces_filter.filter_log)
app.add_typer(traces_generate.made, name="generate")
