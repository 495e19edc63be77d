"""The modelled cluster in time: users submit, jobs run, nodes fail and come back, the controller
restarts. The same seed gives the same world, as long as the same is done to it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Final

from forestall.core.model.faults import WriteError
from forestall.core.model.marks import noted, tagged
from forestall.slurm.cluster.actions import Action, Requeue, Submit
from forestall.slurm.cluster.standing import Standing, standing
from forestall.slurm.simulation.chance import Chance
from forestall.slurm.simulation.limits import REFUSALS, broken_limit, change_limits
from forestall.slurm.simulation.moves import (
    SILENT,
    UNUSED,
    drained,
    end_reservation,
    expedite,
    fail,
    finish,
    fresh,
    hold,
    in_use,
    keep,
    queue_again,
    rehome,
    returned,
    waiting,
)
from forestall.slurm.simulation.people import interfere
from forestall.slurm.simulation.picture import seen
from forestall.slurm.simulation.scheduler import schedule
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.state import JobWork, SlurmState, is_expediting, problems
from forestall.slurm.simulation.writes import apply

_TWICE: Final = "Duplicate jobid"
EATEN: Final = 2
"""s after which a job fails on a node that eats jobs."""
_NAMES: Final = ("train", "-x -r all", "a\nb", "<b>markup</b>", "größe ☃", "$(reboot)")


class SlurmWorld:
    """A cluster that is advanced second by second, and acted on in between.

    Parameters
    ----------
    settings : how it is
    seed : any whole number >= 0

    `state` is what is true; what may be seen of it comes from `ModelCluster`.
    """

    def __init__(self, settings: WorldSettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.chance = {
            name: Chance(seed, name)
            for name in (
                "users",
                "nodes",
                "controller",
                "people",
                "reboots",
                "limits",
                "expedited",
            )
        }
        self.state = SlurmState(settings.origin, refuses=settings.refuses)
        width = len(str(settings.nodes))
        for k in range(1, settings.nodes + 1):
            self.state.node(fresh(f"n{k:0{width}}", settings.origin))
        self.state.changes.clear()  # nodes are no news that a killed controller forgets
        self._begin()

    def advance(self, to: int) -> None:
        """Let time pass up to a moment, Unix seconds; not backwards."""
        state = self.state
        while state.due and state.due[0][0] <= to:
            state.now = state.due[0][0]
            while state.due and state.due[0][0] == state.now:
                _, _, what, key = heapq.heappop(state.due)
                _EVENTS[what](self, key)
            self._schedule()
        if to > state.now:
            state.now = to
            self._schedule()
        state.forget(self.settings.unsaved + 1)
        while state.runs and (state.runs[0].end or 0) < state.now - self.settings.books:
            state.runs.popleft()

    def apply(self, action: Action, *, held: bool = False) -> int:
        """Let an action take effect now; returns the number of a job that it submitted, else 0.

        held : a job that is queued again is held: who did so died before he let it go

        Raises WriteError where Slurm would refuse it.
        """
        made = apply(self.state, action, self.settings.delay)
        if held and isinstance(action, Requeue):
            job = self.state.jobs[action.job]
            note = noted(job.note, action.id, hold=action.id, pending=True)
            hold(self.state, job, "JobHeldAdmin", note)
            self.state.happened["left held after a requeue"] += 1
        if isinstance(action, Submit):
            length = self.chance["users"].wait(0.7 * action.time)
            inside = self.state.reservations.get(action.reservation)
            if inside is not None and "MAINT" in inside.flags:  # a test of a node, within its time
                length = max(min(length, action.time - 1), 1)
            again, soon = action.requeue != "no", action.requeue == "expedite"
            self.state.work[made] = JobWork(length, again, expedited=soon)
        self._schedule()
        return made

    def problems(self) -> list[str]:
        """Return what cannot be; empty where all adds up."""
        return problems(self.state)

    # ----------------------------------------------------------------------------- beginning

    def _begin(self) -> None:
        settings, state = self.settings, self.state
        if settings.hole:
            state.holes.add(sorted(state.nodes)[settings.hole - 1])
        if settings.arrival:
            state.plan(self.chance["users"].wait(settings.arrival), "submission")
        for name in state.nodes:
            if settings.failure:
                state.plan(self.chance["nodes"].wait(settings.failure), "failure", name)
        if settings.restart:
            state.plan(self.chance["controller"].wait(settings.restart), "away")
        if settings.people:
            state.plan(self.chance["people"].wait(settings.people), "person")
        if settings.limits:
            state.plan(self.chance["limits"].wait(settings.limits), "limits")

    def _schedule(self) -> None:
        state = self.state
        if not state.answers:
            return
        for job in schedule(state, self.settings.tested):
            state.started += 1
            state.starts[job.id] = state.started
            work = state.work.get(job.id) or JobWork(600, True)
            limit = (job.end or state.now) - state.now
            eaten = len(job.nodes) == 1 and job.nodes[0] in state.holes
            what, after = ("eaten", EATEN) if eaten else ("end", min(work.length, limit))
            state.plan(max(1, after), what, (job.id, state.started))

    # ----------------------------------------------------------------------------- users

    def _submission(self, _: Any) -> None:
        settings, state, chance = self.settings, self.state, self.chance["users"]
        state.plan(chance.wait(settings.arrival), "submission")
        length, name = chance.wait(settings.run), chance.one_of(_NAMES)
        limit = 60 * -(-int(length * (0.8 + 2 * chance.draw())) // 60)
        nodes = 1 + chance.below(min(settings.widest, settings.nodes))
        again, forged = chance.draw() < 0.7, chance.draw() < 0.05
        user, priority = f"user{chance.below(5)}", 1 + chance.below(3)
        if not state.answers:
            return
        comment = tagged("nobody-gave-this") if forged else ""
        job = waiting(state, user, name, nodes, limit)._replace(comment=comment, priority=priority)
        if state.refuses and broken_limit(state.partition, nodes, limit) in REFUSALS:
            return  # its number is not given again
        state.job(job)
        share = settings.expedited
        soon = bool(share) and self.chance["expedited"].draw() < share
        state.work[job.id] = JobWork(length, again or soon, expedited=soon)

    def _end(self, key: tuple[int, int]) -> None:
        identity, start = key
        job = self.state.jobs.get(identity)
        if job is None or self.state.starts.get(identity) != start:
            return  # this start is history
        length = self.state.work.get(identity, JobWork(0, False)).length
        last = min(self.state.now, job.end or self.state.now)  # its end may have been lost
        over = job.start is not None and length > last - job.start
        finish(self.state, job, "TIMEOUT" if over else "COMPLETED", self.settings.kept)

    def _eaten(self, key: tuple[int, int]) -> None:
        """Let a job fail that began on a node that eats jobs."""
        job = self.state.jobs.get(key[0])
        if job is not None and self.state.starts.get(key[0]) == key[1]:
            expedited = self.state.work.get(job.id, JobWork(0, False)).expedited
            ill = expedited and self.chance["expedited"].draw() < 0.5
            fail(self.state, job, ill, self.settings.kept)

    def _forgotten(self, key: tuple[int, int | None]) -> None:
        job = self.state.jobs.get(key[0])
        if job is not None and job.submit == key[1] and job.state not in ("PENDING", "RUNNING"):
            self.state.put(self.state.jobs, job.id, None)
            self.state.work.pop(job.id, None)
            self.state.starts.pop(job.id, None)

    def _unused(self, name: str) -> None:
        if name in self.state.reservations and not in_use(self.state, name):
            self.state.put(self.state.reservations, name, None)

    def _over(self, name: str) -> None:
        one = self.state.reservations.get(name)
        if one is not None and one.end <= self.state.now:
            end_reservation(self.state, one)

    def _eligible(self, identity: int) -> None:
        job = self.state.jobs.get(identity)
        if job is not None and job.reason == "BeginTime" and job.waits:
            self.state.job(job._replace(reason="Priority"))

    # ----------------------------------------------------------------------------- nodes

    def _failure(self, name: str) -> None:
        state, settings, chance = self.state, self.settings, self.chance["nodes"]
        if name in state.dead:
            return
        state.dead.add(name)
        state.count(name)
        state.plan(settings.detect, "silence", name)
        state.plan(settings.detect + chance.wait(settings.repair), "return", name)
        job = state.jobs.get(state.holder.get(name, 0))
        if job is not None:
            state.starts.pop(job.id, None)  # it will not end by itself

    def _silence(self, name: str) -> None:
        """Let the controller see that a node is dead, once it is there."""
        state = self.state
        if name not in state.dead or not state.answers:
            return
        node, job = state.nodes[name], state.jobs.get(state.holder.get(name, 0))
        flags = tuple(dict.fromkeys((*node.flags, "NOT_RESPONDING")))
        node = node._replace(state="DOWN", flags=flags, reason=node.reason or SILENT)
        state.node(node._replace(set_by=node.set_by or "root", set_at=node.set_at or state.now))
        if name in state.kept:
            keep(state, state.jobs[state.kept.pop(name)])
        if job is not None:
            work = state.work.get(job.id, JobWork(0, False))
            if work.expedited:
                expedite(state, job, "NODE_FAIL")
            elif work.again:
                queue_again(state, job, "NODE_FAIL", self.settings.delay)
            else:
                finish(state, job, "NODE_FAIL", self.settings.kept)
        rehome(state, name)

    def _return(self, name: str) -> None:
        state, settings, chance = self.state, self.settings, self.chance["nodes"]
        if not state.answers:  # it says so once the controller is there
            state.plan(UNUSED, "return", name)
            return
        if name in state.holder:  # it booted anew, so what ran there is lost
            self._silence(name)
        state.dead.discard(name)
        state.node(returned(state.nodes[name], state.now))
        soon = chance.draw() < settings.flap
        if settings.failure:
            state.plan(chance.wait(UNUSED if soon else settings.failure), "failure", name)

    def _reboot(self, name: str) -> None:
        """Reboot a node that was asked to, once it is idle."""
        state = self.state
        node = state.nodes[name]
        if "REBOOT_REQUESTED" not in node.flags:
            return
        if name in state.holder or name in state.dead:
            state.plan(60, "reboot", name)
            return
        flags = tuple(one for one in node.flags if one != "REBOOT_REQUESTED")
        reason = f"{node.reason} : reboot issued"
        state.node(node._replace(state="DOWN", flags=(*flags, "REBOOT_ISSUED"), reason=reason))
        state.plan(self.settings.reboot, "rebooted", name)

    def _rebooted(self, name: str) -> None:
        node = self.state.nodes[name]
        if "REBOOT_ISSUED" in node.flags and name not in self.state.dead:
            waits = node.reason.endswith("reboot issued")
            if (
                waits
                and self.settings.stuck
                and self.chance["reboots"].draw() < self.settings.stuck
            ):
                reason = node.reason.replace("reboot issued", "reboot timed out")
                self.state.happened["reboot timed out"] += 1
                self.state.node(node._replace(reason=reason))
                self.state.plan(int(self.settings.repair), "rebooted", name)
                return
            ours = bool(node.ours)
            self.state.holes.discard(name)
            new = fresh(name, self.state.now) if ours else returned(node, self.state.now)
            self.state.node(new)

    # ----------------------------------------------------------------------------- controller

    def _away(self, _: Any) -> None:
        state, settings, chance = self.state, self.settings, self.chance["controller"]
        state.plan(chance.wait(settings.restart), "away")
        if not state.answers:
            return
        state.answers = False
        state.plan(chance.wait(settings.away), "again")
        if chance.draw() < settings.killed:
            self._lose(settings.unsaved)
            state.happened["controller forgot"] += 1

    def _lose(self, seconds: int) -> None:
        """Undo what was done in the last seconds, as a controller that was killed before it saved:
        jobs submitted since are gone, and their numbers are given again."""
        state = self.state
        lost: list[int] = []
        while state.changes and state.changes[-1][0] > state.now - seconds:
            _, table, key, before = state.changes.pop()
            if table is state.jobs and before is None and key in state.jobs:
                lost.append(key)
            _restore(state, table, key, before)
        for identity in lost:
            state.work.pop(identity, None)
            state.starts.pop(identity, None)
            state.next_id = min(state.next_id, identity)
        self._agree()

    def _agree(self) -> None:
        """Make nodes agree with jobs after a loss: a node whose job nobody knows is drained, as
        Slurm does where it finds a number twice."""
        state = self.state
        held = {name: job.id for job in state.jobs.values() if job.state == "RUNNING"
                for name in job.nodes}  # fmt: skip
        for name, node in list(state.nodes.items()):
            was = state.holder.get(name)
            if was is not None and was not in state.jobs and name not in state.dead:
                state.nodes[name] = drained(node._replace(state="IDLE"), _TWICE, "root", state.now)
            elif node.state in ("IDLE", "ALLOCATED"):
                state.nodes[name] = node._replace(state="ALLOCATED" if name in held else "IDLE")
        state.holder = held
        state.kept = {
            name: job.id for job in state.jobs.values() if is_expediting(job)
            for name in job.nodes if name not in held and name not in state.dead
        }  # fmt: skip
        for name in state.nodes:
            state.count(name)
        state.theirs = {name for name in state.theirs if not state.nodes[name].in_service}
        running = {job.id for job in state.jobs.values() if job.state == "RUNNING"}
        for identity in [one for one in state.starts if one not in running]:
            del state.starts[identity]
        for identity in sorted(running - set(state.starts)):
            state.started += 1
            state.starts[identity] = state.started
            state.plan(UNUSED, "end", (identity, state.started))

    def _again(self, _: Any) -> None:
        """Let the controller answer again: it finds out what it missed or lost."""
        state = self.state
        state.answers = True
        for name in sorted(state.dead):
            state.plan(self.settings.detect, "silence", name)
        for job in state.jobs.values():
            if job.waits:
                state.plan(max((job.eligible or 0) - state.now, 1), "eligible", job.id)
            elif job.state != "RUNNING":
                state.plan(self.settings.kept, "forgotten", (job.id, job.submit))
        for one in state.reservations.values():
            state.plan(max(one.end - state.now, 1), "over", one.name)

    def _late(self, action: Action) -> None:
        """Let an action arrive late; where it no longer makes sense it is dropped."""
        try:
            if self.state.answers and standing(action, seen(self.state)) is Standing.OPEN:
                self.apply(action)
        except WriteError:
            return

    def _limits(self, _: Any) -> None:
        chance = self.chance["limits"]
        self.state.plan(chance.wait(self.settings.limits), "limits")
        change_limits(self.state, chance)

    def _person(self, _: Any) -> None:
        chance = self.chance["people"]
        self.state.plan(chance.wait(self.settings.people), "person")
        interfere(self.state, chance, self.settings)


def _restore(state: SlurmState, table: dict[Any, Any], key: Any, before: Any) -> None:
    if before is None:
        table.pop(key, None)
    elif table is state.jobs or table is state.nodes or table is state.reservations:
        table[key] = before


_EVENTS: Final[dict[str, Callable[[SlurmWorld, Any], None]]] = {
    "submission": SlurmWorld._submission,
    "end": SlurmWorld._end,
    "eaten": SlurmWorld._eaten,
    "forgotten": SlurmWorld._forgotten,
    "unused": SlurmWorld._unused,
    "over": SlurmWorld._over,
    "eligible": SlurmWorld._eligible,
    "failure": SlurmWorld._failure,
    "silence": SlurmWorld._silence,
    "return": SlurmWorld._return,
    "reboot": SlurmWorld._reboot,
    "rebooted": SlurmWorld._rebooted,
    "away": SlurmWorld._away,
    "again": SlurmWorld._again,
    "late": SlurmWorld._late,
    "person": SlurmWorld._person,
    "limits": SlurmWorld._limits,
}
