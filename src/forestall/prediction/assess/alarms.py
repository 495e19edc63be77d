"""Alarms on a time line against the failures that they should have announced.

Brandt et al., "Quantifying Effectiveness of Failure Prediction and Response in HPC Systems",
Section 3.3: an alarm within a window before a failure is right; the last one before a failure is
its true positive, at a cost in proportion to its lead time; a failure without an alarm in its
window was missed. Recall is put beside that of alarms that cover as much node time at random, so
that crying wolf always does not look good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.proportions import wilson
from forestall.prediction.assess.alarm_cover import Cover, cover

HOUR: Final = 3600
DAY: Final = 86_400
WEEK: Final = 7 * DAY
WHOLE: Final = -1
"""The node of an alarm that is about the whole machine."""
NO_END: Final = np.iinfo(np.int64).max
HORIZONS: Final = (HOUR, 6 * HOUR, 24 * HOUR)
FEW_WEEKS: Final = 4
"""Fewer weeks than these tell nothing of how weeks differ."""


class Line(NamedTuple):
    """Alarms and failures on one clock, in the window [begin, end), s, of so many nodes.

    alarm_time, alarm_node, until : int64[a], s; `WHOLE` for the machine; the alarm speaks of times
        up to `until` (`NO_END`: of the horizon)
    failure_time, failure_node : int64[f]
    """

    alarm_time: Ints
    alarm_node: Ints
    until: Ints
    failure_time: Ints
    failure_node: Ints
    nodes: int
    begin: int
    end: int

    @property
    def node_days(self) -> float:
        """Node-days that were observed."""
        return self.nodes * (self.end - self.begin) / DAY


@dataclass(frozen=True)
class AlarmShare:
    """A share of a count, with its Wilson interval, and one from drawing weeks again (None where
    there are too few weeks)."""

    count: int
    of: int
    ci: tuple[float, float] | None
    ci_weeks: tuple[float, float] | None

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True)
class JudgedAlarms:
    """What alarms are worth at one horizon.

    Attributes
    ----------
    horizon, lead : s; a failure at T is caught by an alarm in [T - horizon, T - lead], before T
    recall : failures caught; precision : alarms right, of those right, late and false
    caught : bool[f]; last, first : int64[f], lead time of the last and of the first alarm in the
        window, s, -1 where none
    right : bool[a]; repeats : right alarms that are nobody's last; false : alarms that no failure
        follows within the horizon; late : alarms that a failure follows sooner than `lead`;
        undecided : alarms whose window outlives the log, without a failure until there
    echoes : false alarms within the horizon after a failure of their node
    on_good_nodes : false alarms about nodes that never fail
    covered : share of node time at which a failure would be caught, and with each failure's own
        node's share, so that only the time is left to chance: what recall chance would give
    waiting : node-seconds between the true positives and their failures
    """

    horizon: int
    lead: int
    recall: AlarmShare
    precision: AlarmShare
    caught: Bools
    last: Ints
    first: Ints
    right: Bools
    repeats: int
    false: int
    late: int
    undecided: int
    echoes: int
    on_good_nodes: int
    covered: float
    covered_same_nodes: float
    waiting: int
    node_days: float

    @property
    def false_per_node_day(self) -> float:
        """False alarms for each node and day."""
        return self.false / self.node_days

    @property
    def lift(self) -> float | None:
        """Recall over that of chance; None where either is not there."""
        recall = self.recall.value
        return None if recall is None or self.covered <= 0 else recall / self.covered

    def lead_quantiles(self, at: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)) -> Floats:
        """Return quantiles of the lead times of the true positives, s; nan where there are none."""
        known = self.last[self.last >= 0]
        return np.quantile(known, at) if len(known) else np.full(len(at), np.nan)

    def beats_chance(self) -> bool | None:
        """Return whether recall is above that of chance beyond doubt; False: below it beyond
        doubt; None: neither."""
        ends = [ci for ci in (self.recall.ci, self.recall.ci_weeks) if ci is not None]
        if not ends:
            return None
        if min(ci[0] for ci in ends) > self.covered:
            return True
        return False if max(ci[1] for ci in ends) < self.covered else None


def line_of(
    alarm_time: npt.ArrayLike,
    alarm_node: npt.ArrayLike,
    failure_time: npt.ArrayLike,
    failure_node: npt.ArrayLike,
    *,
    nodes: int,
    begin: int | None = None,
    end: int | None = None,
    until: npt.ArrayLike | None = None,
) -> Line:
    """Return alarms and failures as a time line; those outside the window are left out.

    Without `begin` and `end` the window reaches from the first to the last of them all. A negative
    alarm node is the whole machine; a negative `until` is not known.
    """
    when, where = np.asarray(alarm_time, np.int64), np.asarray(alarm_node, np.int64)
    failed, on = np.asarray(failure_time, np.int64), np.asarray(failure_node, np.int64)
    every = np.concatenate((when, failed))
    start = begin if begin is not None else int(every.min(initial=NO_END)) if len(every) else 0
    close = end if end is not None else int(every.max()) + 1 if len(every) else 1
    if nodes < 1:
        raise ParameterError("nodes", nodes, "a whole number of at least 1")
    if close <= start:
        raise ParameterError("window", (start, close), "a beginning before its end")
    for name, numbers in (("alarms", where), ("failures", on)):
        if len(numbers) and int(numbers.max()) >= nodes:
            allowed = f"more than {int(numbers.max())}, the highest node number of the {name}"
            raise ParameterError("nodes", nodes, allowed)
    ends = np.full(len(when), NO_END) if until is None else np.asarray(until, np.int64)
    kept = (when >= start) & (when < close)
    place = np.flatnonzero(kept)
    place = place[np.lexsort((when[place], np.maximum(where[place], WHOLE)))]
    seen = np.flatnonzero((failed >= start) & (failed < close))
    seen = seen[np.lexsort((on[seen], failed[seen]))]
    return Line(
        when[place], np.maximum(where[place], WHOLE), np.where(ends < 0, NO_END, ends)[place],
        failed[seen], on[seen], nodes, start, close,
    )  # fmt: skip


def judge(
    line: Line,
    horizon: int,
    rng: np.random.Generator,
    *,
    lead: int = 0,
    level: float = 0.95,
    draws: int = 1000,
) -> JudgedAlarms:
    """Return what the alarms are worth at one horizon.

    Parameters
    ----------
    line : from `line_of`
    horizon : how long before a failure an alarm is about it, s
    rng : draws weeks again
    lead : least useful lead time, s: later alarms are late
    level, draws : of intervals
    """
    if horizon < 1:
        raise ParameterError("horizons", horizon, "durations of at least 1 s")
    if not 0 <= lead < horizon:
        raise ParameterError("lead", lead, f"a duration below the horizon, {horizon} s")
    first, last = _alarms_before(line, horizon, lead)
    caught = last >= 0
    right, follows, late = _failures_after(line, horizon, lead)
    ends = _ends(line, horizon)
    undecided = ~follows & (ends >= line.end)
    judged = follows | ~undecided
    false = ~follows & ~undecided
    whole = cover(line.alarm_time + max(lead, 1), ends + 1, line.alarm_node, line.nodes,
                  (line.begin, line.end))  # fmt: skip
    weeks = -(-(line.end - line.begin) // WEEK)
    drawn = rng.multinomial(weeks, np.full(weeks, 1 / weeks), draws) if weeks >= FEW_WEEKS else None

    def share(hits: Bools, times: Ints) -> AlarmShare:
        return _share(hits, (times - line.begin) // WEEK, drawn, level)

    return JudgedAlarms(
        horizon=horizon,
        lead=lead,
        recall=share(caught, line.failure_time),
        precision=share(right[judged], line.alarm_time[judged]),
        caught=caught,
        last=last,
        first=first,
        right=right,
        repeats=int(right.sum()) - _used(line, last),
        false=int(false.sum()),
        late=int(late.sum()),
        undecided=int(undecided.sum()),
        echoes=int((false & _after_failure(line, horizon)).sum()),
        on_good_nodes=int((false & _on_good_nodes(line)).sum()),
        covered=whole.share,
        covered_same_nodes=_same_nodes(line, whole),
        waiting=int(last[caught].sum()),
        node_days=line.node_days,
    )


def _ends(line: Line, horizon: int) -> Ints:
    """Return the last second that each alarm is about, int64[a]."""
    return np.minimum(line.until, line.alarm_time + horizon)


def _width(line: Line) -> int:
    """Return what keeps nodes apart in keys of (node, time)."""
    return 2 * (line.end - line.begin) + 2


def _key(line: Line, node: Ints, time: Ints) -> Ints:
    """Return keys in order of (node, time); the machine as a whole comes before all nodes."""
    span = line.end - line.begin
    return (node + 1) * _width(line) + np.clip(time - line.begin, -1, span) + 1


def _alarms_before(line: Line, horizon: int, lead: int) -> tuple[Ints, Ints]:
    """Return lead times of the first and of the last alarm in each failure's window, -1: none."""
    keys = _key(line, line.alarm_node, line.alarm_time)
    tree = None if np.all(line.until == NO_END) else _Latest(line.until)
    longest = np.full(len(line.failure_time), -1, dtype=np.int64)
    shortest = np.full(len(line.failure_time), -1, dtype=np.int64)
    latest = line.failure_time - max(lead, 1)
    for node in (line.failure_node, np.full_like(line.failure_node, WHOLE)):
        low = np.searchsorted(keys, _key(line, node, line.failure_time - horizon))
        high = np.searchsorted(keys, _key(line, node, latest), side="right") - 1
        # Times before the window share one key, which no alarm has.
        some = high >= low
        if tree is not None:
            high = np.where(some, tree.before(high, line.failure_time), -1)
            some &= high >= low
        at = np.flatnonzero(some)
        leads = line.failure_time[at] - line.alarm_time[high[at]]
        shortest[at] = np.where(shortest[at] < 0, leads, np.minimum(shortest[at], leads))
        if tree is not None:
            early = tree.after(low[at], line.failure_time[at])
        else:
            early = low[at]
        longest[at] = np.maximum(longest[at], line.failure_time[at] - line.alarm_time[early])
    return longest, shortest


def _failures_after(line: Line, horizon: int, lead: int) -> tuple[Bools, Bools, Bools]:
    """Return which alarms a failure follows in time to be of use, which one follows at all, and
    which only failures follow that come too soon."""
    order = np.lexsort((line.failure_time, line.failure_node))
    keys = _key(line, line.failure_node[order], line.failure_time[order])
    ends = _ends(line, horizon)
    machine = line.alarm_node == WHOLE

    def count(after: Ints) -> Ints:
        """Return how many failures come in [after, ends] on the alarm's node, or on any."""
        found = np.searchsorted(keys, _key(line, line.alarm_node, ends), side="right")
        found = found - np.searchsorted(keys, _key(line, line.alarm_node, after))
        any_node = np.searchsorted(line.failure_time, ends[machine], side="right")
        found[machine] = any_node - np.searchsorted(line.failure_time, after[machine])
        return found

    right = count(line.alarm_time + max(lead, 1)) > 0
    follows = count(line.alarm_time + 1) > 0
    return right, follows, follows & ~right


def _used(line: Line, last: Ints) -> int:
    """Return how many alarms are some failure's last: (node, time) of true positives, counted
    once each."""
    at = np.flatnonzero(last >= 0)
    keys = _key(line, line.alarm_node, line.alarm_time)
    when = line.failure_time[at] - last[at]
    mine = _key(line, line.failure_node[at], when)
    place = np.searchsorted(keys, mine)
    own = place < len(keys)
    own[own] = keys[place[own]] == mine[own]
    whole = _key(line, np.full(len(at), WHOLE), when)
    used = np.where(own, mine, whole)
    return len(np.unique(used))


def _after_failure(line: Line, horizon: int) -> Bools:
    """Return which alarms come at or within the horizon after a failure of their node."""
    order = np.lexsort((line.failure_time, line.failure_node))
    keys = _key(line, line.failure_node[order], line.failure_time[order])
    now = _key(line, line.alarm_node, line.alarm_time)
    before = _key(line, line.alarm_node, line.alarm_time - horizon)
    found = np.searchsorted(keys, now, side="right") > np.searchsorted(keys, before)
    machine = line.alarm_node == WHOLE
    when = line.alarm_time[machine]
    found[machine] = np.searchsorted(line.failure_time, when, side="right") > np.searchsorted(
        line.failure_time, when - horizon
    )
    return found


def _on_good_nodes(line: Line) -> Bools:
    """Return which alarms are about a node that never fails."""
    fails = np.zeros(line.nodes + 1, dtype=np.bool_)
    fails[line.failure_node] = True
    fails[WHOLE] = True
    return ~fails[line.alarm_node]


def _same_nodes(line: Line, whole: Cover) -> float:
    """Return the mean over failures of their node's covered share."""
    if not len(line.failure_node):
        return 0.0
    return float(whole.by_node[line.failure_node].mean())


def _share(hits: Bools, week: Ints, drawn: Ints | None, level: float) -> AlarmShare:
    count, of = int(hits.sum()), len(hits)
    if not of:
        return AlarmShare(count, of, None, None)
    by_weeks = None
    if drawn is not None:
        weeks = drawn.shape[1]
        good = drawn @ np.bincount(week[hits], minlength=weeks)
        every = drawn @ np.bincount(week, minlength=weeks)
        ratios = good[every > 0] / every[every > 0]
        if len(ratios):  # not where all lie in one week that was never drawn
            low, high = np.quantile(ratios, ((1 - level) / 2, (1 + level) / 2))
            by_weeks = (float(low), float(high))
    return AlarmShare(count, of, wilson(count, of, level), by_weeks)


class _Latest:
    """Finds, before or after a place, the nearest value that reaches a bound: a tree of maxima."""

    def __init__(self, values: Ints) -> None:
        self._size = 1 << max(len(values) - 1, 0).bit_length()
        self._count = len(values)
        tree = np.full(2 * self._size, np.iinfo(np.int64).min)
        tree[self._size : self._size + len(values)] = values
        level = self._size // 2
        while level:
            tree[level : 2 * level] = np.maximum(tree[2 * level : 4 * level : 2],
                                                 tree[2 * level + 1 : 4 * level : 2])  # fmt: skip
            level //= 2
        self._tree = tree

    def before(self, place: Ints, bound: Ints) -> Ints:
        """Return the last place <= `place` whose value is at least `bound`, -1: none."""
        return self._find(place, bound, odd=1)

    def after(self, place: Ints, bound: Ints) -> Ints:
        """Return the first place >= `place` whose value is at least `bound`, -1: none."""
        return self._find(place, bound, odd=0)

    def _find(self, place: Ints, bound: Ints, odd: int) -> Ints:
        """Climb until the neighbour on the wanted side holds the bound, then go down in it."""
        tree, size = self._tree, self._size
        inside = (place >= 0) & (place < self._count)
        at = np.where(inside, place + size, 0)
        climbing = inside & (tree[at] < bound)
        while climbing.any():
            c = np.flatnonzero(climbing)
            beside = at[c] ^ 1
            turns = (at[c] & 1) == odd
            turns &= (at[c] > 1) & (tree[beside] >= bound[c])
            at[c] = np.where(turns, beside, at[c] >> 1)
            climbing[c] = ~turns & (at[c] > 0)
        low = np.flatnonzero((at > 0) & (at < size))
        while len(low):
            near, far = 2 * at[low] + odd, 2 * at[low] + 1 - odd
            at[low] = np.where(tree[near] >= bound[low], near, far)
            low = low[at[low] < size]
        return np.where(at >= size, at - size, -1)
