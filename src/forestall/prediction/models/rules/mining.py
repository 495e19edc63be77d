"""The miner: which sets of items within a window make a failure in the next one likelier.

Time is cut into windows of one length w, aligned to the beginning of the past. A transaction is a
node and a moment t between two windows: what was seen within [t - w, t), and whether the node
failed within [t, t + w). No record and no failure is counted twice, so that Fisher's exact test of
a set against failure holds. Sets of what was seen anywhere on the machine are tested on moments
alone, against a failure of any node: failures of many nodes at once are no independent evidence.

The sets are those of Apriori (Agrawal and Srikant, VLDB 1994): a set is looked at only where all
its parts were seen before enough failures. The p-value of a set of several items is the greatest of
its tests against all transactions and against those of each set with one item less: it must tell
more than any part does. Sets of three extend significant pairs. Of the sets of one size that occur
often enough to be tested, those are significant that Benjamini and Hochberg (J. Royal Statistical
Society B 57, 1995) leave at the false discovery rate, which the sizes share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.rules.items import FailureLookup, Item, TypedRecords, item_of

MOST_ITEMS = 200
"""Items of a scope and window that are combined: those seen before most failures ..."""
MOST_COMMON = 0.5
"""... and of what was seen of the machine, not what is there more often than not."""
MOST_PAIRS = 100
"""Significant pairs that are extended to sets of three: those of least p-value."""


class Mined(NamedTuple):
    """A set of items that was found to raise the risk of failure within the next window.

    support : in how many transactions the set was seen; hits : of them, before how many failures
    base : the share of all transactions before failures
    lead : median time from the last record of the set's window to the failure, s
    """

    items: tuple[Item, ...]
    window: int
    support: int
    hits: int
    base: float
    p_value: float
    lead: float

    @property
    def confidence(self) -> float:
        """The share of the transactions that came before a failure."""
        return self.hits / self.support

    @property
    def lift(self) -> float:
        """The confidence over that of all transactions."""
        return self.confidence / self.base if self.base > 0 else math.inf


def mined_of(held: Held, windows: Sequence[int]) -> Mined:
    """Return the rule that a file brings, of one of these windows. Raises ParameterError."""
    items = tuple(item_of(item) for item in held.listed("items"))
    held.hold("items", len(items) > 0, "at least one")
    window, support = held.whole("window"), held.whole("support", 1)
    held.hold("window", window in windows, f"one of {', '.join(map(str, windows))}")
    return Mined(
        items, window, support, held.whole("hits", 0), held.number("base", 0, 1),
        held.number("p_value", 0, 1), held.number("lead"),
    )  # fmt: skip


class Limits(NamedTuple):
    """Settings of the miner: least number of hits, greatest size of a set, false discovery rate,
    and the counts that items have."""

    hits: int
    size: int
    rate: float
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class Baskets:
    """Transactions with at least one item.

    Attributes
    ----------
    items : what there is
    rows : for each item, in which transactions it is, ascending
    positive : bool[n], whether a failure followed
    total, failed : number of all transactions, also without items, and of those before failures
    lead : float64[n], seconds from the transaction's last record to the failure, nan without one
    """

    items: list[Item]
    rows: list[Ints]
    positive: Bools
    total: int
    failed: int
    lead: Floats


def mine(past: Observations, windows: tuple[int, ...], limits: Limits) -> list[Mined]:
    """Return the significant sets, those of least p-value first."""
    records, histories = TypedRecords.of(past), FailureLookup.of(past)
    found: list[Mined] = []
    for window in windows:
        for baskets in (
            node_baskets(past, records, histories, window, limits.repeats),
            machine_baskets(past, records, window, limits.repeats),
        ):
            if baskets.failed and baskets.items:
                found += mine_baskets(baskets, window, limits)
    return sorted(found, key=lambda one: (one.p_value, one.window, one.items))


def node_baskets(
    past: Observations,
    records: TypedRecords,
    histories: FailureLookup,
    window: int,
    repeats: tuple[int, ...],
) -> Baskets:
    """Return what was seen of each node in each window; items of the machine stand in transactions
    that have one of the node."""
    number = (past.end - past.begin) // window - 1
    step = (records.time - past.begin) // window
    use = (records.node >= 0) & (records.node < past.nodes) & (step < number)
    cell, kind = step[use] * past.nodes + records.node[use], records.kind[use]
    universe, place = np.unique(cell, return_inverse=True)
    last = np.zeros(len(universe), dtype=np.int64)
    np.maximum.at(last, place, records.time[use])
    moment = past.begin + (universe // max(past.nodes, 1) + 1) * window
    following = histories.following(moment, universe % max(past.nodes, 1))
    positive = following < moment + window
    items, rows = _counted("node", records.types, place, kind, len(universe), repeats)
    above = (step >= 0) & (step < number)
    wide, where = _counted(
        "machine", records.types, step[above], records.kind[above], max(number, 1), repeats
    )
    of_step = universe // max(past.nodes, 1)
    for item, steps in zip(wide, where, strict=True):
        mask = np.zeros(max(number, 1), dtype=np.bool_)
        mask[steps] = True
        items.append(item)
        rows.append(np.flatnonzero(mask[of_step]))
    failures = past.failures
    pairs = np.unique(((failures.time - past.begin) // window - 1) * past.nodes + failures.node)
    failed = int(((pairs >= 0) & (pairs < number * past.nodes)).sum())
    lead = np.where(positive, following - last, np.nan).astype(np.float64)
    return Baskets(items, rows, positive, max(number, 0) * past.nodes, failed, lead)


def machine_baskets(
    past: Observations, records: TypedRecords, window: int, repeats: tuple[int, ...]
) -> Baskets:
    """Return what was seen of the machine in each window."""
    number = max((past.end - past.begin) // window - 1, 0)
    step = (records.time - past.begin) // window
    use = step < number
    items, rows = _counted("machine", records.types, step[use], records.kind[use], number, repeats)
    moment = past.begin + (np.arange(number) + 1) * window
    log = past.failures.time
    place = np.searchsorted(log, moment)
    following = np.append(log, 2**62)[place]
    positive = following < moment + window
    last = np.full(number, past.begin, dtype=np.int64)
    np.maximum.at(last, step[use], records.time[use])
    lead = np.where(positive, following - last, np.nan).astype(np.float64)
    return Baskets(items, rows, positive, number, int(positive.sum()), lead)


def _counted(
    scope: str,
    types: list[tuple[str, str, int]],
    basket: Ints,
    kind: Ints,
    number: int,
    repeats: tuple[int, ...],
) -> tuple[list[Item], list[Ints]]:
    """Return the items that are there, and for each in which baskets."""
    keys, counts = np.unique(kind * max(number, 1) + basket, return_counts=True)
    code, place = keys // max(number, 1), keys % max(number, 1)
    items, rows = [], []
    for repeat in repeats:
        enough = counts >= repeat
        codes, places = code[enough], place[enough]
        edges = np.searchsorted(codes, np.arange(len(types) + 1))
        for k in np.flatnonzero(np.diff(edges)).tolist():
            items.append(Item(scope, *types[k], repeat))
            rows.append(places[edges[k] : edges[k + 1]])
    return items, rows


def mine_baskets(baskets: Baskets, window: int, limits: Limits) -> list[Mined]:
    """Return the significant sets of one kind of transactions."""
    level = limits.rate / limits.size
    support = np.array([len(rows) for rows in baskets.rows])
    hits = np.array([int(baskets.positive[rows].sum()) for rows in baskets.rows])
    scopes = np.array([item.scope == "node" for item in baskets.items])
    alone = scopes if bool(scopes.any()) else np.ones(len(scopes), dtype=np.bool_)
    tested = np.flatnonzero(alone & (support >= limits.hits))
    p_values = fisher(hits[tested], support[tested], baskets.failed, baskets.total)
    p_values[hits[tested] < limits.hits] = 1.0
    found: dict[tuple[int, ...], float] = {
        (int(tested[k]),): float(p_values[k])
        for k in discoveries(p_values, level, len(tested)).tolist()
    }
    if limits.size > 1:
        common = support > MOST_COMMON * len(baskets.positive)
        usable = np.flatnonzero((hits >= limits.hits) & ~(common & ~alone))
        usable = usable[np.lexsort((usable, -hits[usable]))][:MOST_ITEMS]
        found |= _Pairs(baskets, usable, alone, limits).mined(level)
    return [_described(baskets, members, window, p) for members, p in found.items()]


class _Pairs:
    """Sets of two and three of some items of one kind of transactions."""

    def __init__(self, baskets: Baskets, usable: Ints, alone: Bools, limits: Limits) -> None:
        self.baskets, self.limits, self.usable = baskets, limits, usable
        columns = np.cumsum(baskets.positive) - 1
        self.before = np.zeros((len(usable), int(baskets.positive.sum())), dtype=np.float32)
        words = (len(baskets.positive) + 63) // 64
        packed = np.zeros((len(usable), 8 * words), dtype=np.uint8)
        for k, item in enumerate(usable.tolist()):
            rows = baskets.rows[item]
            self.before[k, columns[rows[baskets.positive[rows]]]] = 1.0
            mask = np.zeros(len(baskets.positive), dtype=np.bool_)
            mask[rows] = True
            bits = np.packbits(mask)
            packed[k, : len(bits)] = bits
        self.bits = packed.view(np.uint64)
        self.hits = np.rint(self.before @ self.before.T).astype(np.int64)
        self.support = np.stack([self._with(row) for row in self.bits] or [np.empty(0, np.int64)])
        bases = [baskets.items[k].base for k in usable.tolist()]
        numbers = {base: k for k, base in enumerate(dict.fromkeys(bases))}
        code = np.array([numbers[base] for base in bases], dtype=np.int64)
        self.apart = code[:, None] != code[None, :]
        self.alone = alone[usable]

    def _with(self, row: npt.NDArray[np.uint64]) -> Ints:
        """Return in how many of a packed row's transactions each item is."""
        return np.asarray(np.bitwise_count(self.bits & row).sum(axis=1), dtype=np.int64)

    def mined(self, level: float) -> dict[tuple[int, ...], float]:
        """Return the significant sets of two, and of three that extend one of them."""
        found = self._twos(level)
        if self.limits.size > 2:
            best = sorted(found, key=lambda members: (found[members], members))[:MOST_PAIRS]
            found |= self._threes(best, level)
        usable = self.usable.tolist()
        return {tuple(sorted(usable[k] for k in members)): p for members, p in found.items()}

    def _twos(self, level: float) -> dict[tuple[int, ...], float]:
        if len(self.usable) < 2:
            return {}
        least = self.limits.hits
        usable = np.triu(self.apart & (self.alone[:, None] | self.alone[None, :]), 1)
        tested = int((usable & (self.support >= least)).sum())
        i, j = np.nonzero(usable & (self.hits >= least))
        hits, support = self.hits[i, j], self.support[i, j]
        own = np.diag(self.hits), np.diag(self.support)
        p_values = fisher(hits, support, self.baskets.failed, self.baskets.total)
        for part in (i, j):
            p_values = np.maximum(p_values, fisher(hits, support, own[0][part], own[1][part]))
        chosen = discoveries(p_values, level, tested)
        return {(int(i[k]), int(j[k])): float(p_values[k]) for k in chosen}

    def _threes(self, pairs: list[tuple[int, ...]], level: float) -> dict[tuple[int, ...], float]:
        candidates: dict[tuple[int, ...], tuple[int, int]] = {}
        tested = set()
        for i, j in pairs:
            support = self._with(self.bits[i] & self.bits[j])
            both = self.before[i] * self.before[j] > 0
            hits = self.before[:, both].sum(axis=1)
            usable = self.apart[i] & self.apart[j] & (support >= self.limits.hits)
            for k in np.flatnonzero(usable).tolist():
                members = tuple(sorted((i, j, k)))
                tested.add(members)
                if hits[k] >= self.limits.hits:
                    candidates[members] = (int(hits[k]), int(support[k]))
        sets = sorted(candidates)
        if not sets:
            return {}
        counts = np.array([candidates[one] for one in sets], dtype=np.int64)
        many, among = counts[:, 0], counts[:, 1]
        p_values = fisher(many, among, self.baskets.failed, self.baskets.total)
        whole = np.array(sets)
        for left in range(3):
            i, j = np.delete(whole, left, axis=1).T
            p_values = np.maximum(
                p_values, fisher(many, among, self.hits[i, j], self.support[i, j])
            )
        return {sets[k]: float(p_values[k]) for k in discoveries(p_values, level, len(tested))}


def _described(baskets: Baskets, members: tuple[int, ...], window: int, p_value: float) -> Mined:
    """Return a set as a rule."""
    parts = sorted((baskets.rows[k] for k in members), key=len)
    rows = parts[0]
    for other in parts[1:]:
        rows = rows[np.isin(rows, other, assume_unique=True)]
    positive = baskets.positive[rows]
    return Mined(
        tuple(baskets.items[k] for k in members),
        window,
        len(rows),
        int(positive.sum()),
        baskets.failed / baskets.total,
        p_value,
        float(np.median(baskets.lead[rows[positive]])),
    )


def discoveries(p_values: Floats, rate: float, tested: int) -> Ints:
    """Return the positions of those that Benjamini and Hochberg leave significant, of `tested`
    tests of which those not given have a p-value of 1; least first."""
    order = np.argsort(p_values, kind="stable")
    bound = rate * (np.arange(len(order)) + 1) / max(tested, len(order), 1)
    passing = np.flatnonzero(p_values[order] <= bound)
    return order[: int(passing[-1]) + 1 if len(passing) else 0]


def fisher(hits: Ints, support: Ints, failed: int | Ints, total: int | Ints) -> Floats:
    """Return float64[k]: the probability of so many hits or more among `support` transactions drawn
    from `total` of which `failed` are positive (Fisher's exact test, one-sided).

    Where there are no more hits than expected, 1 stands for what is above a half.
    """
    all_failed = np.broadcast_to(np.asarray(failed, dtype=np.int64), hits.shape)
    all_total = np.broadcast_to(np.asarray(total, dtype=np.int64), hits.shape)
    answer = np.ones(len(hits))
    rising = hits * all_total.astype(np.float64) > support * all_failed.astype(np.float64)
    for k in np.flatnonzero(rising).tolist():
        n, a, good, every = (int(column[k]) for column in (support, hits, all_failed, all_total))
        spread = math.sqrt(n * good / every + 1)
        stop = min(n, good, a + 60 + int(12 * spread + 10 * math.sqrt(a)))
        j = np.arange(a, stop + 1, dtype=np.float64)
        terms = _ln_choose(n, j) + _ln_choose(every - n, good - j)
        terms -= math.lgamma(every + 1) - math.lgamma(good + 1) - math.lgamma(every - good + 1)
        top = float(terms.max())
        answer[k] = min(1.0, math.exp(top) * float(np.exp(terms - top).sum()))
    return answer


def _ln_choose(n: float, k: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        value = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where((k >= 0) & (k <= n), value, -np.inf)
