"""The other side of the warden's socket: an actor that has no rights of its own."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from forestall.core.model.errors import InputError
from forestall.core.model.live.intents import Intent
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.warden.protocol import (
    Ask,
    WardenReply,
    WardenRequest,
    WardenWord,
    packed,
    peer_user,
    read_line,
    reply_of,
)

WAIT: Final = 60.0
"""s for an answer: a warden runs Slurm's commands meanwhile."""


class WardenActor:
    """Hands intents to a warden.

    Parameters
    ----------
    path : of its socket
    user : id that the warden must run as; None: any. Who could listen there in its place would
        otherwise be believed
    wait : s for an answer
    """

    def __init__(self, path: Path, *, user: int | None = None, wait: float = WAIT) -> None:
        self._path, self._user, self._wait = path, user, wait

    def is_here(self) -> bool:
        """Whether a warden listens and answers."""
        try:
            return self._ask(WardenRequest(Ask.HERE)).said == WardenWord.HERE
        except (OSError, InputError, NotCarriedOutError):
            return False

    def carry_out(self, intent: Intent) -> None:
        """Have an intent carried out; as `forestall.live.act.actor.Actor.carry_out` says."""
        reply = self._ask(WardenRequest(Ask.CARRY_OUT, intent))
        if reply.said == WardenWord.REFUSED:
            raise NotCarriedOutError(f"the warden refused: {reply.why}")
        if reply.said != WardenWord.CARRIED_OUT:
            raise InputError(f"the warden does not know the outcome: {reply.why}")

    def effect_of(self, intent: Intent) -> Effect:
        """Return whether the effect of an intent is there; unknown without a warden."""
        try:
            return Effect(self._ask(WardenRequest(Ask.EFFECT_OF, intent)).said)
        except (NotCarriedOutError, OSError, ValueError, InputError):
            return Effect.UNKNOWN

    def _ask(self, request: WardenRequest) -> WardenReply:
        """Ask, and return the answer.

        Raises NotCarriedOutError where the question did not reach a warden; OSError or InputError
        where it may have, and no answer came.
        """
        line = packed(request)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(self._wait)
            try:
                link.connect(str(self._path))
            except OSError as error:
                said = error.strerror or str(error)
                raise NotCarriedOutError(f"{self._path}: no warden: {said}") from None
            if self._user is not None and peer_user(link) != self._user:
                raise NotCarriedOutError(f"{self._path}: its listener is not the warden's user")
            link.sendall(line)
            return reply_of(read_line(link, self._wait))
