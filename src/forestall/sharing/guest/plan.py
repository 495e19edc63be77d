"""What a keeper is told when it is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from forestall.core.files.documents import json_of
from forestall.core.processes.files import GuestFiles


@dataclass(frozen=True)
class StayPlan:
    """One stay of a guest on this host, from its start to its end.

    Attributes
    ----------
    folder, name, id : where its files lie, its name, and the mark of its processes
    command, cwd : what runs, and where
    environment : variables beside those of the keeper
    hook, hook_timeout : the checkpoint command (empty: none), and s after which it has failed
    grace : s without a manager after which the guest is ended
    patience : s between SIGTERM and SIGKILL
    silence : s without a word from the manager after which it counts as gone
    cgroup : whether a control group is used where there can be one
    """

    folder: str
    name: str
    id: str
    command: list[str]
    cwd: str
    environment: dict[str, str] = field(default_factory=dict)
    hook: str = ""
    hook_timeout: float = 60.0
    grace: float = 300.0
    patience: float = 5.0
    silence: float = 15.0
    cgroup: bool = True

    @property
    def files(self) -> GuestFiles:
        """The guest's files."""
        return GuestFiles(Path(self.folder), self.name)

    def to_line(self) -> bytes:
        """Return it as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> Self:
        """Return what `to_line` wrote."""
        return cls(**json_of(line))
