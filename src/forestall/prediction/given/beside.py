"""What was observed beside the failures of a run: events, and metrics of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.logs.metrics.read import read_metrics
from forestall.logs.observed import beside
from forestall.logs.ras.read import read_ras
from forestall.logs.training import TrainingLog
from forestall.prediction.models.learner import Learner


@dataclass(frozen=True)
class Beside:
    """Events and metrics on the clock and with the node numbers of a run's failures, of all the
    time that they cover; None where there are none."""

    events: RasLog | None = None
    metrics: Metrics | None = None

    @classmethod
    def of(
        cls,
        failures: Failures,
        events: RasLog | str | Path | None,
        metrics: Metrics | str | Path | None,
        *,
        strict: bool = False,
    ) -> Beside:
        """Return what logs, or files of them, tell of the nodes of a failure log.

        Raises ParameterError where their nodes or clocks are not those of the failure log.
        """
        if isinstance(events, str | Path):
            events = read_ras(events, strict=strict)
        if isinstance(metrics, str | Path):
            metrics = read_metrics(metrics, strict=strict)
        return cls(*beside(failures, events, metrics))

    def __bool__(self) -> bool:
        return self.events is not None or self.metrics is not None

    @property
    def end(self) -> int:
        """When the last of them came, s; a time before all others where none did."""
        times = [int(one.time.max()) for one in (self.events, self.metrics)
                 if one is not None and len(one)]  # fmt: skip
        return max(times, default=-(2**60))

    def observed(self, failures: Failures, begin: int, end: int, nodes: int) -> Observations:
        """Return what was observed within [begin, end), failures included."""
        return Observations.of(
            failures, begin=begin, end=end, nodes=nodes, events=self.events, metrics=self.metrics
        )

    def training(self, log: TrainingLog, nodes: int) -> Observations:
        """Return what was observed in the window of a training log, on that log's own clock."""
        past = Observations.of(log.failures, nodes=nodes)
        shift = past.end - log.end
        moved = [
            None if part is None else replace(
                part, time=part.time + shift,
                origin=None if part.origin is None else part.origin - shift,
            )
            for part in (self.events, self.metrics)
        ]  # fmt: skip
        return Observations.of(
            log.failures, begin=past.begin, end=past.end, nodes=nodes,
            events=moved[0], metrics=moved[1],  # type: ignore[arg-type]
        )  # fmt: skip

    def check(self, learner: Learner) -> None:
        """Raise ParameterError where a predictor learnt from other metrics."""
        known = learner.seen.metrics
        if self.metrics is not None and known is not None and known.names != self.metrics.names:
            allowed = f"the metrics that {learner.name} learned from: {', '.join(known.names)}"
            raise ParameterError("metrics", ", ".join(self.metrics.names), allowed)
        lacking = [name for name in ("events", "metrics")
                   if name in learner.needs and getattr(self, name) is None]  # fmt: skip
        if self and lacking:
            raise ParameterError(lacking[0], None, f"a log of {lacking[0]}, with {learner.name}")


NOTHING = Beside()
