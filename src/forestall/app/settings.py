"""What a run shall be, from options and files: one frozen object, checked in one place.

Options come by their keys (`checkpoint_overhead`), their values as text or as TOML has them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.model.errors import InputError, ParameterError, TraceError
from forestall.model.units import parse_duration

if TYPE_CHECKING:
    from forestall.model.failures import Failures
    from forestall.model.jobs import Jobs
    from forestall.simulate.parameters import Parameters

DURATIONS: Final = frozenset(
    {"checkpoint_overhead", "checkpoint_interval", "downtime", "min_runtime", "mtbf"}
)
WHOLE: Final = frozenset({"nodes", "seed"})
FLAGS: Final = frozenset({"compression", "repeat_failures"})
FAILURE_OPTIONS: Final = ("failure_format", "system", "from", "days", "fold_nodes")
READING_OPTIONS: Final = ("failures", *FAILURE_OPTIONS, "jobs", "processors_per_node", "strict")
OUTPUT_OPTIONS: Final = ("out", "log_events", "report")


@dataclass(frozen=True)
class Inputs:
    """Which rows of which logs; see `read_jobs` and `read_failures` in `forestall.traces.read`."""

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

    def read_jobs(self) -> Jobs:
        """Return the chosen jobs."""
        from forestall.traces.read import read_jobs

        return read_jobs(
            self.log,
            processors_per_node=self.processors_per_node,
            jobs=self.jobs,
            strict=self.strict,
        )

    def read_failures(self) -> Failures:
        """Return the chosen failures, none without a log."""
        from forestall.model.failures import Failures
        from forestall.traces.read import read_failures

        if self.failures is None:
            return Failures.none()
        return read_failures(
            self.failures,
            system=self.system,
            start=self.start,
            days=self.days,
            fold_nodes=self.fold_nodes,
            format=self.failure_format,
            strict=self.strict,
        )

    def told(self) -> dict[str, Any]:
        """Return the options of reading that are not the defaults, for `summary.json`."""
        plain = Inputs(self.log)
        given = asdict(self)
        names = [n for n in given if n not in {"log", "failures"} and given[n] != getattr(plain, n)]
        return {"from" if name == "start" else name: given[name] for name in names}


@dataclass(frozen=True)
class Settings:
    """Everything about one run: what goes in, its parameters, what comes out."""

    inputs: Inputs
    parameters: Parameters
    out: Path | None = None
    log_events: bool = False
    report: bool = True


@dataclass(frozen=True)
class Sorted_:
    """Options by what they are about."""

    parameters: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
