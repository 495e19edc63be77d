"""Shared hosts over time: the load of their owners, sampled on one grid for all."""

from __future__ import annotations

from dataclasses import dataclass, field

from forestall.core.model.arrays import Floats, brief_repr
from forestall.core.model.cleaning import Cleaning


@dataclass(frozen=True)
class HostTraces:
    """Samples of the load by hosts' owners, every `period` seconds from time 0 on.

    Attributes
    ----------
    load : float64[hosts, samples], CPU load of the owner's processes as a share of the machine,
        from 0 to 1; nan where the host gave no sample
    free_memory : float64[hosts, samples], share of the memory that is free; nan where it is not
        known, which counts as enough. None: never known
    period : seconds between samples; sample k stands for [k period, (k + 1) period)
    speed : float64[hosts], clock rate ratio CR of each host; 1 is a host on which a job takes its
        run time
    names : of the hosts
    origin : Unix seconds of time 0, on the hosts' own clock; None where there are no dates, and
        time 0 counts as midnight of a Monday
    source, cleaning : where it came from; what was left out or changed on reading
    """

    load: Floats
    free_memory: Floats | None
    period: int
    speed: Floats
    names: tuple[str, ...]
    origin: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert self.load.ndim == 2, "load is [hosts, samples]"
        assert len(self.load) == len(self.names) == len(self.speed), "hosts of unlike numbers"
        assert self.free_memory is None or self.free_memory.shape == self.load.shape
        assert self.period >= 1

    def __len__(self) -> int:
        return len(self.load)

    @property
    def samples(self) -> int:
        """Samples of each host."""
        return int(self.load.shape[1])

    @property
    def end(self) -> int:
        """Seconds that the samples cover."""
        return self.samples * self.period
