"""`forestall traces generate`: made-up logs, and scenarios of which the truth is known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import say, say_json
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration

with lazily():
    from forestall.logs import filter as events_filter
    from forestall.logs import host_speeds, machines, written
    from forestall.logs.generate import failures as traces_failures
    from forestall.logs.generate import guests, jobs, memory, presets, ras, shared, times
    from forestall.logs.generate import hosts as traces_hosts
    from forestall.logs.metrics import write
    from forestall.logs.ras import write as ras_write

if TYPE_CHECKING:
    from forestall.logs.written import WrittenLog

MADE = "Generated log"

Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder to write into (created if missing).")
]
TableOut: TypeAlias = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write, .csv (packed too) or .parquet.")
]
JobsOut: TypeAlias = Annotated[
    Path, typer.Argument(metavar="OUT", help="The job log to write, .csv, .parquet or .swf.")
]
Period: TypeAlias = Annotated[
    int, Setting("Time between samples, such as 60s", unit="s", typed="60s")
]
Seed: TypeAlias = Annotated[Annotated[int, Field(ge=0)], Setting("Seed of the random numbers")]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Nodes: TypeAlias = Annotated[Count, Setting("Nodes of the machine")]
Yearly: TypeAlias = Annotated[
    float | None,
    Setting(
        "Failures per year of the whole machine, instead of {mttf_hours} (default: as LANL's "
        "system 20)",
        shown="N",
    ),
]
Preset: TypeAlias = Annotated[
    str | None,
    Setting(
        "Up and down times of a system of the Failure Trace Archive, such as lanl05",
        shown="NAME",
        offered=lambda: presets.PRESETS,
    ),
]
Followers: TypeAlias = Annotated[
    float,
    Setting("Share of failures that follow another of the same cause", shown="SHARE", group=MADE),
]
Lead: TypeAlias = Annotated[
    float, Setting("Mean time from first warning to failure, in hours", shown="HOURS", group=MADE)
]
Truth: TypeAlias = Annotated[
    Path | None,
    Setting("File for the true failures: forestall's own CSV with more columns", group=OUTPUT),
]
Out: TypeAlias = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


def tell_written(done: WrittenLog, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        say_json(asdict(done))
    else:
        say(done.text)


made = group_of(
    "Generate a log from published models.",
    "forestall traces generate jobs jobs.swf --nodes 128 --days 14 --load 0.8",
    "forestall traces generate failures failures.csv --nodes 128 --days 365",
)
research = group_of(
    "Generate a scenario of which the truth is known.",
    "python -m studies generate memory leaks/",
)
"""What is for research alone: ``python -m studies generate``; no help of `forestall` shows it."""


@command(
    made,
    "jobs",
    "forestall traces generate jobs jobs.swf --nodes 128 --days 14 --load 0.8",
    "forestall traces generate jobs jobs.parquet --count 1000000 --nodes 1024",
    "forestall traces generate jobs jobs.csv --days 7 --machine 'nodes=64 like=alibaba-2023'",
)
def generate_jobs(
    out: Out,
    nodes: Annotated[Count | None, Setting("Nodes of the machine (default 128)")] = None,
    count: Annotated[int | None, Setting("Number of jobs; or use {days}")] = None,
    days: Annotated[float | None, Setting("Number of days to generate", shown="DAYS")] = None,
    load: Annotated[
        float | None,
        Setting("Offered load, such as 0.8 (default: the model's)", shown="SHARE"),
    ] = None,
    model: Annotated[Literal["all", "batch", "interactive"], Setting("Kind of jobs")] = "all",
    machine: Annotated[
        str | None,
        Setting(
            "Machine whose nodes the jobs share: a CSV or TOML file, or such as 'nodes=64 "
            "like=alibaba-2023'",
            shown="FILE|LINE",
        ),
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Generate jobs by the model of Lublin and Feitelson (2003), or such as share nodes."""
    if machine is None:
        log = jobs.generate_jobs(nodes or 128, seed, count=count, days=days, load=load, model=model)
    elif nodes is not None or model != "all":
        name = "nodes" if nodes is not None else "model"
        raise ParameterError(name, nodes or model, "not given, with {machine}")
    else:
        more = {} if load is None else {"load": load}
        spec = machines.machine_from(machine)
        log = shared.generate_shared_jobs(spec, seed, count=count, days=days, **more)
    tell_written(written.write_log(log, out), as_json=as_json)


@command(
    made,
    "failures",
    "forestall traces generate failures failures.csv --nodes 128 --days 365",
    "forestall traces generate failures failures.csv --preset lanl05 --nodes 1024 --days 90",
    rare="shape heterogeneity repair burst_share burst_size burst_rack unpredictable",
)
def generate_failures(
    out: Out,
    nodes: Nodes = 128,
    days: Annotated[float, Setting("Length in days", shown="DAYS")] = 365,
    mttf_hours: Annotated[
        float | None, Setting("Mean time between failures of a node, in hours", shown="HOURS")
    ] = None,
    rate_per_year: Yearly = None,
    shape: Annotated[
        float, Setting("Shape of the Weibull distribution; 1 is a Poisson process", shown="K")
    ] = 0.7,
    heterogeneity: Annotated[
        float, Setting("Variance of the nodes' relative rates", shown="V")
    ] = 0.2,
    repair: Annotated[
        Literal["lognormal", "weibull", "constant"],
        Setting("Distribution of repair times, with LANL's mean of 5.9 h"),
    ] = "lognormal",
    burst_share: Annotated[
        float, Setting("Share of failures that follow another", shown="SHARE")
    ] = 0.05,
    burst_size: Annotated[
        float, Setting("Mean number of followers of a failure that has some", shown="N")
    ] = 4.0,
    burst_rack: Annotated[
        int, Setting("Nodes of a rack, in which followers stand together; 0: anywhere", shown="N")
    ] = 0,
    unpredictable: Annotated[
        float, Setting("Share of failures that only perfect predictors foresee", shown="SHARE")
    ] = 0.0,
    preset: Preset = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Generate failures: Weibull lifetimes, nodes that differ, bursts."""
    if preset is not None:
        bursts = (burst_share, burst_size, burst_rack)
        given = (mttf_hours, rate_per_year, shape, repair, bursts, unpredictable)
        if given != (None, None, 0.7, "lognormal", (0.05, 4.0, 0), 0.0):
            raise ParameterError("--preset", preset, "no other options of the law beside it")
        known = presets.preset_failures(preset, nodes, days, seed)
        tell_written(written.write_log(known, out), as_json=as_json)
        return
    failures = traces_failures.generate_failures(
        nodes,
        days,
        seed,
        mttf_hours=mttf_hours,
        rate_per_year=rate_per_year,
        shape=shape,
        heterogeneity=heterogeneity,
        bursts=times.Bursts(share=burst_share, size=burst_size, rack=burst_rack),
        repair=repair,
        unpredictable=unpredictable,
    )
    tell_written(written.write_log(failures, out), as_json=as_json)


@command(
    made,
    "ras",
    "forestall traces generate ras events.csv --nodes 512 --days 90 --truth failures.csv",
    "forestall traces generate ras events.parquet --nodes 64 --days 365 --warned 0.8",
    rare="burst_share repeats echoes warned lead_hours false_warnings noise fatal_noise",
)
def generate_ras(
    out: Out,
    nodes: Annotated[int, Setting("Nodes of the machine", group=MADE)] = 128,
    days: Annotated[float, Setting("Length in days", shown="DAYS", group=MADE)] = 90,
    mttf_hours: Annotated[
        float, Setting("Mean time between failures of a node, in hours", shown="HOURS", group=MADE)
    ] = 7305,
    burst_share: Followers = 0.333,
    repeats: Annotated[
        float, Setting("Repeated records of a failure by its node", shown="N", group=MADE)
    ] = 5.0,
    echoes: Annotated[
        float, Setting("Records of a failure by other nodes", shown="N", group=MADE)
    ] = 3.0,
    warned: Annotated[
        float, Setting("Share of failures announced by earlier records", shown="SHARE", group=MADE)
    ] = 0.5,
    lead_hours: Lead = 1.0,
    false_warnings: Annotated[
        float, Setting("False warnings per node and day", shown="N", group=MADE)
    ] = 0.002,
    noise: Annotated[
        float, Setting("Records unrelated to failures, per node and day", shown="N", group=MADE)
    ] = 2.0,
    fatal_noise: Annotated[
        float, Setting("Share of those records that are FATAL", shown="SHARE", group=MADE)
    ] = 0.0,
    seed: Annotated[int, Setting("Seed of the random numbers", group=MADE)] = 1,
    truth: Truth = None,
    as_json: Json = False,
) -> None:
    """Generate an event log with known failures, reported many times, and warnings before them.

    OUT is a .csv (.gz, .xz and .zst are packed) or a .parquet file.
    """
    if not write.is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    bursts = times.Bursts(share=burst_share, size=3.0, spread=30.0)
    warnings = ras.Warnings(warned, lead_hours, false_per_node_day=false_warnings)
    log, failures, known = ras.generate_ras(
        nodes,
        days,
        seed,
        mttf_hours=mttf_hours,
        bursts=bursts,
        reports=ras.Reports(repeats, echoes),
        warnings=warnings,
        noise=ras.Noise(noise, fatal_noise),
    )
    ras_write.write_ras(log, out)
    if truth is not None:
        events_filter.write_truth(failures, known, truth)
    warned_of = int(known.warned.sum())
    if as_json:
        counts = {"records": len(log), "failures": len(failures), "warned_of": warned_of}
        say_json({"file": str(out), "truth": truth and str(truth), **counts})
        return
    say(f"{len(log):,} records of {len(failures):,} failures on {nodes:,} nodes in {out}")
    if truth is not None:
        say(f"{len(failures):,} failures, {warned_of:,} of them warned of, in {truth}")


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


@command(made, "memory", "python -m studies generate memory", hidden=True)
@command(
    research,
    "memory",
    "python -m studies generate memory leaks/",
    "python -m studies generate memory null/ --relation 0 --nodes 64 --days 8",
)
def generate_memory(
    folder: Folder,
    nodes: Annotated[Count, Setting("Nodes of the machine")] = 288,
    days: Annotated[float, Setting("Length in days", shown="DAYS")] = 16,
    jobs: Annotated[
        int | None,
        Setting(
            "Number of jobs (default: scaled from the paper's 4,178 jobs on 288 nodes in 16 days)"
        ),
    ] = None,
    relation: Annotated[
        float, Setting("How strongly lost memory makes jobs fail; 0: not at all", shown="R")
    ] = 1.0,
    load: Annotated[float, Setting("Share of node-time used by jobs", shown="SHARE")] = 0.7,
    period: Period = 60,
    format: Annotated[Literal["parquet", "csv"], Setting("File format of the samples")] = "parquet",
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Generate jobs and memory samples of nodes that lose memory to jobs (Brandt et al.).

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


@command(
    made,
    "hosts",
    "forestall traces generate hosts hosts.csv --count 20 --days 90 --period 60s",
    "forestall traces generate hosts hosts.parquet --count 20 --days 91 --period 6s --speeds "
    "speeds.csv",
)
def generate_hosts(
    out: TableOut,
    hosts: Annotated[Count, Setting("Number of hosts")] = 20,
    days: Annotated[float, Setting("Length in days", shown="DAYS")] = 90,
    period: Period = 60,
    th1: Annotated[
        float, Setting("Load above which a guest gets lowest priority", shown="SHARE")
    ] = 0.2,
    th2: Annotated[float, Setting("Load above which a guest has to leave", shown="SHARE")] = 0.6,
    guest_memory: Annotated[
        float, Setting("Share of memory that a guest needs", shown="SHARE")
    ] = 0.1,
    owners: Annotated[
        Literal["alike", "own"],
        Setting(
            "Owners' habits: heavy work at the same hours on some days (alike), or at each "
            "owner's own hours on most workdays (own)"
        ),
    ] = "alike",
    speeds: Annotated[
        Path | None, Setting("Also write clock rate ratios from 0.7 to 1.3", shown="FILE.csv")
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Generate CPU load and free memory of hosts that their owners use, day by day alike.

    A host that is away has no samples. Time 0 is a Monday, 0:00 UTC. This is what simulate --model
    cycle reads by --hosts, and the speeds by --host-speeds.
    """
    if not write.is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    metrics = traces_hosts.generate_hosts(
        hosts, days, seed, period, th1=th1, th2=th2, guest_memory=guest_memory, owners=owners
    )
    write.write_metrics(metrics, out)
    if speeds is not None:
        host_speeds.write_speeds(
            [str(k) for k in range(hosts)], guests.draw_speeds(hosts, seed), speeds
        )
    if as_json:
        counts = {"samples": len(metrics), "hosts": hosts}
        say_json({"file": str(out), "speeds": speeds and str(speeds), **counts})
        return
    beside = "" if speeds is None else f", and their speeds in {speeds}"
    say(f"{len(metrics):,} samples of {hosts:,} hosts in {out}{beside}")


@command(
    made,
    "guests",
    "forestall traces generate guests guests.csv --count 500 --days 28",
    "forestall traces generate guests guests.csv --lengths 30m,1h,2h --submit-hours 9:17 --seed 7",
)
def generate_guests(
    out: JobsOut,
    count: Annotated[Count, Setting("Number of jobs")] = 500,
    days: Annotated[
        Count, Setting("Number of days on which jobs are submitted", shown="DAYS")
    ] = 28,
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
        Setting(
            "Hours of the day between which jobs are submitted",
            shown="FROM:TO",
            read=hours_of,
            typed="6:22",
        ),
    ] = (6, 22),
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Generate guest jobs of one processor each, submitted evenly between two hours of the day.

    Time 0 is a Monday's midnight. The defaults are the workload of the FALCON slides (Bagchi et
    al.).
    """
    made = guests.generate_guests(count, seed, days=days, lengths=lengths, hours=hours)
    tell_written(written.write_log(made, out), as_json=as_json)
