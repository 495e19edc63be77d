"""A scheduler of one's own, in Python: the host for a guest, from what is foreseen of the hosts.

The compiled engine asks it where it would ask its own schedulers; all else is theirs: which hosts
are free, when a job is tried again, and what becomes of one that loses its host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._compile import AskedFunction
from forestall.core.model.cycle import FAR, MILLION
from forestall.core.model.errors import ParameterError
from forestall.core.model.own import Own

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HostsNow:
    """What is known of the hosts that are free for a job, float64[k] each; times in s.

    Attributes
    ----------
    number : int64[k], their numbers, in order
    jct : time until the job would be done, were the host to stay available
    mttf : mean time until the host leaves; inf: never
    etl : effective task length: work that the host is expected to do until it leaves, s of a host
        of speed 1; inf: endless
    jctf : time until the job is expected to be done, failures considered
    rank : what a guest gets there now, of a host of speed 1; or the speed, as `rank` says
    chance : that the host stays until the job is done
    """

    number: npt.NDArray[np.int64]
    jct: Floats
    mttf: Floats
    etl: Floats
    jctf: Floats
    rank: Floats
    chance: Floats


class HostScheduler(Own, ABC):
    """A scheduler for shared hosts: `fs.simulate_cycle(..., scheduler=Mine())`."""

    @abstractmethod
    def choose(self, hosts: HostsNow) -> int | None:
        """Return which of the free hosts a job is started on, by its place among them from 0; None
        to let the job wait."""


class OwnScheduler:
    """A scheduler as kernels ask it, about the candidates in `estimates` (ESTIMATE[hosts]), which
    are set before the first question."""

    def __init__(self, scheduler: HostScheduler) -> None:
        self.estimates: npt.NDArray[Any] | None = None
        self._scheduler = scheduler
        self.asked = AskedFunction(self._answer, -1)

    def _answer(self, _job: int, count: int, _now: int) -> int:
        assert self.estimates is not None, "asked before there are hosts"
        chosen = self._scheduler.choose(hosts_now(self.estimates[:count]))
        if chosen is None:
            return -1
        place = int(chosen)
        if not 0 <= place < count:
            allowed = f"a place among the {count} free hosts, from 0, or None"
            raise ParameterError("scheduler", place, allowed)
        return place


def hosts_now(estimates: npt.NDArray[Any]) -> HostsNow:
    """Return what estimates of candidates tell, times that never come as inf."""

    def seconds(name: str) -> Floats:
        told = np.asarray(estimates[name])
        return np.where(told >= FAR, np.inf, told.astype(np.float64))

    return HostsNow(
        np.array(estimates["host"], dtype=np.int64),
        *(seconds(name) for name in ("jct", "mttf", "etl", "jctf")),
        *(estimates[name] / MILLION for name in ("rank", "chance")),
    )
