"""Samples of this host: what its owner uses of it, what guests do, and what is free."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from forestall.core.model.errors import MissingExtraError
from forestall.core.processes.usage import GuestProcesses, WatchedProcesses
from forestall.sharing.agent.clock import AgentClock, SystemClock
from forestall.vaults.hosts.disk import StorageSample

__all__ = ["Counters", "GuestProcesses", "HostSample", "Sampler", "machine_counters"]

UNKNOWN: Final = math.nan


class HostSample(NamedTuple):
    """One sample of a host; values are of the time since the sample before.

    Attributes
    ----------
    time : Unix s, rounded down
    boot : s since the machine was started, suspended ones included (CLOCK_BOOTTIME)
    cpu : the owner's share of the machine's CPU time, 0 to 1: all that is busy, less the guests'
        and the sampler's own; nan where it is not known (no time has passed)
    guest_cpu : the guests' share of the machine
    memory_free : share of the memory that the owner leaves: what is available, and what guests hold
    io : bytes/s read from and written to disks; nan where it is not known
    own_cpu : CPU time of this process and its helpers, as a share of ONE processor
    storage : of a storage host: share of the time its disk was busy, clients, bytes that lie there
    """

    time: int
    boot: float
    cpu: float
    guest_cpu: float
    memory_free: float
    io: float
    own_cpu: float
    storage: StorageSample = StorageSample()


class Counters(NamedTuple):
    """What a machine counts: CPU time in s that was busy and in all, memory in bytes, disk traffic
    in bytes (nan where it is not told), CPU time of this process in s."""

    busy: float
    total: float
    available: float
    memory: float
    traffic: float
    own: float


def machine_counters() -> Counters:
    """Return those of this machine. Raises MissingExtraError without psutil.

    Time that a hypervisor took away (steal) is no load of the owner's, waiting for a disk neither.
    """
    psutil = _psutil()
    times = psutil.cpu_times()._asdict()
    inside = times.get("guest", 0.0) + times.get("guest_nice", 0.0)  # are in user and nice already
    total = sum(times.values()) - inside
    idle = times["idle"] + times.get("iowait", 0.0) + times.get("steal", 0.0)
    memory = psutil.virtual_memory()
    try:
        disks = psutil.disk_io_counters(perdisk=False, nowrap=False)
    except (OSError, RuntimeError, NotImplementedError):
        disks = None
    traffic = math.nan if disks is None else float(disks.read_bytes + disks.write_bytes)
    own = os.times()
    return Counters(
        total - idle, total, float(memory.available), float(memory.total), traffic,
        own.user + own.system,
    )  # fmt: skip


class Sampler:
    """Takes samples; each is of the time since the one before, the first since it was made.

    Parameters
    ----------
    guests : returns whose processes are guests', asked at each sample
    helpers : returns processes of the sampler's own, counted neither as the owner's nor as guests'
    clock : what the time is
    counters : what the machine counts
    storage : what is seen of the storage daemon here, if any
    """

    def __init__(
        self,
        guests: Callable[[], Sequence[GuestProcesses]] = tuple,
        *,
        helpers: Callable[[], Sequence[GuestProcesses]] = tuple,
        clock: AgentClock | None = None,
        counters: Callable[[], Counters] = machine_counters,
        storage: Callable[[], StorageSample] = StorageSample,
    ) -> None:
        self._guests, self._helpers = guests, helpers
        self._clock: AgentClock = SystemClock() if clock is None else clock
        self._counters, self._storage = counters, storage
        self._watched, self._helping = WatchedProcesses(), WatchedProcesses()
        self._last = counters()
        self._boot = self._clock.boot()
        self._watched.look(guests(), self._boot)
        self._helping.look(helpers(), self._boot)

    def sample(self) -> HostSample:
        """Return a sample of the time since the last one."""
        now, boot = self._counters(), self._clock.boot()
        guest = self._watched.look(self._guests(), self._boot)
        helper = self._helping.look(self._helpers(), self._boot)
        before, passed = self._last, boot - self._boot
        total, busy = now.total - before.total, now.busy - before.busy
        own = max(now.own - before.own, 0.0) + helper.cpu
        cpu = guest_cpu = UNKNOWN
        if total > 0:
            guest_cpu = _share(guest.cpu / total)
            cpu = _share((busy - guest.cpu - own) / total)
        io = (now.traffic - before.traffic) / passed if passed > 0 else math.nan
        self._last, self._boot = now, boot
        return HostSample(
            int(self._clock.wall() // 1),
            boot,
            cpu,
            guest_cpu,
            _share((now.available + guest.memory) / now.memory) if now.memory > 0 else UNKNOWN,
            io if math.isnan(io) else max(io, 0.0),
            own / passed if passed > 0 else 0.0,
            self._storage(),
        )


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _psutil() -> Any:
    try:
        return import_module("psutil")
    except ImportError:
        raise MissingExtraError("watching a host", "live") from None
