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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.cycle import MILLION
from forestall.prediction.models.semi_markov.curve_kernels import (
    ShareRows,
    Sketch,
    draw_all,
    tell_all,
)
from forestall.prediction.models.semi_markov.first_failure_kernels import RUNNING, new_room
from forestall.prediction.models.semi_markov.forecast_kernels import (
    APART,
    PastArrays,
    complete,
    differences,
    draw_together,
    foresee,
)
from forestall.prediction.models.semi_markov.learning import DAY, HostHistory
from forestall.prediction.models.semi_markov.states import FAILING, NAMES, States, Stays, stays


class Outlook(NamedTuple):
    """What is foretold of hosts for n steps: float64[hosts, 2, n] shares of the machine that a
    guest gets, and float64[hosts, 2, n + 1] chances to be there still, from S1 and from S2."""

    share: Floats
    reliability: Floats


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
    blank = new_sketch(speed, share.shape[-1], step, memory=memory)
    shares = told_shares(np.ascontiguousarray(share), len(blank.drawn))
    sketch = sketch_of(blank, shares, np.ascontiguousarray(reliability))
    draw_all(sketch)
    drawn: HostCurves = sketch.curves
    return drawn


def new_sketch(speed: Floats, steps: int, step: int, *, memory: int = 0) -> Sketch:
    """Return room for curves of hosts of these speeds, for so many steps and seconds of a step;
    `memory` as in `curves`."""
    fresh, hosts = np.zeros(steps), len(speed)
    if memory > 0:
        fading = np.exp(-step * np.arange(steps + 1) / memory)
        fresh = memory / step * (fading[:-1] - fading[1:])
    every = np.zeros((3, hosts, RUNNING, steps + 1))
    present, ends = np.zeros((hosts, steps + 1)), np.zeros((2, hosts, RUNNING))
    none = np.empty((hosts, RUNNING, 0))
    drawn = HostCurves(step, every[0], every[1], present, every[2], none, ends[0], ends[1])
    made, shares = np.zeros((hosts, RUNNING), dtype=np.int64), told_shares(none, hosts)
    return Sketch(drawn, made, shares, speed * float(step), fresh)


def sketch_of(room: Sketch, shares: ShareRows, reliability: Floats) -> Sketch:
    """Return curves of which nothing is drawn yet, in room that is there: what was drawn in it
    before is written over. Arrays are C-ordered."""
    room.drawn[:] = 0
    room.curves.alive[:] = reliability[..., -1]
    return room._replace(curves=room.curves._replace(reliability=reliability), shares=shares)


def sketch_from(drawn: HostCurves) -> Sketch:
    """Return curves that are all drawn as a sketch."""
    hosts, _, terms = drawn.work.shape
    made = np.full((hosts, RUNNING), terms, dtype=np.int64)
    shares = told_shares(np.empty((hosts, RUNNING, 0)), hosts)
    return Sketch(drawn, made, shares, np.empty(hosts), np.empty(terms - 1))


def told_shares(share: Floats, hosts: int) -> ShareRows:
    """Return shares that are all told, float64[hosts, 2, n]."""
    none, steps = np.zeros(0, dtype=np.int64), share.shape[-1]
    pasts = PastArrays(
        none, none, none.astype(np.int8), np.empty((0, 0)), np.empty((0, 0), dtype=np.int16),
        np.empty((0, 0), dtype=np.int32),
    )  # fmt: skip
    told = np.full((hosts, RUNNING), steps, dtype=np.int64)
    began = np.empty((hosts, 0), dtype=np.int8)
    scratch = np.empty(steps), np.empty(steps, dtype=np.int32)
    return ShareRows(pasts, 0, none, began, True, share, told, *scratch)


@dataclass(frozen=True)
class HostPast:
    """All that was seen of one host, on a coarse grid.

    Attributes
    ----------
    history : its states
    given : float64[steps], share of the machine that guests could have had, summed over the
        samples of S1 and S2 in each step
    seen : int32[steps], how many samples those were
    """

    history: HostHistory
    given: Floats
    seen: npt.NDArray[np.int32]

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
            usable[cut].reshape(whole, every).sum(axis=1).astype(np.int32),
        )

    def until(self, time: int) -> HostHistory:
        """Return what was seen before a Unix time: a step that begins then is not known yet."""
        history = self.history
        runs = history.runs
        samples = min(max(0, (time - history.origin) // runs.period), runs.samples)
        known = int(np.searchsorted(runs.start, samples))
        cut = Stays(runs.start[:known], runs.state[:known], samples, runs.period)
        return replace(history, runs=cut)


def _narrow(counts: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return counts as int16 where they fit: what forecasts wait for is memory."""
    fits = counts.max(initial=0) <= np.iinfo(np.int16).max
    return counts.astype(np.int16) if fits else counts


def _places(runs: Stays) -> npt.NDArray[np.int32]:
    """Return in which run every `APART`th sample lies."""
    every = np.arange(0, runs.samples + APART, APART)
    return (np.searchsorted(runs.start, every, side="right") - 1).astype(np.int32)


class HostPasts:
    """The pasts of hosts in arrays, from which forecasts of all of them are made at once. All must
    have been seen from and to the same time, in the same steps.

    Attributes
    ----------
    hosts : each by itself
    arrays : of all
    """

    def __init__(self, hosts: Sequence[HostPast]) -> None:
        runs = [host.history.runs for host in hosts]
        told = {(host.history.origin, one.samples) for host, one in zip(hosts, runs, strict=True)}
        assert len(told) == 1, "hosts that were seen from or to other times"
        self.arrays = PastArrays(
            np.cumsum([0, *(len(one.start) for one in runs)], dtype=np.int64),
            np.concatenate([one.start for one in runs]).astype(np.int64),
            np.concatenate([one.state for one in runs]).astype(np.int8),
            np.stack([host.given for host in hosts]),
            _narrow(np.stack([host.seen for host in hosts])),
            np.stack([_places(one) for one in runs]),
        )
        rows = zip(hosts, self.arrays.given, self.arrays.seen, strict=True)
        # What is large is there once.
        self.hosts = [replace(host, given=given, seen=seen) for host, given, seen in rows]
        self._room = new_room(0)

    def foretell(
        self, out: Outlook, start: int, *, days: int, pooled: bool, by_state: bool
    ) -> ShareRows:
        """Write the chances of all hosts to stay from Unix time `start` on, and return of what
        their shares are told, step by step as they are asked for; see `foretold`. Not for two
        threads at once."""
        (share, reliability), every = out, self.hosts
        steps, step = share.shape[-1], every[0].history.runs.period
        begins = every[0].history.windows(start, steps * step, days) // step
        first = every[0].history
        samples = min(max(0, (start - first.origin) // step), first.runs.samples)
        if len(self._room.moves[0, 0]) != steps + 1:
            self._room = new_room(steps)
        sure = np.zeros(len(every), dtype=np.bool_)
        began = np.empty((len(every), len(begins)), dtype=np.int8)
        foresee(self.arrays, samples, begins, self._room, began, reliability, sure)
        rest = np.flatnonzero(~sure)
        if len(rest) and samples:
            seen = every[0].until(start)
            begins_seen = seen.windows(start, steps * step, days) // step
            whole = np.append(seen.windows(start, DAY, None) // step, DAY // step)
            complete(self.arrays, rest, samples, begins_seen, whole, self._room, reliability)
        elif len(rest):
            reliability[rest] = 1.0
        if pooled:
            pool(reliability, len(begins), out=reliability)
        told = np.zeros((len(every), RUNNING), dtype=np.int64)
        scratch = np.empty(steps), np.empty(steps, dtype=np.int32)
        return ShareRows(self.arrays, samples, begins, began, by_state, share, told, *scratch)


def foretold(
    hosts: Sequence[HostPast] | HostPasts,
    start: int,
    steps: int,
    *,
    days: int,
    pooled: bool = True,
    by_state: bool = True,
) -> Outlook:
    """Return the outlook of hosts from Unix time `start` on; all must have been seen from and to
    the same time, in the same steps.

    The shares are means over the windows that the process is learned from: those that began in the
    same state or, where none did or `by_state` is false, all. A host of which nothing was seen
    before is taken to stay. The chances to stay are those of each host alone or, `pooled`, drawn
    together: see `pool`.
    Who asks again and again hands over the hosts as `HostPasts`.
    """
    pasts = hosts if isinstance(hosts, HostPasts) else HostPasts(hosts)
    shape = (len(pasts.hosts), RUNNING)
    made = Outlook(np.empty((*shape, steps)), np.empty((*shape, steps + 1)))
    tell_all(pasts.foretell(made, start, days=days, pooled=pooled, by_state=by_state))
    return made


def pool(reliability: Floats, windows: int, out: Floats | None = None) -> Floats:
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
    out : where they are written, by default a new array; may be `reliability`
    """
    drawn = np.array(reliability) if out is None else out
    if len(reliability) < 2:
        return drawn
    mean, apart = reliability.mean(axis=0), np.empty(reliability.shape[1:])
    differences(reliability, mean, apart)
    between = (apart / (len(reliability) - 1)).sum(axis=-1)
    chance = (mean * (1 - mean)).sum(axis=-1) / max(windows, 1)
    weight = np.ones(RUNNING)
    np.divide(between - chance, between, out=weight, where=between > 0)
    draw_together(reliability, mean, np.maximum(weight, 0.0), drawn)
    return drawn
