"""Power series by FFT: products, inverses, and the first passage of a semi-Markov process.

A series is an array whose last axis holds the coefficients of z^0, z^1, ...; the axes before it are
a batch. The inverse is Newton's, which doubles the number of right coefficients in each step: all n
of them cost O(n log n). The cyclic wrap of a transform that is only as long as the wanted
coefficients falls on those that are known already, so that no transform is longer than these.
"""

from __future__ import annotations

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats

with lazily():
    from scipy import fft


DIRECT = 32
"""Coefficients that are found one by one, before Newton's steps begin."""


def product(one: Floats, two: Floats, terms: int) -> Floats:
    """Return the first `terms` coefficients of a product of series, float64[..., terms]."""
    left, right = one[..., :terms], two[..., :terms]
    if left.shape[-1] == 0 or right.shape[-1] == 0:
        return np.zeros((*np.broadcast_shapes(left.shape[:-1], right.shape[:-1]), terms))
    size = fft.next_fast_len(left.shape[-1] + right.shape[-1] - 1, real=True)
    whole = fft.irfft(fft.rfft(left, size) * fft.rfft(right, size), size)[..., :terms]
    return fitted(whole, terms)


def fitted(series: Floats, terms: int) -> Floats:
    """Return a series cut to, or filled with zeros up to, so many coefficients."""
    have = series.shape[-1]
    if have >= terms:
        return series[..., :terms]
    longer = np.zeros((*series.shape[:-1], terms))
    longer[..., :have] = series
    return longer


def inverse(series: Floats, terms: int) -> Floats:
    """Return the first `terms` coefficients of 1 / series, float64[..., terms].

    The coefficient of z^0 must not be 0.
    """
    h = fitted(series, terms)
    sizes = [terms]
    while sizes[-1] > DIRECT:
        sizes.append((sizes[-1] + 1) // 2)
    found = _first_terms(h, sizes[-1])
    for want in reversed(sizes[:-1]):
        have = found.shape[-1]
        size = fft.next_fast_len(want, real=True)
        turned = fft.rfft(found, size)
        rest = fft.irfft(fft.rfft(h[..., :want], size) * turned, size)[..., have:want]
        more = fft.irfft(fft.rfft(rest, size) * turned, size)[..., : want - have]
        found = np.concatenate((found, -more), axis=-1)
    return found


def quotient(above: Floats, below: Floats, terms: int) -> Floats:
    """Return the first `terms` coefficients of above / below, float64[..., terms].

    The inverse is found to half of them only; the rest of the quotient follows from what the first
    half leaves over (Karp and Markstein).
    """
    half = (terms + 1) // 2
    size = fft.next_fast_len(terms, real=True)
    turned = fft.rfft(inverse(below, half), size)
    n, d = fitted(above, terms), fitted(below, terms)
    found = fft.irfft(fft.rfft(n[..., :half], size) * turned, size)[..., :half]
    rest = (
        n[..., half:] - fft.irfft(fft.rfft(found, size) * fft.rfft(d, size), size)[..., half:terms]
    )
    more = fft.irfft(fft.rfft(rest, size) * turned, size)[..., : terms - half]
    return np.concatenate((found, more), axis=-1)


def _first_terms(series: Floats, terms: int) -> Floats:
    """Return the first coefficients of 1 / series one after the other."""
    found = np.zeros((*series.shape[:-1], terms))
    found[..., 0] = 1 / series[..., 0]
    for m in range(1, terms):
        known = (series[..., m:0:-1] * found[..., :m]).sum(axis=-1)
        found[..., m] = -known * found[..., 0]
    return found


def first_passage(start: Floats, inner: Floats, outer: Floats, terms: int) -> Floats:
    """Return the series of the first entries into the failing states, float64[..., r, f, terms].

    Solves P = outer + inner P, the recursion of the interval transition probabilities written in
    the generating variable, and returns start P. One and two transient states have closed forms:
    with two, P_1j = ((1 - a_22) a_1j + a_12 a_2j) / ((1 - a_11) (1 - a_22) - a_12 a_21).

    Parameters
    ----------
    start : float64[..., r, t], r laws of the transient state at the start
    inner : float64[..., t, t, m], mass of transitions from transient i to transient j at m steps
    outer : float64[..., t, f, m], the same to the f failing states (or to any, f = 1)
    terms : number of coefficients wanted
    """
    cut, out = inner[..., :terms], outer[..., :terms]
    states = inner.shape[-2]
    if states == 2:
        return _two_states(start, cut, out, terms)
    if states == 1:
        found = quotient(out, _one_minus(cut, terms), terms)
    else:
        found = _solved(cut, out, terms)
    made: Floats = np.einsum("...rt,...tfm->...rfm", start, found)
    return made


def _one_minus(series: Floats, terms: int) -> Floats:
    one = -fitted(series, terms)
    one[..., 0] += 1
    return one


def _two_states(start: Floats, inner: Floats, outer: Floats, terms: int) -> Floats:
    size = fft.next_fast_len(2 * inner.shape[-1] - 1, real=True)
    across = fft.rfft(inner[..., (0, 1), (1, 0), :], size)
    f = fft.rfft(outer, size)
    below, leaves = -across[..., 0, :] * across[..., 1, :], np.ones((2, 1))
    same = inner[..., (0, 1), (0, 1), :]
    if np.any(same):
        leaves = 1 - fft.rfft(same, size)
    below += leaves[..., 0, :] * leaves[..., 1, :]
    above = 0
    for k in (0, 1):
        mine, other = start[..., k, None], start[..., 1 - k, None]
        share = mine * leaves[..., 1 - k, None, :] + other * across[..., 1 - k, None, :]
        above = above + share[..., :, None, :] * f[..., k, None, :, :]
    under = fft.irfft(below, size)[..., None, None, :]
    return quotient(fft.irfft(above, size), under, terms)


def _solved(inner: Floats, outer: Floats, terms: int) -> Floats:
    """Solve by Newton's step for matrices of series, as `inverse` does for one series."""
    states = inner.shape[-2]
    h = -fitted(inner, terms)
    h[..., range(states), range(states), 0] += 1
    sizes = [terms]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    found = np.linalg.inv(h[..., 0])[..., None]

    def times(one: Floats, two: Floats) -> Floats:
        made: Floats = np.einsum("...ijm,...jkm->...ikm", one, two)
        return made

    for want in reversed(sizes[:-1]):
        have = found.shape[-1]
        size = fft.next_fast_len(want, real=True)
        turned = fft.rfft(found, size)
        rest = fft.irfft(times(fft.rfft(h[..., :want], size), turned), size)[..., have:want]
        more = fft.irfft(times(turned, fft.rfft(rest, size)), size)[..., : want - have]
        found = np.concatenate((found, -more), axis=-1)
    cut = outer[..., :terms]
    size = fft.next_fast_len(terms + max(cut.shape[-1], 1) - 1, real=True)
    whole = fft.irfft(times(fft.rfft(found, size), fft.rfft(cut, size)), size)
    return fitted(whole, terms)
