"""What Slurm's complaints mean: for a look, and for an action."""

from __future__ import annotations

from typing import Final

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.slurm.run import SlurmError

_OPEN: Final = (
    "socket timed out", "zero bytes were transmitted", "message receive failure",
    "message send failure", "unexpected message received", "connection reset", "broken pipe",
    "transport endpoint", "try again later: communication", "i/o error",
)  # fmt: skip
"""After these nobody knows whether the controller took the message."""

_AWAY: Final = (
    "unable to contact", "connection refused", "connect failure", "configuration source",
    "fetch_config", "cannot stat file", "problem talking to the database", "slurmdbd: ",
    "failed to open persistent connection", "backup controller", "no route to host",
)  # fmt: skip
_DENIED: Final = (
    "access/permission denied", "permission denied", "invalid user id", "not authorized",
    "authentication", "invalid user for slurmuser", "user not found", "unauthorized", "forbidden",
    "must be root", "protocol authentication error",
)  # fmt: skip
_NOBODY: Final = (
    "invalid job id", "invalid node name", "reservation is invalid", "not found",
    "unable to find jobid", "unknown node",
)  # fmt: skip
_KEPT: Final = ("accounting_storage/none", "accounting storage is disabled", "slurm accounting")


def write_fault(said: str) -> WriteFault:
    """Return what a complaint about an action means."""
    lower = said.lower()
    kinds = (
        (_OPEN, WriteFault.AMBIGUOUS),
        (_AWAY, WriteFault.UNREACHABLE),
        (_DENIED, WriteFault.NOT_PERMITTED),
        (_NOBODY, WriteFault.UNKNOWN_ID),
    )
    found = (kind for words, kind in kinds if any(word in lower for word in words))
    return next(found, WriteFault.REFUSED)


def write_error(error: SlurmError, action: str) -> WriteError:
    """Return what the failure of a command means for an action.

    A command that did not end by itself, or failed without a word, may have been heard.
    """
    if not error.started:
        return WriteError(WriteFault.UNSUPPORTED, action, str(error))
    if error.late or not error.said.strip():
        return WriteError(WriteFault.AMBIGUOUS, action, str(error))
    return WriteError(write_fault(error.said), action, str(error))


def look_fault(said: str) -> LookFault:
    """Return what a complaint about a question means."""
    lower = said.lower()
    kinds = (
        (_KEPT, LookFault.UNAVAILABLE),
        (_AWAY, LookFault.UNREACHABLE),
        (_OPEN, LookFault.LATE),
        (_DENIED, LookFault.NOT_PERMITTED),
    )
    found = (kind for words, kind in kinds if any(word in lower for word in words))
    return next(found, LookFault.FAILED)


def look_error(error: SlurmError, what: str) -> LookError:
    """Return what the failure of a command means for a look."""
    if error.large:
        fault = LookFault.TOO_LARGE
    elif not error.started:
        fault = LookFault.UNAVAILABLE
    else:
        fault = look_fault(error.said)
        if fault is LookFault.FAILED and error.late:
            fault = LookFault.LATE
    return LookError(fault, what, str(error))


def missing(said: str) -> bool:
    """Return whether a complaint says that there is no such thing."""
    lower = said.lower()
    return any(word in lower for word in _NOBODY)
