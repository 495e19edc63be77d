"""`forestall traces`: what is in a log, other formats, filters, and made-up logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer
from pydantic import Field

from forestall._lazy import lazily
from forestall.cli.choice import Given, Table
from forestall.cli.registry import command, examples
from forestall.cli.runs.options import READING, Json
from forestall.cli.screen import say, say_json, show
from forestall.cli.traces import filter as traces_filter
from forestall.cli.traces import generate as traces_generate
from forestall.model.errors import ParameterError
from forestall.model.settings import Setting

with lazily():
    from forestall.app import logs
    from forestall.traces import info as traces_info
    from forestall.traces.generate import failures as traces_failures
    from forestall.traces.generate import jobs, presets, times

Reading: TypeAlias = Annotated[
    Given, Table(choice for choice in READING if choice.name != "failures")
]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Nodes: TypeAlias = Annotated[Count, Setting("Nodes of the machine")]
Seed: TypeAlias = Annotated[Annotated[int, Field(ge=0)], Setting("Of all that is drawn")]
Out: TypeAlias = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


def group() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(
        help="Say what is in a log, write it in another format, filter it, or make one up.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples("forestall traces info jobs.swf", "forestall traces generate --help"),
    )
    command(
        app,
        "info",
        "forestall traces info jobs.swf",
        "forestall traces info lanl.csv --system 19 --from 2003-07-18T16:00 --days 365",
        "forestall traces info ras.log --as events",
    )(info)
    command(
        app,
        "convert",
        "forestall traces convert jobs.swf.gz jobs.parquet",
        "forestall traces convert lanl.csv failures.csv --system 20",
    )(convert)
    traces_filter.add_to(app)
    made = typer.Typer(
        help="Make up a log from published models.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples(
            "forestall traces generate jobs jobs.swf --nodes 128 --days 14 --load 0.8",
            "forestall traces generate failures failures.csv --nodes 128 --days 365",
        ),
    )
    command(
        made,
        "jobs",
        "forestall traces generate jobs jobs.swf --nodes 128 --days 14 --load 0.8",
        "forestall traces generate jobs jobs.parquet --count 1000000 --nodes 1024",
    )(generate_jobs)
    command(
        made,
        "failures",
        "forestall traces generate failures failures.csv --nodes 128 --days 365",
        "forestall traces generate failures failures.csv --preset lanl05 --nodes 1024 --days 90",
    )(generate_failures)
    traces_filter.add_generate_to(made)
    traces_generate.add_generate_to(made)
    app.add_typer(made, name="generate")
    return app


def info(
    log: Annotated[Path, typer.Argument(metavar="FILE", help="A log of any known format.")],
    given: Reading,
    nodes: Annotated[
        Count | None,
        Setting("Nodes of the machine, for the load (default: as the log tells)"),
    ] = None,
    kind: Annotated[
        Literal["log", "events", "metrics", "records"] | None,
        Setting(
            "Jobs or failures, events, metrics of nodes, accounting records of jobs (default: as "
            "it looks; jobs or failures first)",
            option="as",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is in a log: span, counts, sizes, load, gaps, oddities.

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


def convert(
    log: Annotated[
        Path, typer.Argument(metavar="FILE", help="A job log or a failure log of any known format.")
    ],
    out: Out,
    given: Reading,
) -> None:
    """Write a job log as SWF, CSV or Parquet (by the name of OUT), a failure log as our own CSV.

    Names that end in .gz, .xz or .zst are packed.
    """
    say(logs.write_log(logs.read_log(log, given), out))


def generate_jobs(
    out: Out,
    nodes: Nodes = 128,
    count: Annotated[int | None, Setting("How many jobs; or:")] = None,
    days: Annotated[float | None, Setting("from how many days", shown="DAYS")] = None,
    load: Annotated[
        float | None,
        Setting("Offered load, such as 0.8 (default: as the model has it)", shown="SHARE"),
    ] = None,
    model: Annotated[Literal["all", "batch", "interactive"], Setting("Which jobs")] = "all",
    seed: Seed = 1,
) -> None:
    """Make up jobs by the model of Lublin and Feitelson (2003)."""
    say(
        logs.write_log(
            jobs.generate_jobs(nodes, seed, count=count, days=days, load=load, model=model), out
        )
    )


def generate_failures(
    out: Out,
    nodes: Nodes = 128,
    days: Annotated[float, Setting("Length", shown="DAYS")] = 365,
    mttf_hours: Annotated[
        float | None, Setting("Mean time between failures of a node; or:", shown="HOURS")
    ] = None,
    rate_per_year: Annotated[
        float | None,
        Setting("failures a year of the whole machine (default: as LANL's system 20)", shown="N"),
    ] = None,
    shape: Annotated[float, Setting("Of the Weibull law; 1 is Poisson", shown="K")] = 0.7,
    heterogeneity: Annotated[
        float, Setting("Variance of the nodes' relative rates", shown="V")
    ] = 0.2,
    repair: Annotated[
        Literal["lognormal", "weibull", "constant"],
        Setting("Law of down times, of LANL's mean of 5.9 h"),
    ] = "lognormal",
    burst_share: Annotated[float, Setting("Failures that follow another", shown="SHARE")] = 0.05,
    unpredictable: Annotated[
        float, Setting("Only perfect predictors foresee these", shown="SHARE")
    ] = 0.0,
    preset: Annotated[
        str | None,
        Setting(
            "Up and down times of a system of the Failure Trace Archive, such as lanl05",
            shown="NAME",
            offered=lambda: presets.PRESETS,
        ),
    ] = None,
    seed: Seed = 1,
) -> None:
    """Make up failures: Weibull lifetimes, nodes that differ, bursts."""
    if preset is not None:
        given = (mttf_hours, rate_per_year, shape, repair, burst_share, unpredictable)
        if given != (None, None, 0.7, "lognormal", 0.05, 0.0):
            raise ParameterError("--preset", preset, "no other options of the law beside it")
        say(logs.write_log(presets.preset_failures(preset, nodes, days, seed), out))
        return
    failures = traces_failures.generate_failures(
        nodes,
        days,
        seed,
        mttf_hours=mttf_hours,
        rate_per_year=rate_per_year,
        shape=shape,
        heterogeneity=heterogeneity,
        bursts=times.Bursts(share=burst_share),
        repair=repair,
        unpredictable=unpredictable,
    )
    say(logs.write_log(failures, out))
