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
from typing import Any, Final

from forestall.adapters.qemu.guest import Guest, MachineError, checked_name
from forestall.adapters.qemu.migration import Transfer, hand_over, progress, settle
from forestall.adapters.qemu.monitor import MonitorError, RefusedError
from forestall.adapters.qemu.process import Run, end, launch
from forestall.live.backend import Moved, MoveError, Seen, State, Why
from forestall.model.errors import ParameterError, TraceError
from forestall.traces.atomic import atomic_path

RECORD: Final = "machine.json"
_LOOK: Final = 5.0
"""Seconds that a look may take where someone else may be connected."""
_STATES: Final = {
    "running": State.RUNNING,
    "paused": State.PAUSED,
    "prelaunch": State.PAUSED,
    "suspended": State.PAUSED,
    "inmigrate": State.MOVING,
    "postmigrate": State.MOVING,
    "finish-migrate": State.MOVING,
    "shutdown": State.ENDED,
}


@dataclass(frozen=True)
class _Record:
    """A machine, the number of the run that has its guest, on which node, and how it ended."""

    guest: Guest
    number: int
    node: str
    fate: str = ""


class QemuBackend:
    """Runs machines as QEMU processes of this user; a `forestall.live.backend.Backend`.

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
        transfer: Transfer | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        self._folder = folder.resolve()
        self._nodes = tuple(checked_name(node, "node") for node in nodes)
        self._transfer = transfer or Transfer()
        self._wrapper = tuple(wrapper)

    # ----------------------------------------------------------------------------- asking

    def watch(self) -> list[Seen]:
        """Return all machines, by name; tidies up after commands that were killed half-way."""
        return [self.look(name) for name in self._names()]

    def look(self, machine: str) -> Seen:
        """Return one machine as it is now. Raises ParameterError for an unknown one."""
        record = self._record(machine)
        try:
            with self._locked(machine, wait=0):
                record = self._tidied(self._record(machine))
        except _BusyError:
            record = self._record(machine)
        return self._seen(record)

    def guest(self, machine: str) -> Guest:
        """Return what a machine consists of."""
        return self._record(machine).guest

    # ----------------------------------------------------------------------------- acting

    def add(self, guest: Guest, node: str) -> Seen:
        """Start a new machine, or one of that name that does not run any more."""
        guest.checked()
        self._place(guest.name).mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked(guest.name):
            if (self._place(guest.name) / RECORD).exists():
                self._none_runs(self._record(guest.name))
            return self._started(guest, self._known(node))

    def start(self, machine: str, node: str) -> Seen:
        """Start a machine afresh that does not run any more."""
        record = self._record(machine)
        with self._locked(machine):
            self._none_runs(record)
            return self._started(record.guest, self._known(node))

    def stop(self, machine: str) -> None:
        """End a machine, wherever it is."""
        self._record(machine)
        with self._locked(machine):
            for run in self._runs(machine):
                end(run)
            record = self._record(machine)
            self._write(replace(record, fate=record.fate or State.STOPPED))

    def migrate(self, machine: str, node: str) -> Moved:
        """Move a running machine to a node. Raises MoveError where that did not come off."""
        self._record(machine)
        with self._locked(machine):
            record = self._tidied(self._record(machine))
            if self._known(node) == record.node:
                raise ParameterError("node", node, f"another one: {machine} runs there")
            seen = self._seen(record)
            if not seen.state.alive:
                raise MachineError(machine, f"does not run ({seen.state}); nothing to move")
            target = self._run(machine, self._next(machine), node)
            try:
                launch(target, record.guest, incoming=True, wrapper=self._wrapper)
            except MachineError as error:
                raise MoveError(machine, Why.REFUSED, error.message, alive=True) from None
            moved = hand_over(self._current(record), target, self._transfer)
            self._write(replace(record, number=_number(target.folder), node=node))
            return moved

    def _started(self, guest: Guest, node: str) -> Seen:
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
        return self._seen(record)

    def _none_runs(self, record: _Record) -> None:
        if runs := self._runs(record.guest.name):
            raise MachineError(record.guest.name, f"runs already, on {runs[-1].node}")

    # ----------------------------------------------------------------------------- what there is

    def _seen(self, record: _Record) -> Seen:
        run = self._current(record)
        pid = run.pid()
        if pid:
            state = _STATES.get(run.status(_LOOK), State.UNKNOWN)
        else:
            state = State(record.fate) if record.fate else State.LOST
        return Seen(record.guest.name, record.node, state, str(run.console), pid)

    def _tidied(self, record: _Record) -> _Record:
        """Return the machine's record after what a killed command left behind was put in order.

        A second process is a target. Either it has been told to let the guest run, or the source
        has it still; where the source is gone, a target that has all of the guest goes on with it.
        """
        current = self._current(record)
        others = [run for run in self._runs(record.guest.name) if run != current]
        for target in others:
            if target.status() == "running" or (not current.alive() and _has_all(target)):
                end(current)
                record = replace(record, number=_number(target.folder), node=target.node)
                current = target
                self._write(record)
            elif current.alive():
                settle(current, target)
            else:
                end(target, ask=False)
        if current.alive() and current.status(_LOOK) == "shutdown":
            record = replace(record, fate=State.ENDED)
            self._write(record)
            end(current)
        return record

    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob(f"*/{RECORD}"))

    def _place(self, machine: str) -> Path:
        return self._folder / checked_name(machine, "machine")

    def _run(self, machine: str, number: int, node: str) -> Run:
        return Run(self._place(machine) / f"{number:03d}.{node}", machine, node)

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
            value: Any = json.loads(path.read_text(encoding="utf-8"))
            guest = Guest.from_json(value["guest"])
            return _Record(guest, int(value["number"]), str(value["node"]), str(value["fate"]))
        except FileNotFoundError:
            known = ", ".join(self._names()) or "there is none yet"
            raise ParameterError("machine", machine, f"one of the fleet: {known}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TraceError(path, f"is not what forestall wrote there: {error}") from None

    def _write(self, record: _Record) -> None:
        value = {**record.__dict__, "guest": record.guest.to_json()}
        with atomic_path(self._place(record.guest.name) / RECORD, sync=True) as beside:
            beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

    @contextlib.contextmanager
    def _locked(self, machine: str, wait: float = 10.0) -> Iterator[None]:
        """Hold a machine against other commands; the system lets go of it if this process dies."""
        late = time.monotonic() + wait
        with (self._place(machine) / "lock").open("w") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= late:
                        raise _BusyError(machine, "another command is at work on it") from None
                time.sleep(0.05)
            yield


class _BusyError(MachineError):
    pass


def _number(folder: Path) -> int:
    return int(folder.name.partition(".")[0])


def _has_all(target: Run) -> bool:
    """Return whether a target whose source is gone has the whole guest; if so it is let run."""
    try:
        with target.monitor() as monitor:
            if progress(monitor).status != "completed":
                return False
            monitor.ask("cont")
            return True
    except (MonitorError, RefusedError):
        return False
