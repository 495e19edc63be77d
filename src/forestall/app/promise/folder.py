"""The folder of a promise run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from forestall.app.promise.report import write_report
from forestall.model.cleaning import Cleaning
from forestall.model.errors import TraceError

if TYPE_CHECKING:
    from forestall.simulate.promise.run import Outcome
from forestall.app.kit.output import since_first, skipped_table, write_csv, write_json


class Tables(Protocol):
    """What a folder is written from; `app.promise.result.Result` is one."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def predictor(self) -> Any: ...
    @property
    def table(self) -> Any: ...
    @property
    def cleaning(self) -> Cleaning: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def jobs(self) -> pl.DataFrame: ...
    @property
    def runs(self) -> pl.DataFrame: ...
    @property
    def failures(self) -> pl.DataFrame: ...


def save(
    result: Tables, folder: Path, *, report: bool, gantt: tuple[int, int] | None = None
) -> Path:
    """Write all files of a result; see `Result.save`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(folder, f"cannot be a folder for results: {error.strerror}") from None
    write_csv(result.jobs, folder / "jobs.csv")
    write_csv(result.runs, folder / "runs.csv")
    write_csv(result.failures, folder / "failures.csv")
    write_csv(skipped_table(result.cleaning), folder / "skipped.csv")
    if len(result.outcome.log.events):
        from forestall.app.promise.log import write_event_log

        write_event_log(result.outcome, folder, result.predictor, result.table)
    if report:
        write_report(
            folder / "report.html",
            summary=result.summary,
            jobs=result.jobs,
            runs=result.runs,
            failures=result.failures,
            gantt_span=since_first(result.jobs, gantt),
        )
    write_json(result.summary, folder / "summary.json")
    return folder
