"""Discrete-time semi-Markov processes and their temporal reliability.

A process that has entered state i will enter state j next, after m steps, with the probability
Q_i(j) H_ij(m). Temporal reliability TR(n) is the probability that none of the failing states has
been entered by step n. S. Bagchi et al., "Resource availability prediction in fine-grained cycle
sharing systems" (the FALCON and iShare work), "Solving Interval Transition Probabilities".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.series import first_passage, fitted, product

Initial = int | str | npt.ArrayLike

SLACK = 1e-9
"""By how much probabilities may add up to more than 1."""

CHUNK = 4_000_000
"""Numbers of one series batch (about 32 MB) that are turned at once."""


@dataclass(frozen=True)
class Simulated:
    """Runs of a process.

    Attributes
    ----------
    step : int64[runs], when the first failing state was entered; horizon + 1 where none was
    state : int64[runs], which one; -1 where none was
    horizon : steps that were played
    """

    step: Ints
    state: Ints
    horizon: int

    @property
    def reliability(self) -> Floats:
        """float64[horizon + 1], the share of runs that had not failed by each step."""
        ended = np.bincount(self.step, minlength=self.horizon + 2)[: self.horizon + 1]
        return 1 - np.cumsum(ended) / len(self.step)

    @property
    def error(self) -> Floats:
        """float64[horizon + 1], the standard error of `reliability`."""
        share = self.reliability
        return np.sqrt(share * (1 - share) / len(self.step))


class SemiMarkov:
    """A semi-Markov process in whole steps, or a batch of them (many hosts in one call).

    Parameters
    ----------
    transition : float64[..., t, s], Q: `transition[i, j]` is the probability that the next state
        after i is j. Rows for the transient states alone (2x5), or for all states (5x5; those of
        the failing states are not used). A row that adds up to less than 1 may never be left.
    holding : float64[..., t, s, m], H: `holding[i, j, m]` is the probability that the stay in i
        lasts m steps, given that j is next; m counts from 0. Mass that is missing from 1 was never
        seen to end: the process stays for ever (censored).
    failing : the failing states; all but the first two unless given
    names : of the states; S1, S2, ... unless given
    first : transition and holding of the first stay where it is already under way when the process
        is asked (a delayed process); as those of a stay that begins unless given

    States count from 0: S1 is 0. Raises ParameterError for shapes that do not fit, probabilities
    outside [0, 1], and rows or masses that add up to more than 1.

    >>> import numpy as np
    >>> half = np.full((1, 2, 4), 0.25)
    >>> process = SemiMarkov([[0.0, 1.0]], half, failing=[1])
    >>> process.reliability("S1", 4).tolist()
    [0.75, 0.5, 0.25, 0.0, 0.0]
    """

    kernel: Floats
    """float64[..., t, s, m], the masses Q_i(j) H_ij(m) of the transient states."""

    first: Floats | None
    """The same of the first stay, None where that is a stay like any other."""

    def __init__(
        self,
        transition: npt.ArrayLike,
        holding: npt.ArrayLike,
        *,
        failing: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        first: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> None:
        q = _numbers("transition", transition, 2)
        self._name(q.shape[-1], failing, names)
        self.kernel = self._mass("transition", "holding", q, holding)
        self.first = None
        if first is not None:
            other = _numbers("first", first[0], 2)
            if other.shape[-1] != self.states:
                raise ParameterError("first", other.shape, f"{self.states} columns")
            self.first = self._mass("first", "first", other, first[1])
            if self.first.shape[:-3] != self.batch:
                raise ParameterError("first", self.first.shape, f"leading axes {self.batch}")
        _leaves(self.kernel[..., 0], self.transient)

    @classmethod
    def of_mass(
        cls,
        mass: Floats,
        *,
        failing: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        first: Floats | None = None,
    ) -> Self:
        """Return the process of the masses Q_i(j) H_ij(m) of its transient states.

        Parameters
        ----------
        mass, first : float64[..., t, s, m]
        """
        made = cls.__new__(cls)
        made._name(mass.shape[-2], failing, names)
        for name, part in (("mass", mass), ("first", first)):
            if part is None:
                continue
            _numbers(name, part, 3)
            if part.shape[-3] != len(made.transient) or part.shape[:-3] != mass.shape[:-3]:
                raise ParameterError(name, part.shape, f"{len(made.transient)} rows of states")
            _below_one(name, part.sum(axis=(-1, -2)), "rows that add up to at most 1")
        made.kernel, made.first = mass, first
        _leaves(mass[..., 0], made.transient)
        return made

    def _name(
        self, states: int, failing: Sequence[int] | None, names: Sequence[str] | None
    ) -> None:
        self.states = states
        self.names = tuple(names or (f"S{k + 1}" for k in range(states)))
        if len(self.names) != states:
            raise ParameterError("names", self.names, f"one for each of {states} states")
        self.failing = _failing(failing, states)
        self.transient = tuple(k for k in range(states) if k not in self.failing)

    @property
    def transition(self) -> Floats:
        """float64[..., t, s], Q_i(j) of the transient states: the mass that was seen to leave."""
        total: Floats = self.kernel.sum(axis=-1)
        return total

    @property
    def holding(self) -> Floats:
        """float64[..., t, s, m], H_ij(m) of the transient states; 0 where Q_i(j) is."""
        total = self.transition[..., None]
        return np.divide(self.kernel, total, out=np.zeros_like(self.kernel), where=total > 0)

    def _mass(self, rows: str, stays: str, q: Floats, holding: npt.ArrayLike) -> Floats:
        h = _numbers(stays, holding, 3)
        count = len(self.transient)
        if q.shape[-2] not in (count, self.states):
            raise ParameterError(
                rows, q.shape, f"{count} rows (transient states) or {self.states} (all states)"
            )
        if h.shape[:-1] != q.shape or h.shape[-1] == 0:
            raise ParameterError(
                stays, h.shape, f"{(*q.shape, 'm')}, m >= 1, as {rows} is {q.shape}"
            )
        if q.shape[-2] == self.states and count != self.states:
            q, h = q[..., self.transient, :], h[..., self.transient, :, :]
        _below_one(rows, q.sum(axis=-1), "rows that add up to at most 1")
        _below_one(stays, h.sum(axis=-1), "masses that add up to at most 1 over their steps")
        return q[..., None] * h

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes: () for one process, (1000,) for those of 1,000 hosts."""
        return self.kernel.shape[:-3]

    # ------------------------------------------------------------------------------ questions

    def reliability(self, initial: Initial, horizon: int) -> Floats:
        """Return float64[..., horizon + 1]: the probability that no failing state was entered by
        step 0, 1, ..., horizon.

        Parameters
        ----------
        initial : a state by number or name, or probabilities over all states, float64[s] or
            float64[..., s] for one law a process; a failing state gives 0
        horizon : steps, >= 0

        One inversion of a power series by FFT gives all horizons, O(n log n); in float64 they are
        exact to about 1e-14. `reliability_by_recursion` gives the same in O(n^2).
        """
        return _alive(self._entries(self._laws(initial), horizon, apart=False)[..., 0, 0, :])

    def reliability_of_each(self, horizon: int) -> Floats:
        """Return float64[..., t, horizon + 1]: `reliability` from each of the transient states, for
        little more than the cost of one."""
        every = np.eye(self.states)[list(self.transient)]
        laws = np.broadcast_to(every, (*self.batch, *every.shape))
        return _alive(self._entries(laws, horizon, apart=False)[..., 0, :])

    def failure_by(self, initial: Initial, horizon: int) -> Floats:
        """Return float64[..., len(failing), horizon + 1]: the probability that by each step each
        failing state was entered, before any other (the interval transition probabilities P_ij)."""
        entered = self._entries(self._laws(initial), horizon, apart=True)[..., 0, :, :]
        return np.maximum.accumulate(np.clip(entered, 0.0, 1.0), axis=-1)

    def mean_time_to_failure(self, initial: Initial) -> Floats:
        """Return float64[...]: the mean number of steps until a failing state is entered, which is
        the sum of TR(m) over m = 0, 1, ...; inf where it may never be.

        By the embedded chain: the mean stays of each state, and where it goes from there.
        """
        start = self._start(initial)
        every = self._means()
        stay, onward = np.zeros_like(start), start
        if self.first is not None:
            stay = start * _mean_stay(self.first)
            total = self.first.sum(axis=-1)
            onward = np.einsum("...i,...ij->...j", start, total[..., list(self.transient)])
            stay[(start > 0) & (total.sum(axis=-1) < 1 - SLACK)] = np.inf
        with np.errstate(invalid="ignore"):
            reached = np.where(onward > 0, onward * every, 0.0)
        whole: Floats = (stay + reached).sum(axis=-1)
        return whole

    def simulate(
        self, initial: Initial, horizon: int, runs: int, rng: np.random.Generator
    ) -> Simulated:
        """Play one process `runs` times until a failing state or the horizon.

        Raises ParameterError for a batch of processes.
        """
        if self.batch:
            raise ParameterError("process", f"{self.batch} processes", "one process")
        if runs < 1:
            raise ParameterError("runs", runs, "at least 1")
        _steps(horizon)
        law = np.cumsum(self.law(initial))
        state = np.minimum(np.searchsorted(law, rng.random(runs), side="right"), self.states - 1)
        step, ended = np.zeros(runs, dtype=np.int64), np.full(runs, -1, dtype=np.int64)
        moving = np.arange(runs)
        first = self.kernel if self.first is None else self.first
        for kernel in chain([first], repeat(self.kernel)):
            failed = np.isin(state[moving], self.failing) & (step[moving] <= horizon)
            ended[moving[failed]] = state[moving[failed]]
            moving = moving[~failed & (step[moving] <= horizon)]
            if not len(moving):
                break
            ways = {
                here: np.cumsum(kernel[k]).reshape(kernel[k].shape)
                for k, here in enumerate(self.transient)
            }
            _play(ways, state, step, moving, rng, horizon + 1)
        step[ended < 0] = horizon + 1
        return Simulated(step, ended, int(horizon))

    # ------------------------------------------------------------------------------ inner parts

    def law(self, initial: Initial) -> Floats:
        """Return float64[..., states]: the law of the state at step 0."""
        if isinstance(initial, str):
            if initial not in self.names:
                raise ParameterError("initial", initial, "one of " + ", ".join(self.names))
            initial = self.names.index(initial)
        given = np.asarray(initial)
        if given.ndim == 0 and np.issubdtype(given.dtype, np.integer):
            if not 0 <= int(given) < self.states:
                raise ParameterError("initial", int(given), f"a state from 0 to {self.states - 1}")
            sure: Floats = np.eye(self.states)[int(given)]
            return sure
        law = _numbers("initial", initial, 1)
        if law.shape[-1] != self.states or np.broadcast_shapes(law.shape[:-1], self.batch) != (
            self.batch
        ):
            raise ParameterError("initial", law.shape, f"{self.states} probabilities, or a state")
        if np.any(np.abs(law.sum(axis=-1) - 1) > 1e-6):
            raise ParameterError(
                "initial", float(law.sum(axis=-1).flat[0]), "probabilities of sum 1"
            )
        return law

    def _start(self, initial: Initial) -> Floats:
        """Return float64[..., t]: the law of the transient state at step 0, for each process."""
        law = self.law(initial)[..., list(self.transient)]
        return np.broadcast_to(law, (*self.batch, len(self.transient)))

    def _laws(self, initial: Initial) -> Floats:
        """Return float64[..., 1, states]: the law of the state at step 0 of each process."""
        laws: Floats = np.broadcast_to(self.law(initial), (*self.batch, self.states))
        return laws[..., None, :]

    def _entries(self, laws: Floats, horizon: int, *, apart: bool) -> Floats:
        """Return float64[..., r, f, horizon + 1]: from each of r laws of the state at step 0 the
        probability of an entry by each step, into each failing state (`apart`) or into any."""
        rows, terms = laws.shape[-2], _steps(horizon) + 1
        flat = laws.reshape(-1, rows, self.states)
        kinds = len(self.failing) if apart else 1
        failed = flat[..., list(self.failing)]
        answer = np.empty((len(flat), rows, kinds, terms))
        for part, kernel, first in self._parts(terms):
            start = flat[part][..., list(self.transient)]
            found = self._passage(start, kernel, first, terms, apart)
            np.cumsum(found, axis=-1, out=answer[part])
        answer += (failed if apart else failed.sum(axis=-1, keepdims=True))[..., None]
        return answer.reshape((*self.batch, rows, kinds, terms))

    def _parts(self, terms: int) -> Iterator[tuple[slice, Floats, Floats | None]]:
        """Yield the processes in chunks that keep the memory of one small."""
        shape = self.kernel.shape[-3:]
        kernel = self.kernel.reshape(-1, *shape)
        first = None if self.first is None else self.first.reshape(-1, *self.first.shape[-3:])
        each = 4 * (len(self.transient) + 1) ** 2 * terms
        size = max(1, CHUNK // each)
        for k in range(0, len(kernel), size):
            part = slice(k, k + size)
            yield part, kernel[part], None if first is None else first[part]

    def _passage(
        self, start: Floats, kernel: Floats, first: Floats | None, terms: int, apart: bool
    ) -> Floats:
        """Return float64[n, r, f, terms]: the probability of an entry at each step, from r laws of
        the transient state, float64[n, r, t]."""
        inner, outer = self._split(kernel, terms, apart)
        if first is None:
            return first_passage(start, inner, outer, terms)
        found = first_passage(np.eye(len(self.transient))[None], inner, outer, terms)
        inner, outer = self._split(first, terms, apart)
        onward = np.einsum("nri,nijm->nrjm", start, inner)
        direct = fitted(np.einsum("nri,nifm->nrfm", start, outer), terms)
        later: Floats = product(onward[..., None, :], found[:, None], terms).sum(axis=2)
        return direct + later

    def _split(self, kernel: Floats, terms: int, apart: bool) -> tuple[Floats, Floats]:
        """Return the mass between transient states, and from them to the failing ones."""
        cut = kernel[..., :terms]
        outer = cut[..., list(self.failing), :]
        if not apart:
            outer = outer.sum(axis=-2, keepdims=True)
        return cut[..., list(self.transient), :], outer

    def _means(self) -> Floats:
        """Return float64[..., t]: mean steps to a failing state from each transient state."""
        count = len(self.transient)
        total = self.kernel.sum(axis=-1)
        inner = total[..., list(self.transient)]
        stays = total.sum(axis=-1) < 1 - SLACK
        reach = (inner > 0) | np.eye(count, dtype=bool)
        out = total[..., list(self.failing)].sum(axis=-1) > 0
        for _ in range(max(count - 1, 1).bit_length()):
            reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
        ends = (reach & out[..., None, :]).any(axis=-1)
        never = (reach & (stays | ~ends)[..., None, :]).any(axis=-1)
        kept = np.where(never[..., :, None] | never[..., None, :], 0.0, inner)
        mean = np.where(never, 0.0, _mean_stay(self.kernel))
        solved = np.linalg.solve(np.eye(count) - kept, mean[..., None])[..., 0]
        return np.where(never, np.inf, solved.astype(np.float64))


def _alive(failed: Floats) -> Floats:
    """Return the probability that no failure was entered, which never rises."""
    return np.minimum.accumulate(np.clip(1 - failed, 0.0, 1.0), axis=-1)


def _play(
    ways: dict[int, Floats],
    state: Ints,
    step: Ints,
    moving: Ints,
    rng: np.random.Generator,
    never: int,
) -> None:
    """Let the runs `moving` make one transition each, or none in `never` steps; changes state and
    step."""
    draw, now = rng.random(len(moving)), state[moving]
    for here, law in ways.items():
        mine = moving[now == here]
        found = np.searchsorted(law.ravel(), draw[now == here], side="right")
        leaves = found < law.size
        step[mine] += np.where(leaves, found % law.shape[1], never)
        state[mine] = np.where(leaves, found // law.shape[1], here)


def _numbers(name: str, given: npt.ArrayLike, axes: int) -> Floats:
    """Return probabilities as float64, of at least so many axes."""
    try:
        made: npt.NDArray[Any] = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, type(given).__name__, "numbers in a regular array") from None
    if made.ndim < axes:
        raise ParameterError(name, made.shape, f"an array of at least {axes} axes")
    low, high = float(made.min(initial=0.0)), float(made.max(initial=0.0))
    if not (low >= 0 and high <= 1 + SLACK):  # also where it is nan
        wrong = high if low >= 0 else low
        raise ParameterError(name, wrong, "probabilities from 0 to 1")
    return made


def _below_one(name: str, sums: Floats, allowed: str) -> None:
    if np.any(sums > 1 + 1e-6):
        raise ParameterError(name, float(sums.max()), allowed)


def _failing(given: Sequence[int] | None, states: int) -> tuple[int, ...]:
    failing = tuple(range(2, states)) if given is None else tuple(int(k) for k in given)
    if not failing or len(failing) >= states:
        raise ParameterError("failing", failing, f"some, not all, of the states 0 to {states - 1}")
    if len(set(failing)) < len(failing) or min(failing) < 0 or max(failing) >= states:
        raise ParameterError("failing", failing, f"distinct states from 0 to {states - 1}")
    return failing


def _steps(horizon: int) -> int:
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 0:
        raise ParameterError("horizon", horizon, "a whole number of steps, at least 0")
    return int(horizon)


def _leaves(at_once: Floats, transient: tuple[int, ...]) -> None:
    """Refuse stays of 0 steps that never come to an end."""
    inner = at_once[..., list(transient)]
    if not np.any(inner):
        return
    reach = inner
    for _ in range(6):
        reach = reach @ reach
    if np.any(reach.sum(axis=-1) > 0.5):
        raise ParameterError("holding", "stays of 0 steps for ever", "some mass at 1 step or more")


def _mean_stay(kernel: Floats) -> Floats:
    """Return float64[..., t]: the mean stay of each state where all its mass is there."""
    mean: Floats = kernel.sum(axis=-2) @ np.arange(kernel.shape[-1], dtype=np.float64)
    return mean
