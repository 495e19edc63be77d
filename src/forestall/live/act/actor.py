"""Who carries intents out: what is asked of the commands of a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from forestall.core.model.errors import ForestallError
from forestall.core.model.live.intents import Intent


class Effect(StrEnum):
    """Whether the effect of an intent is there."""

    DONE = "done"
    NOT_DONE = "not done"
    UNKNOWN = "unknown"


class NotCarriedOutError(ForestallError):
    """An intent certainly had no effect, and will have none: refused, or never sent."""


class Actor(Protocol):
    """Carries intents out.

    An intent is handed over once at most; so an actor never repeats one by itself. A request that
    was sent has its effect within the guard's `settle` seconds, or never.
    """

    def carry_out(self, intent: Intent) -> None:
        """Carry an intent out, and leave its id where `effect_of` finds it (the name of a
        reservation, the reason of a node, the comment of a job).

        The target is looked at once more just before: where it is not in the intent's `state` any
        more (a person was quicker), nothing is done.

        Raises NotCarriedOutError where it certainly had no effect; any other error leaves that
        open, and the effect is looked up.
        """

    def effect_of(self, intent: Intent) -> Effect:
        """Return whether the effect of an intent is there. `UNKNOWN` where it cannot be seen; never
        `NOT_DONE` because a look failed. May raise OSError or ForestallError, which is the same as
        unknown."""
