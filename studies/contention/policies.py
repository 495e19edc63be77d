"""Policies: which priority a guest runs at, or that it does not, at each load of its owner; and
what each would have made of the cases that were measured.

In a case all guests met the same owner, so what a policy gives and takes there is what the guest
that it chooses gave and took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

import forestall as fs
from studies.contention.found import DRAWS, KEYS, LEVEL, Bounds, Floats, Found
from studies.contention.study import AGAIN, GUESTS, LOWEST, NORMAL

LIMIT: Final = 0.05
"""Share of its CPU use that the slides let an owner lose."""
TH1, TH2 = 0.2, 0.6
"""Of the slides: up to Th1 a guest runs at default priority, up to Th2 at the lowest, above not at
all."""
MEASURES: Final = ("got", "lost", "slower")
STOPPED: Final = "stopped"
Choice = Callable[[float, str], str]
"""The guest at an owner's load beside an owner with this program."""

ALWAYS, LOW, SLIDES, KEPT, FINER, WAITING = (
    "default always", "lowest always", "two levels, then ended", "two levels, never ended",
    "finer by measured loss",
    "finer by measured waiting",
)  # fmt: skip
NOBODY: Final = "nobody"
"""No guest: what the owner alone loses from one turn to the next."""
BANDS: Final[Mapping[str, Bounds]] = {
    "all": (0.0, 1.0),
    "up to 20 %": (0.0, TH1),
    "30 to 60 %": (0.25, TH2),
    "80 and 100 %": (0.7, 1.0),
}


class Spread(NamedTuple):
    """A mean over loads with its interval at 95 %."""

    mean: float
    low: float
    high: float


class Outcome(NamedTuple):
    """What a policy gives and takes, means over loads of the medians at each.

    `got`: the guest's share of the core; `lost`: of its CPU use, that the owner lost; `slower`: by
    how much longer its commands took. `beyond`: at how many loads the owner loses more than the
    limit, of how many.
    """

    got: Spread
    lost: Spread
    slower: Spread
    beyond: int
    loads: int


def policies(found: Found) -> dict[str, Choice]:
    """Return the policies by name; the finer one as this measurement has it."""

    def two(load: float, _: str) -> str:
        return NORMAL if load <= TH1 else LOWEST if load <= TH2 else STOPPED

    by_loss, by_waiting = (finer(found, measure) for measure in ("lost", "slower"))
    return {
        NOBODY: lambda _load, _program: AGAIN,
        ALWAYS: lambda _load, _program: NORMAL,
        LOW: lambda _load, _program: LOWEST,
        SLIDES: two,
        KEPT: lambda load, _program: NORMAL if load <= TH1 else LOWEST,
        FINER: lambda load, program: by_loss[program, load],
        WAITING: lambda load, program: by_waiting[program, load],
    }


def finer(found: Found, measure: str) -> dict[tuple[str, float], str]:
    """Return, for each program and load, the highest priority at which owners with *other* programs
    lose, or wait, no more than the limit, or that the guest is stopped: what is learned from an
    owner does not decide for it. With one program alone it does."""
    at = {
        key: (rows["program"].to_numpy(), rows[measure].to_numpy())
        for key, rows in found.pairs.group_by("load", "guest")
    }
    alone = len(found.programs) == 1

    def borne(program: str, load: float, guest: str) -> bool:
        who, values = at.get((load, guest), (np.array([]), np.array([])))
        values = values if alone else values[who != program]
        return bool(len(values)) and float(np.median(values)) <= LIMIT

    return {
        (program, load): next((one for one in GUESTS if borne(program, load, one)), STOPPED)
        for program in found.programs
        for load in found.loads
    }


def outcome(found: Found, choice: Choice, band: Bounds = (0.0, 1.0)) -> Outcome:
    """Return what a policy makes of the cases at loads within bounds."""
    rows = _by_case(found, choice, band)
    got, lost, slower = (_spread(_by_load(rows, name)) for name in MEASURES)
    middle = [float(np.median(one)) for one in _by_load(rows, "lost")]
    return Outcome(got, lost, slower, sum(one > LIMIT for one in middle), len(middle))


def gain(found: Found, one: Choice, two: Choice, band: Bounds = (0.0, 1.0)) -> Spread:
    """Return by how much more of the core a guest gets with one policy than with another, paired by
    case."""
    got, other = (_by_case(found, choice, band) for choice in (one, two))
    both = got.join(other, on=KEYS, suffix="_other")
    return _spread(_by_load(both.with_columns(pl.col("got") - pl.col("got_other")), "got"))


def _by_case(found: Found, choice: Choice, band: Bounds) -> pl.DataFrame:
    """Return the measures of each case with the guest that is chosen there."""
    rows = found.pairs.filter(pl.col("load").is_between(*band, closed="both"))
    pairs = rows.select("program", "load").unique().sort("program", "load").iter_rows()
    wanted = pl.DataFrame(
        [(program, load, choice(load, program)) for program, load in pairs],
        schema={"program": pl.String, "load": pl.Float64, "guest": pl.String},
        orient="row",
    )
    ran = rows.join(wanted, on=["program", "load", "guest"]).select(*KEYS, *MEASURES)
    still = wanted.filter(pl.col("guest") == STOPPED)
    stopped = rows.select(KEYS).unique().join(still, on=["program", "load"])
    nothing = [pl.lit(0.0).alias(name) for name in MEASURES]
    return pl.concat((ran, stopped.select(*KEYS, *nothing))).sort(KEYS)


def _by_load(rows: pl.DataFrame, measure: str) -> list[Floats]:
    """Return a measure of all cases of each load."""
    parts = rows.sort("load", *KEYS).group_by("load", maintain_order=True)
    return [part[measure].to_numpy() for _, part in parts]


def _spread(values: list[Floats]) -> Spread:
    """Return the mean over loads of medians; for its interval cases of a load are drawn anew."""
    chance = fs.stream(1, "contention", "policies")
    drawn = [
        np.median(one[chance.integers(0, len(one), (DRAWS, len(one)))], axis=1) for one in values
    ]
    low, high = np.quantile(np.mean(drawn, axis=0), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Spread(float(np.mean([np.median(one) for one in values])), float(low), float(high))
