"""What can go wrong between a controller and a cluster, each kind with a name of its own."""

from __future__ import annotations

from enum import StrEnum

from forestall.core.model.errors import ForestallError


class LookFault(StrEnum):
    """Why a look is worth nothing. What was known before stays known, and grows old."""

    UNREACHABLE = "unreachable"
    NOT_PERMITTED = "not permitted"
    LATE = "late"
    CUT = "cut short"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too large"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    DOUBLED = "doubled"
    FEWER_NODES = "fewer nodes"
    BACKWARDS = "backwards"
    CLOCKS = "clocks differ"


class WriteFault(StrEnum):
    """Why an action was not carried out, or is not known to have been.

    Only AMBIGUOUS leaves open whether it took effect; after all others it did not.
    """

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    NOT_PERMITTED = "not permitted"
    UNKNOWN_ID = "unknown id"
    NOT_OURS = "not ours"
    UNSUPPORTED = "unsupported"
    AMBIGUOUS = "ambiguous"


class LookError(ForestallError):
    """A look at a cluster that failed, was cut short or cannot be true.

    Parameters
    ----------
    fault : of which kind
    what : what was looked at: the queue, nodes, reservations, accounting
    message : what was wrong
    """

    def __init__(self, fault: LookFault, what: str, message: str) -> None:
        self.fault = fault
        self.what = what
        super().__init__(message, before=f"{what}: ")


class WriteError(ForestallError):
    """An action that was not carried out, or is not known to have been.

    Parameters
    ----------
    fault : of which kind
    action : the action's id
    message : what was wrong
    """

    def __init__(self, fault: WriteFault, action: str, message: str) -> None:
        self.fault = fault
        self.action = action
        super().__init__(message, before=f"{action}: ")
