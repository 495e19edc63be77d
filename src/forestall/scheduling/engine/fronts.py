"""The offers of a front that are shown."""

from __future__ import annotations

from itertools import pairwise

from forestall.core.model.quotes import Quote


def thinned(front: list[Quote], most: int) -> list[Quote]:
    """Return at most so many offers: the first, the last, and between them those that gain most."""
    if len(front) <= most:
        return front
    if most == 1:
        return front[:1]
    gains = [
        (b.probability - a.probability, -k) for k, (a, b) in enumerate(pairwise(front[:-1]), 1)
    ]
    best = sorted(-k for _, k in sorted(gains, reverse=True)[: most - 2])
    return [front[0], *(front[k] for k in best), front[-1]]
