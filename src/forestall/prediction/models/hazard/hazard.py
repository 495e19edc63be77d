"""A predictor that learns: Weibull gaps between a node's failures, what is known of its rate pooled
over all nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import window_of
from forestall.prediction.models.hazard import fit as fits
from forestall.prediction.models.hazard import hazard_kernels as kernels
from forestall.prediction.models.hazard.fit import GapLaw, quiet_hazard
from forestall.prediction.models.hazard.hazard_kernels import DAY, HAZARD, Hazard

if TYPE_CHECKING:
    from forestall.core.model.arrays import Floats, Ints


class HazardPredictor:
    """Risk from each node's time since its last failure and its number of past failures.

    The gaps between failures of node i are Weibull: the cumulative hazard is r_i x ** k, with x in
    days since its last failure began. The rates r_i come from a gamma law, worth a failures in an
    exposure b; k, a and b are those of greatest marginal likelihood (empirical Bayes), so that a
    node with little history is judged like the others, and one with a long history by its own. A
    failure adds 1 to a node's failures, and its gap ** k to the node's exposure. Nodes fail
    independently of each other. `docs/models/prediction.md` has the formulas.

    Nothing but the past goes in: `fit` takes a log that has ended, `update` a failure that has
    happened, `advance` the present moment.

    Parameters
    ----------
    shape : k, above 0; below 1 a node that has just failed is likelier to fail again
    prior_failures, prior_exposure : a, and b in days ** k. All three or none: None are learned by
        `fit`

    Examples
    --------
    >>> from forestall.core.model.failures import Failures
    >>> predictor = HazardPredictor(shape=1.0, prior_failures=2.0, prior_exposure=100.0)
    >>> round(float(predictor.failure_probability(np.array([0]), 0, 86_400)[0]), 4)  # 1 day
    0.0197
    >>> predictor.update(43_200, 0)
    >>> round(float(predictor.failure_probability(np.array([0]), 43_200, 129_600)[0]), 4)
    0.0293
    """

    def __init__(
        self,
        shape: float | None = None,
        prior_failures: float | None = None,
        prior_exposure: float | None = None,
    ) -> None:
        given = {
            "shape": shape,
            "prior_failures": prior_failures,
            "prior_exposure": prior_exposure,
        }
        numbers = {name: value for name, value in given.items() if value is not None}
        for name, value in numbers.items():
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(name, value, "a finite number above 0")
        if 0 < len(numbers) < len(given):
            raise ParameterError("shape", shape, "prior_failures and prior_exposure as well")
        self._fixed = len(numbers) > 0
        self._begin = self._end = self._now = 0
        self._trained = 0
        self._hazard: Hazard | None = None
        if shape is not None and prior_failures is not None and prior_exposure is not None:
            law = (float(shape), float(prior_failures), float(prior_exposure))
            self._hazard = kernels.hazard_of(records(0, HAZARD), *law, 1)

    def __repr__(self) -> str:
        if self._hazard is None:
            return "HazardPredictor()"
        return (
            f"HazardPredictor(shape={self.shape!r}, prior_failures={self.prior_failures!r}, "
            f"prior_exposure={self.prior_exposure!r})"
        )

    @property
    def shape(self) -> float:
        """k of the Weibull gaps."""
        return self._known.shape

    @property
    def prior_failures(self) -> float:
        """a: how many failures the law of the rates is worth."""
        return self._known.prior_failures

    @property
    def prior_exposure(self) -> float:
        """b: the exposure in which they came, days ** shape."""
        return self._known.prior_exposure

    @property
    def begin(self) -> int:
        """When observation began, s."""
        return self._begin

    @property
    def end(self) -> int:
        """The moment up to which failures were learnt by `fit`, s."""
        return self._end

    @property
    def trained(self) -> int:
        """How many failures `fit` has seen."""
        return self._trained

    @property
    def downtime(self) -> int:
        """How long a failed node is expected to stay down, s."""
        return self._known.downtime

    def known(self) -> npt.NDArray[Any]:
        """Return what is known of each node, HAZARD[nodes]; see `hazard_kernels`."""
        return self._known.nodes

    @property
    def _known(self) -> Hazard:
        if self._hazard is None:
            raise ParameterError("predictor", "HazardPredictor()", "a fitted one: call fit before")
        return self._hazard

    def fit(self, history: Failures, *, nodes: int | None = None, end: int | None = None) -> None:
        """Learn from a log that has ended; what was learnt before is forgotten.

        Parameters
        ----------
        history : the failures of a window: [0, span) where all lie in that, else [first, first +
            span)
        nodes : size of the machine where that is more than the log tells: those without failures
            were observed as well
        end : the moment at which the window ends on the clock of the run; all times move with it
            (None: they stay)

        Raises ParameterError for a history of fewer than two failures, unless the law was given.
        """
        window = window_of(history)
        number = max(history.nodes, nodes or 0, int(history.node.max(initial=-1)) + 1)
        seen = fits.seen_in(history, number, window)
        if self._fixed:
            law = fits.GapLaw(self.shape, self.prior_failures, self.prior_exposure)
        else:
            law = fits.most_likely(seen)
        table = records(number, HAZARD)
        table["failures"] = seen.failures(law)
        table["exposure"] = seen.exposure(law, whole=False)
        table["renewed"], table["begin"] = seen.last, seen.begin
        quiet = (seen.count == 0) & ~seen.new
        for begin in np.unique(seen.begin[quiet]).tolist():
            table[quiet & (seen.begin == begin)] = _quiet(law, begin, window[1])[0]
        shift = 0 if end is None else int(end) - window[1]
        table["renewed"] += shift
        table["begin"] += shift
        self._hazard = kernels.hazard_of(
            table, law.shape, law.prior_failures, law.prior_exposure, 1
        )
        self._begin, self._end = window[0] + shift, window[1] + shift
        self._now, self._trained = self._end, len(history)

    def advance(self, time: int) -> None:
        """Move the present moment to `time`; nothing has failed since the last one."""
        self._now = max(self._now, int(time))

    def update(self, time: int, node: int) -> None:
        """Take note that `node` failed at `time`, which is now the latest known moment."""
        self.advance(time)
        kernels.note_failure(self._with(node), int(node), int(time))

    def _with(self, node: int) -> Hazard:
        """Return the tables with a row for `node`; what was never observed has the prior."""
        hazard = self._known
        if node >= len(hazard.nodes):
            law = GapLaw(hazard.shape, hazard.prior_failures, hazard.prior_exposure)
            table = records(node + 1, HAZARD)
            table[: len(hazard.nodes)] = hazard.nodes
            table[len(hazard.nodes) :] = _quiet(law, self._end, self._end)[0]
            self._hazard = hazard = hazard._replace(nodes=table)
        return hazard

    def _asked(self, nodes: Ints) -> Hazard:
        return self._with(int(np.max(nodes, initial=-1)))

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window.

        For a window that begins later than now, a node that fails before is as if renewed halfway;
        see `hazard_kernels.node_risk`.
        """
        numbers = np.asarray(nodes, dtype=np.int64)
        risk = np.zeros(len(numbers))
        kernels.risk_of_each(self._asked(numbers), numbers, self._now, int(start), int(end), risk)
        return risk

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window: they are taken to
        fail independently."""
        numbers = np.asarray(nodes, dtype=np.int64)
        hazard = self._asked(numbers)
        return float(kernels.risk_of_any(hazard, numbers, self._now, int(start), int(end)))

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: the median time from now to each node's next failure, s.

        The median, since the mean is infinite where shape x failures is at most 1.
        """
        numbers = np.asarray(nodes, dtype=np.int64)
        hazard = self._asked(numbers)
        known = hazard.nodes[numbers]
        age = np.maximum(self._now - known["renewed"], 0) / DAY
        until_now = known["exposure"] + age**hazard.shape
        doubled = until_now * 2.0 ** (1 / known["failures"]) - known["exposure"]
        answer: Floats = DAY * (doubled ** (1 / hazard.shape) - age)
        return answer

    def arrays(self) -> Hazard:
        """Return a copy of what is known, as arrays for compiled code."""
        hazard = self._known
        table = records(len(hazard.nodes), HAZARD)
        table[:] = hazard.nodes
        return hazard._replace(nodes=table)

    def copy(self) -> HazardPredictor:
        """Return a predictor that knows the same, and learns by itself from here on."""
        made = HazardPredictor(self.shape, self.prior_failures, self.prior_exposure)
        made._hazard = self.arrays()
        made._begin, made._end, made._now = self._begin, self._end, self._now
        made._trained = self._trained
        return made

    def for_run(self, nodes: int, start: int, downtime: int) -> HazardPredictor:
        """Return a copy for a run of so many nodes that begins at `start`, no earlier than now.

        `downtime` is how long a failed node is expected to stay down, s. Of the time between now
        and `start` nothing is known: it counts as no exposure.
        """
        assert start >= self._now, f"knows of {self._now}, after {start}"
        self._with(nodes - 1)
        made, gap = self.copy(), start - self._now
        table = made._known.nodes
        age, quiet = self._now - table["renewed"], table["fresh"] > 0
        k = made.shape
        unknown = ((age + gap) / DAY) ** k - (age / DAY) ** k
        table["exposure"] -= np.where(quiet, 0.0, unknown)
        table["renewed"] += np.where(quiet, gap, 0)
        table["begin"] += np.where(quiet, gap, 0)
        made._hazard = made._known._replace(downtime=int(downtime))
        made._now = start
        return made


def _quiet(law: GapLaw, begin: int, end: int) -> Any:
    """Return what is known of a node that has not failed in [begin, end), as HAZARD[1].

    Its gap began before; as if a mean gap before, and at `end` its hazard is that of a node in
    equilibrium which has not failed.
    """
    one = records(1, HAZARD)
    renewed = begin - max(1, round(law.mean_gap * DAY))
    age = (end - renewed) / DAY
    hazard = quiet_hazard(law, (end - begin) / DAY)
    exposure = law.prior_failures * law.shape * age ** (law.shape - 1) / hazard - age**law.shape
    one["failures"], one["exposure"] = law.prior_failures, exposure
    one["renewed"], one["begin"], one["fresh"] = renewed, begin, 1
    return one
