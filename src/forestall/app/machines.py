"""Virtual machines of a fleet on this host: what the commands `forestall machines ...` do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from forestall.adapters.qemu.backend import QemuBackend
from forestall.adapters.qemu.guest import Guest, MachineError
from forestall.app.machines_fleet import FleetFile, read_fleet
from forestall.app.machines_foreseen import add_foreseen, parse_moment, read_foreseen
from forestall.live.coordinator import Coordinator, Outcome
from forestall.live.ledger import Entry, Ledger
from forestall.live.picture import Need
from forestall.model.errors import ParameterError, TraceError
from forestall.model.units import parse_duration

LEDGER: Final = "ledger.jsonl"
FORESEEN: Final = "predictions.csv"
MACHINES: Final = "machines"
SLACK: Final = 2
"""Run times to the deadline of a machine that was given only a run time."""


@dataclass(frozen=True)
class Fleet:
    """A folder with fleet.toml, and all that belongs to it.

    Attributes
    ----------
    folder, file : where it is, and what fleet.toml says
    backend : runs its machines
    coordinator : decides about them; it has read what is foreseen
    clock : seconds since 1970
    """

    folder: Path
    file: FleetFile
    backend: QemuBackend
    coordinator: Coordinator
    clock: Callable[[], float]

    @classmethod
    def open(cls, folder: Path, clock: Callable[[], float] = time.time) -> Fleet:
        """Return the fleet of a folder. Raises TraceError for a file in it that cannot be read."""
        file = read_fleet(folder)
        machines = folder / MACHINES
        backend = QemuBackend(machines, tuple(file.nodes), file.transfer(), file.wrapper)
        coordinator = Coordinator(file.plan(), backend, Ledger(folder / LEDGER), clock)
        fleet = cls(folder, file, backend, coordinator, clock)
        fleet.read_foreseen()
        return fleet

    def read_foreseen(self) -> dict[str, int]:
        """Tell the coordinator what the predictions file says now; returns it."""
        foreseen = read_foreseen(self.folder / FORESEEN, self.file.nodes)
        for node in self.file.nodes:
            self.coordinator.foresee(node, foreseen.get(node))
        return foreseen

    def foresee(self, node: str, at: int | None) -> None:
        """Write down when a node is predicted to fail (None: not any more), and tell it."""
        self.coordinator.foresee(node, at)
        add_foreseen(self.folder / FORESEEN, node, at)

    # ----------------------------------------------------------------------------- commands

    def start(self, guest: Guest, node: str | None, need: Need) -> dict[str, Any]:
        """Start a machine, on this node or on the one that the strategy chooses."""
        guest.checked()
        for seen in self.backend.watch():
            if seen.machine == guest.name and seen.state.alive:
                raise MachineError(guest.name, f"runs already, on {seen.node}")
        if node is None:
            node, why = self.coordinator.choose(guest.name, need)
        else:
            self.coordinator.check_room(node)
            why = "asked for"
        seen = self.backend.add(guest, node)
        self.coordinator.started(guest.name, node, need, why)
        return {**asdict(seen), "why": why}

    def drain(self, node: str) -> list[Outcome]:
        """Move every machine off a node, to which nothing comes until that is taken back."""
        self.foresee(node, math.floor(self.clock()))
        return self.coordinator.step(only=node)

    def watch(self, every: float, until: float) -> Iterator[tuple[list[Outcome], str]]:
        """Look at what runs and what is foreseen, move what has to, and wait; over and over until
        that moment.

        Yields what came of each round, and what was wrong with the predictions file, if anything:
        the watch goes on with what it knew before.
        """
        while True:
            trouble = ""
            try:
                self.read_foreseen()
            except TraceError as error:
                trouble = str(error)
            yield self.coordinator.step(), trouble
            left = until - self.clock()
            if left <= 0:
                return
            time.sleep(min(every, left))

    def listing(self) -> dict[str, Any]:
        """Return all machines and nodes as they are now."""
        deadlines = _deadlines(Ledger(self.folder / LEDGER).news())
        machines = [
            {**asdict(seen), "deadline": deadlines.get(seen.machine)}
            for seen in self.backend.watch()
        ]
        foreseen = self.read_foreseen()
        taken = self.coordinator.taken()
        leaving = self.coordinator.failing(self.clock())
        nodes = [
            {
                "node": node,
                "processors": processors,
                "machines": taken[node],
                "room": self.file.plan().room(node) - taken[node],
                "foreseen": foreseen.get(node),
                "leaving": node in leaving,
            }
            for node, processors in self.file.nodes.items()
        ]
        return {"machines": machines, "nodes": nodes}


def need_of(runtime: str | None, deadline: str | None, now: float) -> Need:
    """Return what options say that a machine has to do. Raises ParameterError.

    The deadline of a machine with a run time alone is twice that from now.
    """
    seconds = None if runtime is None else parse_duration(runtime, "--runtime")
    if seconds == 0:
        raise ParameterError("--runtime", runtime, "a duration above 0")
    if deadline is None:
        return Need(seconds, None if seconds is None else math.floor(now) + SLACK * seconds)
    at = moment(deadline, now, "--deadline")
    if at <= now:
        raise ParameterError("--deadline", deadline, "a time to come")
    return Need(seconds, at)


def moment(text: str, now: float, name: str) -> int:
    """Return the time that a date, seconds since 1970 or a duration from now (2h) says."""
    try:
        return parse_moment(text, name)
    except ParameterError as error:
        try:
            return math.floor(now) + parse_duration(text, name)
        except ParameterError:
            allowed = f"{error.allowed}, or a duration from now such as 2h"
            raise ParameterError(name, text, allowed) from None


def _deadlines(entries: list[Entry]) -> dict[str, int | None]:
    return {one["machine"]: one["deadline"] for one in entries if one["what"] == "started"}


def sentence(outcome: Outcome) -> str:
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
    return f"{name}: {outcome.what} on {outcome.node}: {outcome.why}"


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in a form for JSON."""
    value = {key: one for key, one in asdict(outcome).items() if key != "moved"}
    if (moved := outcome.moved) is not None:
        gap = None if math.isnan(moved.gap) else moved.gap
        value |= {**asdict(moved), "gap": gap}
    return value
