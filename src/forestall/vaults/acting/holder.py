"""The holder: parent of a program that is kept, and what ends it where its driver is gone.

A process of its own, small, with nothing but the standard library. It takes the driver's orders
over a socket whose end tells it that the driver is gone. Where a checkpoint is made of the whole
process, holder and program have process numbers of their own (`unshare --pid`), so that these are
free wherever the program is brought back.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from forestall.core.files.documents import json_of
from forestall.core.processes.priority import adopt_orphans, die_with_parent
from forestall.core.processes.processes import Process, descendants, look, name_self

ROUNDS: Final = 200
"""Looks after which processes that are made faster than they are killed are given up."""
FIRST_PID: Final = 1000
"""Below it are the numbers of the holder and its tools, above it the program's."""
_SYSTEM: Final = ("/proc/", "/sys/", "/dev/")

Order = dict[str, Any]


class Holder:
    """Holds one program.

    Parameters
    ----------
    link : to the driver
    alone : whether it has process numbers of its own
    """

    def __init__(self, link: socket.socket, *, alone: bool) -> None:
        self.link, self.alone = link, alone
        self.pid = 0
        self.tools: dict[int, int] = {}
        self.over = False
        self._gone: dict[int, int] = {}  # whose end came before anybody asked for it
        self._read = b""
        self._orders: dict[str, Callable[..., None]] = {
            "start": self.start, "tool": self.tool, "adopt": self.adopt, "send": self.send,
            "open": self.open_files, "kill": self.kill,
        }  # fmt: skip

    def run(self, woken: int) -> None:
        """Do what the driver says until it is gone; then nothing of the program is left."""
        while not self.over:
            ready = select.select([self.link.fileno(), woken], [], [])[0]
            if woken in ready:
                with suppress(BlockingIOError):
                    os.read(woken, 4096)
                self._reap()
            if self.link.fileno() in ready:
                self._hear()
        self.kill()

    def _hear(self) -> None:
        try:
            some = self.link.recv(65_536)
        except OSError:
            some = b""
        if not some:
            self.over = True
            return
        *lines, self._read = (self._read + some).split(b"\n")
        for line in lines:
            order = json_of(line)
            self._orders[order.pop("do")](**order)

    def _tell(self, event: str, **facts: Any) -> None:
        with suppress(OSError):
            self.link.sendall(json.dumps({"event": event, **facts}).encode() + b"\n")

    # --------------------------------------------------------------------------------- orders

    def start(
        self, words: list[str], cwd: str, environment: dict[str, str], output: list[str]
    ) -> None:
        """Start the program; `output`: files for what it prints, else it prints where we do."""
        if self.alone:
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(FIRST_PID), encoding="ascii")
        files = [open(name, "ab", buffering=0) for name in output]  # noqa: SIM115
        try:
            process = subprocess.Popen(
                words, cwd=cwd, env=os.environ | environment, start_new_session=True,
                preexec_fn=_fresh,  # noqa: PLW1509 -- there is one thread
                stdin=subprocess.DEVNULL if files else None,
                **dict(zip(("stdout", "stderr"), files, strict=bool(files))),
            )  # type: ignore[call-overload]  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            self._tell("failed", why=f"{words[0]}: {said}")
        else:
            process.returncode = 0  # it is waited for here
            self.adopt(process.pid)
        finally:
            for file in files:
                file.close()

    def adopt(self, pid: int) -> None:
        """Take a process for the program."""
        self.pid = pid
        self._tell("started", pid=pid)
        self._reap()
        if pid in self._gone:
            self._ended(self._gone.pop(pid))

    def tool(self, number: int, words: list[str], environment: dict[str, str], log: str) -> None:
        """Run a command beside the program; its end is told with this number."""
        try:
            with open(log, "ab") as file:
                process = subprocess.Popen(
                    words, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=file,
                    stderr=file, preexec_fn=_fresh,  # noqa: PLW1509 -- there is one thread
                )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            self._tell("tool", number=number, code=127, why=str(error))
            return
        process.returncode = 0
        self.tools[process.pid] = number

    def send(self, number: int) -> None:
        """Send the program a signal; those that it started get none."""
        process = look(self.pid) if self.pid else None
        if process is not None:
            process.send(number)

    def open_files(self) -> None:
        """Tell which files the program and what it started write to."""
        found: set[str] = set()
        for process in self._program():
            found |= written_files(process.pid)
        self._tell("open", files=sorted(found))

    def kill(self) -> None:
        """Kill everything that the program is and started."""
        for _ in range(ROUNDS):
            found = descendants(os.getpid())
            for one in found:
                one.send(signal.SIGKILL)
            self._reap()
            if not found:
                return
            time.sleep(0.005)

    def _program(self) -> list[Process]:
        root = look(self.pid) if self.pid else None
        below = descendants(self.pid) if self.pid else []
        return below if root is None else [root, *below]

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code
            if pid == self.pid:
                self._ended(code)
            elif pid in self.tools:
                self._tell("tool", number=self.tools.pop(pid), code=code)
            else:
                self._gone[pid] = code

    def _ended(self, code: int) -> None:
        self.pid = 0
        self._tell("ended", code=code)


def written_files(pid: int) -> set[str]:
    """Return the regular files that a process has open for writing, or shares memory with."""
    found = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError, ValueError):
                path = os.readlink(f"/proc/{pid}/fd/{name}")
                if _writes(f"/proc/{pid}/fdinfo/{name}") and _is_kept(path):
                    found.add(path)
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                parts = line.rstrip("\n").split(maxsplit=5)
                if parts[1] == "rw-s" and len(parts) == 6 and _is_kept(parts[5]):
                    found.add(parts[5])
    return found


def _writes(info: str) -> bool:
    with open(info, encoding="ascii") as file:
        flags = next(line for line in file if line.startswith("flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _is_kept(path: str) -> bool:
    return path.startswith("/") and not path.startswith(_SYSTEM) and os.path.isfile(path)


def _fresh() -> None:
    """Make a new process one that hears signals as any other does, and ends with its parent."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE,
                   signal.SIGUSR1, signal.SIGUSR2):  # fmt: skip
        signal.signal(number, signal.SIG_DFL)
    die_with_parent()


def main() -> int:
    """Hold the program that the driver tells of over the file with this number."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    name_self("forestall-hold")
    adopt_orphans()
    hear, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                   signal.SIGUSR1, signal.SIGUSR2):  # fmt: skip
        signal.signal(number, lambda *_: None)  # the driver's matter; SIGCHLD wakes the loop
    Holder(link, alone=sys.argv[2] == "alone").run(hear)
    return 0


if __name__ == "__main__":
    sys.exit(main())
