"""What a driver is told: what is run, how, and whom it asks and tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forestall.core.processes.follow import Writer
from forestall.vaults.acting.upload import ImageSaving
from forestall.vaults.acting.ways import ProgramStart
from forestall.vaults.rules.moments import FailureOutlook
from forestall.vaults.runs import RunHistory


@dataclass(frozen=True)
class RunRules:
    """How a program is run.

    Attributes
    ----------
    saving : how images are saved
    every : s of work between saves; None: by cost and risk; inf: only when asked
    keep : checkpoints that stay
    local : bytes that images may take on this host
    patience : s between SIGTERM and SIGKILL
    life : s without a sign of life after which another host may take the program over
    fresh : begin it again, whatever was saved
    """

    saving: ImageSaving
    every: float | None = None
    keep: int = 3
    local: int = 1 << 40
    patience: float = 5.0
    life: float = 30.0
    fresh: bool = False


@dataclass(frozen=True)
class RunPlan:
    """What is run.

    Attributes
    ----------
    name : by which it is found again
    start : the program
    place : folder of its images, here
    """

    name: str
    start: ProgramStart
    place: Path


@dataclass
class Surroundings:
    """What a driver asks and tells.

    Attributes
    ----------
    outlook : returns how likely a failure is, from the run's history
    say : takes lines for people
    show : take what the program prints, where that goes into files
    requeues : whether a batch system starts this again, so that SIGUSR1 ends the program
    leaving : returns why the program should leave this host now, "" where it need not
    """

    outlook: Callable[[RunHistory], FailureOutlook]
    say: Callable[[str], None] = lambda line: None
    show: tuple[Writer, ...] = ()
    requeues: bool = False
    leaving: Callable[[], str] = lambda: ""
