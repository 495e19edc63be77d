"""`forestall traces generate memory`, `hosts`, `guests`: scenarios of which the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON
from forestall.cli.screen import say, say_json
from forestall.model.errors import ParameterError, TraceError
from forestall.model.units import parse_duration

with lazily():
    from forestall.app import logs
    from forestall.traces import host_speeds
    from forestall.traces.generate import guests, memory
    from forestall.traces.generate import hosts as traces_hosts
    from forestall.traces.metrics import write

FOLDER = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder to write into (made where missing).")
]
OUT = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write, .csv (packed too) or .parquet.")
]
JOBS_OUT = Annotated[
    Path, typer.Argument(metavar="OUT", help="The job log to write, .csv, .parquet or .swf.")
]
PERIOD = Annotated[
    str, typer.Option("--period", metavar="DURATION", help="Between samples, such as 60s.")
]
SEED = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of all that is drawn.")]


def add_generate_to(group: typer.Typer) -> None:
    """Add the commands to the group `forestall traces generate`."""
    command(
        group,
        "memory",
        "forestall traces generate memory leaks/",
        "forestall traces generate memory null/ --relation 0 --nodes 64 --days 8",
    )(generate_memory)
    command(
        group,
        "hosts",
        "forestall traces generate hosts hosts.csv --hosts 20 --days 90 --period 60",
        "forestall traces generate hosts hosts.parquet --hosts 20 --days 91 --period 6 --speeds "
        "speeds.csv",
    )(generate_hosts)
    command(
        group,
        "guests",
        "forestall traces generate guests guests.csv --count 500 --days 28",
        "forestall traces generate guests guests.csv --lengths 30m,1h,2h --hours 9:17 --seed 7",
    )(generate_guests)


def generate_memory(
    folder: FOLDER,
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, metavar="N", help="Nodes of the machine.")
    ] = 288,
    days: Annotated[float, typer.Option("--days", metavar="DAYS", help="Length.")] = 16,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            help="How many jobs (default: the paper's 4,178 on 288 nodes in 16 days, in scale).",
            show_default=False,
        ),
    ] = None,
    relation: Annotated[
        float,
        typer.Option("--relation", metavar="R", help="How strongly lost memory kills; 0: not."),
    ] = 1.0,
    load: Annotated[
        float, typer.Option("--load", metavar="SHARE", help="Of the node-time, taken by jobs.")
    ] = 0.7,
    period: PERIOD = "60s",
    format: Annotated[
        Literal["parquet", "csv"], typer.Option("--format", help="Of the samples.")
    ] = "parquet",
    seed: SEED = 1,
    as_json: JSON = False,
) -> None:
    """Make up jobs and memory samples of nodes that lose memory to jobs (Brandt et al.).

    Writes jobs.csv, metrics.parquet (or .csv), and what was put in: truth.csv (a row a job) and
    leaks.csv (what each node lacks, from when).
    """
    step = parse_duration(period, "period", exact=True)
    records, metrics, truth = memory.generate_memory(
        seed, nodes=nodes, days=days, jobs=jobs, relation=relation, load=load, period=step
    )
    memory.write_scenario(folder, records, metrics, truth, format)
    killed = int(truth.killed.sum())
    if as_json:
        say_json(
            {
                "jobs": len(records),
                "samples": len(metrics),
                "nodes": records.nodes,
                "killed_by_memory": killed,
                "states": records.counts(),
            }
        )
        return
    ends = ", ".join(f"{count:,} {state}" for state, count in records.counts().items())
    say(f"{len(records):,} jobs ({ends}), {killed:,} of them killed by memory, and "
        f"{len(metrics):,} samples of {records.nodes:,} nodes in {folder}")  # fmt: skip


def generate_hosts(
    out: OUT,
    hosts: Annotated[int, typer.Option("--hosts", min=1, metavar="N", help="How many.")] = 20,
    days: Annotated[float, typer.Option("--days", metavar="DAYS", help="Length.")] = 90,
    period: PERIOD = "60s",
    th1: Annotated[
        float, typer.Option("--th1", metavar="SHARE", help="Load at which a guest steps back.")
    ] = 0.2,
    th2: Annotated[
        float, typer.Option("--th2", metavar="SHARE", help="Load at which a guest has to end.")
    ] = 0.6,
    guest_memory: Annotated[
        float, typer.Option("--guest-memory", metavar="SHARE", help="That a guest needs.")
    ] = 0.1,
    owners: Annotated[
        Literal["alike", "own"],
        typer.Option(
            "--owners",
            help="Heavy work at the same hours on some days, or at an owner's own hours on nearly "
            "every workday.",
        ),
    ] = "alike",
    speeds: Annotated[
        Path | None,
        typer.Option(
            "--speeds",
            metavar="FILE.csv",
            help="Write clock rate ratios from 0.7 to 1.3, too.",
            show_default=False,
        ),
    ] = None,
    seed: SEED = 1,
) -> None:
    """Make up CPU load and free memory of hosts that their owners use, day by day alike.

    A host that is away has no samples. Time 0 is a Monday, 0:00 UTC. This is what simulate --model
    cycle reads by --hosts, and the speeds by --host-speeds.
    """
    if not write.is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    step = parse_duration(period, "period", exact=True)
    metrics = traces_hosts.generate_hosts(
        hosts, days, seed, step, th1=th1, th2=th2, guest_memory=guest_memory, owners=owners
    )
    write.write_metrics(metrics, out)
    beside = ""
    if speeds is not None:
        host_speeds.write_speeds(
            [str(k) for k in range(hosts)], guests.draw_speeds(hosts, seed), speeds
        )
        beside = f", and their speeds in {speeds}"
    say(f"{len(metrics):,} samples of {hosts:,} hosts in {out}{beside}")


def generate_guests(
    out: JOBS_OUT,
    count: Annotated[int, typer.Option("--count", min=1, metavar="N", help="How many jobs.")] = 500,
    days: Annotated[
        int, typer.Option("--days", min=1, metavar="DAYS", help="On which they are submitted.")
    ] = 28,
    lengths: Annotated[
        str,
        typer.Option(
            "--lengths", metavar="DURATION[,...]", help="Run times, equally many of each."
        ),
    ] = "30m,1h,2h,3h,4h,5h,6h",
    hours: Annotated[
        str,
        typer.Option("--hours", metavar="FROM:TO", help="Between which hours of the day."),
    ] = "6:22",
    seed: SEED = 1,
) -> None:
    """Make up guest jobs of one processor each, submitted evenly between two hours of the day.

    Time 0 is a Monday's midnight. The defaults are the workload of the FALCON slides (Bagchi et
    al.).
    """
    try:
        first, last = (float(hour) for hour in hours.split(":"))
    except ValueError:
        raise ParameterError("hours", hours, "FROM:TO within 0:24, such as 6:22") from None
    whole = tuple(parse_duration(length, "lengths", exact=True) for length in lengths.split(","))
    say(
        logs.write_log(
            guests.generate_guests(count, seed, days=days, lengths=whole, hours=(first, last)), out
        )
    )
