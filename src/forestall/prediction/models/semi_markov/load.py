"""Failures of hosts from their load: the multi-state process by clock window.

The states S1 to S5 of a host's load (as a monitor sees them at the time) are what the process lives
in; a failure of the log is the state that it must not enter. For each hour of weekdays and of
weekends a delayed semi-Markov process is learned from all hosts together; a host is asked for with
the state that it was last seen in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.models.semi_markov.learning import (
    DAY,
    MONDAY,
    Counted,
    HostHistory,
    counted,
    weekend,
)
from forestall.prediction.models.semi_markov.process import SemiMarkov
from forestall.prediction.models.semi_markov.states import NAMES, host_states, on_grid, stays

STEP: Final = 300
"""Seconds of a step of the process."""

HOURS: Final = 24
KINDS: Final = 2
FAILED: Final = len(NAMES)
STATES: Final = (*NAMES, "failed")


@dataclass(frozen=True)
class LoadModel:
    """What the model takes of the samples: the thresholds and hold time of `host_states`."""

    thresholds: tuple[float, float]
    hold: int
    guest_memory: float

    def states(self, metrics: Metrics, node: slice, begin: int, end: int) -> npt.NDArray[np.int8]:
        """Return int8[k], the state of one node at each whole step of [begin, end)."""
        last = begin + (end - begin) // STEP * STEP
        value = on_grid(metrics.time[node], metrics.value[node], begin=begin, end=last, period=STEP)
        load = value[:, metrics.names.index("cpu")]
        memory = (
            value[:, metrics.names.index("memory_free")] if "memory_free" in metrics.names else None
        )
        return host_states(
            load,
            memory,
            guest_memory=self.guest_memory,
            period=STEP,
            hold=self.hold,
            thresholds=self.thresholds,
            causal=True,
        )


def usable(seen: Observations) -> bool:
    """Return whether there are samples of load."""
    return seen.metrics is not None and "cpu" in seen.metrics.names and len(seen.metrics) > 0


def learn_tables(past: Observations, model: LoadModel) -> Floats:
    """Return float64[2, 24, 6, steps + 1]: for weekdays and weekends and each hour the probability
    that a host which is in state S1 to S5 then (the sixth: in any) fails within so many steps, up
    to a day."""
    hosts = [_history(past, model, node) for node in range(past.nodes)]
    steps = DAY // STEP
    tables = np.zeros((KINDS, HOURS, FAILED + 1, steps + 1))
    for kind in range(KINDS):
        for hour in range(HOURS):
            parts = [_stays_of(host, kind, hour, steps) for host in hosts]
            found = Counted(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            if len(found.state) == 0:
                continue
            process = HostHistory(hosts[0].runs, 0, STATES, (FAILED,)).learned(found, "mixed")
            tables[kind, hour, :FAILED] = 1 - process.reliability_of_each(steps)
            share = np.bincount(found.state[found.first], minlength=FAILED + 1)[:FAILED] + 1e-9
            tables[kind, hour, FAILED] = share @ tables[kind, hour, :FAILED] / share.sum()
    for kind in range(KINDS):  # a log without weekends, or without weekdays
        if not tables[kind].any():
            tables[kind] = tables[1 - kind]
    return tables


def tables_of(held: Held) -> Floats:
    """Return the tables that a file brings. Raises ParameterError."""
    shape = (KINDS, HOURS, FAILED + 1, DAY // STEP + 1)
    return held.array("tables", np.float64, *shape, least=0, most=1)


def _history(past: Observations, model: LoadModel, node: int) -> HostHistory:
    metrics = past.metrics
    assert metrics is not None
    first, last = np.searchsorted(metrics.node, [node, node + 1])
    states = model.states(metrics, slice(first, last), past.begin, past.end)
    log = past.failures
    mine = log.node == node
    start = (log.time[mine] - past.begin) // STEP
    stop = np.maximum(start + 1, (log.time[mine] + log.downtime[mine] - past.begin) // STEP)
    for low, high in zip(start, stop, strict=True):
        states[low:high] = FAILED
    origin = MONDAY if past.origin is None else past.origin
    return HostHistory(stays(states, STEP), origin + past.begin, STATES, (FAILED,))


def _stays_of(host: HostHistory, kind: int, hour: int, steps: int) -> Counted:
    """Return the stays of one host from an hour on, on all days of one kind."""
    midnight = host.origin // DAY * DAY
    starts = np.arange(midnight, host.end, DAY, dtype=np.int64) + hour * 3600
    kept = starts[(starts >= host.origin) & (weekend(starts) == bool(kind))]
    found = counted(host.runs, (kept - host.origin) // STEP, steps)
    return found.until_failure((FAILED,))


def states_before(seen: Observations, times: Ints, model: LoadModel) -> npt.NDArray[np.int8]:
    """Return int8[T, nodes]: the state of each node in the last whole step before each time."""
    metrics = seen.metrics
    made = np.full((len(times), seen.nodes), FAILED - 1, dtype=np.int8)
    if metrics is None or len(times) == 0:
        return made
    at = np.maximum(times - seen.begin, 0) // STEP - 1
    end = min(seen.end, int(times[-1]))
    bounds = np.searchsorted(metrics.node, np.arange(seen.nodes + 1))
    for node in range(seen.nodes):
        part = slice(bounds[node], bounds[node + 1])
        if part.stop > part.start and end - seen.begin >= STEP:
            states = model.states(metrics, part, seen.begin, end)
            made[:, node] = np.where(at >= 0, states[np.clip(at, 0, len(states) - 1)], FAILED - 1)
    return made


def chances_of_load(
    tables: Floats,
    states: npt.NDArray[np.int8],
    times: Ints,
    horizons: tuple[int, ...],
    origin: int | None,
) -> Floats:
    """Return float64[T, nodes, H]: the probability that a node in its state fails within each
    horizon; beyond a day, further days of their kind follow for a node in any state."""
    clock = times + (MONDAY if origin is None else origin)
    made = np.empty((*states.shape, len(horizons)))
    for k, ahead in enumerate(horizons):
        within = min(ahead, DAY)
        curve = _read(tables, clock, within)
        left = 1 - np.take_along_axis(curve, states.astype(np.int64), axis=1)
        gone = within
        while gone < ahead:
            more = min(DAY, ahead - gone)
            left *= 1 - _read(tables, clock + gone, more)[:, FAILED:]
            gone += more
        made[..., k] = 1 - left
    return np.maximum.accumulate(made, axis=-1)


def _read(tables: Floats, clock: Ints, ahead: int) -> Floats:
    """Return float64[T, 6]: the tables at clock times, between two hours by their shares."""
    hour, rest = clock // 3600, (clock % 3600 / 3600)[:, None]
    low, share = divmod(ahead / STEP, 1)
    place = int(low)
    after = min(place + 1, tables.shape[-1] - 1)
    column = (1 - share) * tables[..., place] + share * tables[..., after]

    def of(hours: Ints) -> Floats:
        return column[weekend(hours * 3600).astype(np.int64), hours % HOURS]

    return (1 - rest) * of(hour) + rest * of(hour + 1)


__all__ = ["LoadModel", "SemiMarkov", "chances_of_load", "learn_tables", "states_before", "usable"]
