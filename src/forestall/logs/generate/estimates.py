"""Requested times, after Tsafrir, Etsion and Feitelson, "Modeling user runtime estimates",
JSSPP 2005.

Kept of their findings: users ask for few round values, some twenty of which make up nine tenths of
all jobs; popularity falls off exponentially with rank; a job is killed at its request, so no run
time exceeds it; the used part of a request is about evenly spread, and most ask for far more than
they use. The values and the rate of decay are ours, for a machine whose limit is 48 hours, not
fitted ones of the paper.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]

HEAD_MINUTES: Final = (
    *(60, 720, 240, 120, 1440, 2880, 30, 360, 600, 15),
    *(180, 480, 1080, 10, 300, 20, 5, 2160, 90, 1800),
)
"""The twenty popular values in order of popularity."""

HEAD_SHARE: Final = 0.8
DECAY: Final = 0.18
"""Popularity of rank r is proportional to exp(-DECAY r)."""

TAIL_STEP: Final = 300
LIMIT: Final = 48 * 3600
"""The other requests are multiples of five minutes, many of which are popular values again."""

BLOCK: Final = 1 << 16


def requested_times(runtime: Int, rng: np.random.Generator) -> Int:
    """Return a requested time for each run time, s, int64[n], never below it.

    A job aims at its run time over an even draw from (0, 1]. Of the popular values that are not
    below its run time it draws one, by popularity times how near the value is to the aim (the ratio
    of the smaller to the larger). The other jobs take the multiple of five minutes above the aim.
    Run times beyond the limit ask for the next multiple of five minutes.
    """
    parts = [np.empty(0, dtype=np.int64)]
    for first in range(0, len(runtime), BLOCK):
        part = runtime[first : first + BLOCK]
        parts.append(_block(part, rng.random((len(part), 3)).T))
    return np.concatenate(parts)


def _block(runtime: Int, draws: npt.NDArray[np.float64]) -> Int:
    tail, used, place = draws
    values = np.array(HEAD_MINUTES, dtype=np.int64) * 60
    aim = np.clip(runtime / (1 - used), 1.0, np.maximum(runtime, LIMIT))
    ratio = values / aim[:, None]
    weight = np.exp(-DECAY * np.arange(len(values))) * np.minimum(ratio, 1 / ratio)
    weight[values < runtime[:, None]] = 0.0
    upto = np.cumsum(weight, axis=1)
    picked = np.argmax(upto > (place * upto[:, -1])[:, None], axis=1)
    other = np.ceil(aim / TAIL_STEP).astype(np.int64) * TAIL_STEP
    out: Int = np.where((tail < HEAD_SHARE) & (runtime <= LIMIT), values[picked], other)
    return out
