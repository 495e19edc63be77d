"""How a guest is run: when it is lowered, stopped and ended, and how its checkpoints are made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Annotated, Any, Final, Self

from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.prediction.availability.states import HOLD, TH1, TH2

CHECKPOINTS: Final = "Checkpoints"
HOST: Final = "The host"
AUTO_MEMORY: Final = -1.0
"""Stands for: as much as it was seen to hold."""
CALM: Final = 10.0
"""s for which the host must be free before a guest is raised, or started again."""


@dataclass(frozen=True)
class GuestSettings:
    """How a guest is run; times in s.

    Attributes
    ----------
    th1, th2 : owner's loads, 0 to 1, above which the guest is lowered, and stopped
    guest_memory : memory that it needs: bytes, or a share of the machine's up to 1; `AUTO_MEMORY`:
        what it held at most so far, and a tenth more
    patience : between SIGTERM and SIGKILL
    silence : without a word from its manager, after which that counts as gone

    Raises ParameterError for values that do not fit.
    """

    wait: Annotated[
        bool, Setting("Wait until the host is free, or exit with code 75 if it is not")
    ] = True
    th1: float = TH1
    th2: float = TH2
    hold: Annotated[
        float,
        Setting(
            "How long a load above {th2} may last before the guest is ended",
            shown="DURATION",
            group=HOST,
        ),
    ] = HOLD
    calm: Annotated[
        float,
        Setting(
            "How long the load must stay low before the guest runs faster or starts again",
            shown="DURATION", group=HOST,
        ),
    ] = CALM  # fmt: skip
    every: Annotated[
        float, Setting("Time between checks of the host", shown="DURATION", group=HOST)
    ] = 1.0
    steps: Annotated[
        str,
        Setting(
            "Priority by load: up to each load of the owner, the nice value of the guest, such "
            "as 0.3:5,0.45:10 (default: as calibrated, else none)",
            shown="LOAD:NICE,...", group=HOST,
        ),
    ] = ""  # fmt: skip
    cgroup: Annotated[
        bool, Setting("Use a control group where this user may make one", group=HOST)
    ] = True
    guest_memory: float = AUTO_MEMORY
    checkpoint: Annotated[
        str,
        Setting(
            "Shell command that writes a checkpoint of the guest, process "
            "$FORESTALL_GUEST_PID, and then exits with code 0",
            shown="CMD", group=CHECKPOINTS,
        ),
    ] = ""  # fmt: skip
    resume: Annotated[
        str,
        Setting(
            "Shell command that resumes from the checkpoint (default: CMD again, with "
            "FORESTALL_GUEST_CHECKPOINT=1)",
            shown="CMD", group=CHECKPOINTS,
        ),
    ] = ""  # fmt: skip
    checkpoint_every: Annotated[
        float,
        Setting(
            "Running time between checkpoints; 0: none",
            shown="DURATION", group=CHECKPOINTS, typed="0",
        ),
    ] = 0.0  # fmt: skip
    checkpoint_timeout: Annotated[
        float,
        Setting("Time limit of a checkpoint", shown="DURATION", group=CHECKPOINTS, typed="60s"),
    ] = 60.0
    grace: Annotated[
        float,
        Setting(
            "How long a guest may stay stopped without its manager before it is ended",
            shown="DURATION",
        ),
    ] = 300.0
    patience: float = 5.0
    silence: float = 15.0
    tell: Annotated[
        str,
        Setting(
            "Where to report each change as a line of JSON: a shell command, file:PATH or "
            "unix:PATH",
            shown="CMD",
        ),
    ] = ""

    def __post_init__(self) -> None:
        if not 0 <= self.th1 <= 1:
            raise ParameterError("th1", self.th1, "a load from 0 to 1")
        if not self.th1 <= self.th2 <= 1:
            raise ParameterError("th2", self.th2, f"a load from {{th1}} ({self.th1:g}) to 1")
        if not 0 < self.every < math.inf:
            raise ParameterError("every", self.every, "a duration above 0")
        if not 0 < self.checkpoint_timeout < math.inf:
            raise ParameterError("checkpoint_timeout", self.checkpoint_timeout, "above 0")
        if self.guest_memory != AUTO_MEMORY and not 0 <= self.guest_memory < math.inf:
            raise ParameterError("guest_memory", self.guest_memory, "an amount of 0 or more")
        self.levels()
        for name in ("hold", "calm", "checkpoint_every", "grace", "patience"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ParameterError(name, value, "0 or more")
        if not self.checkpoint and (self.resume or self.checkpoint_every):
            option = "resume" if self.resume else "checkpoint_every"
            value = self.resume or self.checkpoint_every
            raise ParameterError(option, value, "this only with {checkpoint}")
        for option in ("file:", "unix:"):
            if self.tell == option:
                raise ParameterError("tell", self.tell, f"{option}PATH")

    def to_json(self) -> dict[str, Any]:
        """Return them in a form for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Any) -> Self:
        """Return them as they were written. Raises ParameterError for what does not fit."""
        if not isinstance(told, dict):
            raise ParameterError("settings", str(told), "the settings of a guest")
        kinds = {one.name: type(one.default) for one in fields(cls)}
        for name, value in told.items():
            kind = kinds.get(name)
            fits = isinstance(value, int | float) if kind in (int, float) else kind is type(value)
            if kind is None or not fits or (kind is not bool and isinstance(value, bool)):
                raise ParameterError("settings", f"{name}: {value}", "the settings of a guest")
        return cls(**told)

    def need(self, machine: float) -> float:
        """Return the memory that it needs as a share of the machine's, which is in bytes."""
        if self.guest_memory == AUTO_MEMORY:
            return 0.0
        return self.guest_memory if self.guest_memory <= 1 else self.guest_memory / machine

    def levels(self) -> tuple[tuple[float, int], ...]:
        """Return the steps between normal and lowest priority: owner's loads, ascending, and how
        many nice values below normal it runs up to each. Raises ParameterError."""
        allowed = (
            "loads above Th1 up to Th2 with nice values from 1 to 18, both rising: 0.3:5,0.45:10"
        )
        found = []
        for part in filter(None, self.steps.split(",")):
            load, _, nice = part.partition(":")
            try:
                found.append((float(load), int(nice)))
            except ValueError:
                raise ParameterError("steps", self.steps, allowed) from None
        rising = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(found))
        fits = all(self.th1 < load <= self.th2 and 1 <= nice < 19 for load, nice in found)
        if not (rising and fits):
            raise ParameterError("steps", self.steps, allowed)
        return tuple(found)
