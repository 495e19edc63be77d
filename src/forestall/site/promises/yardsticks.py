"""Quotes beside yardsticks: how sharp the quantiles of each were, on the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.show.blocks import Column, Table
from forestall.core.show.quantities import number, percent
from forestall.prediction.assess.pinball import (
    CHUNK,
    LEVELS,
    SHOWN,
    QuantileLosses,
    QuantileScores,
    pinball,
    quantile_scores,
)
from forestall.site.learning.turnaround.learned import LEVELS as LEARNED
from forestall.site.learning.turnaround.learned import LearnedQuantiles
from forestall.site.learning.turnaround.targets import turnarounds
from forestall.site.learning.turnaround.tasks import Tasks
from forestall.site.learning.waits.turnarounds import bounds_of_turnarounds
from forestall.site.promises.pictures import digits, times

Quantiles = npt.NDArray[np.float32]
Said = Callable[[Ints], Floats | Quantiles]
"""What some way to quote says of jobs, by their places: their quantiles at the levels of losses,
[jobs, 19], s."""

OURS: Final = "promised"
BOOK: Final = "book of similar jobs"
LATEST: Final = 1000
"""Turnarounds that "all turnarounds alike" rests on."""
PLACES: Final = tuple(LEARNED.index(level) for level in LEVELS)
"""Where the levels of losses stand among those that are learned."""


@dataclass(frozen=True)
class Yardstick:
    """What the quantiles of one way to quote were worth.

    Attributes
    ----------
    name : of it
    scores : losses, shares kept, how far deadlines lay
    """

    name: str
    scores: QuantileScores


def yardsticks(
    tasks: Tasks, said: Iterable[tuple[str, Said]], counted: Bools, level: float
) -> tuple[Yardstick, ...]:
    """Return what quantiles of each name were worth; none where no job is scored.

    counted : bool[n], jobs that are scored; level : of intervals
    """
    values, known = turnarounds(tasks)
    scored = np.flatnonzero(counted & known)
    if not len(scored):
        return ()
    actual = np.rint(np.expm1(values[scored]))  # whole seconds, as they were before the logarithm
    return tuple(
        Yardstick(name, quantile_scores(_losses(told, scored, actual), tasks.submit[scored], level))
        for name, told in said
    )


def _losses(told: Said, jobs: Ints, actual: Floats) -> QuantileLosses:
    """Return the losses of these jobs' quantiles: of a million at once they would take a GB."""
    parts = [
        pinball(told(jobs[first : first + CHUNK]), actual[first : first + CHUNK])
        for first in range(0, len(jobs), CHUNK)
    ]
    columns = (field.name for field in fields(QuantileLosses))
    return QuantileLosses(*(np.concatenate([getattr(p, name) for p in parts]) for name in columns))


def promised(offered: Quantiles) -> Said:
    """Return what a book promised, of float32[n, L], s."""
    return lambda jobs: np.maximum.accumulate(offered[jobs][:, PLACES], axis=1)


def beside(tasks: Tasks, learned: LearnedQuantiles, until: int) -> Iterator[tuple[str, Said]]:
    """Yield what all others say; one at a time, for some take much memory.

    until : when the records end, s
    """
    yield "before correction", lambda jobs: _seconds(learned.mixed[jobs])
    alone = ~np.isnan(learned.forest[:, :1])
    yield (
        "forest alone",
        lambda jobs: _seconds(np.where(alone[jobs], learned.forest[jobs], learned.alike[jobs])),
    )
    yield "similar jobs, before correction", lambda jobs: _seconds(learned.alike[jobs])
    alike = all_alike(tasks.submit, tasks.finish, turnarounds(tasks)[1])
    bounds = bounds_of_turnarounds(tasks, LEVELS, until)
    yield "QBETS", lambda jobs: np.where(np.isnan(bounds[jobs]), alike[jobs], bounds[jobs])
    yield "all turnarounds", lambda jobs: alike[jobs]


def _seconds(logs: Quantiles) -> Quantiles:
    """Return whole seconds, as deadlines are said, at the levels of losses, of logarithms of 1 + s
    at all that are learned."""
    return np.rint(np.expm1(logs[:, PLACES]))


def all_alike(submit: Ints, finish: Ints, known: Bools) -> Quantiles:
    """Return quantiles of the latest turnarounds of all jobs that had ended by each submission,
    float32[n, 19], s; renewed each `LATEST` / 20 ends, and an hour where there is none."""
    order = np.flatnonzero(known)
    order = order[np.argsort(finish[order], kind="stable")]
    took = (finish - submit)[order].astype(np.float64)
    ended = np.searchsorted(finish[order], submit, side="left") // (LATEST // 20)
    out = np.full((len(submit), len(LEVELS)), 3600.0, np.float32)
    for step, first in zip(*np.unique(ended, return_index=True), strict=True):
        last = int(step) * (LATEST // 20)
        if last:
            out[first:] = np.quantile(took[max(last - LATEST, 0) : last], LEVELS)
    return out


YARDSTICKS: Final[tuple[Column, ...]] = (
    ("Quotes", "quotes", str),
    ("Jobs", "jobs", number),
    ("Loss, log", "loss_log", digits),
    ("Loss, h", "loss_hours", number),
    ("Of book", "loss_hours_of_book", percent),
    ("Kept by 90 %", "kept_90", percent),
    ("50 %", "deadline_50_per_turnaround", times),
    ("80 %", "deadline_80_per_turnaround", times),
    ("90 %", "deadline_90_per_turnaround", times),
    ("95 %", "deadline_95_per_turnaround", times),
)


def yardsticks_table(measured: tuple[Yardstick, ...]) -> Table:
    """Return how sharp each way to quote was, ours first."""
    [book] = [one.scores for one in measured if one.name == BOOK]
    records: list[dict[str, Any]] = []
    for one in measured:
        scores = one.scores
        record = {
            "quotes": one.name,
            "jobs": scores.count,
            "loss_log": scores.logs,
            "loss_log_error": scores.logs_error,
            "loss_hours": scores.hours,
            "loss_hours_error": scores.hours_error,
            "loss_log_of_book": scores.logs / book.logs,
            "loss_hours_of_book": scores.hours / book.hours,
        }
        for level, kept, (low, middle, high) in zip(SHOWN, scores.kept, scores.ratio, strict=True):
            name = f"{100 * level:.0f}"
            record[f"kept_{name}"] = kept
            record[f"deadline_{name}_per_turnaround"] = middle
            record[f"deadline_{name}_per_turnaround_quarter"] = low
            record[f"deadline_{name}_per_turnaround_three_quarters"] = high
        records.append(record)
    note = (
        "Loss: the mean pinball loss of turnarounds over the levels 5 to 95 %, in natural "
        "logarithms and in hours; lower is sharper. Of book: the loss in hours, relative to "
        "that of the book of similar jobs. Last columns: median deadlines, as multiples of "
        "turnarounds."
    )
    return Table.by(
        "promises_yardsticks", YARDSTICKS, records, note=note, right=tuple(range(1, 10)),
        title="How sharp quotes are, compared with baselines on the same jobs",
    )  # fmt: skip


def sharper(measured: tuple[Yardstick, ...]) -> list[str]:
    """Return a sentence on how sharp quotes are beside those of similar jobs alone."""
    scores = {one.name: one.scores for one in measured}
    if OURS not in scores:
        return []
    ours, book = scores[OURS], scores[BOOK]
    less = 1 - ours.hours / book.hours
    word = "less" if less >= 0 else "more"
    place = SHOWN.index(0.9)
    return [
        f"The pinball loss of quotes, in hours, is {percent(abs(less))} {word} than that of "
        "similar jobs only; half of the 90 % deadlines are at most "
        f"{number(ours.ratio[place][1])} turnarounds away (similar jobs only: "
        f"{number(book.ratio[place][1])})."
    ]
