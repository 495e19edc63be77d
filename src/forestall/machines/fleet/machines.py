"""Virtual machines of a fleet on this host: what the commands `forestall machines ...` do."""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.units import parse_duration
from forestall.core.show.blocks import Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import or_dash
from forestall.machines.acting.backend import MachineState, SeenMachine
from forestall.machines.acting.coordinator import Coordinator, MachineOutcome
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.acting.picture import Need
from forestall.machines.adapters.qemu.backend import QemuBackend
from forestall.machines.fleet.fleet import FleetFile, read_fleet
from forestall.machines.fleet.foreseen import (
    DRAIN,
    UNDRAIN,
    ForeseenFile,
    add_foreseen,
    checked_moment,
    parse_moment,
    read_foreseen,
)
from forestall.vaults.adapters.qemu_guest import Guest, MachineError

LEDGER: Final = "ledger.jsonl"
FORESEEN: Final = "predictions.csv"
MACHINES: Final = "machines"
SLACK: Final = 2
"""Run times to the deadline of a machine that was given only a run time."""


class _Machines(QemuBackend):
    """The machines of a fleet; one whose record cannot be read does not hide the others."""

    def watch(self) -> list[SeenMachine]:
        """Return all machines, by name; one that cannot be read is on the node that it ran on last,
        as far as its folders tell, and keeps its room there."""
        seen = []
        for name in self._names():
            try:
                seen.append(self.look(name))
            except TraceError as error:
                folders = sorted(self._place(name).glob("[0-9]*.*"))
                node = folders[-1].name.partition(".")[2] if folders else ""
                seen.append(SeenMachine(name, node, MachineState.UNKNOWN, says=str(error)))
        return seen


@dataclass(frozen=True)
class FleetFolder:
    """A folder with fleet.toml, and all that belongs to it.

    Attributes
    ----------
    folder, file : where it is, and what fleet.toml says
    backend : runs its machines
    coordinator : decides about them; it has read what is foreseen
    clock : seconds since 1970
    foreseen_trouble : what of the predictions file could not be used when it was read last
    """

    folder: Path
    file: FleetFile
    backend: QemuBackend
    coordinator: Coordinator
    clock: Callable[[], float]
    foreseen_trouble: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, clock: Callable[[], float] = time.time) -> FleetFolder:
        """Return the fleet of a folder. Raises TraceError for a fleet.toml that cannot be used."""
        file = read_fleet(folder)
        machines = folder / MACHINES
        backend = _Machines(machines, tuple(file.nodes), file.transfer(), file.wrapper)
        coordinator = Coordinator(file.plan(), backend, MachineLedger(folder / LEDGER), clock)
        fleet = cls(folder, file, backend, coordinator, clock)
        fleet.read_foreseen()
        return fleet

    def read_foreseen(self) -> ForeseenFile:
        """Tell the coordinator what the predictions file says now; returns it."""
        foreseen = read_foreseen(self.folder / FORESEEN, self.file.nodes)
        for node in self.file.nodes:
            self.coordinator.foresee(node, foreseen.failures.get(node))
            self.coordinator.drain(node, drained=node in foreseen.drained)
        self.foreseen_trouble[:] = [foreseen.trouble] if foreseen.trouble else []
        return foreseen

    def troubles(self) -> list[str]:
        """Return what was wrong with predictions and ledger, and stopped nothing; a line each."""
        return [*self.foreseen_trouble, *self.coordinator.troubles()]

    def foresee(self, node: str, at: int | None) -> None:
        """Write down when a node is predicted to fail (None: not any more), and tell it."""
        self.coordinator.foresee(node, at)
        add_foreseen(self.folder / FORESEEN, node, at)

    # ----------------------------------------------------------------------------- commands

    def start(self, guest: Guest, node: str | None, need: Need) -> dict[str, Any]:
        """Start a machine, on this node or on the one that the strategy chooses."""
        guest.checked()
        with alone(self.folder):
            for seen in self.backend.watch():
                if seen.machine == guest.name and seen.state.alive:
                    raise MachineError(guest.name, f"already runs on {seen.node}")
            if node is None:
                node, why = self.coordinator.choose(guest.name, need)
            else:
                why = self.coordinator.asked(node)
            seen = self.backend.add(guest, node)
            self.coordinator.started(guest.name, node, need, why)
        return {**asdict(seen), "why": why}

    def migrate(self, machine: str, node: str) -> MachineOutcome:
        """Move a machine to a node."""
        self.backend.look(machine)  # one that is unknown is told before anything else
        with alone(self.folder):
            return self.coordinator.move(machine, node)

    def stop(self, machine: str) -> SeenMachine:
        """End a machine; returns what became of it."""
        self.backend.look(machine)
        with alone(self.folder):
            self.coordinator.stop(machine)
            return self.backend.look(machine)

    def drain(self, node: str) -> list[MachineOutcome]:
        """Move every machine off a node, to which nothing comes until that is taken back."""
        with alone(self.folder):
            self.coordinator.drain(node)
            try:
                add_foreseen(self.folder / FORESEEN, node, DRAIN)
            except TraceError as error:  # a full disk is a reason to leave a node, not to stay
                self.foreseen_trouble.append(str(error))
            return self.coordinator.step(only=node)

    def undrain(self, node: str) -> None:
        """Take a node that was drained into use again."""
        self.coordinator.drain(node, drained=False)
        add_foreseen(self.folder / FORESEEN, node, UNDRAIN)

    def watch(self, every: float, until: float) -> Iterator[tuple[list[MachineOutcome], list[str]]]:
        """Look at what runs and what is foreseen, move what has to, and wait; over and over until
        that moment.

        Yields what came of each round, and what was wrong, if anything: the watch goes on. Raises
        TraceError where another watch is at work.
        """
        with only_watch(self.folder):
            while True:
                outcomes: list[MachineOutcome] = []
                broken = []
                try:
                    with alone(self.folder):
                        self.read_foreseen()
                        outcomes = self.coordinator.step()
                except ForestallError as error:
                    broken.append(str(error))
                yield outcomes, [*broken, *self.troubles()]
                left = until - self.clock()
                if left <= 0:
                    return
                time.sleep(min(every, left))

    def listing(self) -> dict[str, Any]:
        """Return all machines and nodes as they are now."""
        started = (
            one for one in MachineLedger(self.folder / LEDGER).news() if one["what"] == "started"
        )
        deadlines = {one["machine"]: one["deadline"] for one in started}
        seen = self.backend.watch()
        machines = [{**asdict(one), "deadline": deadlines.get(one.machine)} for one in seen]
        foreseen = self.read_foreseen()
        taken = self.coordinator.taken(seen)
        leaving = self.coordinator.failing(self.clock())
        nodes = [
            {
                "node": node,
                "processors": processors,
                "machines": taken[node],
                "room": self.file.plan().room(node) - taken[node],
                "foreseen": foreseen.failures.get(node),
                "leaving": node in leaving,
                "drained": node in foreseen.drained,
            }
            for node, processors in self.file.nodes.items()
        ]
        return {"machines": machines, "nodes": nodes}


def report_of(listing: Mapping[str, Any], folder: Path) -> Report:
    """Return machines and nodes, as `FleetFolder.listing` tells them, as a report; `folder` is that
    of the fleet."""
    of_machines = (
        ("Machine", "machine", str), ("Node", "node", str), ("State", _state),
        ("Deadline", "deadline", or_dash(date)),
        ("Console", "console", lambda path: beside(path, folder)),
    )  # fmt: skip
    of_nodes = (
        ("Node", "node", str), ("Processors", "processors", lambda count: f"{count:g}"),
        ("Machines", "machines", str), ("Room", "room", str), ("Predicted failure", _foreseen),
    )  # fmt: skip
    body = (
        Table.by("machines", of_machines, listing["machines"], right=(), most=0),
        Table.by("nodes", of_nodes, listing["nodes"], right=(1, 2, 3), most=0),
    )
    return Report("Machines", "", (Section("machines", "", body=body),), closing=())


def _state(machine: Mapping[str, Any]) -> str:
    says = machine["says"]
    return str(machine["state"]) + (f" ({says})" if says not in ("", machine["state"]) else "")


def _foreseen(node: Mapping[str, Any]) -> str:
    fate = " (drained)" if node["drained"] else " (leaving)" if node["leaving"] else ""
    return or_dash(date)(node["foreseen"]) + fate


def date(time: float) -> str:
    """Return a moment, Unix s, as a date in UTC."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"


def beside(path: str, folder: Path) -> str:
    """Return a path as seen from the fleet's folder, which is known."""
    try:
        return str(Path(path).relative_to(folder.resolve()))
    except ValueError:
        return path


def need_of(runtime: str | None, deadline: str | None, now: float) -> Need:
    """Return what options say that a machine has to do. Raises ParameterError.

    The deadline of a machine with a run time alone is twice that from now.
    """
    seconds = None if runtime is None else parse_duration(runtime, "runtime")
    if seconds == 0:
        raise ParameterError("runtime", runtime, "a duration above 0")
    if deadline is None:
        return Need(seconds, None if seconds is None else math.floor(now) + SLACK * seconds)
    at = moment(deadline, now, "deadline")
    if at <= now:
        raise ParameterError("deadline", deadline, "a time in the future")
    if seconds is not None and at < now + seconds:
        allowed = f"a time that leaves {{runtime}} {runtime} to run"
        raise ParameterError("deadline", deadline, allowed)
    return Need(seconds, at)


def moment(text: str, now: float, name: str) -> int:
    """Return the time that a date, seconds since 1970 or a duration from now (2h) says."""
    try:
        return parse_moment(text, name)
    except ParameterError as error:
        try:
            duration = parse_duration(text, name)
        except ParameterError:
            allowed = f"{error.allowed}, or a duration from now such as 2h"
            raise ParameterError(name, text, allowed) from None
    return from_now(duration, now, text, name)


def from_now(duration: int, now: float, text: str, name: str) -> int:
    """Return the time so many seconds from now. Raises ParameterError where that is too far."""
    return checked_moment(math.floor(now) + duration, text, name)


def sentence(outcome: MachineOutcome) -> str:
    """Return what became of a machine, in words."""
    name, moved = outcome.machine, outcome.moved
    if outcome.what == "moved" and moved is not None:
        gap = "" if math.isnan(moved.gap) else f", stood still for {1000 * moved.gap:.0f} ms"
        return (
            f"{name}: moved from {outcome.node} to {outcome.target} in {moved.seconds:.2f} s{gap}"
            f" ({outcome.why})"
        )
    if outcome.what == "failed":
        return outcome.why
    if outcome.what in {"started", "restarted"}:
        return f"{name}: {outcome.what} on {outcome.target} ({outcome.why})"
    if outcome.what == "asked":
        return f"{name}: {outcome.target} is asked for room ({outcome.why})"
    if outcome.what == "busy":
        return f"{outcome.why}; try again"
    if outcome.what == "recovered":
        return f"{outcome.node}: is back: {outcome.why}"
    if outcome.what == "elsewhere":
        return f"{name}: {outcome.why}, from {outcome.node} to {outcome.target}"
    return f"{name}: {outcome.what} on {outcome.node}: {outcome.why}"


def outcome_json(outcome: MachineOutcome) -> dict[str, Any]:
    """Return an outcome in a form for JSON."""
    value = {key: one for key, one in asdict(outcome).items() if key != "moved"}
    if (moved := outcome.moved) is not None:
        gap = None if math.isnan(moved.gap) else moved.gap
        value |= {**asdict(moved), "gap": gap}
    return value


WATCH: Final = "watch.lock"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a fleet from look to deed; waits for whoever holds it.

    The folder itself is locked, so that nothing needs to be written. Processes that are started
    meanwhile do not inherit the lock. Raises TraceError where the folder cannot be opened.
    """
    handle = _opened(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def only_watch(folder: Path) -> Iterator[None]:
    """Be the one watch over a fleet. Raises TraceError where there is one already."""
    handle = _opened(folder / WATCH, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TraceError(folder, "another watch runs on this fleet") from None
        yield
    finally:
        os.close(handle)


def _opened(path: Path, how: int) -> int:
    try:
        return os.open(path, how | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise TraceError(path, f"cannot be opened: {error.strerror or error}") from None
