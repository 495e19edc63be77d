"""Named streams of random numbers: one seed, and for each use a generator of its own.

What one part draws then never shifts what another part gets, whatever the order or the number of
worker processes.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures

_STEPS = 2**52


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator that belongs to `seed` and `names`, the same in every process.

    Parameters
    ----------
    seed : any whole number >= 0
    names : what the numbers are for, such as ``("failures", "when")``; order matters

    >>> bool(stream(1, "when").random() == stream(1, "when").random())
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError("seed", seed, "a whole number of at least 0")
    sequence = np.random.SeedSequence([int(seed), *_words(names)])
    return np.random.Generator(np.random.PCG64(sequence))


@lru_cache(256)
def _words(names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the numbers that names stand for."""
    # Lengths keep ("ab", "c") and ("a", "bc") apart; hash() would change from process to process.
    text = "".join(f"{len(name)}:{name}" for name in names)
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))


def draw_detectability(failures: Failures, seed: int) -> Failures:
    """Return the failures with each missing detectability (nan) drawn, uniform on the open (0, 1).

    One number is drawn for every failure in order of (time, node), also for those that need none,
    so that a failure's draw does not depend on which others are filled.
    """
    # The middles of 2**52 equal steps: the lowest and the highest are exact and inside (0, 1).
    steps = stream(seed, "detectability").integers(0, _STEPS, len(failures))
    draws = (steps + 0.5) / _STEPS
    known = failures.detectability
    return replace(failures, detectability=np.where(np.isnan(known), draws, known))
