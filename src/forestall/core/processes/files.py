"""What is on the disk about a guest: its record, its log, what it printed, and who manages it.

``FOLDER/guests/NAME/`` holds ``state.json`` (the record), ``log.jsonl`` (why its state changed),
``stdout`` and ``stderr``, ``manager.lock`` (held by whoever manages it), ``keeper.lock`` (held
while its processes are kept), ``keeper.sock``, and ``alone.json`` (the record as a keeper without a
manager left it, until a manager has seen it).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from forestall.core.files.atomic import atomic_path, flush
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of, refused
from forestall.core.files.shared import check_not_planted, make_own, open_own
from forestall.core.model.errors import ParameterError, TraceError, of_system
from forestall.core.model.units import MAX_SECONDS
from forestall.core.processes.processes import is_there

GUESTS: Final = "guests"
RECORD: Final = "state.json"
ALONE: Final = "alone.json"
LOG: Final = "log.jsonl"
MANAGER_LOCK: Final = "manager.lock"
KEEPER_LOCK: Final = "keeper.lock"
SOCKET: Final = "keeper.sock"
STDOUT, STDERR, KEEPER_LOG = "stdout", "stderr", "keeper.err"
VERSION: Final = 1
_LAST: Final = 253_402_300_799  # Unix s at the end of the year 9999

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class GuestState(StrEnum):
    """What is with a guest."""

    WAITING = "waiting"  # for the host to be free
    NORMAL = "normal"  # runs at normal priority
    LOWERED = "lowered"  # runs at lowest priority
    STOPPED = "stopped"  # stands still in a short spike
    ENDING = "ending"  # its checkpoint is made, then it is ended
    UNWATCHED = "unwatched"  # stands still: its manager is gone
    ENDED = "ended"  # ended before it had finished; can be resumed
    FINISHED = "finished"  # by itself
    FAILED = "failed"  # by itself with another code than 0, or could not be started

    @property
    def running(self) -> bool:
        """Whether it has processes, as far as was written down."""
        return self in {
            GuestState.NORMAL, GuestState.LOWERED, GuestState.STOPPED, GuestState.ENDING,
            GuestState.UNWATCHED,
        }  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether there is nothing left to resume."""
        return self in {GuestState.FINISHED, GuestState.FAILED}


@dataclass(frozen=True)
class StayRecord:
    """What a manager that comes later must know.

    Attributes
    ----------
    name, id : as the user calls it, and the mark of its processes, new with each fresh start
    command, cwd : what runs, and where
    settings : how it is run, as `forestall.sharing.guest.settings` writes it
    state, why, since : what is with it, why, and since when in Unix s
    attempts : times that it was started
    checkpoint : whether a checkpoint exists, and when the last was made, in Unix s
    cpu : s of CPU time of all attempts that are over
    memory : bytes that it held at most
    exit_code : of its first process where it is over; 128 and the number for a signal
    pid, created, pgid, cgroup : its first process (start in s after the machine's), its process
        group, and its control group
    keeper, keeper_created, manager, manager_created : the processes that keep and manage it
    boot : the boot of the machine in which these numbers hold
    """

    name: str
    id: str
    command: list[str]
    cwd: str
    settings: dict[str, Any] = field(default_factory=dict)
    state: GuestState = GuestState.WAITING
    why: str = ""
    since: float = 0.0
    attempts: int = 0
    checkpoint: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    exit_code: int | None = None
    pid: int = 0
    created: float = 0.0
    pgid: int = 0
    cgroup: str | None = None
    keeper: int = 0
    keeper_created: float = 0.0
    manager: int = 0
    manager_created: float = 0.0
    boot: str = ""
    version: int = VERSION

    def now(self) -> GuestState:
        """Return what is with it now: a guest whose processes are all gone has ended, whatever was
        written down last."""
        managed, kept = self.managed(), self.kept()
        if self.state.running and not (managed or kept):
            return GuestState.ENDED
        if self.state is GuestState.WAITING and not managed:
            return GuestState.ENDED
        if self.state.running and not managed:
            return GuestState.UNWATCHED
        return self.state

    def managed(self) -> bool:
        """Return whether its manager is there."""
        return self.boot == boot_id() and is_there(self.manager, self.manager_created)

    def kept(self) -> bool:
        """Return whether its keeper is there."""
        return self.boot == boot_id() and is_there(self.keeper, self.keeper_created)


def boot_id() -> str:
    """Return the name of this boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def checked_name(name: str) -> str:
    """Return a guest's name. Raises ParameterError for one that is no name of a folder."""
    if not _NAME.fullmatch(name) or name.endswith(".json"):
        allowed = "letters, digits, '.', '_' and '-', up to 64, beginning with a letter or digit"
        raise ParameterError("name", name, allowed)
    return name


class GuestFiles:
    """The folder of one guest.

    Parameters
    ----------
    folder : the agent's, in which ``guests`` lies
    name : of the guest
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, checked_name(name)
        self.place = folder / GUESTS / name

    def make(self) -> None:
        """Make it. Raises TraceError where that cannot be."""
        with of_system(self.place, "cannot be made"):
            make_own(self.place, 0o700)
        for folder in (self.folder, self.place.parent, self.place):
            check_not_planted(folder)

    def read(self) -> StayRecord | None:
        """Return the record; None where there is none. Raises TraceError for one that is broken."""
        return self._read(self.place / RECORD)

    def taken_over(self) -> StayRecord | None:
        """Return the record, or what a keeper without a manager made of it, which is then seen."""
        alone = self.place / ALONE
        with suppress(TraceError):
            known = self._read(alone)
            if known is not None:
                with suppress(OSError):
                    alone.unlink()
                return known
        return self.read()

    def _read(self, path: Path) -> StayRecord | None:
        try:
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
        try:
            return _record(json_of(raw))
        except (ValueError, ParameterError) as error:
            raise TraceError(path, f"not a guest's record ({error})") from None

    def write(self, record: StayRecord, *, alone: bool = False) -> None:
        """Write the record, on the disk when this returns. Raises TraceError.

        A keeper that is `alone` writes it twice: a manager that stood still in the middle of this
        may go on any time, and put what it knew then instead of what the keeper wrote.
        """
        path, data = self.place / RECORD, json.dumps(asdict(record), allow_nan=False).encode()
        if alone:
            with suppress(OSError):
                _replace(self.place / ALONE, data)
        with of_system(path, "cannot be written"):
            _replace(path, data)

    def log(self, state: str, why: str, **facts: Any) -> None:
        """Add a line to the log. Raises TraceError."""
        entry = {"time": round(time.time(), 3), "state": str(state), "why": why, **facts}
        line = json.dumps(entry, allow_nan=False, ensure_ascii=False)
        with of_system(self.place / LOG, "cannot be written"):
            _add_line(self.place / LOG, line.encode())

    def entries(self) -> list[dict[str, Any]]:
        """Return the log's whole lines, oldest first; what is no line of a log is left out."""
        path = self.place / LOG
        try:
            lines = path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
        found = []
        for line in lines:
            try:
                entry = json_of(line)
                said = {name: entry[name] for name in _LogLine._fields}
                sound = record_of(_LogLine, said).time < MAX_SECONDS
            except (ValueError, TypeError, LookupError, ParameterError):
                continue
            if sound:
                found.append(entry)
        return found

    @contextmanager
    def managed(self) -> Iterator[None]:
        """Be the one manager of this guest. Raises TraceError where there is one already."""
        handle = self.lock(MANAGER_LOCK)
        if handle is None:
            manager = self.manager()
            who = f" (process {manager})" if manager else ""
            message = f"another manager{who} runs this guest; `forestall guest stop "
            raise TraceError(self.place, f"{message}{self.name}` ends both")
        try:
            with suppress(OSError):  # for `stop`, where the record is damaged; a full disk is none
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(handle)

    def manager(self) -> int:
        """Return the process that holds the manager's lock; 0: none, or it is not known."""
        if self.held(MANAGER_LOCK):
            with suppress(OSError, ValueError):
                return int((self.place / MANAGER_LOCK).read_text("ascii"))
        return 0

    def lock(self, name: str) -> int | None:
        """Return an open handle on a lock that is now held; None where someone else holds it."""
        path = self.place / name
        with of_system(path, "cannot be opened"):
            handle = open_own(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def held(self, name: str) -> bool:
        """Return whether someone holds a lock."""
        if not (self.place / name).exists():
            return False
        handle = self.lock(name)
        if handle is None:
            return True
        os.close(handle)
        return False


class _LogLine(NamedTuple):
    """What every line of a log has."""

    time: float
    state: str
    why: str


def all_guests(folder: Path) -> list[GuestFiles]:
    """Return the guests of a folder, by name."""
    try:
        names = sorted(path.name for path in (folder / GUESTS).iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise TraceError(folder / GUESTS, f"cannot be read: {error.strerror or error}") from None
    return [GuestFiles(folder, name) for name in names if _NAME.fullmatch(name)]


def _add_line(path: Path, line: bytes) -> None:
    """Add a line to a log, on the disk when this returns; one that a full disk tore ends before it.

    Without a lock, as the system adds it in one piece: a manager that stands still with a lock in
    its hand would keep its keeper from whatever it has to do then. Raises OSError.
    """
    handle = open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        line = (b"\n" if torn else b"") + line + b"\n"
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
        if size == 0:
            flush(path.parent)
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes) -> None:
    """Put a line into a file instead of what was there. Raises OSError.

    Where the disk is full, into the room that the file has already: how a guest ended must not be
    lost for want of a few bytes.
    """
    try:
        with atomic_path(path) as beside:
            beside.write_bytes(data + b"\n")
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT} or not path.exists():
            raise
        handle = open_own(path, os.O_RDWR)
        try:
            found = os.fstat(handle)
            if len(data) > found.st_blocks * 512:
                raise
            os.pwrite(handle, data.ljust(found.st_size), 0)  # blanks may follow JSON
            os.fsync(handle)
        finally:
            os.close(handle)


def changed(record: StayRecord, **changes: Any) -> StayRecord:
    """Return a record with changes; a new state begins now."""
    if "state" in changes and changes["state"] is not record.state:
        changes.setdefault("since", round(time.time(), 3))
    return replace(record, **changes)


def _record(told: Any) -> StayRecord:
    """Return a record that was read; what later versions add to it is left out. Raises
    ParameterError for one that could not have been written."""
    if not isinstance(told, dict) or told.get("version") != VERSION:
        raise ValueError("another version, or no object")
    known = {one.name: told[one.name] for one in fields(StayRecord) if one.name in told}
    found = record_of(StayRecord, known)
    for name in ("since", "checkpoint"):
        if getattr(found, name) > _LAST:
            raise refused(name, getattr(found, name), f"at most {_LAST}")
    return found
