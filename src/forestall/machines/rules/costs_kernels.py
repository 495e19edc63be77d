"""What a move costs, learnt as `costs.MoveCosts` does it, where all machines are of one memory.

All points of the line a + b m then lie at one m, and its sums are multiples of two numbers. There
is one path: links are alike.
"""

from __future__ import annotations

import math

from forestall.core._compile import kernel
from forestall.machines.rules.costs import FORGETS, TYPICAL, WEIGHT

_FIXED, _BY_MEMORY = float(WEIGHT), float(WEIGHT * TYPICAL * TYPICAL)
_FORGETS = float(FORGETS)
_NEARLY = 1e-9
"""Half a second is rounded up, also where floating point falls short of it."""


@kernel
def learn(costs, memory, seconds):
    """Take in a move that came off; return what the next one is believed to take, s.

    Parameters
    ----------
    costs : float64[3], weight of the moves seen, weighted sum of their s, and s believed before
    memory : of a machine, MiB
    seconds : that the move took
    """
    costs[0] = _FORGETS * costs[0] + 1.0
    costs[1] = _FORGETS * costs[1] + seconds
    weight, total, gib = costs[0], costs[1], memory / 1024
    # Two equations by Cramer's rule: the line that is drawn toward (costs[2], 0).
    a, b, d = weight + _FIXED, weight * gib, weight * gib * gib + _BY_MEMORY
    first, second = total + _FIXED * costs[2], total * gib
    whole = a * d - b * b
    fixed = max((first * d - b * second) / whole, 0.0)
    per_gib = max((a * second - b * first) / whole, 0.0)
    return math.floor(fixed + per_gib * gib + 0.5 + _NEARLY)
