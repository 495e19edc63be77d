"""`forestall traces generate memory` and `hosts`: scenarios of which the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from forestall.cli.options import JSON
from forestall.cli.registry import command
from forestall.cli.screen import say

FOLDER = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder to write into (made where missing).")
]
OUT = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write, .csv (packed too) or .parquet.")
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
        "forestall traces generate hosts hosts.parquet --hosts 5 --days 30 --period 6",
    )(generate_hosts)


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
    period: Annotated[
        int, typer.Option("--period", min=1, metavar="SECONDS", help="Between samples.")
    ] = 60,
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
    from forestall.traces.generate.memory import generate_memory as generate
    from forestall.traces.generate.memory import write_scenario

    records, metrics, truth = generate(
        seed, nodes=nodes, days=days, jobs=jobs, relation=relation, load=load, period=period
    )
    write_scenario(folder, records, metrics, truth, format)
    killed = int(truth.killed.sum())
    if as_json:
        from forestall.cli.screen import say_json

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
    period: Annotated[
        int, typer.Option("--period", min=1, metavar="SECONDS", help="Between samples.")
    ] = 60,
    th1: Annotated[
        float, typer.Option("--th1", metavar="SHARE", help="Load at which a guest steps back.")
    ] = 0.2,
    th2: Annotated[
        float, typer.Option("--th2", metavar="SHARE", help="Load at which a guest has to end.")
    ] = 0.6,
    guest_memory: Annotated[
        float, typer.Option("--guest-memory", metavar="SHARE", help="That a guest needs.")
    ] = 0.1,
    seed: SEED = 1,
) -> None:
    """Make up CPU load and free memory of hosts that their owners use, day by day alike.

    A host that is away has no samples. Time 0 is a Monday, 0:00 UTC.
    """
    from forestall.model.errors import TraceError
    from forestall.traces.generate.hosts import generate_hosts as generate
    from forestall.traces.metrics.write import is_table_name, write_metrics

    if not is_table_name(out):
        raise TraceError(out, "does not say a format; expected a name in .csv, .parquet")
    metrics = generate(hosts, days, seed, period, th1=th1, th2=th2, guest_memory=guest_memory)
    write_metrics(metrics, out)
    say(f"{len(metrics):,} samples of {hosts:,} hosts in {out}")
