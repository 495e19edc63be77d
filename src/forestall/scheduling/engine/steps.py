"""One step of an engine: a compiled function on its state, and the decisions that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.engine.contract import whole
from forestall.core.engine.growth import longer
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.errors import ParameterError
from forestall.core.model.nodes import NodeSet
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine.own import AskedPolicy
from forestall.scheduling.engine.plugin import Plugin, members, row_of
from forestall.scheduling.engine.policies import PolicyEntry
from forestall.scheduling.engine.state import NOTHING, PLACE, WAITING, State, grown, is_full
from forestall.scheduling.rules.nodes.machine_kernels import COUNT, DOWN, RUNNING

with lazily():
    from forestall.scheduling.engine import (
        classic_entry_kernels,
        promise_entry_kernels,
        reserved_entry_kernels,
    )

_FIGURES = ("node", "start", "end", "deadline", "count", "at", "left_out", "left_out_at")


class EngineSteps:
    """An engine's state, and single steps on it.

    Parameters
    ----------
    state : arrays behind everything; steps that need more room put larger ones in their place
    policy : of the state's rules
    plugin, asked : what is asked in Python, or None
    """

    def __init__(
        self, state: State, policy: PolicyEntry, plugin: Plugin | None, asked: AskedPolicy | None
    ) -> None:
        self.state: State = state
        self.policy = policy
        self.jobs = 0
        self.held: set[int] = set()
        """Jobs that cannot be placed before nodes are back."""
        self._plugin, self._asked = plugin, asked

    def set_pool(self, pool: int, nodes: NodeSet) -> None:
        """Say of which nodes a pool is: one that is known, or the next. Jobs that have places keep
        them. Pool 0 is always all nodes. Raises ParameterError."""
        pools, count = self.state.pools, len(self.state.machine.nodes)
        if not self.policy.promises:
            raise ParameterError("policy", self.policy.name, "promise: the others have no pools")
        if not 0 < pool <= len(pools):
            raise ParameterError("pool", pool, f"1 to {len(pools)}")
        numbers = nodes.array()
        if len(numbers) and int(numbers[-1]) >= count:
            raise ParameterError("nodes", str(nodes), f"numbers below {count}")
        if pool == len(pools):
            self.state = self.state._replace(pools=np.concatenate((pools, pools[:1])))
        self.state.pools[pool] = row_of(numbers, pools.shape[1])

    def add_job(
        self,
        size: int,
        estimate: int,
        interval: int,
        submit: int,
        pool: int = 0,
        *,
        pause: int | None = None,
        recovery: int = 0,
        failovers: int | None = None,
    ) -> int:
        """Make a job known and return its position; it is scheduled when its event SUBMITTED comes.

        Parameters: nodes; expected run time, seconds between checkpoint requests, submit time, s;
        the pool whose nodes it takes; what a checkpoint of it takes (None: as the rules say), and
        what going on from one takes, s; how many failures its reservation has time for, where it
        may take any node once it has lost one (None: it may not). Raises ParameterError where the
        machine is too small.
        """
        self.check_job(size, estimate, interval, pool)
        self.state = self.state._replace(jobs=longer(self.state.jobs, self.jobs + 1))
        job = self.state.jobs
        job["size"][self.jobs], job["estimate"][self.jobs] = size, estimate
        job["interval"][self.jobs], job["submit"][self.jobs] = interval, submit
        job["row"][self.jobs], job["pool"][self.jobs] = -1, pool
        job["pause"][self.jobs], job["recovery"][self.jobs] = self.pause_of(pause), recovery
        job["spared"][self.jobs] = failovers is not None
        job["failovers"][self.jobs] = failovers or 0
        self.jobs += 1
        return self.jobs - 1

    def pause_of(self, pause: int | None) -> int:
        """Return what a checkpoint takes, s; None: as the rules say."""
        return int(self.state.rules.overhead) if pause is None else pause

    def check_job(self, size: int, estimate: int, interval: int, pool: int = 0) -> None:
        """Raise ParameterError for a job that the machine cannot have."""
        if not 1 <= size <= len(self.state.machine.nodes):
            raise ParameterError("size", size, f"1 to {len(self.state.machine.nodes)} nodes")
        if estimate < 1 or interval < 1:
            raise ParameterError("estimate and interval", (estimate, interval), "at least 1 s each")
        if not 0 <= pool < len(self.state.pools):
            raise ParameterError("pool", pool, f"0 to {len(self.state.pools) - 1}")

    # ------------------------------------------------------------------------------ looking

    def field(self, job: int, name: str) -> int:
        """Return what is known of a job (see `state.JOB`)."""
        return int(self.state.jobs[name][job])

    def nodes_of(self, job: int) -> npt.NDArray[np.int64]:
        """Return the nodes of a run or a reservation, none where there is none."""
        row = self.field(job, "row")
        return members(self.state.timeline.rows[row]) if row >= 0 else np.empty(0, dtype=np.int64)

    def is_away(self, node: int) -> bool:
        """Return whether a node is down or drained."""
        return bool(int(self.state.machine.rows[DOWN, node >> 6]) >> (node & 63) & 1)

    def usable(self, pool: int = 0) -> int:
        """Return how many nodes of a pool (0: of all) are up, or known to return."""
        machine = self.state.machine
        away = machine.down[: machine.at[COUNT]]
        gone = away[machine.nodes["up_at"][away] >= FAR]
        if pool == 0:
            return len(machine.nodes) - len(gone)
        row = self.state.pools[pool]
        return int(np.bitwise_count(row & ~row_of(np.sort(gone), len(row))).sum())

    def size_of(self, pool: int) -> int:
        """Return how many nodes a pool has, whatever state they are in."""
        return int(np.bitwise_count(self.state.pools[pool]).sum())

    def usable_for(self, job: int) -> int:
        """Return how many of the nodes that a job may have are up, or known to return."""
        return self.usable(self.field(job, "pool"))

    def late_job(self, limit: int) -> int:
        """Return the lowest job that runs and should have ended by `limit`, or -1."""
        machine = self.state.machine
        jobs = machine.running[: machine.at[RUNNING]]
        if not len(jobs):
            return -1
        late = jobs[self.state.jobs["end"][jobs] <= limit]
        return int(late.min()) if len(late) else -1

    def late_node(self, limit: int) -> int:
        """Return the lowest node that is away and should have been back by `limit`, or -1."""
        machine = self.state.machine
        nodes = machine.down[: machine.at[COUNT]]
        if not len(nodes):
            return -1
        late = nodes[machine.nodes["up_at"][nodes] <= limit]
        return int(late.min()) if len(late) else -1

    # ------------------------------------------------------------------------------- acting

    def make_room(self) -> None:
        """Let any one step find room in the arrays."""
        if is_full(self.state):
            self.state = grown(self.state)

    def take(self, kind: int, key: int, until: int, now: int) -> list[Decision]:
        """Take one event of a simulated run, and return what should be done."""
        self.make_room()
        if not self.policy.promises:
            if not classic_entry_kernels.handle(self.state, kind, key, until, now):
                assert self._asked is not None, "only a policy in Python is asked"
                self._asked.answer(self.state, now)
            return self.decisions(now)
        simple = not self.state.machine.at[COUNT] and len(self.state.pools) == 1
        if until < FAR and simple:  # the usual case: no node is away
            done = promise_entry_kernels.handle(self.state, kind, key, until, now, False)
        else:
            reserved_entry_kernels.take(self.state, kind, key, until, now)
            task = self.state.task[0]
            job, places = int(task["job"]), task["kind"] == PLACE
            usable = self.usable_for(job) if places else 0
            if places and self.field(job, "size") > usable:
                task["kind"] = NOTHING
                decisions = self._decided(now)
                return [*decisions, self.hold(job, usable, now)]
            done = promise_entry_kernels.handle(self.state, kind, key, until, now, True)
        while not done:
            self.answer(now)
            done = promise_entry_kernels.handle(self.state, kind, key, until, now, True)
        return self.decisions(now)

    def _decided(self, now: int) -> list[Decision]:
        """Let what needs no place be decided, and return all decisions of the event."""
        while not promise_entry_kernels.handle(self.state, 0, 0, 0, now, True):
            self.answer(now)
        return self.decisions(now)

    def hold(self, job: int, usable: int, now: int) -> Decision:
        """Let a job wait without a reservation until nodes are back."""
        self.held.add(job)
        jobs = self.state.jobs
        jobs["status"][job], jobs["start"][job], jobs["end"][job] = WAITING, -1, -1
        deadline, promise = self.field(job, "deadline"), float(jobs["promise"][job])
        return Decision(
            now,
            DecisionKind.HOLD,
            Reason.TOO_FEW_NODES,
            job,
            deadline=deadline,
            probability=promise,
            count=usable,
        )

    def answer(self, now: int) -> None:
        """Ask the plugin what a search has stopped at."""
        assert self._plugin is not None, "only a plugin is asked"
        self._plugin.answer(self.state, now)

    def want(self, probability: float) -> None:
        """Place jobs from now on for another least probability of success, U. Raises
        ParameterError."""
        if not 0 <= probability <= 1:
            raise ParameterError("wanted", probability, "a probability, from 0 to 1")
        rules = self.state.rules._replace(wanted=float(probability))
        self.state = self.state._replace(rules=rules)

    def asking(self, step: Callable[..., Any], *told: Any, now: int) -> Any:
        """Return what a step answers that may stop at questions, which is below 0 until it does
        not."""
        found = step(self.state, *told, False)
        while found < 0:
            self.answer(now)
            found = step(self.state, *told, True)
        return found

    def decisions(self, now: int) -> list[Decision]:
        """Return the decisions of the last step."""
        out = self.state.out
        return [self._decision(out.decisions[i], now) for i in range(int(out.held[0]))]

    def _decision(self, record: Any, now: int) -> Decision:
        job, kind = int(record["job"]), DecisionKind(int(record["kind"]))
        if kind is DecisionKind.RESERVE and record["start"] >= FAR:
            return self.hold_queued(job, now)
        nodes = NodeSet()
        if kind in (DecisionKind.RESERVE, DecisionKind.START) and self.field(job, "row") >= 0:
            nodes = NodeSet.of_sorted(self.nodes_of(job))
        return Decision(
            time=now,
            kind=kind,
            reason=Reason(int(record["reason"])),
            job=job,
            probability=float(record["probability"]),
            **whole(record, _FIGURES),
            nodes=nodes,
        )

    def hold_queued(self, job: int, now: int) -> Decision:
        """Return the decision on a job of a queue whose start nobody can tell."""
        return Decision(now, DecisionKind.HOLD, Reason.TOO_FEW_NODES, job, count=self.usable())
