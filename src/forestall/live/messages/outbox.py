"""What is told when: things of one cause together, seldom, and each once.

The clock is an argument, so that this can be tested without waiting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.core.show.clean import clean
from forestall.core.show.words import counted
from forestall.live.messages.settings import MessageSettings

SHOWN: Final = 20
"""Things of one cause that a message names; of others it says how many there are."""
MOST: Final = 10_000
"""Things of one cause that are remembered."""


class Notice(NamedTuple):
    """Something that people should know.

    Attributes
    ----------
    cause : what brought it about, in words: all things of one cause are one message
    item : what it is that happened, by a name: told once
    line : what is said of it
    """

    cause: str
    item: str
    line: str


class Message(NamedTuple):
    """A message: one line, and plain text."""

    subject: str
    text: str


@dataclass
class _Cause:
    """What is known of a cause: things that wait, when things were told, and how often they came
    again meanwhile."""

    waiting: dict[str, str] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    again: int = 0


class Outbox:
    """Gathers notices, and says when a message is due."""

    def __init__(self, settings: MessageSettings) -> None:
        self._settings = settings
        self._causes: dict[str, _Cause] = {}
        self._since: float | None = None
        self._sent: float | None = None

    def add(self, notices: Iterable[Notice], now: float) -> None:
        """Take notices in; what was told a short while ago is counted, and not told again."""
        self._forget(now)
        for cause, item, line in notices:
            known = self._causes.setdefault(cause, _Cause())
            if item in known.told or item in known.waiting:
                known.again += item in known.told
                continue
            if len(known.waiting) >= MOST:
                continue
            known.waiting[item] = line
            if self._since is None:
                self._since = now

    def due(self, now: float) -> Message | None:
        """Return the message that is to be sent now, of all that waits; None: it is not time."""
        settings = self._settings
        if self._since is None or now < self._since + settings.gather:
            return None
        if self._sent is not None and now < self._sent + settings.every:
            return None
        waiting = {cause: one for cause, one in self._causes.items() if one.waiting}
        message = self._written(waiting)
        for one in waiting.values():
            one.told |= dict.fromkeys(one.waiting, now)
            one.told = dict(list(one.told.items())[-MOST:])
            one.waiting, one.again = {}, 0
        self._since, self._sent = None, now
        return message

    def _written(self, causes: dict[str, _Cause]) -> Message:
        first = next(iter(causes))
        count = len(causes[first].waiting)
        subject = f"{self._settings.site}: {clean(first)}"
        subject += f" ({count})" if count > 1 else ""
        subject += f"; and {len(causes) - 1} more" if len(causes) > 1 else ""
        return Message(subject, "\n".join(_paragraph(cause, one) for cause, one in causes.items()))

    def _forget(self, now: float) -> None:
        """Forget what was told so long ago that it may be told again."""
        for cause, one in list(self._causes.items()):
            one.told = {k: at for k, at in one.told.items() if now < at + self._settings.repeat}
            if not one.told and not one.waiting:
                del self._causes[cause]


def _paragraph(cause: str, one: _Cause) -> str:
    """Return what a message says of a cause."""
    lines = [clean(cause).capitalize() + ":"]
    lines += [f"- {clean(line, 400)}" for line in list(one.waiting.values())[:SHOWN]]
    if len(one.waiting) > SHOWN:
        lines.append(f"- and {len(one.waiting) - SHOWN} more")
    if one.again:
        lines.append(f"(reported before and still true: {counted(one.again, 'time')})")
    return "\n".join(lines) + "\n"
