"""`forestall traces`: what is in a log, other formats, filters, and made-up logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command, examples
from forestall.cli.runs.options import JSON, READING, chosen
from forestall.cli.screen import say, say_json, show
from forestall.cli.traces import filter as traces_filter
from forestall.cli.traces import generate as traces_generate
from forestall.model.errors import ParameterError

with lazily():
    from forestall.app import logs
    from forestall.traces import info as traces_info
    from forestall.traces.generate import failures as traces_failures
    from forestall.traces.generate import jobs, presets, times

LOG = Annotated[
    Path, typer.Argument(metavar="FILE", help="A job log or a failure log of any known format.")
]
ANY_LOG = Annotated[Path, typer.Argument(metavar="FILE", help="A log of any known format.")]
READ = tuple(choice for choice in READING if choice.name != "failures")
NODES = Annotated[int, typer.Option("--nodes", min=1, metavar="N", help="Nodes of the machine.")]
SEED = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of all that is drawn.")]
OUT = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


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


@with_options(READ)
def info(
    log: ANY_LOG,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            min=1,
            metavar="N",
            help="Nodes of the machine, for the load (default: as the log tells).",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        Literal["log", "events", "metrics", "records"] | None,
        typer.Option(
            "--as",
            help="Jobs or failures, events, metrics of nodes, accounting records of jobs (default: "
            "as it looks; jobs or failures first).",
            show_default=False,
        ),
    ] = None,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Say what is in a log: span, counts, sizes, load, gaps, oddities.

    FILE holds jobs, failures, events, metrics of nodes, or accounting records of jobs.
    """
    values = chosen(given)
    what = kind or ("log" if "failure_format" in values else logs.kind_of(log))
    if what == "log":
        rows = traces_info.describe(logs.read_log(log, values), nodes=nodes).rows()
    else:
        rows = logs.read_beside(log, what, values).rows()
    if as_json:
        say_json([{"what": label, "value": value} for label, value in rows])
    else:
        show(rows)


@with_options(READ)
def convert(log: LOG, out: OUT, **given: Any) -> None:
    """Write a job log as SWF, CSV or Parquet (by the name of OUT), a failure log as our own CSV.

    Names that end in .gz, .xz or .zst are packed.
    """
    say(logs.write_log(logs.read_log(log, chosen(given)), out))


def generate_jobs(
    out: OUT,
    nodes: NODES = 128,
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", help="How many jobs; or:", show_default=False),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="DAYS", help="from how many days.", show_default=False),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            "--load",
            metavar="SHARE",
            help="Offered load, such as 0.8 (default: as the model has it).",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Literal["all", "batch", "interactive"], typer.Option("--model", help="Which jobs.")
    ] = "all",
    seed: SEED = 1,
) -> None:
    """Make up jobs by the model of Lublin and Feitelson (2003)."""
    say(
        logs.write_log(
            jobs.generate_jobs(nodes, seed, count=count, days=days, load=load, model=model), out
        )
    )


MTTF = Annotated[
    float | None,
    typer.Option(
        "--mttf-hours",
        metavar="HOURS",
        help="Mean time between failures of a node; or:",
        show_default=False,
    ),
]
RATE = Annotated[
    float | None,
    typer.Option(
        "--rate-per-year",
        metavar="N",
        help="failures a year of the whole machine (default: as LANL's system 20).",
        show_default=False,
    ),
]
SHAPE = Annotated[
    float, typer.Option("--shape", metavar="K", help="Of the Weibull law; 1 is Poisson.")
]
HETEROGENEITY = Annotated[
    float,
    typer.Option("--heterogeneity", metavar="V", help="Variance of the nodes' relative rates."),
]
REPAIR = Annotated[
    Literal["lognormal", "weibull", "constant"],
    typer.Option("--repair", help="Law of down times, of LANL's mean of 5.9 h."),
]
BURSTS = Annotated[
    float,
    typer.Option("--burst-share", metavar="SHARE", help="Failures that follow another."),
]
HIDDEN = Annotated[
    float,
    typer.Option("--unpredictable", metavar="SHARE", help="Only perfect predictors foresee these."),
]


def _presets() -> list[str]:
    return list(presets.PRESETS)


PRESET = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Up and down times of a system of the Failure Trace Archive, such as lanl05.",
        show_default=False,
        autocompletion=_presets,
    ),
]


def generate_failures(
    out: OUT,
    nodes: NODES = 128,
    days: Annotated[float, typer.Option("--days", metavar="DAYS", help="Length.")] = 365,
    mttf_hours: MTTF = None,
    rate_per_year: RATE = None,
    shape: SHAPE = 0.7,
    heterogeneity: HETEROGENEITY = 0.2,
    repair: REPAIR = "lognormal",
    burst_share: BURSTS = 0.05,
    unpredictable: HIDDEN = 0.0,
    preset: PRESET = None,
    seed: SEED = 1,
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
