"""The warden's side of its socket: it checks who asks and what, and acts within limits of its own.

It does not trust who asks. It refuses what its role may not do, what expired, what would be more
than its own limit within an hour, and what it was handed before, whatever the controller's guard
said.
"""

from __future__ import annotations

import os
import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ForestallError, InputError, of_system
from forestall.core.model.live.intents import MAY, Intent, Role
from forestall.core.model.units import format_duration
from forestall.core.show.words import counted
from forestall.live.act.actor import Actor, Effect, NotCarriedOutError
from forestall.live.guard.guard import HOUR
from forestall.live.guard.settings import RoleSettings
from forestall.live.warden.protocol import (
    Ask,
    WardenReply,
    WardenRequest,
    WardenWord,
    packed,
    peer_user,
    read_line,
    request_of,
)

PATIENCE: Final = 5.0
"""s for a message of who is connected."""
_REMEMBERED: Final = 10_000
"""Ids of the intents handed over last, which are never carried out again."""


@dataclass(frozen=True)
class WardenSettings:
    """Where a warden listens, to which users (by id), and its own switch and limits."""

    path: Path
    users: frozenset[int]
    role: RoleSettings


class Warden:
    """Answers what it is asked over its socket, one question at a time.

    Parameters
    ----------
    actor : that has the rights
    clock : the time, s since 1970
    """

    def __init__(self, settings: WardenSettings, actor: Actor, clock: Callable[[], int]) -> None:
        self._settings, self._actor, self._clock = settings, actor, clock
        self._handed: deque[tuple[str, int]] = deque(maxlen=_REMEMBERED)
        self._stop_reader, self._stop_writer = socket.socketpair()

    def stop(self) -> None:
        """End `serve`; a signal handler may call it."""
        with suppress(OSError):
            self._stop_writer.send(b".")

    def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Listen and answer until `stop`; `ready` is called once it listens.

        Raises InputError where another warden listens there, TraceError where it cannot listen.
        """
        with _listening(self._settings.path) as listener, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._stop_reader, selectors.EVENT_READ)
            ready()
            while True:
                asked = [key.fileobj for key, _ in selector.select()]
                if self._stop_reader in asked:
                    break
                with suppress(OSError):  # who asked is gone
                    link, _ = listener.accept()
                    with link:
                        self._answer(link)
        with suppress(OSError):
            self._settings.path.unlink()
        self._stop_reader.close()
        self._stop_writer.close()

    def _answer(self, link: socket.socket) -> None:
        """Answer one question; who may not ask gets no answer."""
        if peer_user(link) not in self._settings.users:
            return
        try:
            reply = self.reply(request_of(read_line(link, PATIENCE)))
        except InputError as error:
            reply = WardenReply(WardenWord.REFUSED, str(error))
        link.settimeout(PATIENCE)
        link.sendall(packed(reply))

    def reply(self, request: WardenRequest) -> WardenReply:
        """Return the answer to a question, after doing what it asks."""
        intent = request.intent
        if intent is None:
            return WardenReply(WardenWord.HERE)
        if intent.action not in MAY[Role.WARDEN]:
            return WardenReply(WardenWord.REFUSED, f"a warden may not {intent.action}")
        if request.ask == Ask.EFFECT_OF:
            return WardenReply(WardenWord(self._effect(intent)))
        why = self._against(intent)
        if why:
            return WardenReply(WardenWord.REFUSED, why)
        if intent.id in (name for name, _ in self._handed):
            return WardenReply(WardenWord.UNCLEAR, "it was handed over before")
        effect = self._effect(intent)
        if effect == Effect.DONE:
            return WardenReply(WardenWord.CARRIED_OUT, "it was done before")
        if effect == Effect.UNKNOWN:
            return WardenReply(WardenWord.REFUSED, "the cluster cannot be seen")
        return self._carry_out(intent)

    def _carry_out(self, intent: Intent) -> WardenReply:
        self._handed.append((intent.id, self._clock()))
        try:
            self._actor.carry_out(intent)
        except NotCarriedOutError as error:
            return WardenReply(WardenWord.REFUSED, str(error))
        except (OSError, ForestallError) as error:
            return WardenReply(WardenWord.UNCLEAR, str(error))
        return WardenReply(WardenWord.CARRIED_OUT)

    def _against(self, intent: Intent) -> str:
        """Return why an intent is not carried out; "": nothing is against it."""
        now, role = self._clock(), self._settings.role
        if role.switch == "off":
            return "the warden is switched off"
        if now >= intent.expires:
            return f"it expired {format_duration(now - intent.expires)} ago"
        lately = sum(1 for _, at in self._handed if at > now - HOUR)
        if lately >= role.per_hour:
            return f"{counted(lately, 'action')} within an hour; at most {role.per_hour} allowed"
        return ""

    def _effect(self, intent: Intent) -> Effect:
        try:
            return self._actor.effect_of(intent)
        except (OSError, ForestallError):
            return Effect.UNKNOWN


def _listening(path: Path) -> socket.socket:
    """Return a socket that listens at a path, for its user and group; one that a dead warden left
    is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _answers(path):
            raise InputError(f"{path}: another warden listens there")
        before = os.umask(0o117)
        try:
            with of_system(path, "cannot listen on it"):
                if path.is_socket():
                    path.unlink()
                listener.bind(str(path))
                listener.listen(16)
                listener.setblocking(False)
        finally:
            os.umask(before)
    except BaseException:
        listener.close()
        raise
    return listener


def _answers(path: Path) -> bool:
    """Whether somebody listens at a path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(PATIENCE)
        try:
            asking.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # it is there, but busy, or not ours to ask
            return path.is_socket()
    return True
