"""The logs of a run: which rows of which files, and how they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall._lazy import lazily
from forestall.app.kit.given import read_failures_or_none
from forestall.model.failures import Failures
from forestall.traces.host_speeds import read_speeds
from forestall.traces.host_traces import host_traces_of_failures, read_host_traces
from forestall.traces.read import read_jobs
from forestall.traces.training import read_training

with lazily():
    from forestall.app.kit import beside, learned

if TYPE_CHECKING:
    from forestall.model.hosts import HostTraces
    from forestall.model.jobs import Jobs


@dataclass(frozen=True)
class Inputs:
    """Which rows of which logs; see `read_jobs` and `read_failures` in `forestall.traces.read`, and
    `read_host_traces` in `forestall.traces.host_traces`."""

    log: Path
    failures: Path | None = None
    jobs: str | None = None
    processors_per_node: int = 1
    failure_format: str | None = None
    system: str | None = None
    start: str | None = None
    days: float | None = None
    fold_nodes: int = 1
    strict: bool = False
    train: Path | None = None
    train_from: str | None = None
    train_days: float | None = None
    predictor: Path | str | None = None
    hosts: Path | None = None
    host_speeds: Path | None = None
    period: int | None = None
    events: Path | None = None
    metrics: Path | None = None
    maintenance: str | None = None

    def read_jobs(self) -> Jobs:
        """Return the chosen jobs."""
        return read_jobs(
            self.log,
            processors_per_node=self.processors_per_node,
            jobs=self.jobs,
            strict=self.strict,
        )

    def read_failures(self) -> Failures:
        """Return the chosen failures, none without a log."""
        if self.failures is None:
            return Failures.none()
        return read_failures_or_none(
            self.failures,
            system=self.system,
            start=self.start,
            days=self.days,
            fold_nodes=self.fold_nodes,
            format=self.failure_format,
            strict=self.strict,
        )

    def read_hosts(self) -> HostTraces:
        """Return the chosen host traces; those of the failure log where there is no other."""
        if self.hosts is None:
            speeds = None if self.host_speeds is None else read_speeds(self.host_speeds)
            failures = self.read_failures()
            return host_traces_of_failures(failures, speed=speeds, period=self.period)
        return read_host_traces(
            self.hosts,
            speeds=self.host_speeds,
            period=self.period,
            start=self.start,
            days=self.days,
            system=self.system,
            fold_nodes=self.fold_nodes,
            strict=self.strict,
        )

    def read_training(self, failures: Failures) -> learned.Training | None:
        """Return what was known before these failures, None without a training log."""
        if self.train is None:
            return None
        log = read_training(
            self.train,
            failures,
            run_start=self.start,
            start=self.train_from,
            days=self.train_days,
            system=self.system,
            fold_nodes=self.fold_nodes,
            format=self.failure_format,
            strict=self.strict,
        )
        if self.events is None and self.metrics is None:
            return learned.Training(log)
        return learned.Training(
            log, beside.Beside.of(failures, self.events, self.metrics, strict=self.strict)
        )

    def read_beside(self, failures: Failures) -> dict[str, Any]:
        """Return what a run of promises is given besides, as `Model.simulate` takes it."""
        found: dict[str, Any] = {}
        if self.events is not None or self.metrics is not None:
            one = beside.Beside.of(failures, self.events, self.metrics, strict=self.strict)
            found = {"events": one.events, "metrics": one.metrics}
        if self.maintenance is not None:
            found["maintenance"] = self.maintenance
        return found

    def told(self) -> dict[str, Any]:
        """Return the options of reading that are not the defaults, for `summary.json`."""
        plain = Inputs(self.log)
        paths = {
            n: getattr(self, n) for n in ("train", "predictor", "host_speeds", "events", "metrics")
        }
        given = asdict(self) | {n: None if p is None else str(p) for n, p in paths.items()}
        logs = {"log", "failures", "hosts"}
        names = [n for n in given if n not in logs and given[n] != getattr(plain, n)]
        return {"from" if name == "start" else name: given[name] for name in names}
