"""What coordinators write down of machines and hosts: files that any of them can read and go on by.

A record is written before what it announces is done. It is changed under its machine's lock, which
the system lets go of when its holder dies; and only by who read its last revision, so that a
coordinator that slept for long cannot take back what others have done since.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import ForestallError, ParameterError, TraceError, of_system
from forestall.machines.acting.hosts.pool import Definition

RECORD: Final = "record.json"


class Phase(StrEnum):
    """How far what was decided about a machine has come."""

    STARTING = "starting"  # at `target`; nowhere else
    RUNNING = "running"  # at `node`
    MOVING = "moving"  # from `node` to `target`
    STOPPING = "stopping"
    ENDED = "ended"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def over(self) -> bool:
        """Whether the machine is not to run any more."""
        return self in {Phase.ENDED, Phase.STOPPED, Phase.LOST}


@dataclass(frozen=True)
class MachineRecord:
    """A machine, where it is, and what is being done with it.

    Attributes
    ----------
    definition : what it consists of
    phase : see `Phase`
    node : where it runs, or ran last; empty before it was started
    target : where it is being started or moved to; empty where nowhere
    revision : how many times it was written
    by : the coordinator that wrote it
    image : name of its last checkpoint; empty where there is none
    asked : the coordinator that is asked to find room for it; empty where none is
    why : it should leave its node, or what became of it, in words
    """

    definition: Definition
    phase: Phase
    node: str = ""
    target: str = ""
    revision: int = 0
    by: str = ""
    image: str = ""
    asked: str = ""
    why: str = ""

    @property
    def machine(self) -> str:
        """Its name."""
        return self.definition.machine

    @property
    def places(self) -> tuple[str, ...]:
        """The nodes on which it may run."""
        if self.phase.over:
            return ()
        first = () if self.phase is Phase.STARTING else (self.node,)
        return tuple(dict.fromkeys(node for node in (*first, self.target) if node))


class HostState(StrEnum):
    """What is known of a host."""

    UP = "up"
    SILENT = "silent"  # it does not answer; what it had may run on
    FENCED = "fenced"  # it runs nothing: it was switched off, or is known to be dead


@dataclass(frozen=True)
class HostRecord:
    """A host, since when it is so (s since 1970), and who says so."""

    node: str
    state: HostState = HostState.UP
    since: float = 0.0
    by: str = ""


class MachineBusyError(ForestallError):
    """Another coordinator is at work on a machine."""


class StaleError(ForestallError):
    """A record was written by another coordinator since it was read."""


_Kind = TypeVar("_Kind", MachineRecord, HostRecord)


@dataclass
class RecordStore:
    """The records below a folder that all coordinators share.

    Attributes
    ----------
    folder : where they are
    unreadable : paths of records that cannot be read, with why, of the last look
    """

    folder: Path
    unreadable: dict[str, str] = field(default_factory=dict)

    # ----------------------------------------------------------------------------- machines

    def machines(self) -> dict[str, MachineRecord]:
        """Return all machines that can be read, by name."""
        self.unreadable.clear()
        found = {}
        for path in sorted((self.folder / "machines").glob(f"*/{RECORD}")):
            name = path.parent.name
            try:
                record = _read(path, MachineRecord)
                if record.machine != name:
                    raise TraceError(path, f"belongs to another machine, {record.machine}")
            except FileNotFoundError:
                continue
            except TraceError as error:
                self.unreadable[name] = str(error)
                continue
            found[name] = record
        return found

    def machine(self, name: str) -> MachineRecord | None:
        """Return a machine as it is written down now; None where it is not, or not readably."""
        try:
            return _read(self._place(name) / RECORD, MachineRecord)
        except (FileNotFoundError, TraceError):
            return None

    def readable(self, name: str) -> MachineRecord | None:
        """Return a machine as it is written down now, None where it is not. Raises TraceError where
        what is written cannot be read."""
        try:
            return _read(self._place(name) / RECORD, MachineRecord)
        except FileNotFoundError:
            return None

    def write(self, record: MachineRecord) -> MachineRecord:
        """Write a record to the disk, and return it as it is then. Its machine must be locked.

        Raises StaleError where another was written since this one was read.
        """
        before = self.machine(record.machine)
        revision = 0 if before is None else before.revision
        if revision != record.revision:
            raise StaleError(f"{record.machine}: another coordinator has acted meanwhile")
        written = replace(record, revision=revision + 1)
        _write(self._place(record.machine) / RECORD, written)
        return written

    @contextmanager
    def locked(self, name: str, *, patience: float = 0.0) -> Iterator[None]:
        """Hold a machine against other coordinators. Raises MachineBusyError where one holds it for
        longer than `patience` s."""
        place = self._place(name)
        with of_system(place, "cannot be written"):
            place.mkdir(parents=True, exist_ok=True)
            file = (place / "lock").open("a")
        with file:
            late = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= late:
                        message = f"{name}: another command or coordinator is working on it"
                        raise MachineBusyError(message) from None
                time.sleep(0.05)
            yield

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """Hold the room of all nodes, for as long as a node is chosen and that written down."""
        with of_system(self.folder, "cannot be written"):
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / "choosing.lock").open("a")
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _place(self, name: str) -> Path:
        return self.folder / "machines" / self._part(name)

    def _part(self, name: str) -> str:
        """Return a name that can be a part of a path. Raises TraceError."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise TraceError(self.folder, f"{name!r} is neither a machine nor a host")
        return name

    # ----------------------------------------------------------------------------- hosts

    def host(self, node: str) -> HostRecord:
        """Return what is known of a host; one of which nothing is known is up."""
        try:
            return _read(self.folder / "hosts" / f"{self._part(node)}.json", HostRecord)
        except FileNotFoundError:
            return HostRecord(node)
        except TraceError:
            return HostRecord(node, HostState.SILENT, by="its record cannot be read")

    def write_host(self, record: HostRecord) -> HostRecord:
        """Write down what is known of a host."""
        _write(self.folder / "hosts" / f"{self._part(record.node)}.json", record)
        return record


def _write(path: Path, record: MachineRecord | HostRecord) -> None:
    text = json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n"
    with of_system(path, "cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as beside:
            beside.write_text(text, encoding="utf-8")


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    """Return a record. Raises FileNotFoundError, and TraceError for what is none."""
    try:
        return record_of(kind, json_of(path.read_bytes()))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, ParameterError) as error:
        raise TraceError(path, f"is damaged or was not written by forestall: {error}") from None
