"""Live migration between two QEMU processes: memory is copied while the guest runs, then it is
handed over.

The target does not let the guest run when it has it all; it is told to, once both sides say that
nothing is missing. So whatever breaks, and whenever, the guest runs in one place at most, and as
long as its source lives it goes on there.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from forestall.adapters.qemu.guest import MIB
from forestall.adapters.qemu.monitor import Monitor, MonitorError, RefusedError
from forestall.adapters.qemu.process import Run, end
from forestall.live.backend import Moved, MoveError, Why

INCOMING: Final = "incoming.sock"
_CAPABILITIES: Final = ("events", "return-path")
"""With a return path the source hears from the target whether all arrived, before it lets go."""
_BUSY: Final = ("setup", "active", "device", "pre-switchover", "wait-unplug", "cancelling")
_STANDS: Final = ("paused", "postmigrate", "prelaunch")
_UNLIKE: Final = ("mismatch", "Unknown ramblock", "unsupported", "Unknown savevm section")
_LOOKS: Final = 0.1
"""Seconds between two looks; the end of a migration is told at once."""
_BEGUN: Final = 64 * 1024
"""Bytes sent that show that somebody takes them: more than a socket holds before it is read."""
_COMPLAINING: Final = 2.0
_SETTLING: Final = 20.0
"""Seconds that QEMU may take to come to rest after a migration was cancelled or broke."""


@dataclass(frozen=True)
class Transfer:
    """How memory travels.

    Attributes
    ----------
    link : ``unix`` for a socket in the target's folder, ``tcp`` for a port of 127.0.0.1
    bandwidth : bytes a second at most
    downtime_limit : ms that the last part may take while the guest stands still; QEMU goes on
        copying until it expects to keep it
    timeout : seconds after which a migration is given up
    """

    link: Literal["unix", "tcp"] = "unix"
    bandwidth: int = 1024 * MIB
    downtime_limit: int = 300
    timeout: float = 120.0


@dataclass(frozen=True)
class Progress:
    """What ``query-migrate`` says.

    Attributes
    ----------
    status : QEMU's word, such as ``active``, ``completed``, ``failed``; ``none`` before the first
    error : what QEMU says went wrong
    total_ms, downtime_ms : durations; 0 where not told
    transferred, total, remaining : bytes of memory
    dirty_rate : pages that the guest changes a second
    rounds : passes over its memory
    """

    status: str
    error: str = ""
    total_ms: int = 0
    downtime_ms: int = 0
    transferred: int = 0
    total: int = 0
    remaining: int = 0
    dirty_rate: int = 0
    rounds: int = 0

    @property
    def over(self) -> bool:
        """Whether nothing is going on (any more)."""
        return self.status not in _BUSY


def parse_progress(answer: Mapping[str, Any]) -> Progress:
    """Return what the answer to ``query-migrate`` says; what is not told is 0.

    >>> parse_progress({"status": "active", "ram": {"dirty-sync-count": 2}}).rounds
    2
    """
    ram = answer.get("ram", {})
    return Progress(
        status=str(answer.get("status", "none")),
        error=str(answer.get("error-desc", "")),
        total_ms=int(answer.get("total-time", 0)),
        downtime_ms=int(answer.get("downtime", 0)),
        transferred=int(ram.get("transferred", 0)),
        total=int(ram.get("total", 0)),
        remaining=int(ram.get("remaining", 0)),
        dirty_rate=int(ram.get("dirty-pages-rate", 0)),
        rounds=int(ram.get("dirty-sync-count", 0)),
    )


def progress(monitor: Monitor) -> Progress:
    """Return how far the migration is, on either side."""
    return parse_progress(monitor.ask("query-migrate"))


def listen(target: Monitor, run: Run, transfer: Transfer) -> str:
    """Make a target listen and return where, as the source takes it. Raises RefusedError."""
    _prepare(target)
    if transfer.link == "unix":
        target.ask("migrate-incoming", uri=f"unix:{INCOMING}")
        return f"unix:/proc/{run.pid()}/cwd/{INCOMING}"
    target.ask("migrate-incoming", uri="tcp:127.0.0.1:0")
    (address,) = target.ask("query-migrate")["socket-address"]
    return f"tcp:{address['host']}:{address['port']}"


def _prepare(monitor: Monitor) -> None:
    wanted = [{"capability": name, "state": True} for name in _CAPABILITIES]
    monitor.ask("migrate-set-capabilities", capabilities=wanted)


def hand_over(
    source: Run,
    target: Run,
    transfer: Transfer,
    via: Callable[[str], str] = lambda uri: uri,
) -> Moved:
    """Move the guest of one process to another one, which waits for it; ends what is left over.

    Parameters
    ----------
    source, target : both there, the target started with `incoming`
    transfer : how memory travels
    via : what the source connects to, for where the target listens, such as the mouth of a tunnel

    Raises MoveError where it did not come off: the target is gone then, and the guest goes on at
    its source if that lives.
    """
    begin = time.monotonic()
    try:
        if not target.alive():
            raise _FailedError(Why.REFUSED, f"QEMU on {target.node} is not there")
        with source.monitor() as here, target.monitor() as there:
            done = _carry_out(_Sides(source, target, here, there), transfer, via)
            gap = _gap(here, there)
    except _FailedError as failed:
        why, message = failed.why, failed.message
    except (MonitorError, RefusedError) as error:
        why, message = _blamed(source, target, str(error))
    except BaseException:  # above all Ctrl-C
        settle(source, target)
        raise
    else:
        end(source)
        return Moved(
            source.machine,
            source.node,
            target.node,
            seconds=time.monotonic() - begin,
            gap=gap,
            reported=done.downtime_ms / 1000,
            transferred=done.transferred,
            rounds=done.rounds,
        )
    alive = settle(source, target)
    raise MoveError(source.machine, why, message, alive=alive)


def settle(source: Run, target: Run) -> bool:
    """End a target that did not get its guest, and let that go on at its source; returns whether
    it does.

    The target goes first: with it a link that hangs is cut, which the source may be waiting for.
    """
    end(target, ask=False, grace=1.0)
    late = time.monotonic() + _SETTLING
    with contextlib.suppress(MonitorError), source.monitor() as here:
        while time.monotonic() < late:
            with contextlib.suppress(RefusedError):  # it may come to rest between two questions
                if not progress(here).over:
                    here.ask("migrate_cancel")
                status = here.ask("query-status")["status"]
                if status == "running":
                    return True
                if status in _STANDS:
                    here.ask("cont")
            here.wait(_LOOKS)
    return False


class _FailedError(Exception):
    def __init__(self, why: Why, message: str) -> None:
        self.why = why
        self.message = message


@dataclass(frozen=True)
class _Sides:
    source: Run
    target: Run
    here: Monitor
    there: Monitor


def _carry_out(sides: _Sides, transfer: Transfer, via: Callable[[str], str]) -> Progress:
    """Copy and hand over; returns what the source says of it."""
    here, there = sides.here, sides.there
    status = here.ask("query-status")["status"]
    if status != "running":
        raise _FailedError(Why.REFUSED, f"its guest is not running at the source ({status})")
    if not progress(here).over:
        raise _FailedError(Why.REFUSED, "it is on its way already")
    _prepare(here)
    here.ask(
        "migrate-set-parameters",
        max_bandwidth=transfer.bandwidth,
        downtime_limit=transfer.downtime_limit,
    )
    try:
        uri = listen(there, sides.target, transfer)
        here.ask("migrate", uri=via(uri))
    except RefusedError as error:
        raise _FailedError(Why.REFUSED, str(error)) from None
    done = _copied(sides, transfer.timeout)
    there.ask("cont")
    late = time.monotonic() + _SETTLING
    while there.ask("query-status")["status"] != "running":
        if time.monotonic() > late:
            raise _FailedError(Why.BROKEN, "the target has the guest, but does not let it run")
        there.wait(_LOOKS)
    return done


def _copied(sides: _Sides, timeout: float) -> Progress:
    """Wait until the target has all; returns what the source said last."""
    late = time.monotonic() + timeout
    begun = False
    try:
        while not (seen := progress(sides.here)).over:
            begun = begun or seen.transferred > _BEGUN
            if time.monotonic() > late:
                share = f"{seen.transferred // MIB} of {seen.total // MIB} MiB sent"
                raise _FailedError(Why.TIMEOUT, f"not done after {timeout:g} s ({share})")
            sides.here.wait(_LOOKS)
    except MonitorError:
        if sides.source.alive() or not _arrived(sides):
            raise
        return Progress("completed")  # the source died just after its guest had left
    if seen.status == "completed":
        return seen
    if seen.status == "cancelled":
        raise _FailedError(Why.CANCELLED, "someone cancelled it")
    raise _FailedError(*_blamed(sides.source, sides.target, seen.error, begun=begun))


def _arrived(sides: _Sides) -> bool:
    """Return whether the target has all of a guest whose source is gone."""
    late = time.monotonic() + _SETTLING
    try:
        while not (seen := progress(sides.there)).over and time.monotonic() < late:
            sides.there.wait(_LOOKS)
    except (MonitorError, RefusedError):
        return False
    return seen.status == "completed"


def _blamed(source: Run, target: Run, told: str, *, begun: bool = True) -> tuple[Why, str]:
    """Return what kind of failure it was, and the plainest account of it.

    A target that did not get all ends by itself, and says why; so that is waited for.
    """
    if not source.alive():
        return Why.LOST, f"QEMU on {source.node} ended half-way, and the guest with it"
    late = time.monotonic() + _COMPLAINING
    while target.alive() and time.monotonic() < late:
        time.sleep(0.01)
    words = target.complaint()
    if any(word in words for word in _UNLIKE):
        return Why.REFUSED, f"the target is not like the source: {words}"
    if not begun:
        return Why.REFUSED, f"the target takes no guest: {told}"
    if not words and not target.alive():
        return Why.BROKEN, f"QEMU on {target.node} ended half-way"
    return Why.BROKEN, f"the link broke: {told}" if told else "the link broke"


def _gap(here: Monitor, there: Monitor) -> float:
    """Return the seconds from the guest's last stop at the source to its start at the target."""
    stops = [event.at for event in here.events() if event.name == "STOP"]
    starts = [event.at for event in there.events() if event.name == "RESUME"]
    return starts[-1] - stops[-1] if stops and starts else math.nan
