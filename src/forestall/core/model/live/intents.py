"""Intents: decisions on their way to a cluster, who may carry them out, and the states they pass.

A decision becomes an `Intent` with an id, the state it was decided on, a reason and an expiry. Its
id is made of all that, so that the same decision, met again after a restart, is the same intent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Self

from forestall.core.model.errors import ParameterError
from forestall.core.model.live.canonical import digest
from forestall.core.model.marks import RESERVATION, reason_of


class Role(StrEnum):
    """Who acts, each behind a switch of its own."""

    ADVISOR = "advisor"
    KEEPER = "keeper"
    WARDEN = "warden"


class Action(StrEnum):
    """What may be done."""

    LOOK = "look"
    QUOTE = "quote"
    RECORD = "record"
    PROPOSE = "propose"
    RESERVE = "reserve"
    RELEASE = "release"
    REQUEUE = "requeue"
    START = "start"
    EXCLUDE = "exclude"
    SIGNAL = "signal"
    DRAIN = "drain"
    RESUME = "resume"
    REBOOT = "reboot"


MAY: Final[Mapping[Role, tuple[Action, ...]]] = MappingProxyType(
    {
        Role.ADVISOR: (Action.LOOK, Action.QUOTE, Action.RECORD, Action.PROPOSE),
        Role.KEEPER: (
            Action.RESERVE,
            Action.RELEASE,
            Action.REQUEUE,
            Action.START,
            Action.EXCLUDE,
            Action.SIGNAL,
        ),
        Role.WARDEN: (Action.DRAIN, Action.RESUME, Action.REBOOT),
    }
)
"""What each role may do, and nothing else. A keeper needs Slurm's Operator, a warden its Admin."""

ROLE_OF: Final[Mapping[Action, Role]] = MappingProxyType(
    {action: role for role, actions in MAY.items() for action in actions}
)
ACTING: Final = (*MAY[Role.KEEPER], *MAY[Role.WARDEN])
"""What changes a cluster: all that can be intended."""
ON_JOBS: Final = (Action.REQUEUE, Action.START, Action.EXCLUDE, Action.SIGNAL)


class IntentState(StrEnum):
    """What became of an intent."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REFUSED = "refused"
    WRITTEN = "written"
    CARRIED_OUT = "carried out"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    EXPIRED = "expired"
    DROPPED = "dropped"


_S = IntentState
LEGAL: Final[Mapping[IntentState | None, tuple[IntentState, ...]]] = MappingProxyType(
    {
        None: (_S.PROPOSED,),
        _S.PROPOSED: (_S.APPROVED, _S.REFUSED, _S.WRITTEN, _S.EXPIRED, _S.DROPPED),
        _S.APPROVED: (_S.REFUSED, _S.WRITTEN, _S.EXPIRED, _S.DROPPED),
        _S.WRITTEN: (_S.CARRIED_OUT, _S.FAILED),
        _S.CARRIED_OUT: (_S.CONFIRMED, _S.FAILED),
        **dict.fromkeys((_S.REFUSED, _S.CONFIRMED, _S.FAILED, _S.EXPIRED, _S.DROPPED), ()),
    }
)
"""The state an intent is in, and those that may follow. "Written" comes once: an intent is sent to
the cluster at most once, whatever becomes of the reply."""
WAITING: Final = (_S.PROPOSED, _S.APPROVED)
HALF_WAY: Final = (_S.WRITTEN, _S.CARRIED_OUT)

_TARGET: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,256}")


@dataclass(frozen=True)
class Intent:
    """One action that was decided on and is not carried out yet.

    Attributes
    ----------
    action, target : what to do, and to which node, job or reservation
    decided, expires : s since 1970; from `expires` on it is not carried out any more
    state : of the target when this was decided on (`forestall.live.guard.sight`); where it differs
        on a fresh look the intent is dropped
    reason : in words, for operators and for Slurm
    figures : the numbers behind it
    size, partition : of a reservation: how many nodes it asks for, and where
    promise : id of the promise that it serves; "": none
    cycle : of the controller in which it was decided on; 0: by hand

    Raises ParameterError for what cannot be an intent.
    """

    action: Action
    target: str
    decided: int
    expires: int
    state: str
    reason: str
    figures: Mapping[str, float] = field(default_factory=dict)
    size: int = 1
    partition: str = ""
    promise: str = ""
    cycle: int = 0

    def __post_init__(self) -> None:
        if self.action not in ACTING:
            raise ParameterError("action", str(self.action), "one of " + ", ".join(ACTING))
        if not _TARGET.fullmatch(self.target) or self.target.startswith("-"):
            raise ParameterError("target", self.target, "the name of a node, job or reservation")
        if self.action in {Action.RESERVE, Action.RELEASE} and not self.target.startswith(
            RESERVATION
        ):
            raise ParameterError("target", self.target, f"a name that begins {RESERVATION}")
        if self.expires <= self.decided:
            raise ParameterError("expires", self.expires, f"after {self.decided}, when decided")
        if self.size < 1:
            raise ParameterError("size", self.size, "1 or more nodes")
        for name, text in (("state", self.state), ("reason", self.reason)):
            if not text.isprintable():
                raise ParameterError(name, text, "text without control characters")

    @property
    def role(self) -> Role:
        """Who may carry it out."""
        return ROLE_OF[self.action]

    @property
    def id(self) -> str:
        """16 hexadecimal digits made of all that it says: its name in Slurm and in the ledger."""
        return digest(self.to_json())

    @property
    def words(self) -> str:
        """The reason as Slurm shows it: our prefix, the reason, the id in brackets."""
        return reason_of(self.id, self.reason)

    def to_json(self) -> dict[str, Any]:
        """Return it in a form for JSON."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "figures": dict(self.figures),
        }

    @classmethod
    def from_json(cls, told: Any) -> Self:
        """Return it as it was written. Raises ParameterError for what is no intent."""
        names = cls.__dataclass_fields__
        texts, numbers = ("target", "state", "reason", "partition", "promise"), (
            "decided", "expires", "size", "cycle",
        )  # fmt: skip
        if (
            not isinstance(told, dict)
            or set(told) != set(names)
            or told["action"] not in list(ACTING)
            or any(type(told[name]) is not str for name in texts)
            or any(type(told[name]) is not int for name in numbers)
            or not isinstance(told["figures"], dict)
            or any(type(value) not in (int, float) for value in told["figures"].values())
        ):
            raise ParameterError("intent", str(told)[:80], "an intent with all its fields")
        return cls(**{**told, "action": Action(told["action"])})
