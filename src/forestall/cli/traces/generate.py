"""`forestall traces generate memory`, `hosts`, `guests`: scenarios of which the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer
from pydantic import Field

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import Json
from forestall.cli.screen import say, say_json
from forestall.model.errors import ParameterError, TraceError
from forestall.model.settings import Setting
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
Period: TypeAlias = Annotated[int, Setting("Between samples, such as 60s", unit="s", typed="60s")]
Seed: TypeAlias = Annotated[Annotated[int, Field(ge=0)], Setting("Of all that is drawn")]
Count: TypeAlias = Annotated[int, Field(ge=1)]


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


def lengths_of(text: str) -> tuple[int, ...]:
    """Return run times from text such as ``30m,1h``, s."""
    return tuple(parse_duration(length, "lengths", exact=True) for length in text.split(","))


def hours_of(text: str) -> tuple[float, float]:
    """Return two hours of the day from text such as ``6:22``."""
    try:
        first, last = (float(hour) for hour in text.split(":"))
    except ValueError:
        raise ParameterError("hours", text, "FROM:TO within 0:24, such as 6:22") from None
    return first, last


def generate_memory(
    folder: FOLDER,
    nodes: Annotated[Count, Setting("Nodes of the machine")] = 288,
    days: Annotated[float, Setting("Length", shown="DAYS")] = 16,
    jobs: Annotated[
        int | None,
        Setting("How many jobs (default: the paper's 4,178 on 288 nodes in 16 days, in scale)"),
    ] = None,
    relation: Annotated[float, Setting("How strongly lost memory kills; 0: not", shown="R")] = 1.0,
    load: Annotated[float, Setting("Of the node-time, taken by jobs", shown="SHARE")] = 0.7,
    period: Period = 60,
    format: Annotated[Literal["parquet", "csv"], Setting("Of the samples")] = "parquet",
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Make up jobs and memory samples of nodes that lose memory to jobs (Brandt et al.).

    Writes jobs.csv, metrics.parquet (or .csv), and what was put in: truth.csv (a row a job) and
    leaks.csv (what each node lacks, from when).
    """
    records, metrics, truth = memory.generate_memory(
        seed, nodes=nodes, days=days, jobs=jobs, relation=relation, load=load, period=period
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
    hosts: Annotated[Count, Setting("How many")] = 20,
    days: Annotated[float, Setting("Length", shown="DAYS")] = 90,
    period: Period = 60,
    th1: Annotated[float, Setting("Load at which a guest steps back", shown="SHARE")] = 0.2,
    th2: Annotated[float, Setting("Load at which a guest has to end", shown="SHARE")] = 0.6,
    guest_memory: Annotated[float, Setting("That a guest needs", shown="SHARE")] = 0.1,
    owners: Annotated[
        Literal["alike", "own"],
        Setting(
            "Heavy work at the same hours on some days, or at an owner's own hours on nearly every "
            "workday"
        ),
    ] = "alike",
    speeds: Annotated[
        Path | None, Setting("Write clock rate ratios from 0.7 to 1.3, too", shown="FILE.csv")
    ] = None,
    seed: Seed = 1,
) -> None:
    """Make up CPU load and free memory of hosts that their owners use, day by day alike.

    A host that is away has no samples. Time 0 is a Monday, 0:00 UTC. This is what simulate --model
    cycle reads by --hosts, and the speeds by --host-speeds.
    """
    if not write.is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    metrics = traces_hosts.generate_hosts(
        hosts, days, seed, period, th1=th1, th2=th2, guest_memory=guest_memory, owners=owners
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
    count: Annotated[Count, Setting("How many jobs")] = 500,
    days: Annotated[Count, Setting("On which they are submitted", shown="DAYS")] = 28,
    lengths: Annotated[
        tuple[int, ...],
        Setting(
            "Run times, equally many of each",
            shown="DURATION[,...]",
            read=lengths_of,
            typed="30m,1h,2h,3h,4h,5h,6h",
        ),
    ] = (),
    hours: Annotated[
        tuple[float, float],
        Setting("Between which hours of the day", shown="FROM:TO", read=hours_of, typed="6:22"),
    ] = (6, 22),
    seed: Seed = 1,
) -> None:
    """Make up guest jobs of one processor each, submitted evenly between two hours of the day.

    Time 0 is a Monday's midnight. The defaults are the workload of the FALCON slides (Bagchi et
    al.).
    """
    made = guests.generate_guests(count, seed, days=days, lengths=lengths, hours=hours)
    say(logs.write_log(made, out))
