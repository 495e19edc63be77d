"""The logs of a run: which rows of which files, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.settings import flag_of, real_of, text_of, whole_of
from forestall.core.model.units import parse_duration
from forestall.logs.given import read_failures_or_none
from forestall.logs.host_speeds import read_speeds
from forestall.logs.host_traces import host_traces_of_failures, read_host_traces
from forestall.logs.read import read_jobs

if TYPE_CHECKING:
    from forestall.core.model.hosts import HostTraces
    from forestall.core.model.jobs import Jobs

FAILURE_OPTIONS: Final = ("failure_format", "system", "from", "days", "fold_nodes")
TRAINING_OPTIONS: Final = ("train", "train_from", "train_days")
HOST_OPTIONS: Final = ("hosts", "host_speeds", "period")
READING_OPTIONS: Final = (
    *("failures", *FAILURE_OPTIONS, *HOST_OPTIONS, "jobs", "processors_per_node", "strict"),
)


def path_of(name: str, value: Any) -> Path:
    """Return the path that an option says; ParameterError where it is none."""
    return Path(text_of(name, value))


READ_AS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "failures": lambda name, value: None if value is None else path_of(name, value),
    "jobs": text_of,
    "processors_per_node": whole_of,
    "failure_format": text_of,
    "system": text_of,
    "from": text_of,
    "days": real_of,
    "fold_nodes": whole_of,
    "strict": flag_of,
    "train": path_of,
    "train_from": text_of,
    "train_days": real_of,
    "events": path_of,
    "metrics": path_of,
    "maintenance": text_of,
    "machine": text_of,
    "hosts": path_of,
    "host_speeds": path_of,
    "period": lambda name, value: parse_duration(value, name, plain=True),
}
"""How options that say what is read become values, in the order in which they are checked."""


@dataclass(frozen=True)
class Inputs:
    """Which rows of which logs; see `read_jobs` and `read_failures` in `forestall.logs.read`, and
    `read_host_traces` in `forestall.logs.host_traces`."""

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
    machine: str | None = None

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


def chosen_rows(
    log: Path, values: Mapping[str, Any], of_failures: Collection[str] = FAILURE_OPTIONS
) -> Inputs:
    """Return which rows of which logs options say, by key; those `of_failures` need a failure log.

    Raises ParameterError.
    """
    if values.get("failures") is None:
        for name in of_failures:
            if name in values:
                raise ParameterError(name, values[name], "a failure log as well ({failures} FILE)")
    for name in TRAINING_OPTIONS[1:]:
        if name in values and "train" not in values:
            raise ParameterError(name, values[name], "a training log as well ({train} FILE)")
    told = {name: read(name, values[name]) for name, read in READ_AS.items() if name in values}
    return Inputs(log, **{"start" if name == "from" else name: one for name, one in told.items()})
