"""One agent for a folder, and one for a user on a host: locks that end with their process, however
that ends."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from forestall.core.files.shared import check_not_planted, open_own
from forestall.core.model.errors import InputError, TraceError, of_system

AGENT: Final = "agent"
LOCK: Final = f"{AGENT}.lock"
AGAIN: Final = 0.2
"""Seconds after which a lock that is taken is tried again: who asks `running` holds it shortly."""


@contextmanager
def only_agent(folder: Path, what: str = AGENT) -> Iterator[None]:
    """Be the one agent of a folder, or the one of another kind that `what` says; the folder is made
    where it is not there.

    Raises TraceError where there is one already, or the folder cannot be written to.
    """
    with of_system(folder, "cannot be written to"):
        folder.mkdir(parents=True, exist_ok=True)
    check_not_planted(folder)
    with of_system(folder, "cannot be written to"):
        lock = folder / f"{what.replace(' ', '-')}.lock"
        handle = open_own(lock, os.O_RDWR | os.O_CREAT)
    try:
        if not _taken(handle):
            time.sleep(AGAIN)
            if not _taken(handle):
                holder = _number(handle)
                named = f" (process {holder})" if holder else ""
                raise TraceError(folder, f"another {what}{named} uses this folder")
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def only_agent_here(folder: Path, *, beside: bool = False, name: str = "") -> Iterator[None]:
    """Be the one agent of this user on this host, whatever its folder.

    The lock is a socket with an abstract name: it needs no folder, which hosts might share, and is
    gone with its process.

    Parameters
    ----------
    folder : of this agent, for what is told
    beside : go on where there is another one
    name : of the lock; by default that of the user

    Raises InputError where there is another one, which is named.
    """
    chosen = f"\0{name or f'forestall-agent-{os.getuid()}'}"
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not _named(lock, chosen) and not beside:
            time.sleep(AGAIN)  # it may have been about to end, or to listen
            other = None if _named(lock, chosen) else _holder(chosen)
            if other is not None:
                process = f" (process {other[0]})" if other[0] else ""
                place = f" in {other[1]}" if other[1] else ""
                raise InputError(
                    f"{folder}: another agent of yours{process} runs on this host{place}; "
                    "use that one, or give {beside} to have both"
                )
        yield
    finally:
        lock.close()


def _named(lock: socket.socket, name: str) -> bool:
    """Take a name and return whether it was free."""
    try:
        lock.bind(name)
        lock.listen(1024)  # who asks who is here is never accepted, and stays in the queue
    except OSError:  # taken; or there are no such names here, and no lock then
        return False
    return True


def _holder(name: str) -> tuple[int, str] | None:
    """Return process and folder ("": not told) of the agent that holds a name; None: no agent of
    this user does."""
    credentials = struct.Struct("3i")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
        except BlockingIOError:  # others ask, too
            return 0, ""
        except OSError:
            return None
        told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    pid, user, _ = credentials.unpack(told)
    return (pid, _folder_of(pid)) if user == os.getuid() else None


def _folder_of(pid: int) -> str:
    """Return the folder whose lock a process holds open."""
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                told = os.readlink(f"/proc/{pid}/fd/{number}")
                place = Path(told.removesuffix(" (deleted)"))
                if place.name == LOCK:
                    return str(place.parent)
    return ""


def running(folder: Path) -> int | None:
    """Return the process of the agent at work on a folder, 0 where it is not told; None: none."""
    try:
        handle = open_own(folder / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _number(handle)
    finally:
        os.close(handle)
    return None


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _number(handle: int) -> int:
    try:
        return int(os.pread(handle, 32, 0))
    except (OSError, ValueError):
        return 0
