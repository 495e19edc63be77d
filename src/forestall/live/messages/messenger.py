"""The thread that tells people: it looks, gathers, sends, tries again. No cycle waits for it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from forestall.core.model.errors import ForestallError
from forestall.live.messages.outbox import Message, Notice, Outbox
from forestall.live.messages.settings import MessageSettings
from forestall.live.messages.ways import NotSentError, Way

LOOK: Final = 30.0
"""s between two looks at the desk."""
FIRST_TRY: Final = 30.0
LONGEST_TRY: Final = 3600.0
"""s until a message is tried again, at first and at most; each time twice as long."""
MOST: Final = 100
"""Messages that wait to be sent; the oldest are given up for new ones."""


@dataclass
class _Delivery:
    """A message on one of its ways: since when, how often it was tried, and when it is next."""

    way: Way
    message: Message
    since: float
    tries: int = 0
    next: float = 0.0


class Messenger:
    """Tells people what a look finds.

    Parameters
    ----------
    look : returns what there is to tell (`forestall.live.messages.watch.DeskWatch.look`)
    ways : by which it is told
    say : told in a line what could not be done, for the log
    clock : s, of any origin
    """

    def __init__(
        self,
        look: Callable[[], Sequence[Notice]],
        ways: Sequence[Way],
        settings: MessageSettings,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._ways, self._settings = look, tuple(ways), settings
        self._say, self._clock = say, clock
        self._outbox = Outbox(settings)
        self._waiting: list[_Delivery] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._trouble = ""
        self.counts: Counter[tuple[str, str]] = Counter()

    def told(self) -> Mapping[tuple[str, str], int]:
        """How many messages were ``sent``, ``failed`` for a while or were ``given up``, by way."""
        return dict(self.counts)

    def start(self) -> None:
        """Begin, in a thread of its own; without a way by which to tell there is nothing to do."""
        if not self._ways:
            return
        self._thread = threading.Thread(target=self._run, name="forestall-messages", daemon=True)
        self._thread.start()

    def close(self, wait: float = 5.0) -> None:
        """End; what is being sent has `wait` s for it."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(wait)

    def step(self) -> None:
        """Look once, and send what is due."""
        now = self._clock()
        try:
            self._outbox.add(self._look(), now)
            self._trouble = ""
        except ForestallError as error:
            if str(error) != self._trouble:  # said once, not each time
                self._trouble = str(error)
                self._say(f"messages: {error}")
        message = self._outbox.due(now)
        if message is not None:
            self._waiting += [_Delivery(way, message, now) for way in self._ways]
        for lost in self._waiting[:-MOST]:
            self._give_up(lost, "too many wait")
        self._waiting = self._waiting[-MOST:]
        self._waiting = [one for one in self._waiting if not self._is_done(one)]

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.step()
            except Exception as error:
                self._say(f"messages: {type(error).__name__}")
            self._ended.wait(LOOK)

    def _is_done(self, one: _Delivery) -> bool:
        """Send a message where it is time to, and return whether that is over."""
        now = self._clock()
        if now < one.next or self._ended.is_set():
            return False
        try:
            one.way.send(one.message)
        except NotSentError as error:
            one.tries += 1
            self.counts[one.way.name, "failed"] += 1
            if now - one.since >= self._settings.give_up:
                self._give_up(one, str(error))
                return True
            pause = min(FIRST_TRY * 2.0 ** (one.tries - 1), LONGEST_TRY)
            one.next = now + pause
            self._say(f"messages: {error}; tried again in {pause:.0f} s")
            return False
        self.counts[one.way.name, "sent"] += 1
        return True

    def _give_up(self, one: _Delivery, why: str) -> None:
        self.counts[one.way.name, "given up"] += 1
        self._say(f"messages: given up by {one.way.name} after {one.tries} tries: {why}")
