"""Which rights in Slurm an action needs."""

from __future__ import annotations

from enum import IntEnum

from forestall.slurm.cluster.actions import Action, OnJob, OnNode, Reserve, ReserveNode, Unreserve


class Right(IntEnum):
    """Slurm's levels of administration: each may do what the ones before it may."""

    USER = 0
    OPERATOR = 1
    ADMIN = 2


def right(action: Action) -> Right:
    """Return what an action needs: nodes are an administrator's, reservations and jobs of others an
    operator's; submitting is anybody's."""
    if isinstance(action, OnNode):
        return Right.ADMIN
    operators = Reserve | ReserveNode | Unreserve | OnJob
    return Right.OPERATOR if isinstance(action, operators) else Right.USER
