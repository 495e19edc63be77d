"""Live migration between two QEMU processes: memory is copied while the guest runs, then it is
handed over.

The target does not let the guest run when it has it all; it is told to, once both sides say that
nothing is missing. So whatever breaks, and whenever, the guest runs in one place at most. Until the
target is told, the guest goes on at its source if anything goes wrong; from then on it may run at
the target, and there is only forward.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from forestall.core.model.errors import ForestallError
from forestall.machines.acting.backend import Moved, MoveError, Why
from forestall.machines.adapters.qemu.monitor import Monitor, MonitorError, RefusedError
from forestall.machines.adapters.qemu.process import Run, end
from forestall.machines.adapters.qemu.relay import Relay
from forestall.vaults.adapters.qemu_guest import MIB

INCOMING: Final = "incoming.sock"
_RELAY: Final = "relay.sock"
_CAPABILITIES: Final = ("events", "return-path")
"""With a return path the source hears from the target whether all arrived, before it lets go."""
_BUSY: Final = ("setup", "active", "device", "pre-switchover", "wait-unplug", "cancelling")
_WAITS: Final = ("inmigrate", "paused", "prelaunch", "postmigrate", "finish-migrate")
_UNLIKE: Final = ("mismatch", "Unknown ramblock", "unsupported", "Unknown savevm section")
_LOOKS: Final = 0.1
"""Seconds between two looks; the end of a migration is told at once."""
_BEGUN: Final = MIB
"""Bytes sent that show that somebody takes them: more than sockets hold before they are read."""
_COMPLAINING: Final = 2.0
_SILENT: Final = 5.0
"""Seconds after which a QEMU that is asked how it fares is taken not to answer."""
_SETTLING: Final = 20.0
"""Seconds that QEMU may take to come to rest after a migration was cancelled or broke."""


@dataclass(frozen=True)
class MemoryTransfer:
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
class MigrationProgress:
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


def parse_progress(answer: Mapping[str, Any]) -> MigrationProgress:
    """Return what the answer to ``query-migrate`` says; what is not told is 0.

    >>> parse_progress({"status": "active", "ram": {"dirty-sync-count": 2}}).rounds
    2
    """
    ram = answer.get("ram", {})
    return MigrationProgress(
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


def progress(monitor: Monitor) -> MigrationProgress:
    """Return how far the migration is, on either side."""
    return parse_progress(monitor.ask("query-migrate"))


def listen(target: Monitor, run: Run, transfer: MemoryTransfer) -> str:
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
    transfer: MemoryTransfer,
    via: Callable[[str], str] = lambda uri: uri,
) -> Moved:
    """Move the guest of one process to another one, which waits for it; ends what is left over.

    Parameters
    ----------
    source, target : both there, the target started with `incoming`
    transfer : how memory travels
    via : what the source connects to, for where the target listens, such as the mouth of a tunnel

    Raises MoveError where it did not come off: the target is gone then, and the guest goes on at
    its source if that lives. An interrupt is raised again once the guest is in one place.
    """
    begin = time.monotonic()
    steps = _MigrationSteps()
    try:
        with source.monitor() as here:
            if reason := _not_ready(here):
                raise _FailedError(Why.REFUSED, reason)
            if not target.alive():
                raise _FailedError(
                    Why.REFUSED, f"QEMU on {target.node} is not running", target=True
                )
            with target.monitor() as there:
                done = _carry_out(_Sides(source, target, here, there), transfer, via, steps)
                gap = _gap(here, there)
        end(source)
    except _FailedError as error:
        failed = error
    except (MonitorError, RefusedError) as error:
        failed = _blamed(source, target, str(error), cut=False)
    except BaseException:  # above all Ctrl-C
        _put_in_order(source, target, steps)
        raise
    else:
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
    fate = _put_in_order(source, target, steps)
    alive = source.alive()
    raise MoveError(
        source.machine,
        failed.why,
        failed.message,
        alive=alive,
        blames_target=failed.target,
        fate=fate if alive else "",
    )


def not_ready(source: Run) -> str:
    """Return why the guest of a process cannot move now; empty where it can."""
    try:
        with source.monitor(look=True, patience=_SILENT) as here:
            return _not_ready(here)
    except (MonitorError, RefusedError) as error:
        return str(error)


def _not_ready(here: Monitor) -> str:
    status = here.ask("query-status")["status"]
    if status != "running":
        return f"its guest is not running at the source ({status})"
    return "" if progress(here).over else "it is already migrating"


def settle(source: Run, target: Run) -> bool:
    """End a target that did not get its guest, and let that go on at its source if it stands still
    for its sake; returns whether it is known to be there.

    The target goes first: with it a link that hangs is cut, which the source may be waiting for.
    """
    end(target, ask=False, grace=1.0)
    late = time.monotonic() + _SETTLING
    status = ""
    with contextlib.suppress(MonitorError), source.monitor(patience=_SILENT) as here:
        while time.monotonic() < late:
            with contextlib.suppress(RefusedError):  # it may come to rest between two questions
                over = progress(here).over
                if not over:
                    here.ask("migrate_cancel")
                status = here.ask("query-status")["status"]
                if status == "postmigrate":
                    here.ask("cont")
                elif over and status != "finish-migrate":
                    return True
            here.wait(_LOOKS)
    return status == "running"


def waits(status: str) -> bool:
    """Return whether a target of that status was not let run so far."""
    return status in _WAITS


@dataclass
class _MigrationSteps:
    """How far a migration has come, which says where the guest may be.

    Attributes
    ----------
    begun : the source was told to send
    told : the target was told to let the guest run, or may have been
    ran : it said that it does
    """

    begun: bool = False
    told: bool = False
    ran: bool = False


def _put_in_order(source: Run, target: Run, steps: _MigrationSteps) -> str:
    """See to it that the guest is in one place, after something went wrong; returns its fate in
    words where that is not plain."""
    if steps.told and (steps.ran or target.alive()):
        with contextlib.suppress(ForestallError), target.monitor(patience=_SILENT) as there:
            there.ask("cont")  # it may not have come to hear it
        end(source)
        return ""
    if not steps.begun:
        end(target, ask=False, grace=1.0)
        return "" if source.status(_SILENT) == "running" else "it stays as it was"
    return "" if settle(source, target) else f"QEMU on {source.node} does not say whether it runs"


class _FailedError(Exception):
    def __init__(self, why: Why, message: str, *, target: bool = False) -> None:
        self.why = why
        self.message = message
        self.target = target


@dataclass(frozen=True)
class _Sides:
    source: Run
    target: Run
    here: Monitor
    there: Monitor


def _carry_out(
    sides: _Sides, transfer: MemoryTransfer, via: Callable[[str], str], steps: _MigrationSteps
) -> MigrationProgress:
    """Copy and hand over; returns what the source says of it."""
    here, there = sides.here, sides.there
    _prepare(here)
    here.ask(
        "migrate-set-parameters",
        max_bandwidth=transfer.bandwidth,
        downtime_limit=transfer.downtime_limit,
    )
    path = f"/proc/{sides.target.pid()}/cwd/{_RELAY}"
    try:
        relay = Relay(path, via(listen(there, sides.target, transfer)))
    except RefusedError as error:
        raise _FailedError(Why.REFUSED, str(error), target=True) from None
    except OSError as error:
        told = f"the target does not listen: {error.strerror or error}"
        raise _FailedError(Why.REFUSED, told, target=True) from None
    with relay:
        steps.begun = True
        try:
            here.ask("migrate", uri=relay.uri)
        except RefusedError as error:
            raise _FailedError(Why.REFUSED, str(error)) from None
        done = _copied(sides, transfer.timeout)
        _let_run(sides, steps)
    if not done.downtime_ms:  # it is told a moment after the guest has left
        with contextlib.suppress(MonitorError, RefusedError):
            last = progress(here)
            done = last if last.status == "completed" else done
    return done


def _let_run(sides: _Sides, steps: _MigrationSteps) -> None:
    """Tell the target to let the guest run, and wait until it says that it does.

    One that lives, but does not answer any more, may run it; so it has it.
    """
    there = sides.there
    there.ask("query-status")  # one that is gone, or hangs, by now was never told
    steps.told = True
    try:
        there.ask("cont")
        steps.ran = True
        late = time.monotonic() + _SETTLING
        while waits(there.ask("query-status")["status"]) and time.monotonic() < late:
            there.wait(_LOOKS)
    except RefusedError as error:
        steps.told = False
        told = f"the target does not start it: {error}"
        raise _FailedError(Why.BROKEN, told, target=True) from None
    except MonitorError:
        if _lasts(sides.target):
            return
        if not steps.ran:
            raise
        told = f"QEMU on {sides.target.node} ended as soon as it had the guest"
        raise _FailedError(Why.LOST, told, target=True) from None


def _lasts(run: Run) -> bool:
    """Return whether a process stays; one that ends may take a moment for it."""
    late = time.monotonic() + _COMPLAINING
    while run.alive():
        if time.monotonic() > late:
            return True
        time.sleep(0.01)
    return False


def _copied(sides: _Sides, timeout: float) -> MigrationProgress:
    """Wait until the target has all; returns what the source said last."""
    late = time.monotonic() + timeout
    begun = False
    try:
        while not (seen := progress(sides.here)).over:
            begun = begun or seen.transferred > _BEGUN
            if time.monotonic() > late:
                share = f"{seen.transferred // MIB} of {seen.total // MIB} MiB sent"
                hangs = not sides.target.status(1.0)
                told = f"not done after {timeout:g} s ({share})"
                raise _FailedError(Why.TIMEOUT, told, target=hangs)
            sides.here.wait(_LOOKS)
    except MonitorError:
        if sides.source.alive() or not _arrived(sides):
            raise
        return MigrationProgress("completed")  # the source died just after its guest had left
    if seen.status == "completed":
        return seen
    if seen.status == "cancelled":
        raise _FailedError(Why.CANCELLED, "someone canceled it")
    raise _blamed(sides.source, sides.target, seen.error, begun=begun)


def _arrived(sides: _Sides) -> bool:
    """Return whether the target has all of a guest whose source is gone."""
    late = time.monotonic() + _SETTLING
    try:
        while not (seen := progress(sides.there)).over and time.monotonic() < late:
            sides.there.wait(_LOOKS)
    except (MonitorError, RefusedError):
        return False
    return seen.status == "completed"


def _blamed(
    source: Run, target: Run, told: str, *, begun: bool = True, cut: bool = True
) -> _FailedError:
    """Return what kind of failure it was, the plainest account of it, and whose fault.

    A target that did not get all ends by itself, and says why; so that is waited for. `cut` tells
    that a link broke rather than that a question was not answered.
    """
    if not source.alive():
        return _FailedError(Why.LOST, f"QEMU on {source.node} ended midway, and the guest with it")
    hangs = _lasts(target) and not target.status(1.0)
    words = target.complaint()
    if any(word in words for word in _UNLIKE):
        told = f"the target differs from the source: {words}"
        return _FailedError(Why.REFUSED, told, target=True)
    if not begun:
        return _FailedError(
            Why.REFUSED, f"the target does not accept the guest: {told}", target=True
        )
    if not words and not target.alive():
        return _FailedError(Why.BROKEN, f"QEMU on {target.node} ended midway", target=True)
    if cut:
        told = f"the link broke: {told}" if told else "the link broke"
    return _FailedError(Why.BROKEN, told, target=hangs)


def _gap(here: Monitor, there: Monitor) -> float:
    """Return the seconds from the guest's last stop at the source to its start at the target."""
    stops = [event.at for event in here.events() if event.name == "STOP"]
    starts = [event.at for event in there.events() if event.name == "RESUME"]
    return starts[-1] - stops[-1] if stops and starts else math.nan
