"""Where a function of one variable is 0: without SciPy's optimisers, which take long to import."""

from __future__ import annotations

from collections.abc import Callable

EPSILON, SMALLEST = 2.0**-52, 1e-15
MOST_STEPS = 60
"""After so many steps the rest is by halving, which always ends."""


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a continuous function is 0 between two points at which its signs differ.

    By inverse quadratic interpolation where that is safe, else by halving: Chandrupatla, Advances
    in Engineering Software 28 (1997). To the last bits of the argument, or to 1e-15 near 0.
    """
    a, b = high, low
    fa, fb = function(a), function(b)
    if fa == 0 or fb == 0:
        return a if fa == 0 else b
    assert (fa > 0) != (fb > 0), "no change of sign"
    t, steps = 0.5, 0
    while True:
        steps += 1
        x = a + t * (b - a)
        fx = function(x)
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        best, least = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        tolerance = 2 * EPSILON * abs(best) + SMALLEST
        if least == 0 or abs(b - a) <= 2 * tolerance:
            return best
        edge = tolerance / abs(b - a)
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        t = 0.5
        if steps < MOST_STEPS and phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            t = fa / (fb - fa) * fc / (fb - fc)
            t += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        t = min(1 - edge, max(edge, t))
