"""Do bounds hold? The share of waits at or below their bound, in order of time, and what it cost.

Users submit in bursts, and the jobs of a burst wait alike: 1,000 waits are far fewer than 1,000
facts. So intervals come from whole weeks (or days) drawn with replacement; the interval that takes
jobs for independent is given beside it, to be seen through. Nothing is ever shuffled: a bound is
held against what came after it.

Sharpness: how long the bounds were, and the quantile ("pinball") loss, which falls short of that of
any other constant only for the true quantile, against that of the best constant: the quantile of
all the waits, known only afterwards.

Sources: Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 8 (blocks); Koenker
and Bassett, Econometrica 46, 1978 (quantile loss); Wilson, JASA 22, 1927.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.proportions import wilson

DAY: Final = 86_400
WEEK: Final = 7 * DAY
FEWEST: Final = 10
"""Blocks, at least, to draw from: weeks where there are as many, else days."""
DRAWS: Final = 1000
BURST: Final = 60
"""Jobs of a user submitted within so many seconds of the one before belong to one burst."""


@dataclass(frozen=True)
class CoverageShare:
    """How many of those made held, with two intervals.

    Attributes
    ----------
    made, held : counts
    low, high : interval of the share from blocks of time, never narrower than the naive one; nan
        without any made, the naive one with fewer than `FEWEST` blocks
    naive_low, naive_high : Wilson's interval, as if all were independent
    blocks : blocks with any made; block : their length, s
    level : of the intervals
    """

    made: int
    held: int
    low: float
    high: float
    naive_low: float
    naive_high: float
    blocks: int
    block: int
    level: float

    @property
    def share(self) -> float:
        """Held of made; nan where none was made."""
        return self.held / self.made if self.made else math.nan

    @property
    def worth(self) -> float:
        """How many independent outcomes would give an interval as wide: at most `made`."""
        wide, naive = self.high - self.low, self.naive_high - self.naive_low
        return self.made * (naive / wide) ** 2 if wide > 0 else float(self.made)

    def short_of(self, nominal: float) -> bool:
        """Return whether the whole interval lies below what was stated."""
        return self.high < nominal


@dataclass(frozen=True)
class Coverage:
    """What a log's bounds were worth.

    Attributes
    ----------
    nominal : the share that should hold, at least
    jobs : all of them; unbounded : those without a bound; undecided : those that were withdrawn, or
        still wait, within their bound
    held : the share of the others that held
    longest : misses in a row, at most, in order of time
    median_bound, mean_bound, median_wait : s, of those decided
    median_ratio : median of bound / wait over those that waited at least a minute
    loss : mean quantile loss, s
    constant : the best constant bound, known only afterwards, s; constant_loss : its loss
    """

    nominal: float
    jobs: int
    unbounded: int
    undecided: int
    held: CoverageShare
    longest: int
    median_bound: float
    mean_bound: float
    median_wait: float
    median_ratio: float
    loss: float
    constant: float
    constant_loss: float

    @property
    def skill(self) -> float:
        """1 - loss / that of the best constant: 0 is no better, 1 perfect."""
        return 1 - self.loss / self.constant_loss if self.constant_loss > 0 else math.nan

    @property
    def short(self) -> bool:
        """Whether fewer held than stated, by more than chance and bursts explain."""
        return self.held.short_of(self.nominal)


@dataclass(frozen=True)
class Outcomes:
    """Bounds and what came of them, in order of `when`.

    Attributes
    ----------
    bound : float64[n] s, inf where there was none; wait : [n] s, how long each waited, so far where
        it is not `over`; over : bool[n], whether the job started
    when : int64[n], when the bound was given, s
    """

    bound: npt.NDArray[np.floating]
    wait: Ints
    over: Bools
    when: Ints

    def __post_init__(self) -> None:
        lengths = {len(self.bound), len(self.wait), len(self.over), len(self.when)}
        if len(lengths) != 1:
            raise ParameterError("bound", len(self.bound), "arrays of one length")
        if bool(np.any(np.diff(self.when) < 0)):
            raise ParameterError("when", "unsorted", "times in ascending order")

    @property
    def bounded(self) -> Bools:
        """Which have a bound, bool[n]."""
        return np.asarray(np.isfinite(self.bound))

    @property
    def missed(self) -> Bools:
        """Which are known to have waited longer than their bound, bool[n]."""
        return np.asarray(self.wait > self.bound)

    @property
    def decided(self) -> Bools:
        """Of which it is known whether the bound held, bool[n]."""
        return self.bounded & (self.over | self.missed)


def coverage(
    outcomes: Outcomes,
    rng: np.random.Generator,
    *,
    nominal: float = 0.95,
    level: float = 0.95,
    block: int | None = None,
    draws: int = DRAWS,
) -> Coverage:
    """Return what bounds were worth.

    Parameters
    ----------
    rng : for the draws of blocks
    nominal : the share that should hold; level : of the interval
    block : s; None: weeks, or days where there are fewer than `FEWEST` weeks

    Raises ParameterError.
    """
    if not 0 < nominal < 1:
        raise ParameterError("nominal", nominal, "a number between 0 and 1")
    decided = np.flatnonzero(outcomes.decided)
    missed = outcomes.missed[decided]
    bound = np.asarray(outcomes.bound[decided], dtype=np.float64)
    wait = np.asarray(outcomes.wait[decided], dtype=np.float64)
    unbounded = len(outcomes.bound) - int(np.count_nonzero(outcomes.bounded))
    nothing = len(decided) == 0
    long = np.flatnonzero(wait >= 60)
    constant = math.nan if nothing else _quantile(wait, nominal)
    return Coverage(
        nominal=nominal,
        jobs=len(outcomes.bound),
        unbounded=unbounded,
        undecided=len(outcomes.bound) - unbounded - len(decided),
        held=held_share(
            ~missed, outcomes.when[decided], rng, level=level, block=block, draws=draws
        ),
        longest=longest_run(missed),
        median_bound=math.nan if nothing else float(np.median(bound)),
        mean_bound=math.nan if nothing else float(bound.mean()),
        median_wait=math.nan if nothing else float(np.median(wait)),
        median_ratio=float(np.median(bound[long] / wait[long])) if len(long) else math.nan,
        loss=quantile_loss(bound, wait, nominal),
        constant=constant,
        constant_loss=quantile_loss(np.full(1, constant), wait, nominal),
    )


def held_share(
    held: Bools,
    when: Ints,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    block: int | None = None,
    draws: int = DRAWS,
) -> CoverageShare:
    """Return the share that held, with its intervals; parameters as in `coverage`."""
    return shares(held, when, np.zeros(len(held), dtype=np.int32), 1, rng, level, block, draws)[0]


def shares(
    held: Bools,
    when: Ints,
    group: npt.NDArray[np.integer],
    groups: int,
    rng: np.random.Generator,
    level: float = 0.95,
    block: int | None = None,
    draws: int = DRAWS,
) -> tuple[CoverageShare, ...]:
    """Return the share that held in each group, int[n] from 0 to `groups` - 1: by partition, say.
    Other parameters as in `coverage`; raises ParameterError."""
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")
    if draws < 1:
        raise ParameterError("draws", draws, "a whole number of at least 1")
    if block is not None and block < 1:
        raise ParameterError("block", block, "at least 1 s")
    lengths = (WEEK, DAY) if block is None else (block,)
    tables = [(length, blocks_of(held, when, group, groups, length)) for length in lengths]
    out = []
    for each in range(groups):
        # Weeks, unless they are too few.
        sizes = [(length, *_there(table, each)) for length, table in tables]
        length, made, kept = next((s for s in sizes if len(s[1]) >= FEWEST), sizes[-1])
        out.append(_share(made, kept, length, rng, level, draws))
    return tuple(out)


def blocks_of(
    held: Bools, when: Ints, group: npt.NDArray[np.integer], groups: int, length: int
) -> tuple[Ints, Ints]:
    """Return how many were made and held in each group and block of `length` s, counted from the
    first: int64[groups, blocks] each."""
    if len(when) == 0:
        return np.zeros((groups, 0), dtype=np.int64), np.zeros((groups, 0), dtype=np.int64)
    place = (when - when[0]) // length
    count = int(place[-1]) + 1
    if groups > 1:
        place = place + np.asarray(group, dtype=np.int64) * count
    made = np.bincount(place, minlength=groups * count)
    kept = np.bincount(place[held], minlength=groups * count)
    return made.reshape(groups, count), kept.reshape(groups, count)


def longest_run(flags: Bools) -> int:
    """Return how many in a row are set, at most."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def in_burst(user: npt.NDArray[np.integer], when: Ints, gap: int = BURST) -> Bools:
    """Return which jobs came within `gap` s after another of the same user, bool[n].

    user : int[n], codes, negative where not told: those are in no burst; when : int64[n], ascending
    """
    order = np.argsort(user, kind="stable")
    same = np.diff(user[order]) == 0
    near = np.diff(when[order]) <= gap
    out = np.zeros(len(user), dtype=bool)
    out[order[1:]] = same & near & (user[order[1:]] >= 0)
    return out


def quantile_loss(bound: Floats, wait: Floats, quantile: float) -> float:
    """Return the mean of q (wait - bound) where the wait is longer, (1 - q) (bound - wait) where it
    is not, s; nan of none."""
    if len(wait) == 0:
        return math.nan
    over = wait - bound
    return float(np.mean(np.maximum(quantile * over, (quantile - 1) * over)))


def _quantile(values: Floats, quantile: float) -> float:
    rank = max(math.ceil(quantile * len(values) - 1e-9), 1) - 1
    return float(np.partition(values, rank)[rank])


def _there(table: tuple[Ints, Ints], group: int) -> tuple[Ints, Ints]:
    """Return the blocks of a group in which there is anything."""
    made, kept = (part[group] for part in table)
    return made[made > 0], kept[made > 0]


def _share(
    made: Ints, kept: Ints, length: int, rng: np.random.Generator, level: float, draws: int
) -> CoverageShare:
    total, held = int(made.sum()), int(kept.sum())
    naive = wilson(held, total, level) if total else (math.nan, math.nan)
    low, high = naive
    if len(made) >= FEWEST:
        # How often each block is drawn is multinomial: one product instead of all the blocks.
        often = rng.multinomial(len(made), np.full(len(made), 1 / len(made)), size=draws)
        drawn = (often @ kept) / (often @ made)
        ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    return CoverageShare(
        total, held, low, high, *naive, blocks=len(made), block=length, level=level
    )
