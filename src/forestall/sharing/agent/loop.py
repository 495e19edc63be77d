"""The agent itself: a sample each period, its state, what is written, what is told."""

from __future__ import annotations

import math
import os
import resource
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from forestall.__about__ import __version__
from forestall.core.model.errors import ForestallError
from forestall.core.model.units import format_duration
from forestall.logs.metrics.day_files import SET, STARTED, DaySample, SegmentHeader
from forestall.prediction.availability.states import HOLD, NAMES, PERIOD, S5, TH1, TH2, StateWatch
from forestall.prediction.availability.status import write_status
from forestall.sharing.agent.clock import AgentClock
from forestall.sharing.agent.forecaster import NOTHING, Forecast, Forecaster
from forestall.sharing.agent.sampler import HostSample, Sampler
from forestall.sharing.agent.store import DayStore

KEEP: Final = 400
SET_BY: Final = 2.0
"""Seconds by which the wall clock leaves CLOCK_BOOTTIME between two samples where it was set."""
SOON: Final = 0.05
"""A sample due within this share of a period is left out: the one before was that late."""


@dataclass(frozen=True)
class AgentSettings:
    """What an agent is to do.

    Attributes
    ----------
    folder : where it keeps what it sees
    period : s between samples
    th1, th2, hold, guest_memory : see `states.host_states`; memory as a share
    keep : days of which the files are kept
    storage : the folder of a storage daemon that is sampled too
    speed : of this host, 1 for that of an average one of its pool
    """

    folder: Path
    period: float = PERIOD
    th1: float = TH1
    th2: float = TH2
    hold: float = HOLD
    guest_memory: float = 0.0
    keep: int = KEEP
    storage: Path | None = None
    speed: float = 1.0

    def header(self, host: str, boot: bytes, serial: int) -> SegmentHeader:
        """Return the header of what this agent writes."""
        limits = (self.th1, self.th2, self.hold, self.guest_memory)
        return SegmentHeader(
            host, boot, serial, self.period, *limits, storage=self.storage is not None
        )


class Agent:
    """Takes samples, names the state and hands both on.

    Parameters
    ----------
    settings, host : what to do; the name of this host
    clock, sampler, store : the time, where samples come from and where they go
    forecaster : says how long the host may last; None: nobody does
    tell : takes a line that the user should see
    hooks : are called with each status

    Attributes
    ----------
    status : what is known now, as FOLDER/status.json has it; a new object each time
    samples : taken so far
    """

    def __init__(
        self,
        settings: AgentSettings,
        host: str,
        *,
        clock: AgentClock,
        sampler: Sampler,
        store: DayStore,
        forecaster: Forecaster | None = None,
        tell: Callable[[str], None] = lambda line: None,
        hooks: tuple[Callable[[Mapping[str, Any]], None], ...] = (),
    ) -> None:
        limits = (settings.th1, settings.th2)
        self.settings, self.host = settings, host
        self._clock, self._sampler, self._store = clock, sampler, store
        self._forecaster, self._tell, self._hooks = forecaster, tell, hooks
        self._watch = StateWatch(limits, settings.hold, settings.guest_memory, settings.period)
        self._began = clock.boot()
        self._started = clock.wall()
        self._own = _own_cpu()
        self.samples = 0
        self._state, self._since = -1, self._started
        self._ahead: float | None = None
        self._last: float | None = None
        self._forecast: Forecast = NOTHING
        self._untold = ""
        self.status: Mapping[str, Any] = {}

    def run(self, wait: Callable[[float], bool], until: float = math.inf) -> None:
        """Sample until `wait` returns True or for `until` s, and bring everything onto the disk.

        Samples are due at the multiples of the period on CLOCK_BOOTTIME, so they neither drift nor
        come in bunches after a late one. `wait(seconds)` may return early.
        """
        period = self.settings.period
        try:
            while True:
                now = self._clock.boot()
                due = (math.floor(now / period) + 1) * period
                if due - now < SOON * period:
                    due += period
                while (now := self._clock.boot()) < due:
                    left = until - (now - self._began)
                    if left <= 0 or wait(max(min(due - now, left), 0.001)):
                        return
                self.step()
        finally:
            self.close()

    def step(self) -> HostSample:
        """Take one sample, and do all that follows from it."""
        sample = self._sampler.sample()
        missed = 0.0 if self._last is None else sample.boot - self._last - self.settings.period
        state = self._watch.see(sample.boot, sample.cpu, sample.memory_free)
        flags = STARTED if self.samples == 0 else 0
        ahead = sample.time - sample.boot
        if self._ahead is not None and abs(ahead - self._ahead) > SET_BY:
            flags |= SET
            self._tell(f"the clock was set by {ahead - self._ahead:+,.0f} s; no sample is lost")
        self._ahead, self._last = ahead, sample.boot
        self._store.add(
            DaySample(
                sample.time, sample.boot, sample.cpu, sample.memory_free, sample.io,
                sample.guest_cpu, state, flags, *sample.storage,
            )
        )  # fmt: skip
        self.samples += 1
        if missed > self.settings.hold:
            self._tell(f"no sample for {format_duration(missed)}: {NAMES[S5]}")
            self._state = S5
        if state != self._state:
            self._change(state, sample)
        if self._forecaster is not None:
            self._forecast = self._forecaster.look(sample.boot)
        self._publish(sample)
        return sample

    def close(self) -> None:
        """Bring everything onto the disk, and end what was started."""
        if self._forecaster is not None:
            self._forecaster.close()
        self._store.close()

    def _change(self, state: int, sample: HostSample) -> None:
        before = "" if self._state < 0 else f"{NAMES[self._state]} -> "
        self._state, self._since = state, sample.time
        memory = (
            ""
            if math.isnan(sample.memory_free)
            else f", memory free {100 * sample.memory_free:.0f} %"
        )
        load = "not known" if math.isnan(sample.cpu) else f"{100 * sample.cpu:.0f} %"
        self._tell(f"{before}{NAMES[state]}: load {load}{memory}")

    def _publish(self, sample: HostSample) -> None:
        """Write the status and hand it on; what goes wrong is told once, and the agent goes on."""
        self.status = self._told(sample)
        wrong = ""
        try:
            write_status(self.settings.folder, self.status)
        except OSError as error:
            wrong = f"status.json cannot be written: {error.strerror or error}"
        for hook in self._hooks:
            try:
                hook(self.status)
            except (ForestallError, OSError) as error:
                wrong = wrong or str(error)
        if wrong and wrong != self._untold:
            self._tell(wrong)
        self._untold = wrong

    def _told(self, sample: HostSample) -> dict[str, Any]:
        settings, state = self.settings, NAMES[self._state]
        used = _own_cpu() - self._own
        return {
            "version": __version__,
            "host": self.host,
            "pid": os.getpid(),
            "started": round(self._started, 3),
            "time": sample.time,
            "period": settings.period,
            "state": state,
            "since": round(self._since, 3),
            "cpu": _rounded(sample.cpu),
            "guest_cpu": _rounded(sample.guest_cpu),
            "memory_free": _rounded(sample.memory_free),
            "io": None if math.isnan(sample.io) else round(sample.io),
            "th1": settings.th1,
            "th2": settings.th2,
            "hold": settings.hold,
            "guest_memory": settings.guest_memory,
            "reliability": self._forecast.chances(state),
            "mttf": self._forecast.mean_time(state),
            "expected_load": self._forecast.loads(state),
            "speed": settings.speed,
            "forecast_made": self._forecast.made or None,
            "learnt_days": self._forecast.learnt_days,
            "samples": self.samples,
            "samples_waiting": self._store.waiting,
            "samples_lost": self._store.lost,
            "own_cpu": round(used / max(sample.boot - self._began, 1e-9), 6),
            "own_cpu_seconds": round(used, 3),
            "own_memory": _own_memory(),
            "forecast_memory": self._forecast.memory,
            "storage_disk": _rounded(sample.storage.disk),
            "storage_clients": _rounded(sample.storage.clients),
            "storage_bytes": _rounded(sample.storage.stored),
        }


def boot_id() -> bytes:
    """Return 16 bytes that are the same until the machine starts anew."""
    with suppress(OSError, ValueError):
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return uuid.UUID(text.strip()).bytes
    return uuid.uuid4().bytes  # each start of the agent then counts as one of the machine


def _own_cpu() -> float:
    """Return s of CPU time of this process and of those it has waited for."""
    parts = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(part) for part in parts]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _own_memory() -> int:
    """Return the bytes of memory that this process holds."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
