"""Likelihoods of laws with one shape and a power: T = scale * Y^(1 / power).

Y has a standard law with one parameter k. With L = power * (log t - log scale), the logarithm of y,
all that is needed is the log-density, log-survival and log-cdf of Y as functions of k and L, with
first and second derivatives; the chain rule does the rest for every such family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import BLOCK, Batch, BatchPart, Derivatives

Six = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""A value v(k, L) and its derivatives v_k, v_kk, v_L, v_kL, v_LL."""


class StretchedStandard(ABC):
    """The law of Y, with one parameter k; k is float64[B, 1], L = log y and y float64[B, n].

    Attributes
    ----------
    by_level : whether L is asked for; where not, and the power is 1, y stands in for it
    """

    by_level: ClassVar[bool] = True

    @abstractmethod
    def exact(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return the log-density of Y at y, and its derivatives by k and L."""

    @abstractmethod
    def right(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return the logarithm of the probability of more than y."""

    def left(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return the logarithm of the probability of at most y."""
        return complement(self.right(k, level, y))

    def exact_sums(
        self, part: BatchPart, k: Floats, power: Floats, log_scale: Floats
    ) -> Floats | None:
        """Return what `sums` would for exact gaps, from sums of the sample; None to add it up."""
        return None


def complement(six: Six) -> Six:
    """Return log(1 - e^v) and its derivatives."""
    v, k, kk, level, mixed, bend = six
    rest = -np.expm1(v)
    odds = np.exp(v) / rest
    down_k, down = -odds * k, -odds * level
    return (
        np.log(rest),
        down_k,
        -odds * (kk + k * k) - down_k * down_k,
        down,
        -odds * (mixed + k * level) - down_k * down,
        -odds * (bend + level * level) - down * down,
    )


def sums(
    standard: StretchedStandard,
    batch: Batch,
    k: Floats,
    power: Floats,
    log_scale: Floats,
    *,
    stretch: bool = True,
) -> Floats:
    """Return float64[10, B]: a batch's sums of v, v_k, v_kk, v_L, v_kL, v_LL, then of L v_L,
    L v_kL, L v_LL and L^2 v_LL (0 without `stretch`).

    Parameters
    ----------
    k, power, log_scale : float64[B]
    stretch : whether the power is a parameter too
    """
    answer = np.zeros((10, len(batch)))
    known = None
    if len(batch.exact):
        known = standard.exact_sums(batch.exact, k, power, log_scale)
    if known is not None:
        answer += known
    sorts = ((batch.exact, standard.exact), (batch.right, standard.right))
    for part, term in (*sorts, (batch.left, standard.left)):
        if part is batch.exact and known is not None:
            continue
        for some in part.columns(max(1, BLOCK // len(batch))):
            if stretch or standard.by_level:
                level = power[:, None] * (some.log - log_scale[:, None])
                y = np.exp(level)
            else:
                level = y = some.time * np.exp(-log_scale)[:, None]
            six = term(k[:, None], level, y)
            _add(answer, some, level, six, stretch)
    return answer


def _add(answer: Floats, part: BatchPart, level: Floats, six: Six, stretch: bool) -> None:
    for row, each in zip(answer, six, strict=False):
        if each.shape[-1] == 1 and len(part) > 1:  # the same for all gaps of a row
            row += each[:, 0] * part.count
        else:
            row += part.total(each)
    if stretch:
        slope, mixed, bend = (np.broadcast_to(each, level.shape) for each in six[3:])
        answer[6] += part.total(level * slope)
        answer[7] += part.total(level * mixed)
        turned = level * bend
        answer[8] += part.total(turned)
        answer[9] += part.total(level * turned)


def chained(
    total: Floats, exact: BatchPart, power: Floats, log_scale: Floats, by: tuple[Floats, Floats]
) -> Derivatives:
    """Return log-likelihood float64[B], gradient [B, 3] and Hessian [B, 3, 3] by u, log power and
    log scale.

    Parameters
    ----------
    total : float64[10, B], as of `sums`
    exact : the exact gaps; density of time is that of Y times dy / dt = power y / t
    by : float64[B] twice, dk / du and its derivative by u
    """
    (first, second), (v, k, kk, d, kd, dd, ld, lkd, ldd, lldd) = by, total
    count = exact.count
    level = np.zeros(len(v))  # L added up
    value = v + count * (np.log(power) - log_scale)
    if (power != 1).any():
        level = power * (exact.sum_log - count * log_scale)
        value += level - (exact.sum_log - count * log_scale)
    slope = d + count  # L is the logarithm of y
    gradient = np.stack([first * k, ld + level + count, -power * slope], axis=1)
    hessian = np.empty((len(v), 3, 3))
    hessian[:, 0, 0] = first * first * kk + second * k
    hessian[:, 0, 1] = hessian[:, 1, 0] = first * lkd
    hessian[:, 0, 2] = hessian[:, 2, 0] = -first * power * kd
    hessian[:, 1, 1] = lldd + ld + level
    hessian[:, 1, 2] = hessian[:, 2, 1] = -power * (ldd + slope)
    hessian[:, 2, 2] = power * power * dd
    return value, gradient, hessian


def moved(derivatives: Derivatives, jacobian: Floats, bends: Floats | None = None) -> Derivatives:
    """Return derivatives by other coordinates.

    Parameters
    ----------
    jacobian : float64[B or 1, q, p], d old / d new
    bends : float64[B, p, p], the gradient-weighted second derivatives of the old coordinates
    """
    value, gradient, hessian = derivatives
    turned = np.swapaxes(jacobian, 1, 2)
    slope = (turned @ gradient[:, :, None])[:, :, 0]
    bend = turned @ hessian @ jacobian
    return value, slope, bend if bends is None else bend + bends
