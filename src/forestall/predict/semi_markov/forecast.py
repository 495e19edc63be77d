"""What the coming hours of shared hosts are likely to bring: chances to stay, and idle time.

For a window from a time of day on, a host's chance to stay available is that of the semi-Markov
process learned from the same clock window of recent like days; the share of the machine that a
guest would get is the mean over the same windows. S. Bagchi et al., slides, "Resource Availability
Prediction" and "Using Resource Prediction in Job Scheduling".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.model.cycle import MILLION
from forestall.model.errors import ParameterError
from forestall.predict.semi_markov.learning import HostHistory, stacked
from forestall.predict.semi_markov.process import SemiMarkov
from forestall.predict.states import FAILING, NAMES, States, Stays, stays

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

RUNNING: Final = 2
"""States in which a guest can run: S1 and S2."""


class Curves(NamedTuple):
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
) -> Curves:
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
    return Curves(
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
        cls, states: States, rate: Whole, usable: npt.NDArray[np.bool_], *, speed: float,
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

    def share(self, start: int, steps: int, days: int) -> Floats:
        """Return float64[2, steps]: mean share that a guest gets in each step from Unix time
        `start` on, where the host is then in S1, and in S2.

        By the same windows that the process is learned from: those that begin in the same state,
        or all where none does.
        """
        runs = self.history.runs
        begins = self.history.windows(start, steps * runs.period, days) // runs.period
        state = runs.state[np.searchsorted(runs.start, begins, side="right") - 1]
        made = np.empty((RUNNING, steps))
        for k in range(RUNNING):
            alike = begins[state == k]
            made[k] = self._mean(alike if len(alike) else begins, steps, start)
        return made

    def _mean(self, begins: Whole, steps: int, start: int) -> Floats:
        """Return float64[steps]: the mean share in each step of windows."""
        given, seen = np.zeros(steps), np.zeros(steps)
        for begin in begins.tolist():
            given += self.given[begin : begin + steps]
            seen += self.seen[begin : begin + steps]
        rest = given.sum() / seen.sum() if seen.any() else self._before(start)
        made: Floats = np.where(seen > 0, given / np.maximum(seen, 1), rest)
        return made

    def _before(self, start: int) -> float:
        """Return the mean share over all that was seen before a Unix time, 1 where nothing was."""
        step = self.history.runs.period
        last = max(0, (start - self.history.origin) // step)
        seen = self.seen[:last].sum()
        return float(self.given[:last].sum() / seen) if seen else 1.0


class Outlook(NamedTuple):
    """What is foretold of hosts for n steps: float64[hosts, 2, n] shares of the machine that a
    guest gets, and float64[hosts, 2, n + 1] chances to be there still, from S1 and from S2."""

    share: Floats
    reliability: Floats


def foretold(hosts: Sequence[HostPast], start: int, steps: int, *, days: int) -> Outlook:
    """Return the outlook of hosts from Unix time `start` on; they must have the same step.

    A host of which nothing was seen before is taken to stay.
    """
    step = hosts[0].history.runs.period
    share = np.stack([host.share(start, steps, days) for host in hosts])
    reliability = np.ones((len(hosts), RUNNING, steps + 1))
    known, kernels = [], []
    for k, host in enumerate(hosts):
        try:
            process = host.until(start).process(start, steps * step, days=days)
        except ParameterError:  # no past at all
            continue
        known.append(k)
        kernels.append(process.kernel)
    if known:
        every = SemiMarkov.of_mass(stacked(kernels), failing=FAILING, names=NAMES)
        reliability[known] = every.reliability_of_each(steps)
    return Outlook(share, reliability)


def _risen(values: Floats) -> Floats:
    """Return float64[..., n + 1]: the sums of the first 0, 1, ... values."""
    return np.concatenate((np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)), axis=-1)
