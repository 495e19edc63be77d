"""Who carries intents out on a live cluster: an intent becomes one action with the intent's id.

What does not fit into an intent's own fields stands in its figures: `restarts` of a job, `start`
and `time` of a reservation (s), and for each node that a job is to keep away from ``avoid NODE``,
with the moment at which that node is foreseen to fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.live.intents import ON_JOBS, Action, Intent
from forestall.core.model.marks import RESERVATION
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.slurm.testing import CheckedReturns
from forestall.slurm.cluster.actions import Action as ClusterAction
from forestall.slurm.cluster.actions import (
    DrainNode,
    Exclude,
    RebootNode,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Unreserve,
)
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.cluster.standing import Standing

AVOID: Final = "avoid "
"""What the names of figures begin with that name a node to keep away from."""
CHECKPOINT: Final = "USR1"
"""The signal at which a job's script checkpoints."""
_BY: Final = re.compile(r" by=(\S*) ")
_BOOT: Final = re.compile(r" boot=(\d+)\Z")
_EFFECTS: Final = {
    Standing.DONE: Effect.DONE,
    Standing.OPEN: Effect.NOT_DONE,
    Standing.UNDER_WAY: Effect.UNKNOWN,
    Standing.UNKNOWN: Effect.UNKNOWN,
}


class ClusterActor:
    """Carries intents out on a cluster, with the rights that its connection has.

    Parameters
    ----------
    owner_of : tells whose a promise is, by its id: who may use its reservation
    signal : at which a job's script checkpoints
    features_of : tells which features the nodes of a promise must have, "" for none
    returns : brings nodes back by way of a test; None: without one
    """

    def __init__(
        self,
        cluster: LiveCluster,
        owner_of: Callable[[str], str],
        signal: str = CHECKPOINT,
        features_of: Callable[[str], str] = lambda _: "",
        returns: CheckedReturns | None = None,
    ) -> None:
        self._cluster, self._owner_of, self._signal = cluster, owner_of, signal
        self._features_of, self._returns = features_of, returns

    def carry_out(self, intent: Intent) -> None:
        """Carry an intent out; as `forestall.live.act.actor.Actor.carry_out` says.

        A job that is started after a requeue, or sent back, first gets its list of nodes to keep
        away from.
        """
        try:
            if intent.action == Action.START and avoided(intent):
                self._cluster.act(_exclude(intent))
            action = self.action_of(intent)
            if self._returns is not None and isinstance(action, ResumeNode):
                self._returns.begin(intent, action)
            else:
                self._cluster.act(action)
        except WriteError as error:
            if error.fault is WriteFault.AMBIGUOUS:
                raise
            raise NotCarriedOutError(str(error)) from None
        except ParameterError as error:  # no such action can be made: nothing was sent
            raise NotCarriedOutError(str(error)) from None

    def effect_of(self, intent: Intent) -> Effect:
        """Return whether the effect of an intent is there; LookError where it cannot be seen."""
        try:
            action = self.action_of(intent)
            if self._returns is not None and isinstance(action, ResumeNode):
                return self._returns.effect(intent, action)
            return _EFFECTS[self._cluster.find(action)]
        except WriteError:  # it has not taken effect, and may not any more
            return Effect.NOT_DONE

    def action_of(self, intent: Intent) -> ClusterAction:
        """Return the action that an intent is. Raises ParameterError where it is none."""
        if intent.action is Action.RESERVE:
            return self._reserve(intent)
        if intent.action is Action.RELEASE:
            return Unreserve(intent.id, intent.target.removeprefix(RESERVATION))
        if intent.action in ON_JOBS:
            return self._on_job(intent, int(intent.target))
        return _on_node(intent)

    def _on_job(self, intent: Intent, job: int) -> ClusterAction:
        if intent.action is Action.REQUEUE:
            return Requeue(intent.id, job, int(_figure(intent, "restarts")), avoided(intent))
        if intent.action is Action.START:
            return StartNow(intent.id, job)
        if intent.action is Action.SIGNAL:
            return SignalJob(intent.id, job, self._signal)
        return _exclude(intent)

    def _reserve(self, intent: Intent) -> Reserve:
        return Reserve(
            intent.target.removeprefix(RESERVATION),
            int(_figure(intent, "start")),
            int(_figure(intent, "time")),
            intent.size,
            users=(self._owner_of(intent.promise),),
            partition=intent.partition,
            features=self._features_of(intent.promise),
        )


def avoided(intent: Intent) -> tuple[str, ...]:
    """Return the nodes that an intent keeps a job away from."""
    return tuple(sorted(name[len(AVOID) :] for name in intent.figures if name.startswith(AVOID)))


def _on_node(intent: Intent) -> ClusterAction:
    if intent.action is Action.DRAIN:
        return DrainNode(intent.id, intent.target, intent.reason)
    if intent.action is Action.RESUME:
        return ResumeNode(intent.id, intent.target, _drain_of(intent))
    found = _BOOT.search(intent.state)
    boot = int(found[1]) if found else 0
    return RebootNode(intent.id, intent.target, _drain_of(intent), intent.reason, boot)


def _exclude(intent: Intent) -> Exclude:
    return Exclude(intent.id, int(intent.target), avoided(intent))


def _figure(intent: Intent, name: str) -> float:
    """Return a figure of an intent; ParameterError where it has none."""
    if name not in intent.figures:
        raise ParameterError("figures", ", ".join(intent.figures), f"{name} among them")
    return intent.figures[name]


def _drain_of(intent: Intent) -> str:
    """Return the id of the drain that an intent undoes: it stands in the node's state."""
    found = _BY.search(intent.state)
    return found[1] if found else ""
