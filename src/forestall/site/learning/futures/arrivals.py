"""Who comes next: submissions of recent weeks, drawn again at the same weekday and hour.

A future's submissions are put together of blocks of hours, each taken as it was, whole weeks before
(a block bootstrap; Künsch, Annals of Statistics 17, 1989): bursts, sizes, limits, run times and the
mix of users stay as they belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Ints
from forestall.core.streams import stream
from forestall.prediction.models.foreseen_kernels import FAR

DAY: Final = 86_400
WEEK: Final = 7 * DAY
BLOCK: Final = 4 * 3600
HORIZON: Final = 2 * DAY
"""Nobody arrives later than so long after now."""
WEEKS: Final = 8
"""No block is taken from longer ago."""


@dataclass(frozen=True)
class PastSubmissions:
    """Jobs in order of submission, int64[n] each: when, nodes, limits and run times in seconds, and
    which pool of nodes they were for."""

    submit: Ints
    size: Ints
    limit: Ints
    run: Ints
    pool: Ints


@dataclass(frozen=True)
class Redrawn:
    """Jobs that are submitted in each future, int64[K, a] each but `run`, float32[K, a]; FAR is the
    `submit` of none. Blocks were moved by multiples of `period` seconds, up to `most` of them."""

    submit: Ints
    size: Ints
    limit: Ints
    run: npt.NDArray[np.float32]
    pool: Ints
    period: int
    most: int


def redrawn(past: PastSubmissions, begin: int, now: int, futures: int, seed: int) -> Redrawn | None:
    """Return the submissions of each future; None where the past is shorter than a day.

    Blocks lie whole weeks back, where the past is as long as that, else whole days. Each is drawn
    as often as any other, as far as the number of futures lets it.
    """
    period = WEEK if now - begin >= WEEK else DAY
    most = min((now - begin) // period, WEEKS if period == WEEK else 7)
    if most < 1:
        return None
    generator = stream(seed, "futures", "arrivals")
    rows: list[list[Ints]] = [[] for _ in range(futures)]
    moved: list[list[Ints]] = [[] for _ in range(futures)]
    for first in range(0, HORIZON, BLOCK):
        back = period * (1 + generator.permutation(futures) % most)
        for k, shift in enumerate(back.tolist()):
            # A block that reaches past what has happened is taken from a period earlier.
            at = now + first - max(shift, -(-(first + BLOCK) // period) * period)
            low, high = np.searchsorted(past.submit, [at, at + BLOCK]).tolist()
            rows[k].append(np.arange(low, high))
            moved[k].append(past.submit[low:high] - at + now + first)
    taken = [np.concatenate(one) for one in rows]
    count = max(len(one) for one in taken)
    shape = (futures, count)
    submit, size, limit = np.full(shape, FAR), np.ones(shape, np.int64), np.ones(shape, np.int64)
    run, pool = np.ones(shape, np.float32), np.zeros(shape, np.int64)
    for k, one in enumerate(taken):
        n = len(one)
        submit[k, :n] = np.concatenate(moved[k])
        size[k, :n], limit[k, :n] = past.size[one], past.limit[one]
        run[k, :n], pool[k, :n] = past.run[one], past.pool[one]
    return Redrawn(submit, size, limit, run, pool, period, int(most))
