"""Host traces, and the day files of an agent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from forestall.logs.metrics.day_files import DaySample, SegmentHeader, encode
from fuzz.formats import Format
from fuzz.logs import METRIC_COMMANDS, ZERO, failure_log, job_table
from fuzz.mutate import table
from fuzz.packed import day_file, parquet

PERIOD: Final = 600
_CYCLE: Final = "simulate jobs.csv --model cycle --warm-up 1d --json --hosts"


def _samples(host: int, days: int, *, first: int = ZERO) -> list[DaySample]:
    rng, up = Random(f"host {host}"), 100.0 + first - ZERO
    times = range(0, days * 86_400, PERIOD)
    return [
        DaySample(first + at, up + at, rng.random() ** 3, rng.random(), 1e5, 0.0, at // PERIOD % 5)
        for at in times
    ]


def _hosts(folder: Path) -> None:
    """Write a table of three hosts over three days, their speeds and jobs."""
    rows = ["time,node,cpu,memory_free"]
    for host in range(3):
        rows += [
            f"{one.wall - ZERO},{host},{one.cpu:.3f},{one.memory_free:.3f}"
            for one in _samples(host, 3)
        ]
    (folder / "hosts.csv").write_text("\n".join(rows) + "\n")
    (folder / "speeds.csv").write_text("host,speed\n0,1.5\n1,1\n2,0.5\n")
    job_table(folder)
    failure_log(folder)


def _days(folder: Path) -> None:
    """Write what agents of two hosts sampled on three days, one with a second start."""
    _hosts(folder)
    for host in range(2):
        place = folder / "agents" / f"n{host}" / "samples"
        place.mkdir(parents=True)
        for day in range(3):
            begin = ZERO + 86_400 * day
            some = _samples(host, 1, first=begin)
            starts = (some[:70], some[71:]) if day == 1 else (some,)
            data = b""
            for number, part in enumerate(starts):
                head = SegmentHeader(
                    f"n{host}", bytes(16), day + number, PERIOD, 0.2, 0.6, 60.0, 0.1
                )
                data += head.encode() + b"".join(encode(one, head.seed) for one in part)
            (place / f"2026-01-0{1 + day}.fsd").write_bytes(data)


_trace = partial(Format, make=_hosts, files=("hosts.csv",), mutator=table)

HOSTS: Final = (
    _trace("hosts", commands=METRIC_COMMANDS, slow=(f"{_CYCLE} {{file}}",)),
    _trace("host-speeds", files=("speeds.csv",), commands=(),
           slow=(f"{_CYCLE} hosts.csv --host-speeds {{file}}",)),
    _trace("host-failures", files=("failures.csv",), commands=(), slow=(f"{_CYCLE} {{file}}",)),
    _trace("hosts-parquet", files=("hosts.parquet",), mutator=parquet,
           commands=METRIC_COMMANDS[:2],
           made=("traces generate hosts hosts.parquet --hosts 3 --days 3 --period 10m",),
           slow=(f"{_CYCLE} {{file}}",)),
    Format("days", _days, ("agents/*/samples/*",), day_file,
           ("traces info {file} --as metrics", "traces info agents --as metrics --json"),
           slow=(f"{_CYCLE} agents",)),
)  # fmt: skip
