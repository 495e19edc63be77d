"""What a command was told about its records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

TIMEOUT: Final = 600
"""Seconds that one question to Slurm may take."""


@dataclass(frozen=True)
class GivenRecords:
    """What a command was told about its records; see `forestall.cli.site.options`.

    Attributes
    ----------
    paths : files and folders, told apart by content
    slurm : whether to ask the Slurm of this machine
    failures : a failure log; `system`, `start`, `days`, `fold_nodes` and `failure_format` say how
        to read it, as in `forestall.traces.read.read_failures`
    processors_per_node : of an SWF log, whose sizes are processors
    zone : time zone of times without one, and of `since` and `until`; None: UTC, or Slurm's own
    since, until : the window, as text
    partition, min_nodes : the cut
    timeout : s that a question to Slurm may take
    strict : whether a row that must be left out or changed is an error
    """

    paths: tuple[Path, ...] = ()
    slurm: bool = False
    failures: Path | None = None
    system: str | None = None
    start: str | None = None
    days: float | None = None
    fold_nodes: int = 1
    failure_format: str | None = None
    processors_per_node: int = 1
    zone: str | None = None
    since: str | None = None
    until: str | None = None
    partition: str | None = None
    min_nodes: int = 1
    timeout: int = TIMEOUT
    strict: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no source was named at all."""
        return not (self.paths or self.slurm or self.failures)
