"""Where a guest's job will be done first, failures considered: pure functions, asked once.

The engine for cycle sharing calls the same kernels. Source: S. Bagchi et al., slides "How to
integrate failure prediction" and "Falcon Scheduler".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.model.cycle import ESTIMATE, MILLION, GuestReason
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.forecast import curves
from forestall.sharing.rules import falcon_entry_kernels as entries

MOST_WORK = 2**40
"""Seconds of a job, at most: in millionths they stay within 64 bits."""


class Estimate(NamedTuple):
    """What is expected of a job on a host, whole seconds from now; FAR stands for never.

    Attributes
    ----------
    jct : completion time where the host stays
    mttf : mean time to failure
    etl : effective task length: the work that is done by then, s of a host of speed 1
    jctf : completion time, failures considered
    chance : that the job ends before the host is left, millionths
    """

    jct: int
    mttf: int
    etl: int
    jctf: int
    chance: int


def estimate(
    work: float,
    share: npt.ArrayLike,
    reliability: npt.ArrayLike,
    *,
    step: int,
    speed: float = 1.0,
    means: bool = False,
) -> Estimate:
    """Return what is expected of a job on a host.

    Parameters
    ----------
    work : what is left of the job, s of a host of speed 1 that nobody else uses
    share : float[n], share of the host that a guest gets in each step from now on, 1 - L
    reliability : float[n + 1], chance that the host is still available by each step, from 1 on
    step : seconds
    speed : of the host, CR
    means : by mean loads, as the slides write it: with L(T) the mean of 1 - share over the next T
        seconds, jct = work / (CR (1 - L(work))), and CR (1 - L(jctf)) times the integral of TR up
        to jctf is the work

    Beyond n steps everything goes on as from now. With C the work done where the host stays and TR
    its reliability: C(jct) = work; mttf is the integral of TR; etl = C(mttf); the integral of TR
    up to jctf, by C, is the work. Raises ParameterError.

    Examples
    --------
    A host with no load that stays an hour with certainty, and never longer:

    >>> estimate(1800, [1, 1], [1, 1, 0], step=3600)
    Estimate(jct=1800, mttf=5400, etl=5400, jctf=1800, chance=1000000)

    Half an hour of idle time, then an hour with a load of 0.5, by mean loads:

    >>> estimate(2000, [1, 0.5, 0.5], [1, 1, 1, 1], step=1800, means=True).jct
    2106
    """
    shares = np.atleast_1d(np.asarray(share, dtype=np.float64))
    chances = np.atleast_1d(np.asarray(reliability, dtype=np.float64))
    if shares.ndim != 1 or len(shares) == 0 or not np.all((shares >= 0) & (shares <= 1)):
        raise ParameterError("share", share, "shares from 0 to 1, one for each step")
    if chances.shape != (len(shares) + 1,) or not np.all((chances >= 0) & (chances <= 1)):
        raise ParameterError(
            "reliability", reliability, f"{len(shares) + 1} probabilities, from that of now on"
        )
    if np.any(np.diff(chances) > 0):
        raise ParameterError("reliability", reliability, "probabilities that do not rise")
    for name, value, most in (
        ("work", work, MOST_WORK),
        ("speed", speed, 1e6),
        ("step", step, 1e9),
    ):
        if not 0 < value <= most:
            raise ParameterError(name, value, f"a number above 0, at most {most:g}")
    both = (1, 2, len(shares))
    known = curves(
        np.broadcast_to(shares, both),
        np.tile(chances, (1, 2, 1)),
        np.array([speed]),
        step,
    )
    out = records(1, ESTIMATE)
    if means:
        entries.estimate_by_means(out, known, 0, 0, round(work * MILLION))
    else:
        entries.estimate(out, known, 0, 0, round(work * MILLION), 0.0)
    return Estimate(*(int(out[name][0]) for name in Estimate._fields))


def choose(estimates: Sequence[Estimate]) -> tuple[int, GuestReason]:
    """Return which of the hosts with these estimates is chosen, and why.

    Where each is expected to fail before the job ends, or would never end it, the one with the
    largest effective task length; else, of those that are not, the one with the least completion
    time, failures considered. Ties go to the larger mean time to failure, then to the one that
    stands first. Raises ParameterError without any.

    Examples
    --------
    >>> quick, steady = Estimate(3600, 1800, 1800, 2**60, 0), Estimate(5400, 90000, 60000, 5600, 0)
    >>> place, reason = choose([quick, steady])
    >>> place, reason.name
    (1, 'ENDS_FIRST')
    """
    if not estimates:
        raise ParameterError("estimates", 0, "at least one")
    table = records(len(estimates), ESTIMATE)
    for name in Estimate._fields:
        table[name] = [getattr(one, name) for one in estimates]
    place, reason = entries.choose(table, len(table))
    return int(place), GuestReason(int(reason))
