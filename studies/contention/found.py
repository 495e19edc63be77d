"""What was found: each turn beside a guest compared with the owner alone, and medians of that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

import forestall as fs
from studies.contention.study import AGAIN, GUESTS, MEMORY, NONE, Plan

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]
OTHERS: Final = 0.1
"""Share of the core that others may use beside a guest, which leaves nothing idle: turns with more
are left out."""
DRAWS: Final = 2000
LEVEL: Final = 0.95
MB: Final = 2**20
KEYS: Final = ("program", "load", "repeat")


class Middle(NamedTuple):
    """A median with its interval at 95 % by bootstrap, and the number of values."""

    middle: float
    low: float
    high: float
    number: int

    @property
    def told(self) -> bool:
        """Whether it is apart from 0."""
        return self.low > 0 or self.high < 0


def median_of(values: Sequence[float] | Floats) -> Middle:
    """Return the median of values; of fewer than three the interval is without bound."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) == 0:
        return Middle(math.nan, -math.inf, math.inf, 0)
    middle = float(np.median(found))
    if len(found) < 3:
        return Middle(middle, -math.inf, math.inf, len(found))
    drawn = found[
        fs.stream(1, "contention", "bootstrap").integers(0, len(found), (DRAWS, len(found)))
    ]
    low, high = np.quantile(np.median(drawn, axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Middle(middle, float(low), float(high), len(found))


@dataclass(frozen=True)
class Found:
    """What came out.

    Attributes
    ----------
    plan : what was played
    turns : all turns as measured
    pairs : a row for each turn that counts, against the owner alone in the same case: `lost`, the
        share of its CPU use that the owner lost; `slower`, by how much longer a command took, as a
        share; `got`, the guest's share of the core; `alone`, the owner's when it was alone
    memory : the owner's speed at so much memory left `free` (MB), and the share of it `lost`
    kernel : that it was measured with
    """

    plan: Plan
    turns: pl.DataFrame
    pairs: pl.DataFrame
    memory: pl.DataFrame
    kernel: str

    @classmethod
    def of(cls, plan: Plan, table: pl.DataFrame, kernel: str) -> Found:
        """Return what follows from a table of all rows."""
        turns = table.filter(pl.col("program") != MEMORY)
        held = table.filter(pl.col("program") == MEMORY)
        kept = [*KEYS, "guest", "commands", "seconds", "owner", "response", "guest_cpu", "others"]
        return cls(plan, turns.select(kept), _pairs(turns), _memory(held), kernel)

    @property
    def left_out(self) -> int:
        """How many turns do not count, as others used the core."""
        return self.turns.filter(pl.col("guest") != NONE).height - self.pairs.height

    @property
    def programs(self) -> list[str]:
        """What the owners worked with."""
        return self.pairs["program"].unique(maintain_order=True).sort().to_list()

    @property
    def loads(self) -> list[float]:
        """Of the owner, when it is alone, as asked for."""
        return self.pairs["load"].unique().sort().to_list()

    def chosen(
        self, guest: str, loads: Bounds = (0.0, 1.0), program: str | None = None
    ) -> pl.DataFrame:
        """Return the pairs beside a guest at loads within bounds, both included."""
        rows = self.pairs.filter(
            pl.col("guest") == guest, pl.col("load").is_between(*loads, closed="both")
        )
        return rows if program is None else rows.filter(pl.col("program") == program)

    def middle(
        self, measure: str, guest: str, loads: Bounds = (0.0, 1.0), program: str | None = None
    ) -> Middle:
        """Return the median of a measure beside a guest."""
        return median_of(self.chosen(guest, loads, program)[measure].to_numpy())

    def apart(self, measure: str, guest: str, other: str, loads: Bounds = (0.0, 1.0)) -> Middle:
        """Return the median difference of a measure between two guests of the same case."""
        both = self.chosen(guest, loads).join(self.chosen(other, loads), on=KEYS, suffix="_other")
        return median_of((both[measure] - both[f"{measure}_other"]).to_numpy())

    def ratio(self, measure: str, guest: str, other: str, loads: Bounds = (0.0, 1.0)) -> Middle:
        """Return the median ratio of a measure between two guests of the same case."""
        both = self.chosen(guest, loads).join(self.chosen(other, loads), on=KEYS, suffix="_other")
        both = both.filter(pl.col(f"{measure}_other") > 0)
        return median_of((both[measure] / both[f"{measure}_other"]).to_numpy())

    def spread(self) -> Bounds:
        """Return the 5 % and 95 % points of what an owner alone lost to nobody."""
        found = self.chosen(AGAIN)["lost"].to_numpy()
        return float(np.quantile(found, 0.05)), float(np.quantile(found, 0.95))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return what is kept beside the runs."""
        found = {"turns": self.turns, "medians": self.medians()}
        found |= {"memory": self.memory} if self.memory.height else {}
        return {name: one.with_columns(pl.col(pl.Float64).round(6)) for name, one in found.items()}

    def medians(self) -> pl.DataFrame:
        """Return medians with intervals beside each guest: of all owners at each load, and of each
        program at all loads."""
        rows = []
        for guest in (AGAIN, *GUESTS):
            cells = [("all", load, (load, load)) for load in self.loads]
            cells += [(name, math.nan, (0.0, 1.0)) for name in self.programs]
            for program, load, bounds in cells:
                row = {"program": program, "load": load, "guest": guest}
                for name in ("lost", "slower", "got"):
                    one = self.middle(name, guest, bounds, None if program == "all" else program)
                    row |= {name: one.middle, f"{name}_low": one.low, f"{name}_high": one.high}
                rows.append(row)
        return pl.DataFrame(rows).with_columns(pl.col("load").fill_nan(None))


def _pairs(turns: pl.DataFrame) -> pl.DataFrame:
    alone = turns.filter(pl.col("guest") == NONE).select(
        *KEYS,
        (pl.col("owner") / pl.col("seconds")).alias("alone"),
        pl.col("response").alias("unhindered"),
    )
    counts = (pl.col("guest") == AGAIN) | (pl.col("others") <= OTHERS)
    return (
        turns.filter(pl.col("guest") != NONE, counts)
        .join(alone, on=KEYS)
        .select(
            *KEYS,
            "guest",
            "alone",
            (1 - pl.col("owner") / pl.col("seconds") / pl.col("alone")).alias("lost"),
            (pl.col("response") / pl.col("unhindered") - 1).alias("slower"),
            (pl.col("guest_cpu") / pl.col("seconds")).alias("got"),
        )
        .sort(*KEYS, "guest")
    )


def _memory(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what the owner lost of its speed in each phase, against the median of its repeat when
    it was alone."""
    if rows.height == 0:
        return pl.DataFrame()
    speed = (pl.col("pages") / pl.col("seconds")).alias("speed")
    told = rows.with_columns(speed)
    alone = told.filter(pl.col("guest") == NONE).group_by("repeat").agg(
        pl.col("speed").median().alias("alone")
    )  # fmt: skip
    return (
        told.filter(pl.col("guest") != NONE)
        .join(alone, on="repeat")
        .select(
            "repeat", "guest", (pl.col("size") / MB).alias("held"),
            (pl.col("free") / MB).alias("free"), "speed",
            (1 - pl.col("speed") / pl.col("alone")).alias("lost"),
        )
        .sort("guest", "held", "repeat")
    )  # fmt: skip
