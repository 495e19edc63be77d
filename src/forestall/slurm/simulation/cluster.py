"""The modelled cluster as a controller sees it: through replies that are lost, late, cut, doubled
and stale, on a clock that jumps."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.marks import noted
from forestall.slurm.cluster.actions import (
    Action,
    ActionResult,
    Release,
    Requeue,
    SignalJob,
    Submit,
)
from forestall.slurm.cluster.looks import LookAnswers, snapshot
from forestall.slurm.cluster.nouns import ClusterSnapshot, ClusterView
from forestall.slurm.cluster.rights import Right, right
from forestall.slurm.cluster.standing import Standing, perform, standing, state_of
from forestall.slurm.simulation.chance import Chance
from forestall.slurm.simulation.picture import Picture, picture, seen
from forestall.slurm.simulation.settings import CALM, Mishaps
from forestall.slurm.simulation.state import PARTITION
from forestall.slurm.simulation.world import SlurmWorld

_VERSION = "26.05.0"
_HISTORY, _OVERLAP = 3600, 300


class Killed(Exception):  # noqa: N818 - no error of the cluster: the process that acts is gone
    """The process that acts dies here; a test begins a new controller from its ledger."""


class ModelCluster:
    """A `LiveCluster` on a `SlurmWorld`.

    Parameters
    ----------
    world : the cluster; its time passes only by `SlurmWorld.advance`
    mishaps : what goes wrong; drawn from the world's seed, in streams of their own
    rights : of the user whose process acts

    `looks` counts the dumps of the queue, also failed ones; `shown` is what the last look that was
    one showed.
    """

    def __init__(
        self, world: SlurmWorld, mishaps: Mishaps = CALM, rights: Right = Right.ADMIN
    ) -> None:
        self.world = world
        self.mishaps = mishaps
        self.rights = rights
        self.looks = 0
        self.shown: Picture | None = None
        self.ahead = 0
        self._looking = Chance(world.seed, "looks")
        self._acting = Chance(world.seed, "actions")
        self._kept: deque[Picture] = deque(maxlen=3)

    @property
    def clock(self) -> int:
        """This machine's clock, Unix seconds; it may differ from Slurm's after a jump."""
        return self.world.state.now + self.ahead

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return one snapshot, as `LiveCluster.look`."""
        self.looks += 1
        mishaps, state = self.mishaps, self.world.state
        if self._looking.draw() < mishaps.jump:
            self.ahead = int((2 * self._looking.draw() - 1) * mishaps.far)
        if not state.answers:
            raise LookError(LookFault.UNREACHABLE, "queue", "unable to contact slurm controller")
        began = self.clock
        since = (began - _HISTORY if before is None else before.mark) - _OVERLAP
        shot = picture(state, since)
        draw = self._looking.draw()
        shown = self._shown(shot, draw)
        self._kept.append(shot)
        books = self._looking.draw() >= mishaps.no_books
        away = LookError(LookFault.UNREACHABLE, "accounting", "slurmdbd does not answer")
        jobs, nodes = list(shown.jobs.values()), list(shown.nodes.values())
        draw -= mishaps.look_late + mishaps.look_cut + mishaps.look_stale + mishaps.look_older
        if 0 <= draw < mishaps.look_doubled:
            jobs += jobs[:1]
        elif 0 <= draw - mishaps.look_doubled < mishaps.look_fewer and before is not None:
            del nodes[int(self._looking.draw() * len(nodes))]
        reservations = list(shown.reservations.values())
        runs, fault = (shown.runs, None) if books else (None, away)
        answers = LookAnswers(
            began, self.clock, shown.at, jobs, nodes, reservations, runs, fault, _VERSION,
            default=PARTITION, partitions=(shown.partition,),
        )  # fmt: skip
        told = snapshot(answers, before)
        self.shown = shown
        return told

    def _shown(self, shot: Picture, draw: float) -> Picture:
        """Return what the answer shows; LookError where none comes, or only a part."""
        mishaps = self.mishaps
        if draw < mishaps.look_late:
            raise LookError(LookFault.LATE, "queue", "gave no answer in 60 s")
        draw -= mishaps.look_late
        if draw < mishaps.look_cut:
            raise LookError(LookFault.CUT, "queue", "the answer is cut short")
        draw -= mishaps.look_cut
        if self._kept and draw < mishaps.look_stale:
            return self._kept[-1]
        if self._kept and draw < mishaps.look_stale + mishaps.look_older:
            return self._kept[0]
        return shot

    def act(self, action: Action) -> ActionResult:
        """Carry out an action that has not taken effect yet, as `LiveCluster.act`."""
        return perform(action, self._around, self._write)

    def find(self, action: Action) -> Standing:
        """Return whether an action has taken effect, as `LiveCluster.find`."""
        return standing(action, self._around(action))

    def job_state(self, action: Submit) -> str:
        """Return the state of a job that was submitted, as `LiveCluster.job_state`."""
        return state_of(action.id, self._around(action))

    def _around(self, action: Action) -> ClusterView:
        if not self.world.state.answers:
            raise LookError(LookFault.UNREACHABLE, "queue", "unable to contact slurm controller")
        return seen(self.world.state)

    def _write(self, action: Action, _: ClusterView) -> int:
        mishaps = self.mishaps
        if not self.world.state.answers:
            message = "unable to contact slurm controller"
            raise WriteError(WriteFault.UNREACHABLE, action.id, message)
        if self.rights < right(action):
            raise WriteError(WriteFault.NOT_PERMITTED, action.id, "Access/permission denied")
        if self._acting.draw() < mishaps.killed:
            self._die(action)
        draw = self._acting.draw()
        if draw < mishaps.refused:
            raise WriteError(WriteFault.REFUSED, action.id, "the controller is busy")
        draw -= mishaps.refused
        if draw < mishaps.unheard:
            raise WriteError(WriteFault.AMBIGUOUS, action.id, "gave no answer in 60 s")
        draw -= mishaps.unheard
        if draw < mishaps.late:
            self.world.state.plan(self._acting.wait(30), "late", action)
            raise WriteError(WriteFault.AMBIGUOUS, action.id, "gave no answer in 60 s")
        made = self.world.apply(action)
        if draw - mishaps.late < mishaps.lost:
            raise WriteError(WriteFault.AMBIGUOUS, action.id, "the reply was lost")
        return made

    def _die(self, action: Action) -> None:
        """Die before the action, in the middle of it, or before anybody heard of it."""
        where = self._acting.below(3)
        if where == 1 and isinstance(action, SignalJob | Release):
            state, hold = self.world.state, "" if isinstance(action, Release) else None
            job = state.jobs[action.job]
            state.job(job._replace(note=noted(job.note, action.id, hold=hold, pending=True)))
        elif where == 1 and isinstance(action, Requeue) and action.excluded:
            self.world.apply(replace(action, excluded=()), held=True)
        elif where:
            self.world.apply(action)
        raise Killed(f"killed while it carried out {action.id}")
