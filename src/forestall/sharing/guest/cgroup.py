"""A control group (version 2) of a guest's own, where this user may make one.

It needs no privileges where a part of the tree was delegated, as systemd does to each user.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.processes.priority import NICE, in_child

PROCESSES: Final = "cgroup.procs"
NORMAL_WEIGHT, LEAST_WEIGHT = 100, 1
_PATIENCE: Final = 1.0
"""s until a group is taken as frozen, or as one that cannot be removed."""


@dataclass(frozen=True)
class ControlGroup:
    """A folder in the tree of control groups.

    Attributes
    ----------
    path : absolute
    """

    path: str

    @classmethod
    def make(cls, name: str) -> ControlGroup | None:
        """Return a new group, as high in the tree as this user may put processes: priorities count
        among neighbours only. None where there is no such place."""
        for place in _places():
            group = cls(f"{place}/{name}")
            try:
                os.mkdir(group.path)
            except OSError:
                continue
            if group.can_freeze and in_child(group.join):
                return group
            group.remove()
        return None

    @property
    def can_freeze(self) -> bool:
        """Whether it can be stopped and killed as a whole."""
        return all(os.path.exists(f"{self.path}/cgroup.{what}") for what in ("freeze", "kill"))

    @property
    def has_priority(self) -> bool:
        """Whether it has a share of the CPU that can be set."""
        return any(os.access(f"{self.path}/cpu.{what}", os.W_OK) for what in ("idle", "weight"))

    def join(self) -> bool:
        """Put this process into it; returns whether that came off."""
        return self._write(PROCESSES, "0")

    def pids(self) -> list[int]:
        """Return the numbers of its processes."""
        try:
            return [int(word) for word in Path(self.path, PROCESSES).read_text("ascii").split()]
        except (OSError, ValueError):
            return []

    def set_level(self, level: int) -> None:
        """Give it the share of the CPU of a nice value above the normal one: 0 is normal, `NICE`
        the lowest share; in between, a step is a quarter, as in the kernel's own scale."""
        low = level >= NICE
        if not low:
            self._write("cpu.idle", "0")
        weight = LEAST_WEIGHT if low else max(LEAST_WEIGHT, round(NORMAL_WEIGHT / 1.25**level))
        self._write("cpu.weight", str(weight))
        if low:
            self._write("cpu.idle", "1")

    def freeze(self, *, on: bool) -> bool:
        """Stop all of it or let it go on; returns whether that has come about."""
        if not self._write("cgroup.freeze", str(int(on))):
            return False
        late = time.monotonic() + _PATIENCE
        while self.frozen() != on:
            if time.monotonic() > late:
                return False
            time.sleep(0.002)
        return True

    def frozen(self) -> bool:
        """Return whether all of it stands still."""
        try:
            return "frozen 1" in Path(self.path, "cgroup.events").read_text("ascii")
        except OSError:
            return False

    def kill(self) -> None:
        """Kill every process in it, and those that are just being made."""
        self._write("cgroup.kill", "1")

    def remove(self) -> None:
        """Remove it; processes that just ended are waited for."""
        late = time.monotonic() + _PATIENCE
        while time.monotonic() < late:
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)

    def _write(self, name: str, text: str) -> bool:
        with contextlib.suppress(OSError):
            handle = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(handle, text.encode())
            finally:
                os.close(handle)
            return True
        return False


def _places() -> list[str]:
    """Return the folders from the top of the tree down to the group of this process."""
    root = next(
        (
            place
            for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
            if os.path.exists(f"{place}/cgroup.controllers")
        ),
        None,
    )
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::/")), None)
    if root is None or own is None:
        return []
    parts = [part for part in own.split("/") if part]
    if ".." in parts:
        return []
    return ["/".join([root, *parts[:k]]) for k in range(len(parts) + 1)]
