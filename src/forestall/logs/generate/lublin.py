"""The workload model of Lublin and Feitelson, "The workload on parallel supercomputers: modeling
the characteristics of rigid jobs", JPDC 63(11), 2003: sizes, run times and arrivals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily

with lazily():
    from scipy import special

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

CHUNK: Final = 4096
"""Jobs drawn at a time: the first jobs are the same however many follow."""

LONGEST_RUNTIME: Final = 12.0
LONGEST_GAP: Final = 13.0
"""Exponents above these are drawn again (162,754 s and 442,413 s)."""

BUCKETS: Final = 48
DAY: Final = 86_400
FIRST_BUCKET: Final = 11
"""The model's day starts in the half hour at 5:30."""


@dataclass(frozen=True)
class Constants:
    """The model's parameters as published, for one kind of jobs.

    Attributes
    ----------
    serial, pow2 : probabilities of one node, and of a power of two
    low, below, beyond, first : the two-stage uniform law of log2(size) is on [low, medium] with
        probability `first`, else on [medium, high]; high = log2(nodes) - beyond,
        medium = high - below (as published, of 128 nodes)
    a1, b1, a2, b2, pa, pb : hyper-gamma law of ln(run time): shapes and scales, and the
        probability pa size + pb of the first
    aarr, barr, arar : gamma law of ln(gap): shape aarr arar, scale barr
    anum, bnum : gamma law of the half hour of the day in which jobs arrive
    """

    serial: float
    pow2: float
    low: float
    below: float
    beyond: float
    first: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


MODELS: Final = {
    "all": Constants(
        *(0.244, 0.576, 0.8, 2.5, 0.0, 0.86),
        *(4.2, 0.94, 312, 0.03, -0.0054, 0.78),
        *(10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
    ),
    "batch": Constants(
        *(0.2927, 0.6686, 1.2, 2.0, 0.0, 0.875),
        *(6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        *(6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
    ),
    "interactive": Constants(
        *(0.1541, 0.625, 1.0, 2.5, 1.5, 0.705),
        *(3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        *(6.5510, 0.6621, 8.9186, 3.6680, 0.9797),
    ),
}


def sizes(constants: Constants, nodes: int, count: int, rng: np.random.Generator) -> Int:
    """Return sizes in nodes, int64[count], each in [1, nodes].

    Where 2^log2(size), rounded, exceeds a machine that is no power of two, the size is the machine.
    """
    high = max(math.log2(nodes) - constants.beyond, 0.0)
    medium = max(high - constants.below, 0.0)
    low = min(constants.low, medium)
    parts = []
    for _ in range(0, count, CHUNK):
        kind, stage, place = rng.random((3, CHUNK))
        early = stage <= constants.first
        power = np.where(early, low + (medium - low) * place, medium + (high - medium) * place)
        power = np.where(kind <= constants.serial + constants.pow2, np.rint(power), power)
        size = np.rint(np.exp2(power)).astype(np.int64)
        parts.append(np.where(kind <= constants.serial, 1, np.clip(size, 1, nodes)))
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])[:count]


def runtimes(constants: Constants, size: Int, rng: np.random.Generator) -> Int:
    """Return run times in whole seconds of at least 1, int64[n], of jobs of these sizes."""
    parts = [np.empty(0, dtype=np.int64)]
    for first in range(0, len(size), CHUNK):
        part = np.ones(CHUNK)
        part[: len(size) - first] = size[first : first + CHUNK]
        chance = np.clip(constants.pa * part + constants.pb, 0.0, 1.0)
        exponent = np.full(CHUNK, np.inf)
        # A chunk is always drawn whole, so that its draws do not depend on how much of it is used.
        while (again := np.flatnonzero(exponent > LONGEST_RUNTIME)).size:
            short = rng.random(len(again)) <= chance[again]
            shape = np.where(short, constants.a1, constants.a2)
            exponent[again] = rng.gamma(shape, np.where(short, constants.b1, constants.b2))
        parts.append(np.maximum(1, np.rint(np.exp(exponent))).astype(np.int64))
    return np.concatenate(parts)[: len(size)]


def gaps(constants: Constants, count: int, rng: np.random.Generator) -> Real:
    """Return gaps between arrivals at the day's mean rate, s, float64[count]."""
    parts = [np.empty(0)]
    for _ in range(0, count, CHUNK):
        exponent = np.full(CHUNK, np.inf)
        while (again := np.flatnonzero(exponent > LONGEST_GAP)).size:
            shape = constants.aarr * constants.arar
            exponent[again] = rng.gamma(shape, constants.barr, len(again))
        parts.append(np.exp(exponent))
    return np.concatenate(parts)[:count]


def daily_weights(constants: Constants) -> Real:
    """Return how busy each half hour of the day is, from midnight, float64[48] of mean 1."""
    index = np.arange(FIRST_BUCKET, FIRST_BUCKET + BUCKETS)
    upper = special.gammainc(constants.anum, (index + 0.5) / constants.bnum)
    weights = np.empty(BUCKETS)
    weights[index % BUCKETS] = upper - special.gammainc(
        constants.anum, (index - 0.5) / constants.bnum
    )
    out: Real = weights / weights.mean()
    return out


def clock(constants: Constants, points: Real) -> Real:
    """Return when this many points are paid, s from midnight, float64[n].

    A second of a half hour costs its weight; a gap is a number of points.
    """
    weights = daily_weights(constants)
    paid = np.concatenate(([0.0], np.cumsum(weights))) * (DAY / BUCKETS)
    paid *= DAY / paid[-1]  # the rounding of the sum must not move midnight
    edges = np.linspace(0.0, DAY, BUCKETS + 1)
    days = np.floor(points / DAY)
    out: Real = days * DAY + np.interp(points - days * DAY, paid, edges)
    return out
