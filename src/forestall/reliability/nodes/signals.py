"""Seven signals of a bad node, and which node ended a run that a node's failure ended.

The signals are those by which Kokolis et al. (arXiv 2410.21680, "lemon nodes") look for bad nodes.
Each is None where the records cannot tell it: nothing seen is not the same as nothing there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, NATURES

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.node_events import NodeEvents


NODE_FAIL: Final = "NODE_FAIL"
NEAR: Final = 300
"""An outage ends a run where it begins no further than this from the run's end, s."""
BY_HAND: Final = 60
"""An operator ended a run where an outage that somebody wanted begins no further than this from the
run's end, s."""
HOW: Final = ("named", "alone", "outage", "several", "untold")
"""How a run's failed node is known: the records name it; the run had but one; an outage of one of
its nodes began when it ended; outages of several did; not at all."""


@dataclass(frozen=True)
class NamedNodes:
    """Nodes by name, and the nodes of the words of a hostlist column.

    Attributes
    ----------
    names : of the nodes
    unknown : names that came up and are no node, by how often
    bad : hostlists that could not be read
    """

    names: tuple[str, ...]
    unknown: dict[str, int]
    bad: list[str]

    def of(self, text: str, known: dict[str, int]) -> Ints:
        """Return the numbers of the hosts of a list, ascending, each once."""
        try:
            hosts = expand(text)
        except ParameterError:
            self.bad.append(text)
            return np.zeros(0, dtype=np.int64)
        found = set()
        for host in hosts:
            place = known.get(host)
            if place is None:
                self.unknown[host] = self.unknown.get(host, 0) + 1
            else:
                found.add(place)
        return np.array(sorted(found), dtype=np.int64)


@dataclass(frozen=True)
class NodeFailRuns:
    """Runs that ended because a node failed.

    Attributes
    ----------
    run : int64[r], their rows in the accounting, ascending
    nodes : int64[r], how many nodes each had
    node : int64[r], the one that failed; -1 where it is not known
    how : int64[r], place in `HOW`
    members, offsets : nodes of run k are members[offsets[k] : offsets[k + 1]], as far as known
    """

    run: Ints
    nodes: Ints
    node: Ints
    how: Ints
    members: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.run)

    @property
    def untold(self) -> int:
        """How many runs' failed node is not known."""
        return int(np.count_nonzero(self.node < 0))

    def shares(self, count: int) -> Floats:
        """Return failures of each node, float64[count]: 1 where it is known to have failed, 1 / n
        for each of the n nodes of a run whose failed node is not known."""
        found = np.bincount(self.node[self.node >= 0], minlength=count).astype(np.float64)
        sizes = np.diff(self.offsets)
        unknown = np.repeat(self.node < 0, sizes)
        weight = np.repeat(1 / np.maximum(np.maximum(sizes, self.nodes), 1), sizes)
        return found + np.bincount(self.members[unknown], weights=weight[unknown], minlength=count)


def node_fail_runs(
    accounting: Accounting,
    names: Sequence[str],
    events: NodeEvents | None = None,
    *,
    ended: Bools | None = None,
    near: int = NEAR,
) -> NodeFailRuns:
    """Return the runs that a node's failure ended, and the node, where it can be told.

    `ended` says which runs those are, bool[n]; None: those in state NODE_FAIL.

    In this order: the node that the records name; the only node of the run; the node of the run
    with a fault that begins within `near` seconds of the run's end. Where several began, the first
    is taken if it is alone in its second; else the failure was theirs together and is no node's.
    """
    known = {name: k for k, name in enumerate(names)}
    places = NamedNodes(tuple(names), {}, [])
    if ended is None:
        ended = accounting.base().among([NODE_FAIL])
    run = np.flatnonzero(ended & (accounting.end < NEVER))
    lists = _expanded(accounting.nodelist.take(run), places, known)
    told = [known.get(text, -1) for text in accounting.failed_node.take(run).texts()]
    node = np.array(told, dtype=np.int64)
    how = np.where(node >= 0, HOW.index("named"), HOW.index("untold"))
    sizes = np.array([len(one) for one in lists], dtype=np.int64)
    count = np.maximum(accounting.nodes[run].astype(np.int64), sizes)
    begun = _Begun.of(events, names) if events is not None else None
    for k in np.flatnonzero(node < 0).tolist():
        if count[k] == 1 and len(lists[k]) == 1:
            node[k], how[k] = lists[k][0], HOW.index("alone")
        elif begun is not None and len(lists[k]):
            node[k], how[k] = begun.nearest(lists[k], int(accounting.end[run[k]]), near)
    members = np.concatenate([*lists, np.zeros(0, dtype=np.int64)])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return NodeFailRuns(run, count, node, how, members, offsets)


def operator_ended(
    accounting: Accounting,
    events: NodeEvents,
    names: Sequence[str],
    *,
    near: int = BY_HAND,
) -> Bools:
    """Return which runs an operator ended by taking a node away, bool[n].

    Slurm says NODE_FAIL of a run whose node was set DOWN by hand just as of one whose node broke.
    Of runs that ended so, or whose failed node is named, it was the operator where an
    administrative outage of that node (of any of the run's nodes, where none is named) begins
    within `near` seconds of the run's end, and no fault of one of them does.
    """
    found = np.zeros(len(accounting), dtype=np.bool_)
    wanted = _Begun.of(events, names, ADMINISTRATIVE)
    if len(wanted.time) == 0:
        return found
    faults = _Begun.of(events, names)
    known = {name: k for k, name in enumerate(names)}
    ended = accounting.base().among([NODE_FAIL]) | accounting.failed_node.told
    run = np.flatnonzero(ended & (accounting.end < NEVER))
    # Most runs end at no such time: only lists of the others are read.
    run = run[wanted.any_near(accounting.end[run], near)]
    lists = _expanded(accounting.nodelist.take(run), NamedNodes(tuple(names), {}, []), known)
    failed = [known.get(text, -1) for text in accounting.failed_node.take(run).texts()]
    end = accounting.end[run].tolist()
    for k, row in enumerate(run.tolist()):
        members = lists[k] if failed[k] < 0 else np.array([failed[k]], dtype=np.int64)
        found[row] = wanted.has(members, end[k], near) and not faults.has(members, end[k], near)
    return found


@dataclass(frozen=True)
class _Begun:
    """When outages of one nature began: time int64[m], ascending, and the node of each."""

    time: Ints
    node: Ints

    @classmethod
    def of(cls, events: NodeEvents, names: Sequence[str], nature: str = FAULT) -> _Begun:
        known = {name: k for k, name in enumerate(names)}
        table = np.array([known.get(name, -1) for name in events.names], dtype=np.int64)
        some = np.flatnonzero(events.nature == NATURES.index(nature))
        node = table[events.node[some]] if len(table) else events.node[some]
        return cls(events.begin[some], node)

    def any_near(self, end: Ints, near: int) -> Bools:
        """Return at which of these times one of any node began within `near` s, bool[k]."""
        low = np.searchsorted(self.time, end - near)
        return np.asarray(np.searchsorted(self.time, end + near, "right") > low)

    def has(self, members: Ints, end: int, near: int) -> bool:
        """Return whether one of these nodes began within `near` s of a time."""
        low, high = np.searchsorted(self.time, [end - near, end + near + 1])
        return bool(np.isin(self.node[low:high], members).any())

    def nearest(self, members: Ints, end: int, near: int) -> tuple[int, int]:
        """Return which of the nodes failed at a run's end, -1 for none, and how that is known."""
        low, high = np.searchsorted(self.time, [end - near, end + near + 1])
        time, node = self.time[low:high], self.node[low:high]
        mine = np.isin(node, members)
        time, node = time[mine], node[mine]
        if len(node) == 0:
            return -1, HOW.index("untold")
        first = np.unique(node[time == time[0]])
        if len(first) > 1:
            return -1, HOW.index("several")
        return int(first[0]), HOW.index("outage")


def _expanded(column: Coded, places: NamedNodes, known: dict[str, int]) -> list[Ints]:
    """Return the nodes of each row; a word is read once."""
    read = {
        code: places.of(column.words[code], known)
        for code in np.unique(column.code).tolist()
        if code >= 0
    }
    read[-1] = np.zeros(0, dtype=np.int64)
    return [read[code] for code in column.code.tolist()]


@dataclass(frozen=True)
class Signals:
    """Of each node, k of them; None for what the records cannot tell.

    Attributes
    ----------
    excl_jobid_count : int64[k], distinct jobs whose users excluded the node
    excl_user_count : int64[k], distinct users who did (beside the seven: one user with a script
        can exclude a node a thousand times)
    xid_cnt : int64[k], outages whose reason tells of a GPU's error
    tickets : int64[k], outages whose reason tells of a ticket or a repair
    out_count : int64[k], times that the node was taken out of service
    multi_node_node_fails, single_node_node_fails : int64[k], runs on several nodes, and on this
        one alone, that the node's failure ended
    single_node_node_failure_rate : float64[k], the latter over all runs on this node alone; nan
        where there were none
    single_node_runs : int64[k], those runs
    """

    excl_jobid_count: Ints | None = None
    excl_user_count: Ints | None = None
    xid_cnt: Ints | None = None
    tickets: Ints | None = None
    out_count: Ints | None = None
    multi_node_node_fails: Ints | None = None
    single_node_node_fails: Ints | None = None
    single_node_node_failure_rate: Floats | None = None
    single_node_runs: Ints | None = None

    def row(self, node: int) -> dict[str, Any]:
        """Return the signals of one node by name, None for what is not known."""
        found: dict[str, Any] = {}
        for name in (*SEVEN, "excl_user_count", "single_node_runs"):
            column = getattr(self, name)
            value = None if column is None else column[node].item()
            found[name] = None if value is None or math.isnan(value) else value
        return found

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the seven that the records cannot tell."""
        return tuple(name for name in SEVEN if getattr(self, name) is None)


SEVEN: Final = (
    "excl_jobid_count",
    "xid_cnt",
    "tickets",
    "out_count",
    "multi_node_node_fails",
    "single_node_node_fails",
    "single_node_node_failure_rate",
)
assert set(SEVEN) <= {one.name for one in fields(Signals)}


def signals(
    names: Sequence[str],
    *,
    accounting: Accounting | None = None,
    events: NodeEvents | None = None,
    gpu: Bools | None = None,
    ticket: Bools | None = None,
    out: Ints | None = None,
    failed: NodeFailRuns | None = None,
) -> Signals:
    """Return the signals of nodes by number.

    Parameters
    ----------
    names : of the nodes
    gpu, ticket : bool[m], whether each event's reason tells of a GPU's error, of a ticket; None
        where reasons do not tell
    out : int64[k], times out of service, where they were counted already (outages that touch are
        one time); None: each event counts
    failed : what `node_fail_runs` found; None: it is not told which node ended runs
    """
    count = len(names)
    known = {name: k for k, name in enumerate(names)}
    found: dict[str, Any] = {}
    if events is not None:
        table = np.array([known.get(name, -1) for name in events.names], dtype=np.int64)
        node = table[events.node] if len(table) else events.node
        told = bool(events.reason.told.any())
        for name, mask in (("xid_cnt", gpu), ("tickets", ticket)):
            if mask is not None and told:
                found[name] = _count(node[mask], count)
        found["out_count"] = _count(node, count) if out is None else out
    elif out is not None:
        found["out_count"] = out
    if accounting is not None:
        found |= _of_exclusions(accounting, names, known)
        if failed is not None:
            found |= _of_runs(accounting, failed, names, known)
    return Signals(**found)


def _count(node: Ints, count: int) -> Ints:
    return np.bincount(node[node >= 0], minlength=count).astype(np.int64)


def _of_runs(
    accounting: Accounting, failed: NodeFailRuns, names: Sequence[str], known: dict[str, int]
) -> dict[str, Any]:
    """Return the signals of runs that nodes' failures ended, as far as the failed node is told."""
    count = len(names)
    there = failed.node >= 0
    alone = failed.nodes == 1
    found: dict[str, Any] = {}
    if bool(np.any(there & ~alone)) or not bool(np.any(~alone)):
        found["multi_node_node_fails"] = _count(failed.node[there & ~alone], count)
    if not bool(accounting.nodelist.told.any()):
        return {}
    single = _count(failed.node[there & alone], count)
    # Hostlists of runs on one node are the node's name: no list has to be read.
    ran = (accounting.nodes == 1) & accounting.ran & accounting.nodelist.told
    words = accounting.nodelist.words
    runs = np.bincount(accounting.nodelist.code[ran], minlength=len(words))
    total = np.zeros(count, dtype=np.int64)
    for code in np.flatnonzero(runs).tolist():
        place = known.get(words[code])
        if place is None and "[" in words[code]:  # some write node[7] for one
            place = next((known[h] for h in _hosts(words[code]) if h in known), None)
        if place is not None:
            total[place] += runs[code]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(total > 0, single / np.maximum(total, 1), np.nan)
    return found | {
        "single_node_node_fails": single,
        "single_node_node_failure_rate": rate,
        "single_node_runs": total,
    }


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ParameterError:
        return ()


def _of_exclusions(
    accounting: Accounting, names: Sequence[str], known: dict[str, int]
) -> dict[str, Any]:
    """Return how many jobs and users excluded each node; nothing where no job excluded any, as the
    records may just not tell it."""
    rows = np.flatnonzero(accounting.excluded.told)
    if len(rows) == 0:
        return {}
    count = len(names)
    places = NamedNodes(tuple(names), {}, [])
    code = accounting.excluded.code[rows].astype(np.int64)
    used = np.unique(code)
    lists = {k: places.of(accounting.excluded.words[k], known) for k in used.tolist()}
    jobs = _distinct(accounting.which[rows].astype(np.int64), code, lists, count)
    user = accounting.user.code[rows].astype(np.int64)
    users = _distinct(user[user >= 0], code[user >= 0], lists, count)
    return {"excl_jobid_count": jobs, "excl_user_count": users}


def _distinct(who: Ints, code: Ints, lists: dict[int, Ints], count: int) -> Ints:
    """Return of how many different `who` (jobs, users) the lists hold each node."""
    far = int(code.max(initial=0)) + 1
    pairs = np.unique(who * far + code)
    who, code = pairs // far, pairs % far
    found = np.zeros(count, dtype=np.int64)
    once = np.ones(len(who), dtype=np.bool_)
    if len(who) > 1:
        same = who[1:] == who[:-1]
        once[1:] &= ~same
        once[:-1] &= ~same
    lone, number = np.unique(code[once], return_counts=True)
    for k, several in zip(lone.tolist(), number.tolist(), strict=True):
        found[lists[k]] += several
    rest = np.flatnonzero(~once)
    edges = np.flatnonzero(np.diff(who[rest], prepend=-2, append=-2)) if len(rest) else rest
    for low, high in itertools.pairwise(edges.tolist()):
        several = [lists[k] for k in code[rest[low:high]].tolist()]
        found[np.unique(np.concatenate(several))] += 1
    return found
