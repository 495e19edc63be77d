"""Semi-Markov processes learned from a host's past: the same clock window of recent like days.

The stays within the windows are counted; those that a window's end, or the end of what was seen,
cuts off are right-censored. With d_ij(m) stays in i seen to end after m steps in a move to j, and
n_i(m) of them seen for at least m steps, the mass of a move at m steps is

    Q_i(j) H_ij(m) = S_i(m - 1) d_ij(m) / n_i(m),    S_i(m) = prod_{l <= m} (1 - d_i(l) / n_i(l)),

the estimator of Kaplan and Meier for the stay, and of Aalen and Johansen for where it goes
(competing risks). What is left of S_i after the longest stay never ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.process import Initial, SemiMarkov
from forestall.prediction.models.semi_markov.series import fitted
from forestall.prediction.models.semi_markov.states import FAILING, NAMES, PERIOD, Stays, stays

First = Literal["mixed", "plain", "apart"]

DAY: Final = 86_400
MONDAY: Final = 4 * DAY
"""Unix seconds of a Monday's midnight: the origin of clocks without dates."""

FIRSTS: Final = ("mixed", "plain", "apart")

TRUST: Final = 30
"""First stays in a state with which their own law counts half; see `HostHistory.process`."""


class Counted(NamedTuple):
    """Stays: in which state, whether seen to end (then in which next), of how many steps; whether
    the window began within it, and which window that was."""

    state: npt.NDArray[np.int8]
    following: npt.NDArray[np.int8]
    ended: Bools
    steps: Ints
    first: Bools
    window: Ints

    def take(self, mask: Bools) -> Counted:
        """Return those where the mask holds."""
        return Counted(*(part[mask] for part in self))  # type: ignore[arg-type]

    def until_failure(self, failing: Sequence[int]) -> Counted:
        """Return those before the first stay of their window in a failing state."""
        failed = np.cumsum(np.isin(self.state, failing))
        before = np.where(self.first, failed - np.isin(self.state, failing), 0)
        return self.take(failed <= np.maximum.accumulate(before))


def counted(runs: Stays, begins: Ints, steps: int) -> Counted:
    """Return the stays within windows of one length, cut where a window begins and ends.

    Parameters
    ----------
    runs : the states of a host
    begins : int64[w], the sample with which each window begins
    steps : of a window; the samples begins[k] to begins[k] + steps belong to it
    """
    begins = begins[(begins >= 0) & (begins < runs.samples)]
    start = np.append(runs.start, runs.samples)
    stop = np.minimum(begins + steps + 1, runs.samples)
    low = np.searchsorted(runs.start, begins, side="right") - 1
    high = np.searchsorted(runs.start, stop, side="left")
    many = high - low
    window = np.repeat(np.arange(len(begins)), many)
    place = np.arange(len(window)) - np.repeat(np.cumsum(many) - many, many)
    run = low[window] + place
    ended = start[run + 1] < stop[window]
    following = np.append(runs.state, np.int8(0))[np.minimum(run + 1, len(runs.state))]
    begun = np.maximum(start[run], begins[window])
    # a stay that was not seen to end was seen to last beyond the window's last sample
    last = np.where(ended, start[run + 1], stop[window] - 1)
    return Counted(runs.state[run], following, ended, last - begun, place == 0, window)


def masses(found: Counted, states: int, transient: Sequence[int]) -> Floats:
    """Return float64[t, s, m]: Q_i(j) H_ij(m) of what was counted, as the module says.

    A state that was never seen has no mass: it is never left. m covers the longest stay that was
    seen to end.
    """
    longest = int(found.steps[found.ended].max(initial=0))
    width = longest + 1
    rows = np.full(states, -1)
    rows[list(transient)] = np.arange(len(transient))
    row = rows[found.state]
    kept = row >= 0
    row, steps, ended = row[kept], found.steps[kept], found.ended[kept]
    size = len(transient) * states * width
    key = (row[ended] * states + found.following[kept][ended]) * width + steps[ended]
    moves = np.bincount(key, minlength=size).reshape(len(transient), states, width)
    cut = np.minimum(steps, longest)
    present = np.bincount(row * width + cut, minlength=len(transient) * width)
    at_risk = np.cumsum(present.reshape(-1, width)[:, ::-1], axis=1)[:, ::-1]
    left = 1 - moves.sum(axis=1) / np.maximum(at_risk, 1)
    before = np.ones_like(left)
    np.cumprod(left[:, :-1], axis=1, out=before[:, 1:])
    share: Floats = (before / np.maximum(at_risk, 1))[:, None, :] * moves
    return share


@dataclass(frozen=True)
class HostHistory:
    """The past of one host, of which processes for its windows are learned.

    Attributes
    ----------
    runs : its states
    origin : Unix seconds of the first sample, on the host's clock
    names, failing : of the states
    """

    runs: Stays
    origin: int = MONDAY
    names: tuple[str, ...] = NAMES
    failing: tuple[int, ...] = FAILING

    @property
    def end(self) -> int:
        """Unix seconds up to which the host was seen."""
        return self.origin + self.runs.samples * self.runs.period

    @property
    def transient(self) -> tuple[int, ...]:
        """The states that are not failing."""
        return tuple(k for k in range(len(self.names)) if k not in self.failing)

    def state_at(self, time: int) -> int | None:
        """Return the state at a Unix time; None where the host was not seen then."""
        sample = (time - self.origin) // self.runs.period
        if not 0 <= sample < self.runs.samples:
            return None
        return int(self.runs.state[np.searchsorted(self.runs.start, sample, side="right") - 1])

    def windows(self, start: int, length: int, days: int | None) -> Ints:
        """Return int64[w]: the samples with which the windows of the same clock time begin on the
        most recent days of the same kind that had ended, at Unix time `start`, their window.

        Parameters
        ----------
        start : Unix seconds at which the window to be foretold begins
        length : of the window, s
        days : the most to take, None for all
        """
        latest = min(start, self.end)
        first = (self.origin - start) // DAY
        ago = start + DAY * np.arange(min(first, 0), 0, dtype=np.int64)
        alike = weekend(ago) == weekend(np.array([start]))[0]
        kept = ago[(ago >= self.origin) & (ago + length <= latest) & alike]
        chosen: Ints = kept[-days:] if days is not None else kept
        return chosen - self.origin

    def process(
        self,
        start: int,
        length: int,
        *,
        days: int | None = None,
        first: First = "plain",
        after: bool = False,
        begins: Ints | None = None,
    ) -> SemiMarkov:
        """Return the process of the window [start, start + length), learned from what came before.

        Parameters
        ----------
        start, length, days : see `windows`; length at least one period
        first : "plain": the stay under way when a window begins counts as one that begins then;
            "apart": it has a law of its own (a delayed semi-Markov process);
            "mixed": that law with the weight n / (n + TRUST), where n first stays were seen, and
            the plain one with the rest
        after : whether stays after the first failure of a window count, as in the paper's plain
            form. Where failures come in rows the pauses between them are short, and counted with
            the stays of a quiet host they make it look as though that would soon fail
        begins : int64[w], the samples with which windows begin, instead of those that `windows`
            gives

        What the windows never show of a state is taken from the whole past of days of the same
        kind. Raises ParameterError where there is no past at all.
        """
        if first not in FIRSTS:
            raise ParameterError("first", first, "one of " + ", ".join(FIRSTS))
        period = self.runs.period
        steps = length // period
        if steps < 1:
            raise ParameterError("length", length, f"at least one period, {period} s")
        if days is not None and days < 1:
            raise ParameterError("days", days, "at least 1")
        if begins is None:
            begins = self.windows(start, length, days) // period
        found = counted(self.runs, begins, steps)
        if not after:
            found = found.until_failure(self.failing)
        return self.learned(found, first, self._completed(found, start))

    def learned(self, found: Counted, first: First, other: Floats | None = None) -> SemiMarkov:
        """Return the process of what was counted; `other` is the plain law, where that is not of
        these stays alone."""
        every = masses(found, len(self.names), self.transient) if other is None else other
        begun = None
        if first != "plain":
            apart, later = found.take(found.first), found.take(~found.first)
            trust = 0 if first == "apart" else TRUST
            begun, every = self._mixed(apart, every, trust), self._mixed(later, every, trust)
        return SemiMarkov.of_mass(every, failing=self.failing, names=self.names, first=begun)

    def _mixed(self, found: Counted, other: Floats, trust: int) -> Floats:
        """Return the masses of what was counted, n stays in a state with the weight
        n / (n + trust), and those of `other` with the rest."""
        made = masses(found, len(self.names), self.transient)
        many = np.bincount(found.state, minlength=len(self.names))[list(self.transient)]
        weight = (many / np.maximum(many + trust, 1))[:, None, None]
        width = max(made.shape[-1], other.shape[-1])
        return weight * fitted(made, width) + (1 - weight) * fitted(other, width)

    def _completed(self, found: Counted, start: int) -> Floats:
        """Return the masses of what was counted, completed from whole days of the same kind, and
        then from all that came before."""
        made = masses(found, len(self.names), self.transient)
        if np.isin(self.transient, found.state).all():
            return made
        period = self.runs.period
        past = min(start, self.end) - self.origin
        if past < period:
            raise ParameterError(
                "start", start, f"a time after {self.origin}, when the past begins"
            )
        days = counted(self.runs, self.windows(start, DAY, None) // period, DAY // period)
        whole = counted(self.runs, np.array([0]), past // period - 1)
        rest = masses(whole, len(self.names), self.transient)
        return self._mixed(found, self._mixed(days, rest, 0), 0)

    def temporal_reliability(
        self,
        start: int,
        length: int,
        initial: Initial | None = None,
        *,
        days: int | None = None,
        first: First = "plain",
        after: bool = False,
    ) -> Floats:
        """Return float64[length // period + 1]: the probability that from Unix time `start` on the
        host stays available for 0, 1, ... periods; see `process`.

        `initial` is the state at `start`, by default the one that was seen then; ParameterError
        where none was.
        """
        state = self.state_at(start) if initial is None else initial
        if state is None:
            allowed = f"a state as initial=, 0 to {len(self.names) - 1}: the host was not seen then"
            raise ParameterError("start", start, allowed)
        process = self.process(start, length, days=days, first=first, after=after)
        return process.reliability(state, length // self.runs.period)


def learn_host(
    states: npt.NDArray[np.integer], *, period: int = PERIOD, origin: int = MONDAY
) -> HostHistory:
    """Return the past of a host whose states S1 to S5 are given at each sample.

    Parameters
    ----------
    states : [n], 0 to 4, as `semi_markov.states.host_states` returns them
    period : seconds between samples
    origin : Unix seconds of the first sample, on the host's own clock; without one it is midnight
        of a Monday
    """
    sequence = np.asarray(states)
    if sequence.ndim != 1 or len(sequence) == 0:
        raise ParameterError("states", sequence.shape, "at least one sample, on one axis")
    low, high = int(sequence.min()), int(sequence.max())
    if low < 0 or high >= len(NAMES):
        raise ParameterError("states", low if low < 0 else high, f"0 to {len(NAMES) - 1}")
    return HostHistory(stays(sequence, period), int(origin))


def learn_hosts(
    hosts: Sequence[HostHistory],
    start: int,
    length: int,
    *,
    days: int | None = None,
    first: First = "plain",
    after: bool = False,
) -> SemiMarkov:
    """Return the processes of one window on many hosts as one batch; see `HostHistory.process`.

    The hosts must have the same states and period. Raises ParameterError where there is none.
    """
    if not hosts:
        raise ParameterError("hosts", 0, "at least one host")
    told = {(host.names, host.failing, host.runs.period) for host in hosts}
    if len(told) > 1:
        raise ParameterError("hosts", f"{len(told)} sorts", "hosts of the same states and period")
    learned = [host.process(start, length, days=days, first=first, after=after) for host in hosts]
    begun = None if first == "plain" else stacked([p.first for p in learned if p.first is not None])
    return SemiMarkov.of_mass(
        stacked([process.kernel for process in learned]),
        failing=hosts[0].failing,
        names=hosts[0].names,
        first=begun,
    )


def stacked(parts: Sequence[Floats]) -> Floats:
    """Return masses of unlike lengths as one array, the shorter ones filled with zeros."""
    made = np.zeros((len(parts), *parts[0].shape[:-1], max(part.shape[-1] for part in parts)))
    for k, part in enumerate(parts):
        made[k, ..., : part.shape[-1]] = part
    return made


def weekend(time: Ints) -> Bools:
    """Return whether Unix times fall on a Saturday or Sunday."""
    return (time // DAY + 3) % 7 >= 5
