"""What a run of cycle sharing leaves behind, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.prediction.models.semi_markov.states import FAILING
from forestall.sharing.simulation.parameters import CycleParameters

Int = npt.NDArray[np.int64]

RUN: Final = record_of("host:i4 state:i4 start done")
"""A host in one state: from when on, s of the jobs' clock (before 0 in the warm-up); work that the
host could have done for guests from its first sample up to then, in millionths of a second."""


@dataclass(frozen=True)
class GuestWorkload:
    """Jobs as they will be simulated: in submit order, each one guest.

    Attributes
    ----------
    jobs : with `runtime` as it counts (`job_length` where that is given)
    work : int64[n], millionths of a second on a host of speed 1
    cleaning : what was left out
    """

    jobs: Jobs
    work: Int
    cleaning: Cleaning


@dataclass(frozen=True)
class HostRuns:
    """The hosts' states as runs, of all hosts in order of (host, start).

    Attributes
    ----------
    runs : RUN[m]; a host's first run starts with the traces
    first : int64[hosts + 1], host h has the runs first[h] to first[h + 1]
    done : int64[hosts, samples + 1], work that each host could do for a guest up to each sample
    begin, end : of the traces on the jobs' clock, s
    period : s of a sample
    """

    runs: npt.NDArray[Any]
    first: Int
    done: Int
    begin: int
    end: int
    period: int

    def since_return(self, host: Int, time: Int) -> Int:
        """Return int64[n]: for how long each of these hosts had been available, s, at times at
        which it was; from the beginning of the traces where it was never seen to be otherwise."""
        runs, span = self.runs, self.end - self.begin + 1
        free = runs["state"] < FAILING[0]
        back = free & ~np.append(False, free[:-1])
        back[self.first[:-1]] = True
        spell = np.maximum.accumulate(np.where(back, np.arange(len(runs)), 0))
        keys = runs["host"].astype(np.int64) * span + (runs["start"] - self.begin)
        mine = host.astype(np.int64) * span + (time - self.begin)  # hosts come in 32 bits
        at = np.searchsorted(keys, mine, side="right") - 1
        since: Int = time - runs["start"][spell[at]]
        return since


@dataclass(frozen=True)
class GuestLog:
    """What the engine was told and decided; empty unless asked for. `estimates` are the candidates
    of all tries, in order of the events; dtypes are those of `forestall.sharing.engine.state`."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]
    estimates: npt.NDArray[Any]


@dataclass(frozen=True)
class StoredCheckpoints:
    """What became of checkpoints in a vault; `transfers` and their `places` as in
    `forestall.sharing.simulation.vault_state`; `skipped` saves found too few hosts."""

    transfers: npt.NDArray[Any]
    places: Int
    skipped: int


@dataclass(frozen=True)
class CycleOutcome:
    """What happened.

    Attributes
    ----------
    workload, hosts, states, parameters : what was simulated; `hosts` as read, `states` as played
    jobs : FATE[n]
    stays : STAY[m] in order of their ends (those of one second as they came)
    log : events, decisions and candidates, empty unless asked for
    events : number of events
    forecasts : how many times forecasts of all hosts were asked for; runs that share them make
        each once
    end : the last second in which something happened to a job
    stored : of checkpoints in a vault; None where they cost what the parameters say
    """

    workload: GuestWorkload
    hosts: HostTraces
    states: HostRuns
    parameters: CycleParameters
    jobs: npt.NDArray[Any]
    stays: npt.NDArray[Any]
    log: GuestLog
    events: int
    forecasts: int
    end: int
    stored: StoredCheckpoints | None = None
