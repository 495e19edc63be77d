"""Programs that are kept alive by checkpoints: which of them runs where, and what became of each.

Whoever runs a program holds a lease of its name, and gives signs of life. A lease is taken by
writing down that one asks for it, and looking: where anybody else is there, one steps back. Of two
who ask at once each sees the other, or was seen. Whether another one lives is told by its signs
changing, not by its clock.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final

from forestall.core.files.held import Held
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.units import MAX_SECONDS
from forestall.vaults import keys
from forestall.vaults.hosts.host import HostError
from forestall.vaults.machine import MOST_PID, is_gone, process_space
from forestall.vaults.repository import Vault

LIFE: Final = 30.0
"""s without a sign of life after which a run counts as dead."""
LONGEST: Final = float(MAX_SECONDS)
"""s that a sign of life may ask to be waited for."""
BEATS: Final = 3
"""Signs of life in that time."""
TRIES: Final = 5
"""Times that two who ask at once step back before both give up."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class RunBusyError(InputError):
    """A name that another one runs."""


def checked_name(name: str) -> str:
    """Return the name of a run; ParameterError where it is none."""
    if not NAME.fullmatch(name):
        allowed = "at most 60 letters, digits, dots, underscores and hyphens"
        raise ParameterError("name", name, allowed)
    return name


@dataclass(frozen=True)
class RunHistory:
    """What became of a run so far.

    Attributes
    ----------
    words : its command line
    starts, evictions : how often it was started, and ended by something other than itself
    ran, lost, still : s that it ran in all, s of them that had to be run again, s that it stood
        still for saves
    saves, read, stored : checkpoints, bytes in them, and bytes stored for them, parity included
    code : with which it finished; None: it has not
    last : the newest checkpoint, which need not be that of the latest time: clocks differ
    written : how often this was written down; of two copies the one with more is the newer
    """

    words: tuple[str, ...] = ()
    starts: int = 0
    evictions: int = 0
    ran: float = 0.0
    lost: float = 0.0
    still: float = 0.0
    saves: int = 0
    read: int = 0
    stored: int = 0
    code: int | None = None
    last: str = ""
    written: int = 0


def read_history(vault: Vault, name: str) -> RunHistory:
    """Return what became of a run; of one that nobody knows, nothing did."""
    key = f"{keys.RUNS}{name}/history"
    there, _ = vault.pool.keys(f"{keys.RUNS}{name}/")
    found = vault.told_copies(key, _history) if key in there else []
    return max(found, key=lambda one: one.written, default=RunHistory())


def _history(held: Held) -> RunHistory:
    last, seconds = held.text("last"), partial(held.number, least=0.0, most=float(MAX_SECONDS))
    counted = partial(held.whole, least=0, most=2**63 - 1)
    return RunHistory(
        held.texts("words"), counted("starts"), counted("evictions"), seconds("ran"),
        seconds("lost"), seconds("still"), counted("saves"), counted("read"), counted("stored"),
        None if held.value("code") is None else held.whole("code"),
        held.hold("last", not last or keys.SAVE.fullmatch(last) is not None, "a save").text("last"),
        counted("written") if "written" in held.values else 0,
    )  # fmt: skip


def write_history(vault: Vault, name: str, history: RunHistory) -> None:
    """Write down what became of a run. Raises HostError."""
    vault.put_told(f"{keys.RUNS}{name}/history", asdict(history) | {"words": list(history.words)})


@dataclass(frozen=True)
class Sign:
    """A sign of life of whoever runs a program.

    Attributes
    ----------
    host, pid, place : where, and where that number means this process
    held : whether it has the lease, or only asks for it
    life : s without another sign after which it counts as dead
    count : of signs; another one is another sign
    ran : s that the program ran in all, when it was given
    """

    host: str = field(default_factory=lambda: os.uname().nodename)
    pid: int = field(default_factory=os.getpid)
    place: str = field(default_factory=process_space)
    held: bool = False
    life: float = LIFE
    count: int = 0
    ran: float = 0.0


def look_at_run(vault: Vault, name: str) -> tuple[RunHistory, Sign | None]:
    """Return what became of a run, and the latest sign of life of whoever runs it; None where
    nobody does."""
    prefix = f"{keys.RUNS}{checked_name(name)}/lease-"
    there, _ = vault.pool.keys(prefix)
    signs = [sign for key in there if (sign := _sign_at(vault, key)) is not None and sign.held]
    last = max(signs, key=lambda sign: sign.ran) if signs else None
    return read_history(vault, name), last


def _sign_at(vault: Vault, key: str) -> Sign | None:
    """Return the latest sign of life; None where it went meanwhile, or is none."""
    return max(vault.told_copies(key, _sign), key=lambda one: one.count, default=None)


def _sign(held: Held) -> Sign:
    return Sign(
        held.text("host"), held.whole("pid", 1, MOST_PID), held.text("place"), held.flag("held"),
        held.number("life", 0.0, LONGEST, above=True), held.whole("count", 0),
        held.number("ran", 0.0),
    )  # fmt: skip


class RunLease:
    """The right to run a program; released by `close`.

    Parameters
    ----------
    vault : where it is written down
    name : of the run
    life : s without a sign after which it is anybody's
    ran : is asked, at each sign, how long the program ran in all
    """

    def __init__(
        self, vault: Vault, name: str, life: float = LIFE, ran: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.vault, self.name, self.life = vault, checked_name(name), life
        self.lost = threading.Event()
        self.left_at: float | None = None  # s that the dead one before had run
        self._ran = ran
        self._folder = f"{keys.RUNS}{self.name}/"
        self._key = f"{self._folder}lease-{secrets.token_hex(8)}"
        self._count, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="run-lease", daemon=True)

    def take(self, tell: Callable[[str], None] = lambda line: None) -> None:
        """Take the lease; wait as long as it takes to see that another one is dead. Raises
        RunBusyError where it is not, HostError where too few storage hosts answer."""
        for _ in range(TRIES):
            self._say(held=False)
            try:
                others = self._others()
                if not others:
                    self._say(held=True)
                    self._thread.start()
                    return
            except BaseException:
                self._withdraw()
                raise
            self._withdraw()
            self._outwait(others, tell)
        raise RunBusyError(f"several processes try to run {self.name} at once; start only one")

    def close(self) -> None:
        """Let go of it."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self.lost.is_set():
            self._withdraw()

    def check(self) -> bool:
        """Return whether it is still held; where nobody can be asked, it is taken for held."""
        there, wrong = self.vault.pool.keys(self._folder)
        if self._key not in there and len(wrong) <= len(self.vault.pool.hosts) // 2:
            self.lost.set()
        return not self.lost.is_set()

    def _withdraw(self) -> None:
        self.vault.pool.delete_everywhere(self._key)

    def _say(self, *, held: bool) -> None:
        self._count += 1
        sign = Sign(held=held, life=self.life, count=self._count, ran=self._ran())
        self.vault.put_told(self._key, asdict(sign))

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._over.wait(self.life / BEATS):
            with suppress(HostError):
                if not self.check():
                    return
                self._say(held=True)
                late, last = time.monotonic() - last > self.life, time.monotonic()
                if late and any(sign.held for sign in self._others().values()):
                    self._withdraw()  # it was taken between the look and the sign
                    self.lost.set()
                    return

    def _others(self) -> dict[str, Sign]:
        there, wrong = self.vault.pool.keys(self._folder)
        if len(self.vault.pool.hosts) - len(wrong) < self.vault.majority:
            raise next(iter(wrong.values()))
        found = {}
        for key in there:
            if key != self._key and key.startswith(f"{self._folder}lease-"):
                sign = _sign_at(self.vault, key)
                if sign is not None:
                    found[key] = sign
        return found

    def _outwait(self, others: dict[str, Sign], tell: Callable[[str], None]) -> None:
        """Wait until the others are gone or dead. Raises RunBusyError where one lives."""
        for key, sign in others.items():
            begun = time.monotonic()
            if not sign.held:
                time.sleep(0.05 + secrets.randbelow(1000) / 2000)
            elif not is_gone(sign.place, sign.pid):
                where = f"{sign.host} (process {sign.pid})"
                tell(f"{self.name} ran on {where}; waiting for up to {sign.life:.0f} s to see "
                     "whether it still does")  # fmt: skip
            while not is_gone(sign.place, sign.pid) and time.monotonic() - begun < sign.life:
                now = _sign_at(self.vault, key)
                if now is None:
                    break
                if now.count != sign.count:
                    if sign.held:
                        raise RunBusyError(f"{self.name} runs on {sign.host} (process {sign.pid})")
                    sign = now
                    break  # it got what it asked for, as will be seen
                time.sleep(min(0.2, sign.life / 20))
            else:
                self.left_at = max(self.left_at or 0.0, sign.ran)
                self.vault.pool.delete_everywhere(key)
