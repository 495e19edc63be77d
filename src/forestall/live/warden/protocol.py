"""What is said over the warden's socket: one line of JSON each way, of a bounded length.

    {"ask": "carry out" | "effect of" | "here", "intent": {...}, "version": 1}
    {"said": "carried out" | "refused" | "unclear" | "done" | "not done" | "unknown" | "here",
     "version": 1, "why": "..."}

"Refused" certainly had and will have no effect; after "unclear" nobody knows.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from forestall.core.files.documents import json_of
from forestall.core.model.errors import ParameterError
from forestall.core.model.live.canonical import canonical
from forestall.core.model.live.intents import Intent
from forestall.live.act.actor import Effect

VERSION: Final = 1
LONGEST: Final = 64 * 1024
"""Bytes of a message, its end included."""
_CREDENTIALS: Final = struct.Struct("3i")


class Ask(StrEnum):
    """What may be asked of a warden."""

    CARRY_OUT = "carry out"
    EFFECT_OF = "effect of"
    HERE = "here"


class WardenWord(StrEnum):
    """What a warden says."""

    CARRIED_OUT = "carried out"
    REFUSED = "refused"
    UNCLEAR = "unclear"
    DONE = Effect.DONE
    NOT_DONE = Effect.NOT_DONE
    UNKNOWN = Effect.UNKNOWN
    HERE = "here"


@dataclass(frozen=True)
class WardenRequest:
    """A question to a warden; an intent goes with all but `Ask.HERE`."""

    ask: Ask
    intent: Intent | None = None


@dataclass(frozen=True)
class WardenReply:
    """Its answer, and why."""

    said: WardenWord
    why: str = ""


def packed(message: WardenRequest | WardenReply) -> bytes:
    """Return a message as a line. Raises ParameterError for one that is too long."""
    if isinstance(message, WardenRequest):
        intent = None if message.intent is None else message.intent.to_json()
        told: dict[str, Any] = {"ask": str(message.ask), "intent": intent}
    else:
        told = {"said": str(message.said), "why": message.why[:1000]}
    line = canonical({**told, "version": VERSION}).encode("ascii") + b"\n"
    if len(line) > LONGEST:
        raise ParameterError("message", len(line), f"at most {LONGEST} bytes")
    return line


def request_of(line: bytes) -> WardenRequest:
    """Return the question of a line. Raises ParameterError for anything else."""
    told = _told(line, {"ask", "intent", "version"})
    if told["ask"] not in list(Ask) or (told["intent"] is None) != (told["ask"] == Ask.HERE):
        raise ParameterError("ask", str(told["ask"])[:80], ", ".join(Ask) + ", with an intent")
    intent = None if told["intent"] is None else Intent.from_json(told["intent"])
    return WardenRequest(Ask(told["ask"]), intent)


def reply_of(line: bytes) -> WardenReply:
    """Return the answer of a line. Raises ParameterError for anything else."""
    told = _told(line, {"said", "why", "version"})
    if told["said"] not in list(WardenWord) or not isinstance(told["why"], str):
        raise ParameterError("said", str(told["said"])[:80], ", ".join(WardenWord))
    return WardenReply(WardenWord(told["said"]), told["why"])


def _told(line: bytes, names: set[str]) -> dict[str, Any]:
    """Return the object of a line with just these names, in our version."""
    try:
        told = json_of(line)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or set(told) != names:
        raise ParameterError("message", str(line[:80]), "an object of " + ", ".join(sorted(names)))
    if told["version"] != VERSION:
        raise ParameterError("version", str(told["version"])[:20], f"{VERSION}")
    return told


def read_line(link: socket.socket, seconds: float) -> bytes:
    """Return a line from a socket; it has to be whole in so many seconds.

    Raises TimeoutError where it is not, ParameterError where it is too long, ConnectionError where
    the other side ended before.
    """
    until = time.monotonic() + seconds
    line = b""
    while not line.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no complete message in time")
        link.settimeout(left)
        more = link.recv(min(4096, LONGEST + 1 - len(line)))
        if not more:
            raise ConnectionError("the other side ended within a message")
        line += more
        if len(line) > LONGEST:
            raise ParameterError("message", f"{len(line)} bytes", f"at most {LONGEST} bytes")
    return line


def peer_user(link: socket.socket) -> int:
    """Return the user id of the process at the other end of a Unix socket, as the kernel says."""
    told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(told)[1])
