"""The driver's side of a holder: its start, orders to it, and what it tells."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from forestall.core.files.documents import json_of
from forestall.core.model.errors import ForestallError

ALONE: Final = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Starts a holder whose program has process numbers of its own."""
SOON: Final = 20.0
"""s in which a holder that lives answers what takes no time."""


class RunError(ForestallError):
    """A program that cannot be started, saved or brought back here; the text is one line."""

    exit_code = 1


class StartError(RunError):
    """A program that cannot be started."""

    exit_code = 2


class HeldProgram:
    """A program and its holder.

    Attributes
    ----------
    pid : the program's number, as it is in the holder's namespace; 0: it does not run
    code : its exit code once it ended; 128 and the signal where one ended it
    gone : whether the holder itself is gone
    """

    def __init__(self, *, alone: bool = False) -> None:
        self.pid = 0
        self.code: int | None = None
        self.gone = False
        self._link, theirs = socket.socketpair()
        words = [*(ALONE if alone else ()), sys.executable, "-m", "forestall.vaults.acting.holder",
                 str(theirs.fileno()), "alone" if alone else "among"]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                words, pass_fds=(theirs.fileno(),), start_new_session=True
            )
        except OSError as error:
            self._link.close()
            raise RunError(f"{words[0]}: {error.strerror or error}") from None
        finally:
            theirs.close()
        self._tools: dict[int, int] = {}
        self._open: list[str] | None = None
        self._why = ""
        self._next = 0
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the holder, and the program with it."""
        self._link.close()
        try:
            self._process.wait(SOON)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def fileno(self) -> int:
        """The file that can be read when the holder has something to tell."""
        return self._link.fileno()

    # --------------------------------------------------------------------------------- orders

    def start(
        self, words: Sequence[str], cwd: Path, environment: Mapping[str, str],
        output: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        """Start the program. Raises StartError where it cannot be."""
        self.code = None
        self._order("start", words=list(words), cwd=str(cwd), environment=dict(environment),
                    output=[str(path) for path in output])  # fmt: skip
        self._wait(lambda: bool(self.pid or self._why or self.code is not None), SOON)
        if self._why:
            raise StartError(self._why)

    def adopt(self, pid: int) -> None:
        """Take a process of the holder's for the program."""
        self.code = None
        self._order("adopt", pid=pid)
        self._wait(lambda: bool(self.pid or self.code is not None), SOON)

    def send(self, number: int) -> None:
        """Send the program a signal."""
        self._order("send", number=int(number))

    def kill(self) -> None:
        """Kill the program and all that it started."""
        self._order("kill")

    def open_files(self) -> list[str]:
        """Return the files that the program writes to."""
        self._open = None
        self._order("open")
        self._wait(lambda: self._open is not None, SOON)
        return self._open or []

    def begin_tool(
        self, words: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> int:  # fmt: skip
        """Start a command beside the program; return its number."""
        self._next += 1
        self._order("tool", number=self._next, words=list(words), environment=dict(environment),
                    log=str(log))  # fmt: skip
        return self._next

    def tool_code(self, number: int) -> int | None:
        """Return the exit code of a command that ended, None of one that runs."""
        return self._tools.get(number)

    def wait_tool(self, number: int, timeout: float) -> int | None:
        """Return the exit code of a command; None where it runs on after `timeout` s."""
        self._wait(lambda: number in self._tools, timeout)
        return self._tools.get(number)

    # ----------------------------------------------------------------------------------- news

    def wait(self, seconds: float) -> None:
        """Wait for the program's end."""
        self._wait(lambda: self.code is not None, seconds)

    def _wait(self, done: Any, seconds: float) -> None:
        late = time.monotonic() + seconds
        while not done() and not self.gone and (left := late - time.monotonic()) > 0:
            if select.select([self._link], [], [], left)[0]:
                self.hear()
        if self.gone and self.code is None:
            self.code = 137

    def hear(self) -> None:
        """Take in what the holder has to tell."""
        try:
            some = self._link.recv(65_536)
        except OSError:
            some = b""
        if not some:
            self.gone = True
            if self.code is None:
                self.code = 137
            return
        *lines, self._read = (self._read + some).split(b"\n")
        for line in lines:
            self._take(json_of(line))

    def _take(self, told: dict[str, Any]) -> None:
        event = told["event"]
        if event == "started":
            self.pid = told["pid"]
        elif event == "failed":
            self._why = told["why"]
        elif event == "ended":
            self.pid, self.code = 0, told["code"]
        elif event == "open":
            self._open = told["files"]
        elif event == "tool":
            self._tools[told["number"]] = told["code"]

    def _order(self, what: str, **more: Any) -> None:
        try:
            self._link.sendall(json.dumps({"do": what, **more}).encode() + b"\n")
        except OSError:
            self.gone = True
            self.code = 137 if self.code is None else self.code
