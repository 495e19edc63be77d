"""What was observed of a machine in a window of time: failures, and events and metrics beside
them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from forestall.core.model.arrays import brief_repr
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.ras import RasLog


@dataclass(frozen=True)
class Observations:
    """What happened within [begin, end), on one clock and one numbering of nodes.

    Attributes
    ----------
    failures : of the window, and what is known of the times in service
    begin, end : the window, s
    nodes : number of nodes of the machine, which were all observed
    events : records of the window whose `place` is the node's number, None where there is no log;
        a place of -1 is none of the nodes
    metrics : samples of the window, None where there are none
    """

    failures: Failures
    begin: int
    end: int
    nodes: int
    events: RasLog | None = None
    metrics: Metrics | None = None

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert self.begin <= self.end, f"a window that ends before it begins: {self}"
        for name, part in self.parts().items():
            low, high = (part.time.min(), part.time.max()) if len(part) else (self.begin, self.end)
            assert low >= self.begin, f"{name} before the window: {low} < {self.begin}"
            assert len(part) == 0 or high < self.end, f"{name} after it: {high} >= {self.end}"

    @classmethod
    def of(
        cls,
        failures: Failures,
        *,
        begin: int | None = None,
        end: int | None = None,
        nodes: int | None = None,
        events: RasLog | None = None,
        metrics: Metrics | None = None,
    ) -> Observations:
        """Return what was observed within [begin, end); what lies outside is left out.

        Without them the window is that of the failures, see `window_of`.
        """
        known = window_of(failures)
        start = known[0] if begin is None else begin
        stop = known[1] if end is None else end
        parts = [
            None if part is None else part.take((part.time >= start) & (part.time < stop))
            for part in (failures, events, metrics)
        ]
        highest = int(failures.node.max(initial=-1)) + 1
        number = max(failures.nodes, highest, nodes or 0)
        assert isinstance(parts[0], Failures)
        return cls(parts[0], start, max(stop, start), number, parts[1], parts[2])  # type: ignore[arg-type]

    def parts(self) -> dict[str, Failures | RasLog | Metrics]:
        """Return what there is, by name."""
        found = {"failures": self.failures, "events": self.events, "metrics": self.metrics}
        return {name: part for name, part in found.items() if part is not None}

    def between(self, begin: int, end: int) -> Observations:
        """Return what was observed within [begin, end) of the window."""
        start, stop = max(begin, self.begin), min(end, self.end)
        return Observations.of(
            self.failures,
            begin=start,
            end=max(start, stop),
            nodes=self.nodes,
            events=self.events,
            metrics=self.metrics,
        )

    def until(self, time: int) -> Observations:
        """Return the past of `time`: what was observed strictly before it."""
        return self.between(self.begin, time)

    def then(self, later: Observations) -> Observations:
        """Return this and what came after it; of times in service, what the later one says."""
        assert later.begin >= self.end, f"[{later.begin}, ...) overlaps what ends at {self.end}"
        return Observations(
            _joined(self.failures, later.failures, later.end - self.begin),
            self.begin,
            later.end,
            max(self.nodes, later.nodes),
            _joined_events(self.events, later.events),
            _joined_metrics(self.metrics, later.metrics),
        )

    def moved(self, seconds: int) -> Observations:
        """Return the same on a clock that shows `seconds` more."""
        if seconds == 0:
            return self
        log = self.failures
        start, stop = log.service_start, log.service_end
        failures = replace(
            log,
            time=log.time + seconds,
            origin=None if log.origin is None else log.origin - seconds,
            service_start=None if start is None else start + seconds,
            service_end=None if stop is None else stop + seconds,
        )
        rest = [
            None
            if part is None
            else replace(
                part,
                time=part.time + seconds,
                origin=None if part.origin is None else part.origin - seconds,
            )
            for part in (self.events, self.metrics)
        ]
        window = (self.begin + seconds, self.end + seconds)
        return Observations(failures, *window, self.nodes, *rest)  # type: ignore[arg-type]

    @property
    def origin(self) -> int | None:
        """Unix seconds of time 0, None where the failure log has no dates."""
        return self.failures.origin


def window_of(history: Failures) -> tuple[int, int]:
    """Return the [begin, end) that a log covers: [0, span) where all of it lies in that, else from
    its first failure."""
    if len(history) == 0:
        return 0, history.span
    first, last = int(history.time[0]), int(history.time[-1])
    begin = 0 if first >= 0 and last < history.span else first
    return begin, max(begin + history.span, last + 1)


def _joined(one: Failures, two: Failures, span: int) -> Failures:
    """Return two failure logs of neighbouring windows as one."""
    kind = None
    if one.kind is not None or two.kind is not None:
        kind = (one.kind or ("",) * len(one)) + (two.kind or ("",) * len(two))
    nodes = max(one.nodes, two.nodes)
    start, end, new = _joined_service(one, two, nodes)
    return Failures(
        np.concatenate((one.time, two.time)),
        np.concatenate((one.node, two.node)),
        np.concatenate((one.downtime, two.downtime)),
        np.concatenate((one.detectability, two.detectability)),
        kind=kind,
        span=span,
        nodes=nodes,
        repairs=one.repairs,
        names=two.names if two.names is not None and two.nodes >= one.nodes else one.names,
        source=one.source,
        cleaning=one.cleaning,
        origin=one.origin,
        service_start=start,
        service_end=end,
        service_new=new,
    )


def _joined_service(
    one: Failures, two: Failures, nodes: int
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Return when each node was in service over both windows: from where it began in the first of
    them, as windows cut what lies outside of them, to where it ended in the last."""
    told = [log for log in (one, two) if log.service_start is not None]
    if not told or (len(told) == 1 and told[0].nodes != nodes):
        return None, None, None
    if len(told) == 1:
        return told[0].service_start, told[0].service_end, told[0].service_new
    (start, end, new), (later, last, fresh) = (_service_of(log, nodes) for log in told)
    there, then = start < end, later < last
    return (
        np.where(there & then, np.minimum(start, later), np.where(there, start, later)),
        np.where(there & then, np.maximum(end, last), np.where(there, end, last)),
        np.where(there, new, fresh),
    )


def _service_of(log: Failures, nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, end and newness of each of so many nodes; those that the log lacks are never
    there."""
    assert log.service_start is not None
    assert log.service_end is not None
    missing = nodes - log.nodes
    new = np.zeros(log.nodes, dtype=np.bool_) if log.service_new is None else log.service_new
    parts = (log.service_start, log.service_end, new)
    return tuple(np.append(part, np.zeros(missing, dtype=part.dtype)) for part in parts)  # type: ignore[return-value]


def _joined_events(one: RasLog | None, two: RasLog | None) -> RasLog | None:
    if one is None or two is None:
        return two if one is None else one
    kinds, kind = _one_list(one.kinds, two.kinds, two.kind)
    places, place = _one_list(one.places, two.places, two.place)
    alert = None
    if one.alert is not None and two.alert is not None:
        alert = np.concatenate((one.alert, two.alert))
    return replace(
        one,
        time=np.concatenate((one.time, two.time)),
        place=np.concatenate((one.place, place)),
        severity=np.concatenate((one.severity, two.severity)),
        kind=np.concatenate((one.kind, kind)),
        kinds=kinds,
        places=places,
        alert=alert,
    )


def _one_list(
    one: tuple[str, ...], two: tuple[str, ...], numbers: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names of both lists, and the second's numbers counted in that."""
    if one == two:
        return one, numbers
    place = {name: k for k, name in enumerate(one)}
    for name in two:
        place.setdefault(name, len(place))
    table = np.array([place[name] for name in two] + [-1], dtype=numbers.dtype)
    return tuple(place), table[numbers]  # a number of -1 stays -1


def _joined_metrics(one: Metrics | None, two: Metrics | None) -> Metrics | None:
    if one is None or two is None:
        return two if one is None else one
    assert one.names == two.names, f"other metrics: {one.names}, {two.names}"
    time, node = np.concatenate((one.time, two.time)), np.concatenate((one.node, two.node))
    order = np.lexsort((time, node))
    return replace(
        one,
        time=time[order],
        node=node[order],
        value=np.concatenate((one.value, two.value))[order],
        nodes=max(one.nodes, two.nodes),
        node_names=two.node_names if two.nodes >= one.nodes else one.node_names,
    )
