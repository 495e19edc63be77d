"""Records that contradict each other: runs whose own fields, or other runs, say that they cannot be
as they were recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import FINAL_STATES, NEVER
from forestall.core.model.units import format_duration
from forestall.slurm.records.accounting import UNLIMITED, Accounting

DAY: Final = 86_400
_CLOSE: Final = 60
"""Seconds by which times may be out of order: clocks, and the end of a job's processes."""
_PRACTICE: Final = 0.01
"""Where a larger share of runs break a rule, it is none at this site."""
_FEW: Final = 20
"""With fewer runs nothing is said of what is usual."""
_LONGER: Final = 10
"""A run without a limit that goes on for so many times the longest that ended has ended, too."""
_MONTH: Final = 30 * DAY
_MOST: Final = 2_000_000
"""Up to so many runs of nodes are compared."""
_SEVERAL: Final = 3
"""A run that overlaps so many others is the one that is wrong."""
NO_END: Final = FINAL_STATES - {"REVOKED"}
RAN: Final = frozenset({"COMPLETED", "TIMEOUT", "OUT_OF_MEMORY"})


@dataclass(frozen=True)
class Contradiction:
    """Rows that break one rule.

    Attributes
    ----------
    kind : a slug; `rule` says in words what they break
    rows : their places in the records
    found : for each row, what was recorded
    """

    kind: str
    rule: str
    rows: Ints
    found: tuple[str, ...]


def contradictions(runs: Accounting, too_long: Bools, planned: Ints) -> list[Contradiction]:
    """Return what contradicts what in records of runs, each run once.

    Parameters
    ----------
    too_long : bool[n], runs whose elapsed time does not fit between start and end
    planned : int64[n], the start of a job that waits as the record has it; NEVER: none
    """
    bad = np.zeros(len(runs), dtype=np.bool_)
    result = []
    for kind, rule, rows in (
        *_own(runs, too_long, planned), *_limits(runs, bad), *_nodes(runs, bad),
    ):  # fmt: skip
        fresh = rows[~bad[rows]]
        bad[fresh] = True
        if len(fresh):
            texts = tuple(_recorded(runs, row, kind) for row in fresh.tolist())
            result.append(Contradiction(kind, rule, fresh, texts))
    return result


Rule = tuple[str, str, Ints]


def _own(runs: Accounting, too_long: Bools, planned: Ints) -> Iterator[Rule]:
    """Yield runs whose own fields contradict each other."""
    states = runs.base()

    def among(words: frozenset[str]) -> Bools:
        return np.array([word in words for word in (*states.words, "")], np.bool_)[states.code]

    started, ended = runs.start < NEVER, runs.end < NEVER
    open_ = among(NO_END) & ~ended
    yield "contradict_state", "a state that says it ended, without an end", np.flatnonzero(open_)
    never = among(RAN) & ~started
    rule = "a state that says it ran, without a start"
    yield "contradict_state", rule, np.flatnonzero(never)
    waits = (planned < runs.until - DAY) & ~started & ~ended
    rule = "PENDING with a start more than a day in the past"
    yield "contradict_state", rule, np.flatnonzero(waits)
    early = started & (runs.submit - np.where(started, runs.start, 0) > _CLOSE)
    yield "contradict_times", "a start before the submission", np.flatnonzero(early)
    rule = "an elapsed time longer than from start to end"
    yield "contradict_times", rule, np.flatnonzero(too_long & started & ended)


def _limits(runs: Accounting, bad: Bools) -> Iterator[Rule]:
    """Yield runs that went on for more than a day after their limit, where limits hold at all."""
    limited = (runs.limit > 0) & (runs.limit < UNLIMITED)
    past = limited & (runs.elapsed - np.where(limited, runs.limit, 0) > DAY)
    ended = runs.ran & limited & ~bad
    broken = int(np.sum(past & ended))
    if broken <= max(1, _PRACTICE * int(ended.sum())):
        rule = "more than a day past the time limit"
        yield "contradict_limit", rule, np.flatnonzero(past & runs.ran)
        rule = "RUNNING more than a day past the time limit, without an end"
        yield "contradict_limit", rule, np.flatnonzero(past & runs.running)
    done = runs.ran & ~bad & ~past
    if int(done.sum()) >= _FEW:
        longest = int(runs.elapsed[done].max())
        open_ = runs.running & ~limited & (runs.limit != UNLIMITED)
        rows = np.flatnonzero(open_ & (runs.elapsed > max(_LONGER * longest, _MONTH)))
        rule = f"RUNNING more than {_LONGER} times as long as any run that ended, without an end"
        yield "contradict_limit", rule, rows


def _recorded(runs: Accounting, row: int, kind: str) -> str:
    """Return what is wrong with a run, briefly."""
    state = runs.state[row]
    elapsed = format_duration(int(runs.elapsed[row])) if runs.start[row] < NEVER else "no time"
    if kind == "contradict_limit" and 0 < runs.limit[row] < UNLIMITED:
        return f"{state} for {elapsed}, limit {format_duration(int(runs.limit[row]))}"
    if kind == "contradict_state":
        return state
    if kind == "contradict_nodes":
        return f"{state} for {elapsed} on {runs.nodelist[row]}"
    return f"{state} for {elapsed}"


# ------------------------------------------------------------------------------ nodes used whole


_NODE_RUN: Final = ("run", "node", "begin", "end", "whole")


@dataclass(frozen=True)
class _NodeRuns:
    """A row for each run on each node, in order of (node, start): which run, its node, [begin,
    end) s, and whether it had the whole node."""

    run: Ints
    node: Ints
    begin: Ints
    end: Ints
    whole: Bools

    def take(self, keep: Bools) -> _NodeRuns:
        return _NodeRuns(*(getattr(self, name)[keep] for name in _NODE_RUN))

    def conflicts(self) -> Ints:
        """Return with how many others each one shares a node that one of the two had whole."""
        count = np.zeros(len(self.run), dtype=np.int64)
        span = int(self.end.max(initial=0)) + 1
        low, high = self.node * span + self.begin, self.node * span + self.end
        for theirs, mine in ((np.ones(len(low), np.bool_), self.whole), (self.whole, ~self.whole)):
            begins, ends = np.sort(low[theirs]), np.sort(high[theirs])
            over = np.searchsorted(begins, high[mine]) - np.searchsorted(ends, low[mine], "right")
            count[mine] = over - (self.whole[mine] & (self.end > self.begin)[mine])
        return np.maximum(count, 0)


def _nodes(runs: Accounting, bad: Bools) -> Iterator[Rule]:
    """Yield runs on nodes that others had whole at the time, where nodes are not shared otherwise:
    of no node more than one run in a hundred is meant (one in twenty of runs that each overlap
    several), and without these no two overlap.

    A run has a whole node if no run of that node had more processors. Of two that overlap, the one
    that overlaps more others is meant, then the one that has not ended, then the longer.
    """
    table = _node_runs(runs, bad)
    taken = None if table is None else _overlapping(runs, table)
    if table is None or not taken:
        return
    total = np.bincount(table.node)
    mine = np.isin(table.run, list(taken))
    several = np.isin(table.run, [run for run, count in taken.items() if count >= _SEVERAL])
    meant = np.bincount(table.node[mine], minlength=len(total))
    each = np.bincount(table.node[mine & several], minlength=len(total))
    allowed = np.where(each > 0, np.where(total >= _FEW, total // _FEW, 0), total // 100)
    shared = table.run[mine & (meant > allowed)[table.node]]
    rule = "on nodes that other runs had whole at the time"
    yield "contradict_nodes", rule, np.setdiff1d(np.array(sorted(taken), np.int64), shared)


def _overlapping(runs: Accounting, table: _NodeRuns) -> dict[int, int]:
    """Return the runs without which no two overlap, and how many each one overlaps; none where
    those are more than one in a hundred, so that nodes are shared."""
    most = max(1, len(runs) // 100)
    taken = dict[int, int]()
    while len(taken) <= most:
        count = table.conflicts()
        if not bool(count.any()):
            return taken
        table = table.take(np.isin(table.node, table.node[count > 0]))
        count = table.conflicts()
        if count.max() >= _SEVERAL:  # those that overlap most, all at once
            worst = np.unique(table.run[count >= max(_SEVERAL, int(count.max()) // 4)])
        elif len(np.unique(table.run[count > 0])) > _SEVERAL * (most - len(taken)):
            break  # none of them takes more than two others along
        else:
            worst = _worst(runs, table, count)
        if len(worst) > most:
            break
        for run in worst.tolist():
            taken[run] = int(count[table.run == run].max())
        table = table.take(~np.isin(table.run, worst))
    return {}


def _worst(runs: Accounting, part: _NodeRuns, count: Ints) -> Ints:
    """Return the run that overlaps most others; of several one that has not ended, the longest."""
    rows = np.unique(part.run[count == count.max()])
    length = runs.elapsed[rows]
    return rows[np.lexsort((rows, length, runs.running[rows]))[-1:]]


def _node_runs(runs: Accounting, bad: Bools) -> _NodeRuns | None:
    """Return which run was on which node when; None where that is not told, or too much."""
    lists = runs.nodelist
    rows = np.flatnonzero((runs.start < NEVER) & (lists.code >= 0) & (runs.cpus > 0)
                          & (runs.nodes > 0) & (runs.suspended <= 0) & ~bad)  # fmt: skip
    if not len(rows) or int(runs.nodes[rows].astype(np.int64).sum()) > _MOST:
        return None
    number: dict[str, int] = {}
    used = np.unique(lists.code[rows])
    pool = list[int]()
    length, first = np.zeros((2, len(lists.words)), dtype=np.int64)
    for code in used.tolist():
        try:
            names = dict.fromkeys(expand(lists.words[code]))
        except ParameterError:
            names = {}
        first[code], length[code] = len(pool), len(names)
        pool += [number.setdefault(name, len(number)) for name in names]
    size = length[lists.code[rows]]
    run = np.repeat(rows, size)
    begins = np.cumsum(size) - size
    place = np.repeat(first[lists.code[rows]] - begins, size) + np.arange(len(run))
    node = np.array(pool, dtype=np.int64)[place]
    end = np.where(runs.end < NEVER, runs.end, runs.until)
    zero = int(runs.start[rows].min())
    begin, stop = runs.start[run] - zero + _CLOSE, end[run] - zero
    share = np.repeat(runs.cpus[rows] // np.maximum(size, 1), size)
    largest = np.zeros(len(number), dtype=np.int64)
    np.maximum.at(largest, node, share)
    order = np.lexsort((begin, node))
    table = _NodeRuns(run, node, begin, stop, share >= largest[node])
    table = _NodeRuns(*(getattr(table, name)[order] for name in _NODE_RUN))
    return table.take(table.end > table.begin)


# ------------------------------------------------------------------------------------- the period


def last_times(submit: Ints, *others: Ints) -> Ints:
    """Return the last known time of each run, int64[n]."""
    last = submit.copy()
    for times in others:
        last = np.maximum(last, np.where(times < NEVER, times, 0))
    return last


def first_of(times: Ints) -> int:
    """Return the earliest of times but for those that stand far apart: no more than one in a
    thousand (one may always), before a gap of a month that is longer than all later times take."""
    count = max(1, len(times) // 1000)
    if len(times) < _FEW:
        return int(times.min())
    head = np.sort(np.partition(times, count)[: count + 1])
    gaps = np.diff(head)
    apart = np.flatnonzero(gaps > np.maximum(_MONTH, int(times.max()) - head[1:]))
    return int(head[apart[-1] + 1]) if len(apart) else int(head[0])


def last_of(times: Ints) -> int:
    """Return the latest of times but for those that stand far apart; see `first_of`."""
    return -first_of(-times)
