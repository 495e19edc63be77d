"""A cluster that can be looked at and acted on."""

from __future__ import annotations

from typing import Protocol

from forestall.slurm.cluster.actions import Action, ActionResult, Submit
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.cluster.standing import Standing


class LiveCluster(Protocol):
    """What the controller needs of a cluster: Slurm's commands, slurmrestd, or a model of Slurm.

    A failed look changes nothing and says nothing: it raises LookError. An action is carried out at
    most once for its id, however often it is asked for.
    """

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return one snapshot, with the queue asked for once.

        Parameters
        ----------
        before : the last snapshot: what it shows must not have vanished, and accounting is asked
            from its mark on

        Raises LookError.
        """

    def act(self, action: Action) -> ActionResult:
        """Carry out an action that has not taken effect yet.

        Raises WriteError; after AMBIGUOUS, `find` tells what came of it.
        """

    def find(self, action: Action) -> Standing:
        """Return whether an action has taken effect, from a fresh look at what it is about.

        Raises LookError; WriteError where it has not and may not be carried out.
        """

    def job_state(self, action: Submit) -> str:
        """Return the state of the job that an action submitted, such as ``COMPLETED``, "" where
        none is seen; from a fresh look at what the action is about. Raises LookError."""
