"""Which node a machine goes to: the paper's choice among nodes that have room for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from forestall.core.model.virtual import TaskReason
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.acting.hosts.loads import LoadBook
from forestall.machines.acting.hosts.pool import Definition
from forestall.machines.acting.hosts.records import RecordStore
from forestall.machines.acting.hosts.views import View, free_room
from forestall.machines.rules.costs import MoveCosts
from forestall.machines.rules.entries import LIVE_STRATEGIES
from forestall.machines.rules.leaving import Foretold
from forestall.machines.rules.overload import relieved
from forestall.machines.rules.sizes import Candidate, NodeChoice, choose_sized


@dataclass(frozen=True)
class Target:
    """Among what a choice is made.

    Attributes
    ----------
    view : hosts as they are
    nodes : from which one may be chosen
    closed : nodes that are to be left
    foretold : failures that are foreseen
    loads : how busy nodes are
    draw : number of the decision; the strategy random draws anew for each
    """

    view: View
    nodes: Collection[str]
    closed: Collection[str]
    foretold: Mapping[str, Foretold]
    loads: LoadBook
    draw: int = 0


class Chooser:
    """Chooses nodes. The caller holds `RecordStore.choosing` until what it chose is written down.

    Parameters
    ----------
    plan : strategy
    store : what is written down of machines that are on their way
    costs : what moves take
    """

    def __init__(self, plan: HostsPlan, store: RecordStore, costs: MoveCosts) -> None:
        self._plan, self._store, self._costs = plan, store, costs

    def choose(
        self,
        definition: Definition,
        among: Target,
        *,
        source: str = "",
        without: Collection[str] = (),
        busy: float | None = None,
    ) -> tuple[str | None, str]:
        """Return a node for a machine and the reason; None, and why, where none has room.

        Parameters
        ----------
        source : its node, which is no candidate
        without : nodes that are no candidates either
        busy : processors that it uses, where it is moved for its node's overload
        """
        view, records = among.view, self._store.machines()
        candidates = [
            Candidate(node, free_room(view, records, node), _foreseen(among.foretold.get(node)))
            for node in among.nodes
            if node not in {source, *without, *among.closed} and view.up(node)
        ]
        if busy is not None and self._plan.overload is not None:
            of_host = self._plan.load == "host"
            used = {one.node: among.loads.total(one.node, of_host=of_host) for one in candidates}
            sizes = {one.node: view.hosts[one.node].size.processors for one in candidates}
            candidates = relieved(candidates, used, sizes, busy, self._plan.overload.limit)
        if not candidates:
            return None, "no other node may take it"
        now = int(view.now)
        seconds, deadline = need_of(definition, now, self._plan.horizon)
        node, reason = choose_sized(
            candidates, definition.size, seconds=seconds, deadline=deadline, now=now,
            choice=NodeChoice(self._plan.strategy, self._plan.alpha, self._draw(among.draw)),
            transfer=round(self._costs.of(source, "", definition.size.memory).seconds),
        )  # fmt: skip
        return node, _WORDS.get(reason, reason.name.lower())

    def _draw(self, number: int) -> float:
        if not LIVE_STRATEGIES[self._plan.strategy].draws:
            return 0.0
        return float(np.random.default_rng((self._plan.seed, number)).random())


def need_of(definition: Definition, now: int, horizon: int) -> tuple[int, int]:
    """Return how long a machine has to run, s, and its deadline; one whose deadline has passed
    counts as one without."""
    deadline = definition.deadline
    if deadline is None or deadline <= now:
        deadline = now + horizon
    if definition.runtime is None:
        return max(deadline - now, 1), deadline
    return max(definition.runtime - max(now - definition.begun, 0), 1), deadline


def _foreseen(foretold: Foretold | None) -> float:
    return float("inf") if foretold is None else float(foretold.at)


_WORDS = {
    TaskReason.QUALIFIED: "it has the room, and no failure is foreseen before the deadline",
    TaskReason.WITH_ONE_MIGRATION: "with one more migration it can do the work by the deadline",
    TaskReason.LONGEST_LEFT: "no node qualifies; this one is predicted to fail last",
    TaskReason.DRAWN: "drawn by chance",
    TaskReason.NOWHERE_TO_GO: "no other node has room",
}
