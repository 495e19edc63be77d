"""What the coming hours of shared hosts are likely to bring: chances to stay, and idle time.

For a window from a time of day on, a host's chance to stay available is that of the semi-Markov
process learned from the same clock window of recent like days; the share of the machine that a
guest would get is the mean over the same windows. S. Bagchi et al., slides, "Resource Availability
Prediction" and "Using Resource Prediction in Job Scheduling". Chances of many hosts are drawn
together as far as they differ by no more than chance would have it: B. Efron and C. Morris,
"Stein's estimation rule and its competitors", JASA 68, 1973.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from forestall.model.arrays import Bools, Floats, Ints
from forestall.model.cycle import MILLION
from forestall.predict.semi_markov.forecast_kernels import RUNNING, foresee, new_room
from forestall.predict.semi_markov.learning import HostHistory
from forestall.predict.semi_markov.states import FAILING, NAMES, States, Stays, stays


class HostCurves(NamedTuple):
    """Of hosts in the n steps from some time on, in s and s of a host of speed 1.

    Attributes
    ----------
    step : seconds of a step
    work : float64[hosts, 2, n + 1], work done by each step where the host stays, from S1 and S2, as
        far as the usual load tells
    sure : float64[hosts, 2, n + 1], the same weighed with the chance that the host is still there
    present_work : float64[hosts, n + 1], what the present load adds to `work` where it is none
    present_sure : float64[hosts, 2, n + 1], what it adds to `sure`
    reliability : float64[hosts, 2, n + 1], chance that the host is still there by each step
    alive : float64[hosts, 2], chance to stay through all n steps
    lasting : float64[hosts, 2], mean time that the host stays, of these n steps
    """

    step: int
    work: Floats
    sure: Floats
    present_work: Floats
    present_sure: Floats
    reliability: Floats
    alive: Floats
    lasting: Floats


def curves(
    share: Floats, reliability: Floats, speed: Floats, step: int, *, memory: int = 0
) -> HostCurves:
    """Return the curves of hosts.

    Parameters
    ----------
    share : float64[hosts, 2, n], share of the machine that a guest gets in each step, from S1 and
        S2
    reliability : float64[hosts, 2, n + 1], chance to be there still by each step
    speed : float64[hosts]
    step : seconds
    memory : seconds over which the present load fades into the usual one; 0: it does not count
    """
    steps = share.shape[-1]
    between = (reliability[..., :-1] + reliability[..., 1:]) / 2
    fresh = np.zeros(steps)
    if memory > 0:
        fading = np.exp(-step * np.arange(steps + 1) / memory)
        fresh = memory / step * (fading[:-1] - fading[1:])
    full = speed[:, None, None] * step
    usual, present = full * (1 - fresh) * share, full * fresh
    return HostCurves(
        step,
        _risen(usual),
        _risen(usual * between),
        _risen(present[:, 0]),
        _risen(present * between),
        reliability,
        reliability[..., -1].copy(),
        step * between.sum(axis=-1),
    )


@dataclass(frozen=True)
class HostPast:
    """All that was seen of one host, on a coarse grid.

    Attributes
    ----------
    history : its states
    given : float64[steps], share of the machine that guests could have had, summed over the
        samples of S1 and S2 in each step
    seen : float64[steps], how many samples those were
    """

    history: HostHistory
    given: Floats
    seen: Floats

    @classmethod
    def of(
        cls, states: States, rate: Ints, usable: Bools, *, speed: float,
        period: int, every: int, origin: int,
    ) -> HostPast:  # fmt: skip
        """Return the past of a host.

        Parameters
        ----------
        states : int8[samples], 0 (S1) to 4
        rate : int64[samples], what a guest got, millionths of a host of speed 1
        usable : bool[samples], samples in S1 or S2 with a load
        speed, period : of the host; s of a sample
        every : samples of a step
        origin : Unix seconds of the first sample
        """
        whole = len(states) // every
        cut = slice(0, whole * every)
        coarse = states[cut].reshape(whole, every).max(axis=1, initial=0)
        share = np.where(usable[cut], rate[cut] / (MILLION * speed), 0.0)
        runs = stays(coarse, period * every)
        return cls(
            HostHistory(runs, origin, NAMES, FAILING),
            share.reshape(whole, every).sum(axis=1),
            usable[cut].reshape(whole, every).sum(axis=1).astype(np.float64),
        )

    def until(self, time: int) -> HostHistory:
        """Return what was seen before a Unix time: a step that begins then is not known yet."""
        history = self.history
        runs = history.runs
        samples = min(max(0, (time - history.origin) // runs.period), runs.samples)
        known = int(np.searchsorted(runs.start, samples))
        cut = Stays(runs.start[:known], runs.state[:known], samples, runs.period)
        return replace(history, runs=cut)


class Outlook(NamedTuple):
    """What is foretold of hosts for n steps: float64[hosts, 2, n] shares of the machine that a
    guest gets, and float64[hosts, 2, n + 1] chances to be there still, from S1 and from S2."""

    share: Floats
    reliability: Floats


def foretold(
    hosts: Sequence[HostPast], start: int, steps: int, *, days: int, pooled: bool = True
) -> Outlook:
    """Return the outlook of hosts from Unix time `start` on; all must have been seen from and to
    the same time, in the same steps.

    The shares are means over the windows that the process is learned from: those that began in the
    same state, or all where none did. A host of which nothing was seen before is taken to stay.
    The chances to stay are those of each host alone or, `pooled`, drawn together: see `pool`.
    """
    history = hosts[0].history
    step = history.runs.period
    share = np.empty((len(hosts), RUNNING, steps))
    reliability = np.ones((len(hosts), RUNNING, steps + 1))
    begins = history.windows(start, steps * step, days) // step
    room, alike = new_room(steps), np.empty(len(begins), dtype=np.bool_)
    for k, host in enumerate(hosts):
        runs, cut = host.history.runs, host.until(start)
        assert (host.history.origin, runs.samples) == (history.origin, history.runs.samples)
        both = foresee(
            (runs.start, runs.state), len(cut.runs.start), cut.runs.samples, begins,
            (host.given, host.seen), room, alike, share[k], reliability[k],
        )  # fmt: skip
        if not both and cut.runs.samples:
            process = cut.process(start, steps * step, days=days)
            reliability[k] = process.reliability_of_each(steps)
    return Outlook(share, pool(reliability, len(begins)) if pooled else reliability)


def pool(reliability: Floats, windows: int) -> Floats:
    """Return chances to stay, drawn to the mean of the hosts as far as chance explains how they
    differ.

    A window in which a host of chance p stays or not has the variance p (1 - p). So from each state
    the chances p_i(m) become w p_i(m) + (1 - w) p(m), with p(m) their mean and

        w = max(0, 1 - sum_m p(m) (1 - p(m)) / windows / sum_m s2(m)),

    s2(m) being the variance between hosts. With one host, or where none ever leaves, nothing
    changes.

    Parameters
    ----------
    reliability : float64[hosts, 2, n + 1], of each host alone
    windows : that each was learned from; none counts as one
    """
    if len(reliability) < 2:
        return reliability
    mean = reliability.mean(axis=0)
    between = reliability.var(axis=0, ddof=1).sum(axis=-1)
    chance = (mean * (1 - mean)).sum(axis=-1) / max(windows, 1)
    weight = np.ones(RUNNING)
    np.divide(between - chance, between, out=weight, where=between > 0)
    weight = np.maximum(weight, 0.0)[:, None]
    drawn: Floats = weight * reliability + (1 - weight) * mean
    return drawn


def _risen(values: Floats) -> Floats:
    """Return float64[..., n + 1]: the sums of the first 0, 1, ... values."""
    return np.concatenate((np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)), axis=-1)
