"""One stay of a guest on this host, as its manager sees it: a keeper, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from forestall.core.files.documents import json_of
from forestall.core.files.shared import open_own
from forestall.core.model.errors import ForestallError, TraceError
from forestall.core.processes.files import KEEPER_LOCK, KEEPER_LOG, GuestFiles, StayRecord
from forestall.core.processes.processes import look
from forestall.sharing.guest.body import Body
from forestall.sharing.guest.cgroup import ControlGroup
from forestall.sharing.guest.link import Link, Message, connect
from forestall.sharing.guest.plan import StayPlan
from forestall.sharing.guest.second import cleared

PATIENCE: Final = 10.0
"""s that a keeper gets to come up."""

_ROOT = str(Path(__file__).resolve().parents[3])
_PROGRAM = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); "
    "from forestall.sharing.guest.keeper import main; sys.exit(main())"
)


class KeeperError(ForestallError):
    """A keeper that did not come up, or does not answer."""


class Stay:
    """A connection to a keeper.

    Parameters
    ----------
    link : the connection
    process : the keeper's parent, where it is a child of this process

    Attributes
    ----------
    facts : what the keeper said last of the guest: numbers of processes, control group, memory
    """

    def __init__(self, link: Link, process: subprocess.Popen[bytes] | None) -> None:
        self.link, self._process = link, process
        self.facts: Message = {}

    @classmethod
    def begin(cls, plan: StayPlan) -> Stay:
        """Start a keeper and call it; the guest itself is started by `start`.

        Raises KeeperError where it does not come up, TraceError where the folder cannot be used.
        """
        files = plan.files
        try:
            how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            complaints = os.fdopen(open_own(files.place / KEEPER_LOG, how), "wb")
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise TraceError(files.place / KEEPER_LOG, message) from None
        with complaints:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    start_new_session=True,
                )
            except OSError as error:
                text = error.strerror or str(error)
                raise KeeperError(f"{plan.name}: no keeper can be started: {text}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        with suppress(BrokenPipeError), process.stdout, process.stdin:  # it may end at once
            process.stdin.write(plan.to_line())
            process.stdin.flush()
            answer = process.stdout.readline()
        if not answer or json_of(answer)["error"]:
            process.wait()
            text = json_of(answer)["error"] if answer else _complaint(files)
            raise KeeperError(f"{plan.name}: the keeper did not come up: {text}")
        stay = cls._called(files, process, PATIENCE)
        if stay is None:
            _kill(process)
            raise KeeperError(f"{plan.name}: the keeper does not answer")
        return stay

    @classmethod
    def found(cls, files: GuestFiles, patience: float = 1.0) -> Stay | None:
        """Return a connection to a keeper that runs already; None where there is none."""
        return cls._called(files, None, patience) if files.held(KEEPER_LOCK) else None

    @classmethod
    def _called(
        cls, files: GuestFiles, process: subprocess.Popen[bytes] | None, patience: float
    ) -> Stay | None:
        link = connect(files.place, patience)
        if link is None:
            return None
        stay = cls(link, process)
        for message in link.receive(PATIENCE):
            if message["event"] == "hello":
                stay.facts |= message
                return stay
        link.close()
        return None

    def order(self, do: str, **more: Any) -> None:
        """Tell the keeper to do something."""
        self.link.send(do=do, **more)

    def events(self, seconds: float) -> list[Message]:
        """Return what the keeper said, after at most so many s of waiting."""
        messages = self.link.receive(seconds)
        for message in messages:
            if message["event"] in {"hello", "started", "facts", "posture"}:
                self.facts |= message
        return messages

    def close(self) -> None:
        """Leave the keeper, which is ending; a child is waited for."""
        self.link.close()
        if self._process is not None:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                _kill(self._process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a keeper and its parent, which leads their session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ended_by_hand(plan: StayPlan, record: StayRecord) -> int:
    """End what a guest whose keeper is gone left behind; returns how many processes that were."""
    keeper = look(record.keeper)
    if keeper is not None and record.kept():
        keeper.send(9)
    group = ControlGroup(record.cgroup) if record.cgroup else None
    first = look(record.pid)
    if first is not None and abs(first.created - record.created) > 0.01:
        first = None
    body = Body(record.id, 0, group, without={os.getpid()})
    killed = body.kill(first)
    cleared(plan, body)
    return killed


def _complaint(files: GuestFiles) -> str:
    """Return the last line that a keeper printed."""
    try:
        lines = (files.place / KEEPER_LOG).read_text("utf-8", errors="replace").split("\n")
    except OSError as error:
        return str(error)
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
