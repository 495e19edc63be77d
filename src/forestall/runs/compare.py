"""Runs side by side: their measures, how far they are from the first, and what they differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.core.files.documents import json_of
from forestall.core.files.folders import mend
from forestall.core.kit.measure import Measure
from forestall.core.kit.result import RunResult
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.show import words
from forestall.core.show.result import ShownResult
from forestall.runs.many import comparison
from forestall.runs.models import measures_of, told_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.show.report import Report


@dataclass(frozen=True)
class MeasureRow:
    """One measure of all runs: values, as text, and the difference to the first run in words."""

    name: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    differences: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Comparison(ShownResult):
    """Runs side by side: summaries by name, a row for each measure, what differs of parameters."""

    summaries: Mapping[str, Mapping[str, Any]]
    rows: tuple[MeasureRow, ...]
    differing: Mapping[str, tuple[Any, ...]]

    def _as_report(self) -> Report:
        return comparison(self.summaries, measures_of(self.summaries.values()), told_of)

    @property
    def table(self) -> pl.DataFrame:
        """A row a measure, and a column of its values for each run."""
        values = {
            name: [row.values[k] for row in self.rows] for k, name in enumerate(self.summaries)
        }
        columns = {"measure": [row.name for row in self.rows], **values}
        return pl.DataFrame(columns, strict=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "runs": list(self.summaries),
            "measures": {row.name: list(row.values) for row in self.rows},
            "differing": {name: list(values) for name, values in self.differing.items()},
        }


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of a run's folder; TraceError where there is none."""
    mend(folder)
    path = folder / "summary.json"
    try:
        summary = json_of(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TraceError(
            path, f"cannot be read: {error.strerror}; expected a run's folder"
        ) from None
    except ValueError as error:
        raise TraceError(path, f"not JSON: {error}") from None
    if not isinstance(summary, dict) or not isinstance(summary.get("parameters"), dict):
        raise TraceError(path, "not a summary of a run")
    if not isinstance(summary.get("sources", {}), dict):
        raise TraceError(path, "expected an object", field="sources")
    return summary


def compare(*runs: str | Path | RunResult[Any], **named: str | Path | RunResult[Any]) -> Comparison:
    """Compare runs: measures, differences from the first run, parameters that differ.

    Parameters
    ----------
    runs : results of `simulate` and the like, or folders of runs; the first is the baseline
    named : more of them, with names to show

    Raises
    ------
    ParameterError
        where there is nothing to compare
    TraceError
        for a folder that holds no run

    Examples
    --------
    >>> import forestall as fs
    >>> jobs = fs.generate_jobs(16, 1, days=2, load=0.7)
    >>> easy = fs.simulate(jobs, nodes=16, policy="easy")
    >>> both = fs.compare(easy=easy, first=fs.simulate(jobs, nodes=16, policy="fcfs"))
    >>> both.table.columns, list(both.differing)
    (['measure', 'easy', 'first'], ['policy'])
    """
    if not runs and not named:
        raise ParameterError("runs", None, "results of runs, or their folders")
    folders = [run for run in runs if not isinstance(run, RunResult)]
    called = iter(names_of([Path(one) for one in folders]))
    summaries: dict[str, Mapping[str, Any]] = {}
    for number, run in enumerate(runs, 1):
        name = f"run {number}" if isinstance(run, RunResult) else next(called)
        summaries[name] = _summary_of(run)
    return comparison_of(summaries | {name: _summary_of(run) for name, run in named.items()})


def _summary_of(run: str | Path | RunResult[Any]) -> Mapping[str, Any]:
    return run.summary if isinstance(run, RunResult) else read_summary(Path(run))


def comparison_of(summaries: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """Return these runs side by side."""
    measures = measures_of(summaries.values())
    rows = tuple(row for row in (row_of(m, summaries) for m in measures) if any(row.texts))
    given = [{**one["parameters"], **one.get("sources", {})} for one in summaries.values()]
    names = dict.fromkeys(name for one in given for name in one)
    values = {name: tuple(one.get(name) for one in given) for name in names}
    differing = {n: v for n, v in values.items() if any(one != v[0] for one in v)}
    return Comparison(summaries, rows, differing)


def names_of(folders: Sequence[Path]) -> list[str]:
    """Return a short name for each folder, all different."""
    plain = [path.name or str(path) for path in folders]
    if len(set(plain)) == len(plain):
        return plain
    full = [str(path) for path in folders]
    if len(set(full)) == len(full):
        return full
    return [f"{name} ({k})" for k, name in enumerate(full, 1)]


def row_of(measure: Measure, summaries: Mapping[str, Mapping[str, Any]]) -> MeasureRow:
    """Return a measure of all runs."""
    values = tuple(measure.value(one) for one in summaries.values())
    known = any(value is not None for value in values)
    texts = tuple(measure.text(value) if known else "" for value in values)
    return MeasureRow(
        measure.name, values, texts, tuple(difference(measure, v, values[0]) for v in values)
    )


def difference(measure: Measure, value: float | None, first: float | None) -> str:
    """Return how far a value is from the first, in words; nothing where it is not."""
    if value is None or first is None or value == first:
        return ""
    change = value - first
    if measure.text is words.percent:
        return f"{100 * change:+.2f} points"
    if first == 0:
        return ""
    return f"{100 * change / abs(first):+,.1f} %"
