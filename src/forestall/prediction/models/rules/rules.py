"""Rules: which sets of preceding events make a failure likelier, mined from the past."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import service
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.linear.shares import DAY, Shares
from forestall.prediction.models.rules.items import (
    FailureLookup,
    Item,
    TypedRecords,
    holding,
    present,
)
from forestall.prediction.models.rules.mining import Limits, Mined, mine, mined_of

CELLS = 500_000
"""How many moments and nodes are looked at together."""
PANEL = 1_500_000
"""How many of them the lifts are measured on, at most."""


class MinedRule(NamedTuple):
    """A rule as a table shows it.

    items : what must have been seen, in words
    window_s : within so many seconds before
    support : in how many windows it was seen
    hits : how many of them came before a failure in the next window
    confidence : hits / support
    lift : confidence over that of all windows
    p_value : by Fisher's exact test, one-sided
    lead_s : median time from the last record to the failure, s
    factor : by how much the rule raises the node's own risk, for each horizon
    """

    items: tuple[str, ...]
    window_s: int
    support: int
    hits: int
    confidence: float
    lift: float
    p_value: float
    lead_s: float
    factor: tuple[float, ...]


class EventRules(Learner):
    """Event sets that raise the risk of failure, and by how much.

    Items are what was seen within a window before a moment: failures of a kind and events of a kind
    and severity, of the node itself or anywhere on the machine, once or repeatedly. Sets of up to
    three items that make a failure within the next window likelier are mined from the past, see
    `forestall.prediction.models.rules.mining`.

    A node's own risk comes from its failure rate r, pooled with those of all nodes and fading with
    age as the past suggests (see `linear.shares.Shares`): the cumulative hazard over h is H = r h.
    Of the rules that hold for a node, the one of most items (of equals, that of least p-value)
    multiplies H by its factor, ((k + 1/2) / K) ** (m / (m + s)), m = max(k, K): k nodes failed
    within h of moments at which it was the one, and K were expected by H; s, the prior's strength,
    draws factors to 1 on the scale of logarithms where little was seen. Where no rule holds, the
    factor is that of such moments. So a node that fails often by itself does not lend its risk to
    the events that it reports.

    Parameters
    ----------
    windows : seconds back (and ahead, in mining), ascending
    hits : a set must have come before so many failures
    size : greatest number of items in a set, 1 to 3
    fdr : false discovery rate of the rules
    repeats : the counts that items have
    prior : s, in failures
    most : greatest number of rules that are kept, those of least p-value
    horizons : seconds ahead that it answers for, ascending

    Source: Sahoo et al., "Critical event prediction for proactive management in large-scale
    computer clusters", KDD 2003, of which the idea is taken; the tests and factors are our own.
    """

    name: ClassVar[str] = "rules"

    def __init__(
        self,
        *,
        windows: Sequence[int] = (3600, 86_400),
        hits: int = 5,
        size: int = 3,
        fdr: float = 0.05,
        repeats: Sequence[int] = (1, 3),
        prior: float = 3.0,
        most: int = 100,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        spans = check.ascending("windows", windows, "positive whole seconds, ascending")
        counts = check.ascending("repeats", repeats, "whole numbers of 1 or more, ascending")
        if check.number("fdr", fdr, "a number within (0, 1)", above=0) >= 1:
            raise ParameterError("fdr", fdr, "a number within (0, 1)")
        super().__init__(
            windows=spans, hits=check.whole("hits", hits, 1), size=check.whole("size", size, 1, 3),
            fdr=float(fdr), repeats=counts, most=check.whole("most", most, 1),
            prior=check.number("prior", prior, "a finite number above 0", above=0),
            horizons=check.seconds(horizons),
        )  # fmt: skip
        own = self.settings
        self.windows = tuple(spans)
        self.limits = Limits(own["hits"], own["size"], own["fdr"], tuple(counts))
        self.prior, self.most = own["prior"], own["most"]
        self.shares = Shares()
        self.mined: list[Mined] = []
        self.factors = np.ones((1, len(self.horizons)))

    @property
    def memory(self) -> int:  # type: ignore[override]
        """Seconds of events that must be kept to answer."""
        return max(30 * DAY, self.windows[-1])

    def learn(self, past: Observations) -> None:
        """Mine the rules, and measure by how much each raises the risk."""
        self.shares = Shares.learn(past)
        found = mine(past, self.windows, self.limits)[: self.most]
        # Later ones take precedence: more items, then the smaller p-value.
        self.mined = sorted(found, key=lambda one: (len(one.items), -one.p_value, one.items))
        self.factors = self._measured(past)

    def _measured(self, past: Observations) -> Floats:
        """Return float64[rules + 1, H]: the factors, that of no rule first."""
        failed = np.zeros((len(self.mined) + 1, len(self.horizons)))
        meant = np.zeros_like(failed)
        times = self._panel(past)
        histories, records = FailureLookup.of(past), TypedRecords.of(past)
        begin, stop = service(past)
        ahead = np.asarray(self.horizons, dtype=np.int64)
        for some in _chunks(times, past.nodes):
            row, node = np.nonzero((begin <= some[:, None]) & (some[:, None] < stop))
            which = self.which(records, some, past.nodes)[row, node]
            moment = some[row]
            rate = self.shares.of(past, some)[0][row, node]
            wait = histories.following(moment, node) - moment
            for k in range(len(ahead)):
                inside = wait < np.minimum(ahead[k], stop[node] - moment)  # before it leaves
                known = inside | (moment + ahead[k] <= stop[node])
                known &= moment + ahead[k] <= past.end
                soon = known & inside
                failed[:, k] += np.bincount(which[soon], minlength=len(failed))
                risk = -np.expm1(-rate[known] * (ahead[k] / DAY))
                meant[:, k] += np.bincount(which[known], risk, minlength=len(failed))
        step = int(times[1] - times[0]) if len(times) > 1 else self.windows[0]
        apart = np.minimum(1.0, step / ahead)  # a failure counts about once
        failed, meant = apart * failed, apart * meant
        most = np.maximum(failed, meant)
        ratio = (failed + 0.5) / np.maximum(meant, 1e-12)
        return np.where(most > 0, ratio ** (most / (most + self.prior)), 1.0)

    def _panel(self, past: Observations) -> Ints:
        """Return the moments at which factors are measured: in the later three quarters, apart by a
        whole number of the shortest window so that every time of the day comes up."""
        start = past.begin + (past.end - past.begin) // 4
        rows = max(1, PANEL // max(past.nodes, 1))
        step = max(self.windows[0], math.ceil((past.end - start) / rows))
        if step > 86_400:
            step = step // 3600 * 3600 + 3600
        elif step > self.windows[0]:
            step += 1 + step % 7  # not in step with the day
        return np.arange(start, past.end, step, dtype=np.int64)

    def which(self, records: TypedRecords, times: Ints, nodes: int) -> npt.NDArray[np.int32]:
        """Return int32[T, nodes]: 1 + the number of the rule that takes precedence, 0 for none."""
        answer = np.zeros((len(times), nodes), dtype=np.int32)
        flat = answer.reshape(-1)
        for window in self.windows:
            needed = {item for one in self.mined if one.window == window for item in one.items}
            where = {item: present(records, item, times, window, nodes) for item in needed}
            for k, one in enumerate(self.mined):
                if one.window != window:
                    continue
                found = holding(one.items, where, nodes)
                if len(found.rows):
                    rows = answer[found.rows]
                    answer[found.rows] = np.maximum(rows, k + 1)
                else:
                    flat[found.cells] = np.maximum(flat[found.cells], k + 1)
        return answer

    def chances(self, seen: Observations, times: Ints) -> Floats:
        moments = np.asarray(times, dtype=np.int64)
        answer = np.empty((len(moments), seen.nodes, len(self.horizons)))
        records = TypedRecords.of(seen, int(moments[-1]) if len(moments) else seen.begin)
        done = 0
        for some in _chunks(moments, seen.nodes):
            rates = self.shares.of(seen, some)[0]
            which = self.which(records, some, seen.nodes)
            for k, horizon in enumerate(self.horizons):
                hazard = rates * self.factors[which, k] * (horizon / DAY)
                answer[done : done + len(some), :, k] = -np.expm1(-hazard)
            done += len(some)
        return np.maximum.accumulate(answer, axis=2, out=answer)

    def rules(self) -> list[MinedRule]:
        """Return the rules, those of least p-value first."""
        order = sorted(range(len(self.mined)), key=lambda k: (self.mined[k].p_value, k))
        return [self._shown(k) for k in order]

    def _shown(self, k: int) -> MinedRule:
        one = self.mined[k]
        words = tuple(str(item) for item in one.items)
        factor = tuple(float(f) for f in self.factors[k + 1])
        return MinedRule(
            words, one.window, one.support, one.hits, one.confidence, one.lift, one.p_value,
            one.lead, factor,
        )  # fmt: skip

    def learnt(self) -> State:
        """Return the rules and how rates are pooled."""
        rules = [
            {**one._asdict(), "items": [list(item) for item in one.items]} for one in self.mined
        ]
        return {"rules": rules, "shares": self.shares.values()}, {"factors": self.factors}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values, arrays)
        self.shares = Shares.of_values(held.value("shares"))
        self.mined = [mined_of(Held(one), self.windows) for one in held.listed("rules")]
        shape = (len(self.mined) + 1, len(self.horizons))
        self.factors = held.array("factors", np.float64, *shape, least=0)
        held.hold("factors", bool((self.factors > 0).all()), "numbers above 0")


def _chunks(times: Ints, nodes: int) -> list[Ints]:
    """Return ascending times in runs that make no more than `CELLS` cells."""
    rows = max(1, CELLS // max(nodes, 1))
    return [times[k : k + rows] for k in range(0, len(times), rows)]


__all__ = ["EventRules", "Item", "MinedRule"]
