"""Virtual machines of one folder, on nodes that are names: started, watched, moved and ended.

What is written down is what a machine consists of and which of its runs has the guest; everything
else is asked of the processes, so that a command which was killed half-way leaves no riddle.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.machines.acting.backend import MachineState, Moved, MoveError, SeenMachine, Why
from forestall.machines.adapters.qemu.migration import (
    MemoryTransfer,
    hand_over,
    not_ready,
    progress,
    settle,
    waits,
)
from forestall.machines.adapters.qemu.monitor import MonitorError, RefusedError
from forestall.machines.adapters.qemu.process import Run, end, launch
from forestall.vaults.adapters.qemu_guest import FolderError, Guest, MachineError, checked_name

RECORD: Final = "machine.json"
_LOOK: Final = 5.0
"""Seconds that a look may take where someone else may be connected."""
_SHORT: Final = 1.0
"""The same while there is one that did not answer, so that many of them do not add up."""
_STATES: Final = {
    "running": MachineState.RUNNING,
    "paused": MachineState.PAUSED,
    "prelaunch": MachineState.PAUSED,
    "suspended": MachineState.PAUSED,
    "inmigrate": MachineState.MOVING,
    "postmigrate": MachineState.MOVING,
    "finish-migrate": MachineState.MOVING,
    "shutdown": MachineState.ENDED,
    "internal-error": MachineState.BROKEN,
    "io-error": MachineState.BROKEN,
    "guest-panicked": MachineState.BROKEN,
    "watchdog": MachineState.BROKEN,
}


@dataclass(frozen=True)
class _Record:
    """A machine, the number of the run that has its guest, on which node, and how it ended."""

    guest: Guest
    number: int
    node: str
    fate: str = ""


class QemuBackend:
    """Runs machines as QEMU processes of this user; a `forestall.machines.acting.backend.Backend`.

    Parameters
    ----------
    folder : for machines, a folder each in it
    nodes : names of the nodes there are
    transfer : how memory travels
    wrapper : words before QEMU's command line, such as ``nice``
    """

    def __init__(
        self,
        folder: Path,
        nodes: Collection[str],
        transfer: MemoryTransfer | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        self._folder = folder.resolve()
        self._nodes = tuple(checked_name(node, "node") for node in nodes)
        self._transfer = transfer or MemoryTransfer()
        self._wrapper = tuple(wrapper)
        self._silent: set[Run] = set()

    # ----------------------------------------------------------------------------- asking

    def watch(self) -> list[SeenMachine]:
        """Return all machines, by name, as `look` does."""
        return [self.look(name) for name in self._names()]

    def look(self, machine: str) -> SeenMachine:
        """Return one machine as it is now. Raises ParameterError for an unknown one.

        This acts, too, where no other command is at work on the machine: what a killed command
        left behind is ended or finished, and a process whose guest has switched off is ended.
        """
        record = self._record(machine)
        try:
            with self._locked(machine, wait=0):
                return self._seen(*self._tidied(self._record(machine)))
        except (_BusyError, FolderError):
            record = self._record(machine)
        return self._seen(record, self._status(self._current(record)))

    def guest(self, machine: str) -> Guest:
        """Return what a machine consists of."""
        return self._record(machine).guest

    # ----------------------------------------------------------------------------- acting

    def add(self, guest: Guest, node: str) -> SeenMachine:
        """Start a new machine, or one of that name that does not run any more."""
        guest.checked()
        place = self._place(guest.name)
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise FolderError(guest.name, place, error) from None
        with self._locked(guest.name):
            if (place / RECORD).exists():
                self._none_runs(self._record(guest.name))
            return self._started(guest, self._known(node))

    def start(self, machine: str, node: str) -> SeenMachine:
        """Start a machine afresh that does not run any more."""
        record = self._record(machine)
        with self._locked(machine):
            self._none_runs(record)
            return self._started(record.guest, self._known(node))

    def stop(self, machine: str) -> None:
        """End a machine, wherever it is."""
        self._record(machine)
        with self._locked(machine):
            record = self._record(machine)
            runs = self._runs(machine)
            for run in runs:
                end(run)
            self._write(replace(record, fate=record.fate or _end(runs)))

    def migrate(self, machine: str, node: str, *, expected: str | None = None) -> Moved:
        """Move a running machine to a node. Raises MoveError where that did not come off.

        Where `expected` is given and the machine is not on that node any more, nothing is begun.
        """
        self._record(machine)
        with self._locked(machine):
            record, status = self._tidied(self._record(machine))
            if expected is not None and record.node != expected:
                raise _refused(machine, f"it is not on {expected}, but on {record.node}")
            if self._known(node) == record.node:
                raise ParameterError("node", node, f"another node; {machine} runs there")
            seen = self._seen(record, status)
            if not seen.state.alive:
                raise MachineError(machine, f"is not running ({seen.state}); nothing to move")
            source = self._current(record)
            if reason := not_ready(source):
                raise _refused(machine, reason)
            target = self._run(machine, self._next(machine), node)
            try:
                launch(target, record.guest, incoming=True, wrapper=self._wrapper)
            except MachineError as error:
                at_fault = not isinstance(error, FolderError)
                raise _refused(machine, error.message, fate="", target=at_fault) from None
            try:
                return hand_over(source, target, self._transfer)
            finally:
                if target.alive() and not source.alive():
                    self._adopted(record, target)

    def _started(self, guest: Guest, node: str) -> SeenMachine:
        """Start a guest; it is written down first, so that no process is ever unknown."""
        path = self._place(guest.name) / RECORD
        before = self._record(guest.name) if path.exists() else None
        number = self._next(guest.name)
        record = _Record(guest, number, node)
        self._write(record)
        try:
            launch(self._run(guest.name, number, node), guest, wrapper=self._wrapper)
        except BaseException:
            if before is None:
                path.unlink()
            else:
                self._write(before)
            raise
        return self._seen(record, self._status(self._current(record)))

    def _none_runs(self, record: _Record) -> None:
        if runs := self._runs(record.guest.name):
            raise MachineError(record.guest.name, f"already runs on {runs[-1].node}")

    # ----------------------------------------------------------------------------- what there is

    def _seen(self, record: _Record, status: str) -> SeenMachine:
        """Return what there is, given what QEMU says of the guest."""
        run = self._current(record)
        pid = run.pid()
        if pid:
            state = _STATES.get(status, MachineState.UNKNOWN)
        else:
            state = MachineState(record.fate) if record.fate else MachineState.LOST
        says = status if pid else ""
        return SeenMachine(record.guest.name, record.node, state, str(run.console), pid, says)

    def _status(self, run: Run) -> str:
        """Return QEMU's word for how the guest fares; empty where there is no answer."""
        hurried = any(one.alive() for one in self._silent)
        status = run.status(_SHORT if hurried else _LOOK)
        if status:
            self._silent.discard(run)
        elif run.alive():
            self._silent.add(run)
        return status

    def _tidied(self, record: _Record) -> tuple[_Record, str]:
        """Return the machine's record after what a killed command left behind was put in order,
        and what QEMU says of the guest.

        A second process is a target. Either it has been told to let the guest run, or the source
        has it still; where the source is gone, a target that has all of the guest goes on with it.
        One that does not answer may run the guest, unless the source says that it does: both stay.
        """
        current = self._current(record)
        status = self._status(current)
        for target in [run for run in self._runs(record.guest.name) if run != current]:
            found = self._status(target)
            waiting = waits(found) or (not found and status == "running")
            ran = found and not waiting
            if ran or (waiting and not current.alive() and _has_all(target)):
                end(current)
                record, current = self._adopted(record, target), target
            elif waiting and current.alive():
                settle(current, target)
            elif waiting:
                end(target, ask=False)
            elif not current.alive() and target.alive():
                record = replace(record, number=_number(target.folder), node=target.node)
                return record, ""
            status = self._status(current)
        if status == "shutdown":
            record = replace(record, fate=MachineState.ENDED)
            with contextlib.suppress(ForestallError):  # what is not written down must stay
                self._write(record)
                end(current)
        return record, status

    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob(f"*/{RECORD}"))

    def _place(self, machine: str) -> Path:
        return self._folder / checked_name(machine, "machine")

    def _run(self, machine: str, number: int, node: str) -> Run:
        return Run(
            self._place(machine) / f"{number:03d}.{checked_name(node, 'node')}", machine, node
        )

    def _current(self, record: _Record) -> Run:
        return self._run(record.guest.name, record.number, record.node)

    def _runs(self, machine: str) -> list[Run]:
        """Return the runs of a machine whose process is there, oldest first."""
        folders = sorted(self._place(machine).glob("[0-9]*.*"), key=_number)
        runs = [Run(folder, machine, folder.name.partition(".")[2]) for folder in folders]
        return [run for run in runs if run.alive()]

    def _next(self, machine: str) -> int:
        taken = (_number(folder) for folder in self._place(machine).glob("[0-9]*.*"))
        return max(taken, default=0) + 1

    def _known(self, node: str) -> str:
        if node not in self._nodes:
            raise ParameterError("node", node, f"one of the fleet: {', '.join(self._nodes)}")
        return node

    # ----------------------------------------------------------------------------- written down

    def _record(self, machine: str) -> _Record:
        path = self._place(machine) / RECORD
        try:
            return record_of(_Record, json_of(path.read_bytes()))
        except FileNotFoundError:
            known = ", ".join(self._names()) or "there is none yet"
            raise ParameterError("machine", machine, f"one of the fleet: {known}") from None
        except (OSError, ValueError, ParameterError) as error:
            raise TraceError(path, f"is damaged or was not written by forestall: {error}") from None

    def _write(self, record: _Record) -> None:
        value = {**record.__dict__, "guest": record.guest.to_json()}
        path = self._place(record.guest.name) / RECORD
        with atomic_path(path) as beside:
            try:
                beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
            except OSError as error:
                raise FolderError(record.guest.name, path, error) from None

    def _adopted(self, record: _Record, target: Run) -> _Record:
        """Return, and write down if possible, that a target has the guest."""
        record = replace(record, number=_number(target.folder), node=target.node)
        with contextlib.suppress(ForestallError):  # the next look would find it as well
            self._write(record)
        return record

    @contextlib.contextmanager
    def _locked(self, machine: str, wait: float = 10.0) -> Iterator[None]:
        """Hold a machine against other commands; the system lets go of it if this process dies."""
        late = time.monotonic() + wait
        path = self._place(machine) / "lock"
        try:
            lock = path.open("a")
        except OSError as error:
            raise FolderError(machine, path, error) from None
        with lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= late:
                        raise _BusyError(machine, "another command is working on it") from None
                time.sleep(0.05)
            yield


class _BusyError(MachineError):
    pass


def _number(folder: Path) -> int:
    return int(folder.name.partition(".")[0])


def _end(runs: Sequence[Run]) -> MachineState:
    """Return how a machine ended that was to be stopped: without a process it was lost before."""
    return MachineState.STOPPED if runs else MachineState.LOST


def _refused(
    machine: str, message: str, *, fate: str = "nothing was started", target: bool = False
) -> MoveError:
    return MoveError(machine, Why.REFUSED, message, alive=True, blames_target=target, fate=fate)


def _has_all(target: Run) -> bool:
    """Return whether a target whose source is gone has the whole guest; if so it is let run."""
    try:
        with target.monitor() as monitor:
            if progress(monitor).status != "completed":
                return False
            with contextlib.suppress(MonitorError):  # it may have heard it
                monitor.ask("cont")
            return True
    except (MonitorError, RefusedError):
        return False
