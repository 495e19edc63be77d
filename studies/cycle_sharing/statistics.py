"""How often and why hosts are not available, beside the slides' table; and how far that can be
foretold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

import forestall as fs
from studies.availability.inputs import of_history
from studies.availability.study import SEMI_MARKOV, relative_errors, rows_of, table
from studies.availability.study import Plan as TellingPlan
from studies.cycle_sharing.inputs import (
    DAY,
    GENERATED,
    GOOGLE,
    GOOGLE_SET,
    SHAPES,
    THREE_MONTHS,
    google,
    hosts_of,
)
from studies.cycle_sharing.study import Plan

SCHEMA: Final = {
    "hosts_of": pl.String, "seed": pl.Int64, "host": pl.String, "days": pl.Float64,
    "total": pl.Int64, "s3": pl.Int64, "s4": pl.Int64, "s5": pl.Int64,
    "share_s1": pl.Float64, "share_s2": pl.Float64, "share_s3": pl.Float64,
    "share_s4": pl.Float64, "share_s5": pl.Float64,
}  # fmt: skip
TELLING_HOSTS: Final = 6
TELLING_HOURS: Final = tuple(range(0, 24, 3))
TELLING_LENGTHS: Final = (1, 2, 3, 4, 6, 8, 10)
COARSE: Final = 300
SELDOM: Final = 0.25
"""Hosts, hours and lengths of windows in which availability is foretold; s of a step; share of
windows up to which hosts are seldom observed to stay."""


def states_table(plan: Plan, real: tuple[str, ...], data: Path | None) -> pl.DataFrame:
    """Return a row of `SCHEMA` for each host of the first seed of each set, and Google's."""
    rows: list[tuple[object, ...]] = []
    for name in (*GENERATED, *real):
        count = min(SHAPES[name].hosts, plan.hosts)
        hosts = hosts_of(name, 1, count, data, min(plan.days, SHAPES[name].days))
        rows += _rows(name, hosts, SHAPES[name].hold)
    if data is not None and plan.why and (data / GOOGLE).exists():
        hosts = google(data)
        rows += _rows(GOOGLE_SET, hosts, hosts.period)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _rows(name: str, hosts: fs.HostTraces, hold: int) -> Iterator[tuple[object, ...]]:
    parameters = fs.CycleParameters(hold=hold)
    for number, host in enumerate(hosts.names):
        found = fs.hosts.unavailability(
            fs.hosts.stays(fs.hosts.states_of(hosts, number, parameters), hosts.period)
        )
        yield (
            name, 1, host, hosts.end / DAY, found.total,
            *found.occurrences.tolist(), *found.share.tolist(),
        )  # fmt: skip


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row a set: hosts, days, occurrences a host in 91 days (least, median, most), shares
    of S3, S4 and S5 in them (least and most of hosts that have any), share of time available."""
    each = pl.col("total") * THREE_MONTHS / pl.col("days")
    told = [each.min().alias("least"), each.median().alias("middle"), each.max().alias("most")]
    for kind in ("s3", "s4", "s5"):
        part = pl.col(kind) / pl.col("total")
        some = part.filter(pl.col("total") > 0)
        told += [some.min().alias(f"{kind}_low"), some.max().alias(f"{kind}_high"),
                 (pl.col(kind).sum() / pl.col("total").sum()).alias(f"{kind}_all")]  # fmt: skip
    free = (pl.col("share_s1") + pl.col("share_s2")).mean().alias("available")
    return rows.group_by("hosts_of", maintain_order=True).agg(
        pl.len().alias("hosts"), pl.col("days").first(), *told, free
    )


def telling(plan: Plan) -> pl.DataFrame:
    """Return temporal reliability foretold and observed on generated hosts, learned from half of
    their days, as `python -m studies availability` has it (columns as there; `set` the hosts)."""
    rows: list[tuple[object, ...]] = []
    asked = TellingPlan(hours=TELLING_HOURS, lengths=TELLING_LENGTHS)
    for name in GENERATED:
        count = min(TELLING_HOSTS, plan.hosts)
        hosts = hosts_of(name, 1, count, None, plan.days)
        every = COARSE // hosts.period
        for number in range(count):
            states = fs.hosts.states_of(hosts, number, fs.CycleParameters())
            whole = len(states) // every * every
            coarse = states[:whole].reshape(-1, every).max(axis=1)
            history = fs.hosts.HostHistory(
                fs.hosts.stays(coarse, COARSE), hosts.origin or fs.hosts.MONDAY
            )
            host = of_history(hosts.names[number], history)
            rows += rows_of(name, number, host, asked, 0.5, (SEMI_MARKOV,))
    return table(rows)


class Accuracy(NamedTuple):
    """1 less the mean relative error: `each` host and hour, hosts taken `together`; how far chance
    alone lets it come of each (`chance`); and of each in windows in which hosts are seldom observed
    to stay (at most a quarter of them, `seldom` of the `cells`) and in the others."""

    each: float
    together: float
    chance: float
    cells: int
    seldom: int
    in_seldom: float | None
    in_others: float


def accuracy_of(rows: pl.DataFrame, name: str) -> Accuracy:
    """Return how well availability was foretold on a set."""
    mine = rows.filter((pl.col("set") == name) & (pl.col("observed") > 0))
    error = ((mine["predicted"] - mine["observed"]).abs() / mine["observed"]).to_numpy()
    seldom = (mine["observed"] <= SELDOM).to_numpy()

    def mean(truth: str, *, each: bool) -> float:
        return 1 - float(relative_errors(mine, each=each, truth=truth)["error"].to_numpy().mean())

    return Accuracy(
        mean("observed", each=True), mean("observed", each=False), mean("drawn", each=True),
        len(mine), int(seldom.sum()),
        1 - float(error[seldom].mean()) if seldom.any() else None,
        1 - float(error[~seldom].mean()),
    )  # fmt: skip
