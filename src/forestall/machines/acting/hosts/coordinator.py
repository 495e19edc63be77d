"""A coordinator of one level: it acts among its own nodes, and asks the level above where these
have no room.

Source: Fu and Xu, ARES 2009, Section 2: node, cluster and system coordinators, load manager and
failure predictor. What is decided stands in records before it is done (`records`), so that a
coordinator may be killed at any moment: the next one looks at the hosts and goes on. A coordinator
does the duties of those below that do not hold their lease: with all of them dead but one, that one
does all of it; with all dead, machines run on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from forestall.core.model.errors import ForestallError, TraceError
from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.choosing import Chooser, Target
from forestall.machines.acting.hosts.forecasts import HostForecasts
from forestall.machines.acting.hosts.images import Images
from forestall.machines.acting.hosts.lease import Position
from forestall.machines.acting.hosts.levels import HostsPlan, above, chain, nodes_of
from forestall.machines.acting.hosts.loads import LoadBook
from forestall.machines.acting.hosts.pool import MachineHosts
from forestall.machines.acting.hosts.records import (
    HostRecord,
    HostState,
    MachineBusyError,
    MachineRecord,
    Phase,
    RecordStore,
    StaleError,
)
from forestall.machines.acting.hosts.settle import Settler
from forestall.machines.acting.hosts.views import View
from forestall.machines.acting.hosts.work import MachineWork
from forestall.machines.acting.ledger import Entry, MachineLedger
from forestall.machines.rules.costs import MoveCosts
from forestall.machines.rules.leaving import Foretold, evacuation, leave_at
from forestall.machines.rules.overload import OverloadWatch, relieving

Fence = Callable[[str], str]
"""Switches a host off, and returns "" when it is certain that it is off, else why it is not."""
OVERLOAD: Final = "its node is overloaded"


class LevelCoordinator:
    """Watches the nodes of one position, and moves and restarts their machines.

    Parameters
    ----------
    plan : all nodes, and how they are chosen
    position : which is held; see `levels`
    pool : the hosts
    store, ledger : what is written down, for all coordinators
    images : where checkpoints are
    forecasts : who foresees failures
    fence : switches hosts off that do not answer; None: a person has to say that they are dead
    clock : gives seconds since 1970
    """

    def __init__(
        self,
        plan: HostsPlan,
        position: Position,
        pool: MachineHosts,
        store: RecordStore,
        ledger: MachineLedger,
        *,
        images: Images,
        forecasts: HostForecasts,
        fence: Fence | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plan, self._position, self._pool = plan, position, pool
        self._store, self._ledger, self._forecasts = store, ledger, forecasts
        self._fence, self._clock = fence, clock
        self._nodes = nodes_of(plan, position.name)
        self._costs, self._loads = MoveCosts(), LoadBook()
        self._overload = None if plan.overload is None else OverloadWatch(plan.overload)
        self._foretold: Mapping[str, Foretold] = {}
        self._drained: Collection[str] = ()
        self._fence_tried: dict[str, float] = {}
        self._resting: dict[str, float] = {}
        self._waiting: dict[str, float] = {}
        self._turn: Mapping[str, str] = {}
        self._told: dict[str, str] = {}
        self._troubles: list[str] = []
        self._decisions = 0
        chooser = Chooser(plan, store, self._costs)
        self._work = MachineWork(
            plan, position.name, pool, store, chooser, images, self._note, clock
        )
        self._settler = Settler(position.name, pool, store, self._work, self._note)
        self._catch_up()

    # ----------------------------------------------------------------------------- one look

    def step(self) -> list[MachineOutcome]:
        """Look at the hosts, put in order what is half done, and move and restart what has to.

        Raises LeaseTakenError where another process has taken this position over.
        """
        self._position.renew(self._clock())
        self._catch_up()
        view = self._look()
        outcomes = self._see_hosts(view)
        down = [node for node in self._nodes if not view.up(node)]
        self._foretold = self._forecasts.foretold(int(view.now), down)
        self._drained = self._forecasts.drained()
        duty = self._duty(view)
        for record in self._adopted(view):
            view.records[record.machine] = record
        lost: list[str] = []
        for name in sorted(view.records):
            record = view.records[name]
            if self._mine(record, duty):
                outcomes += self._guarded(
                    name, lambda r=record: self._settler.settle(r, view, lost)
                )
        view.records = self._store.machines()
        for name in lost:
            outcomes += self._guarded(name, self._restart, name, view)
        outcomes += self._leave(view, duty)
        if self._plan.checkpoint:
            self._checkpoints(view, duty)
        return outcomes

    def troubles(self) -> list[str]:
        """Return what was wrong since the last call and stopped nothing, a line each."""
        troubles, self._troubles = self._troubles, []
        spoilt = [f"{text}; it is read from its host once that answers" for text in
                  self._store.unreadable.values()]  # fmt: skip
        return list(dict.fromkeys([*troubles, *spoilt]))

    def close(self) -> None:
        """Wait for what is under way, and let go of the position."""
        self._work.close()
        self._position.give_up()

    def _look(self) -> View:
        records = self._store.machines()
        elsewhere = [place for one in records.values() for place in one.places
                     if set(one.places) & set(self._nodes)]  # fmt: skip
        nodes = [one for one in dict.fromkeys([*self._nodes, *elsewhere]) if one in
                 self._plan.clusters]  # fmt: skip
        hosts = self._pool.look(nodes)
        now = self._clock()
        self._loads.see(hosts.values(), now)
        return View(now, hosts, {node: self._store.host(node) for node in nodes}, records)

    def _duty(self, view: View) -> list[str]:
        """Return the nodes for which no coordinator below this one is at work."""
        duty = []
        for node in self._nodes:
            below = chain(self._plan, node)
            below = below[: below.index(self._position.name)]
            if not view.hosts[node].answers:
                below = [one for one in below if not one.startswith("node:")]
            if not any(self._at_work(one, view.now) for one in below):
                duty.append(node)
        return duty

    def _at_work(self, position: str, now: float) -> bool:
        lease = Position(self._store.folder / "coordinators", position, self._plan.life).held()
        return lease is not None and lease.counts(now)

    def _mine(self, record: MachineRecord, duty: Collection[str]) -> bool:
        """Whether this coordinator sees to a machine: by its node, or by where it was to start."""
        return (record.node or record.target) in duty

    def _guarded(
        self, machine: str, act: Callable[..., list[MachineOutcome]], *words: Any
    ) -> list[MachineOutcome]:
        """Act on a machine under its lock; what another coordinator is at work on is left to it."""
        try:
            with self._store.locked(machine):
                return act(*words)
        except (MachineBusyError, StaleError):
            return []
        except ForestallError as error:
            self._troubles.append(str(error))
            return []

    # ----------------------------------------------------------------------------- hosts

    def _see_hosts(self, view: View) -> list[MachineOutcome]:
        """Take in which hosts fell silent and which are back; fence what is silent for long."""
        outcomes: list[MachineOutcome] = []
        if self._position.name.startswith("node:"):
            return outcomes
        for node in self._nodes:
            known, seen = view.known[node], view.hosts[node]
            if seen.answers and known.state is not HostState.UP:
                outcomes += self._come_back(node, view)
            elif not seen.answers and known.state is HostState.UP:
                self._write_host(view, node, HostState.SILENT, seen.says)
                self._note("node silent", node=node, why=seen.says)
            elif not seen.answers and known.state is HostState.SILENT:
                self._fenced(node, view)
        return outcomes

    def _write_host(self, view: View, node: str, state: HostState, by: str) -> None:
        view.known[node] = self._store.write_host(HostRecord(node, state, view.now, by))

    def _come_back(self, node: str, view: View) -> list[MachineOutcome]:
        """A host answers again: what was started elsewhere meanwhile is ended there before anything
        else comes to it."""
        clean = True
        for one in view.hosts[node].machines:
            record = self._store.machine(one.machine)
            if one.definition is None or not one.state.alive or record is None:
                continue
            if one.definition.generation < record.definition.generation:
                self._note("stale", machine=one.machine, node=node)
                try:
                    self._pool.remove(one.machine, node)
                except ForestallError as error:
                    self._troubles.append(str(error))
                    clean = False
        if not clean:
            return []
        self._note("node recovered", node=node)
        self._write_host(view, node, HostState.UP, "")
        view.hosts.update(self._pool.look([node]))
        return [MachineOutcome("recovered", "", node, why="it answers again")]

    def _fenced(self, node: str, view: View) -> None:
        since, tried = view.known[node].since, self._fence_tried.get(node, -math.inf)
        if self._fence is None or view.now - since < self._plan.silence:
            return
        if view.now - tried < self._plan.retry:
            return
        self._fence_tried[node] = view.now
        if why := self._fence(node):
            self._troubles.append(f"{node}: not fenced: {why}")
            return
        self._note("node fenced", node=node, why="it did not answer")
        self._note("node failed", node=node)
        self._write_host(view, node, HostState.FENCED, self._position.name)

    # ----------------------------------------------------------------------------- machines

    def _adopted(self, view: View) -> list[MachineRecord]:
        """Write down machines that hosts know and no record tells of, or none that can be read."""
        found = []
        for node, host in view.hosts.items():
            for one in host.machines:
                definition = one.definition
                unknown = one.machine not in view.records and not one.barred
                if not unknown or definition is None or not one.state.alive or one.busy:
                    continue
                record = MachineRecord(definition, Phase.RUNNING, node, by=self._position.name)
                try:
                    with self._store.locked(one.machine):
                        if self._store.machine(one.machine) is None:
                            found.append(self._store.write(record))
                            self._note("found", machine=one.machine, node=node)
                except ForestallError as error:
                    self._troubles.append(str(error))
        return found

    def _restart(self, machine: str, view: View) -> list[MachineOutcome]:
        record = self._store.machine(machine)
        if record is None or self._waiting.get(machine, 0.0) > view.now:
            return []
        found = self._work.restart(record, self._target(view))
        if found.what == "stays":
            self._waiting[machine] = view.now + min(self._plan.retry, 5)
            return self._ask_above(record, found.why, view)
        return [found]

    def _target(self, view: View) -> Target:
        self._decisions += 1
        return Target(
            view, self._nodes, set(self._leaving(view)), self._foretold, self._loads,
            self._decisions,
        )  # fmt: skip

    # ----------------------------------------------------------------------------- leaving

    def _leaving(self, view: View) -> dict[str, str]:
        """Return the nodes that are to be left by now, and why."""
        leaving = {}
        for node in view.hosts:
            if node in self._drained:
                leaving[node] = f"{node} is drained"
                continue
            foretold = self._foretold.get(node)
            if foretold is not None and view.now >= self._leave_at(node, foretold, view):
                spread = "" if foretold.early == foretold.late else (
                    f" (between {_date(foretold.early)} and {_date(foretold.late)})")  # fmt: skip
                by = f" by {foretold.by}" if foretold.by else ""
                leaving[node] = f"{node} is predicted to fail at {_date(foretold.at)}{spread}{by}"
        return leaving

    def _leave_at(self, node: str, foretold: Foretold, view: View) -> int:
        memories = [one.definition.size.memory for one in view.records.values()
                    if one.phase is Phase.RUNNING and one.node == node]  # fmt: skip
        costs = [self._costs.of(node, "", memory).high for memory in memories]
        return leave_at(foretold, self._plan.lead, evacuation(costs, self._plan.at_once))

    def _leave(self, view: View, duty: Collection[str]) -> list[MachineOutcome]:
        """Move off what has to leave its node, and what others ask room for."""
        leaving = self._leaving(view)
        turn: dict[str, str] = {}
        for record in sorted(view.records.values(), key=self._urgency):
            if record.phase is not Phase.RUNNING:
                continue
            name, node = record.machine, record.node
            if node in duty and node in leaving and view.up(node):
                turn[name] = leaving[node]
            elif self._asked_of_me(record, view) and view.up(node):
                turn[name] = record.why
        turn |= {name: OVERLOAD for name in self._overloaded(view, duty) if name not in turn}
        self._no_longer(view, duty, turn)
        self._turn = turn
        turn = {name: why for name, why in turn.items() if self._resting.get(name, 0.0) <= view.now}
        if self._position.name.startswith("node:"):
            return [
                one for name, why in turn.items()
                for one in self._guarded(name, self._ask, name, why, view)
            ]  # fmt: skip
        outcomes = []
        for name, found in self._work.move_all(turn, lambda: self._target(view), OVERLOAD):
            outcomes += [one for one in found if one.what != "busy"]
            outcomes += self._after_move(name, turn[name], found, view)
        return outcomes

    def _urgency(self, record: MachineRecord) -> tuple[float, str]:
        deadline = record.definition.deadline
        return (math.inf if deadline is None else deadline, record.machine)

    def _asked_of_me(self, record: MachineRecord, view: View) -> bool:
        """Whether this coordinator is asked, or one below that is not at work."""
        if record.asked == self._position.name:
            return True
        if not record.asked or record.node not in self._nodes:
            return False
        order = chain(self._plan, record.node)
        if record.asked not in order or self._position.name not in order:
            return False
        below = order.index(record.asked) < order.index(self._position.name)
        between = order[order.index(record.asked) : order.index(self._position.name)]
        return below and not any(self._at_work(one, view.now) for one in between)

    def _overloaded(self, view: View, duty: Collection[str]) -> list[str]:
        """Return a machine of each node of ours that is above its limit for long enough."""
        if self._overload is None or self._plan.overload is None:
            return []
        found, of_host = [], self._plan.load == "host"
        for node in duty:
            if not view.up(node):
                self._overload.forget(node)
                continue
            share = self._loads.share(node, of_host=of_host)
            if math.isnan(share) or not self._overload.see(node, share, view.now):
                continue
            ours = {
                name: used for name, used in self._loads.used(node).items()
                if name in view.records and view.records[name].phase is Phase.RUNNING
                and view.records[name].node == node
            }  # fmt: skip
            # What others use of the node leaves less of it to ours.
            others = self._loads.total(node, of_host=of_host) - sum(ours.values())
            processors = view.hosts[node].size.processors
            limit = self._plan.overload.limit - others / processors
            if len(ours) > 1 or others > 0:
                machine = relieving(ours, processors, limit)
                found += [] if machine is None else [machine]
        return found

    def _no_longer(self, view: View, duty: Collection[str], turn: Mapping[str, str]) -> None:
        """Take back what was asked for machines that need not leave any more."""
        for record in view.records.values():
            if not record.asked or record.machine in turn or record.phase is not Phase.RUNNING:
                continue
            if record.node in duty and view.up(record.node):
                self._guarded(record.machine, self._take_back, record.machine)

    def _take_back(self, machine: str) -> list[MachineOutcome]:
        record = self._store.machine(machine)
        if record is not None and record.asked:
            self._store.write(replace(record, asked="", why="", by=self._position.name))
        return []

    def _after_move(
        self, machine: str, why: str, found: list[MachineOutcome], view: View
    ) -> list[MachineOutcome]:
        """Ask above for a machine that had nowhere to go; begin to watch a node anew."""
        if not found:
            return []
        last = found[-1]
        if last.what == "moved":
            self._resting.pop(machine, None)
            self._told.pop(machine, None)
            if self._overload is not None:
                self._overload.forget(last.node)
            return []
        if last.what == "busy":
            return []  # the next look tries again
        self._resting[machine] = view.now + self._pause(last.node, view.now)
        if last.what != "stays":
            return []
        return self._guarded(machine, self._ask, machine, why, view)

    def _pause(self, node: str, now: float) -> float:
        """Return how long to wait with the next try, s; a failure leaves time for several."""
        foretold = self._foretold.get(node)
        left = math.inf if foretold is None else foretold.early - now
        return min(self._plan.retry, max(left / 3, 1.0)) if left > 0 else self._plan.retry

    def _ask(self, machine: str, why: str, view: View) -> list[MachineOutcome]:
        record = self._store.machine(machine)
        return [] if record is None else self._ask_above(record, why, view)

    def _ask_above(self, record: MachineRecord, why: str, view: View) -> list[MachineOutcome]:
        """Ask the level above for room; the system has none above it."""
        self._resting[record.machine] = view.now + min(self._plan.retry, 5)
        higher = above(self._plan, self._position.name)
        if not higher or record.asked in {higher, *_higher(self._plan, higher)}:
            return []
        self._store.write(replace(record, asked=higher, why=why, by=self._position.name))
        self._note("asked", machine=record.machine, node=record.node, target=higher, why=why)
        return [MachineOutcome("asked", record.machine, record.node, higher, why)]

    # ----------------------------------------------------------------------------- the rest

    def _checkpoints(self, view: View, duty: Collection[str]) -> None:
        for record in view.records.values():
            here = record.phase is Phase.RUNNING and record.node in duty and view.up(record.node)
            if here and record.machine not in self._turn:
                self._work.checkpoint_if_due(record, view.now)

    def _note(self, what: str, **facts: Any) -> None:
        """Write an entry; where that cannot be, go on as if it had been."""
        try:
            self._ledger.add(what, self._clock(), by=self._position.name, **facts)
        except TraceError as error:
            self._troubles.append(str(error))

    def _catch_up(self) -> None:
        """Learn what moves cost from all that any coordinator made."""
        try:
            news = self._ledger.news()
        except TraceError as error:
            self._troubles.append(str(error))
            return
        for entry in news:
            learn(self._costs, entry)


def learn(costs: MoveCosts, entry: Entry) -> None:
    """Learn from an entry of a ledger, where it tells of a move that came off."""
    if entry["what"] != "moved":
        return
    memory, seconds = entry.get("memory"), entry.get("seconds")
    if isinstance(memory, int | float) and isinstance(seconds, int | float):
        costs.learn(str(entry.get("node")), str(entry.get("target")), memory, seconds)


def _higher(plan: HostsPlan, position: str) -> list[str]:
    found = []
    while position := above(plan, position):
        found.append(position)
    return found


def _date(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
