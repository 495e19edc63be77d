"""QEMU as a process in a folder of its own: started, found again, and ended; never anyone else's.

A process is ours if its working folder is the folder of the run: a number in a file of a process
that ended long ago may by now belong to another program.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ForestallError
from forestall.machines.adapters.qemu.monitor import PATIENCE, Monitor, MonitorError, RefusedError
from forestall.vaults.adapters.qemu_guest import (
    CONSOLE,
    CONTROL,
    LOG,
    LOOK,
    PID,
    PROGRAM,
    FolderError,
    Guest,
    MachineError,
    command_line,
)

GRACE: Final = 5.0
"""Seconds after each step of ending a process, from asking to SIGKILL."""

_NO_COMPLAINTS: Final = ("warning:", "terminating on signal")

_started: dict[int, subprocess.Popen[bytes]] = {}
"""Children of this process: they must be waited for, or they stay as zombies."""


@dataclass(frozen=True)
class Run:
    """One QEMU process of a machine: on a node, from its start or arrival there.

    Attributes
    ----------
    folder : its own; sockets, logs and the process's number lie in it
    machine, node : names
    """

    folder: Path
    machine: str
    node: str

    @property
    def console(self) -> Path:
        """What the guest printed on its serial console during this run."""
        return self.folder / CONSOLE

    def pid(self) -> int:
        """Return the number of the process; 0 where it is gone."""
        try:
            pid = int((self.folder / PID).read_text())
        except (OSError, ValueError):
            return 0
        return pid if pid > 0 and is_ours(pid, self.folder) else 0

    def alive(self) -> bool:
        """Return whether the process is there."""
        return self.pid() > 0

    def monitor(self, *, look: bool = False, patience: float = PATIENCE) -> Monitor:
        """Return a connection to be entered: for acting, or for a look beside whoever acts.

        The path goes by the process, and so stays short however long that of the folder is.
        """
        socket = f"/proc/{self.pid()}/cwd/{LOOK if look else CONTROL}"
        return Monitor(socket, f"{self.machine} on {self.node}", patience, self.alive)

    def status(self, patience: float = PATIENCE) -> str:
        """Return what QEMU says of its guest, such as ``running``; empty where it is gone or does
        not answer."""
        if not self.alive():
            return ""
        try:
            with self.monitor(look=True, patience=patience) as monitor:
                return str(monitor.ask("query-status")["status"])
        except (MonitorError, RefusedError):
            return ""

    def complaint(self) -> str:
        """Return the first line in which QEMU complained; empty where it did not."""
        try:
            text = (self.folder / LOG).read_text(errors="replace")
        except OSError:
            return ""
        lines = [line.strip().removeprefix(f"{PROGRAM}: ")[:300] for line in text.splitlines()]
        kept = (line for line in lines if line and not line.startswith(_NO_COMPLAINTS))
        return next(kept, "")


def is_ours(pid: int, folder: Path) -> bool:
    """Return whether a process runs and works in this folder."""
    child = _started.get(pid)
    if child is not None and child.poll() is not None:
        del _started[pid]
        return False
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(folder.resolve())
    except OSError:
        return False


def launch(run: Run, guest: Guest, *, incoming: bool = False, wrapper: Sequence[str] = ()) -> None:
    """Start QEMU for a guest in the folder of the run, which must be new; returns when it answers.

    The process outlives this one. `wrapper` is put before its command line, such as ``nice``.
    Raises MachineError, and leaves no process behind, where it does not come up.
    """
    words = [*wrapper, *command_line(guest, run.node, incoming=incoming)]
    try:
        run.folder.mkdir(parents=True, mode=0o700)
        log = (run.folder / LOG).open("ab")
    except OSError as error:
        raise FolderError(run.machine, run.folder, error) from None
    try:
        with log:
            process = subprocess.Popen(
                words,
                cwd=run.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise MachineError(run.machine, _not_startable(words, error)) from None
    _started[process.pid] = process
    try:
        _wait_until_up(run, process)
    except BaseException:
        end(run, ask=False)
        process.kill()
        process.wait()
        _started.pop(process.pid, None)
        raise


def _not_startable(words: Sequence[str], error: OSError) -> str:
    if words[0] == PROGRAM and shutil.which(PROGRAM) is None:
        return f"{PROGRAM} is not installed; on Debian it is in the package qemu-system-x86"
    return f"cannot run {words[0]}: {error.strerror or error}"


def _wait_until_up(run: Run, process: subprocess.Popen[bytes]) -> None:
    """Wait until QEMU has written its number and answers; raises MachineError if it does not."""
    late = time.monotonic() + PATIENCE
    while not run.alive():
        if process.poll() is not None:
            if not os.statvfs(run.folder).f_bavail:  # it could not even write down what is wrong
                raise FolderError(run.machine, run.folder, OSError(ENOSPC, os.strerror(ENOSPC)))
            reason = run.complaint() or f"it ended at once with code {process.returncode}"
            raise MachineError(run.machine, f"QEMU does not start on {run.node}: {reason}")
        if time.monotonic() > late:
            raise MachineError(run.machine, f"QEMU on {run.node} is not up after {PATIENCE:.0f} s")
        time.sleep(0.01)
    try:
        with run.monitor() as monitor:
            monitor.ask("query-status")
    except (MonitorError, RefusedError) as error:
        reason = run.complaint() or str(error)
        raise MachineError(run.machine, f"QEMU does not start on {run.node}: {reason}") from None


def end(run: Run, *, ask: bool = True, grace: float = GRACE) -> None:
    """End the process of a run if it is there: by asking it, then SIGTERM, then SIGKILL.

    The process is held by a descriptor, so that no signal can reach another one of the same
    number. Raises MachineError where it outlives even SIGKILL.
    """
    pid = run.pid()
    if not pid:
        return
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if run.pid() != pid:
            return
        if ask:
            with contextlib.suppress(ForestallError), run.monitor(patience=grace) as monitor:
                monitor.ask("quit")
            if _gone(handle, pid, grace):
                return
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, how)
            if _gone(handle, pid, grace):
                return
        raise MachineError(run.machine, f"process {pid} on {run.node} cannot be ended")
    finally:
        os.close(handle)


def _gone(handle: int, pid: int, timeout: float) -> bool:
    """Return whether a process ends within some seconds."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(timeout * 1000):
        return False
    if (child := _started.pop(pid, None)) is not None:
        child.wait()
    return True
