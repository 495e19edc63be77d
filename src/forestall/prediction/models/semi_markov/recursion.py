"""Temporal reliability by the recursion of the interval transition probabilities: slow, and plain.

This is the reference that the inversion of `series` is checked against.
"""

from __future__ import annotations

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.process import Initial, SemiMarkov


def reliability_by_recursion(process: SemiMarkov, initial: Initial, horizon: int) -> Floats:
    """Return float64[horizon + 1] as `SemiMarkov.reliability` does, in O(n^2) operations.

    For a failing state j, P_ij(m) = sum over transient k and l <= m of Q_i(k) H_ik(l) P_kj(m - l)
    + sum over l <= m of Q_i(j) H_ij(l), and TR(m) = 1 - sum_j P_ij(m). Only what is needed is kept:
    one number a transient state and step. Raises ParameterError for a batch of processes.
    """
    if process.batch:
        raise ParameterError("process", f"{process.batch} processes", "one process")
    law = process.law(initial)
    inside, outside = list(process.transient), list(process.failing)
    kernel = _cut(process.kernel, horizon)
    inner, direct = kernel[:, inside], np.cumsum(kernel[:, outside].sum(axis=1), axis=-1)
    at_once = np.linalg.inv(np.eye(len(inside)) - inner[..., 0])
    entered = np.zeros((len(inside), horizon + 1))
    for m in range(horizon + 1):
        later = inner[:, :, m:0:-1] * entered[None, :, :m]
        entered[:, m] = at_once @ (direct[:, m] + later.sum(axis=(1, 2)))
    if process.first is not None:
        entered = _after_first(_cut(process.first, horizon), inside, outside, entered)
    found: Floats = 1 - law[outside].sum() - law[inside] @ entered
    return found


def _after_first(first: Floats, inside: list[int], outside: list[int], entered: Floats) -> Floats:
    """Return the entries where the first stay has a law of its own."""
    whole = np.cumsum(first[:, outside].sum(axis=1), axis=-1)
    for m in range(entered.shape[1]):
        whole[:, m] += (first[:, inside, m::-1] * entered[None, :, : m + 1]).sum(axis=(1, 2))
    return whole


def _cut(kernel: Floats, horizon: int) -> Floats:
    made = np.zeros((*kernel.shape[:-1], horizon + 1))
    have = min(kernel.shape[-1], horizon + 1)
    made[..., :have] = kernel[..., :have]
    return made
