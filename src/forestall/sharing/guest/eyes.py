"""What a manager sees of its host: the owner's load and the memory that can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from forestall.core.processes.usage import GuestProcesses
from forestall.sharing.agent.guests import registered_guests
from forestall.sharing.agent.sampler import Sampler
from forestall.sharing.guest.policy import Sight


class Eyes(Protocol):
    """Whatever can look at a host."""

    def look(self) -> Sight:
        """Return what there is to see now, loads since the last look."""
        ...


class HostEyes:
    """Looks at this host; what any guest of a folder uses is not the owner's.

    Raises MissingExtraError where the sampler cannot work.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sampler = Sampler(self._guests)

    def look(self) -> Sight:
        """Return what there is to see now."""
        seen = self._sampler.sample()
        available, memory = machine_memory()
        return Sight(seen.boot, seen.cpu, seen.guest_cpu, available / memory)

    def _guests(self) -> list[GuestProcesses]:
        return registered_guests(self._folder)


def machine_memory() -> tuple[float, float]:
    """Return the memory that can be had without swapping, and all of it, in bytes."""
    found = {"MemAvailable:": 0.0, "MemTotal:": 1.0}
    with open("/proc/meminfo", "rb") as file:
        for line in file:
            words = line.decode("ascii").split()
            if words[0] in found:
                found[words[0]] = float(words[1]) * 1024
    return found["MemAvailable:"], found["MemTotal:"]
