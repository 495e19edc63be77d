"""What the page and the figures of a run of virtual machines show, as plain numbers.

Tables are those of `jobs.csv`, `tasks.csv`, `runs.csv`, `migrations.csv` and `failures.csv`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.series import Floats, Ints, amounts, held_by_row
from forestall.core.kit.shares import shared_fate
from forestall.core.model.virtual import FAR
from forestall.core.proportions import wilson

TEXTS = ("outcome", "begun", "kind")
QUARTERS = ("most failures", "more failures", "fewer failures", "fewest failures")


def typed(table: pl.DataFrame) -> pl.DataFrame:
    """See `series.typed`."""
    return series.typed(table, TEXTS)


def span_of(runs: pl.DataFrame, jobs: pl.DataFrame | None = None) -> tuple[int, int]:
    """Return the first submission (or start) and the last end, at least a second apart."""
    starts = series.column(runs, "start") if jobs is None else series.column(jobs, "submit")
    start = int(starts.min()) if len(starts) else 0
    return start, max(int(series.column(runs, "end").max(initial=start)), start + 1)


def processors_held(runs: pl.DataFrame, edges: Floats) -> Floats:
    """Return the processors that virtual machines hold on all nodes, mean within each bin."""
    nodes = int(series.column(runs, "node").max(initial=0)) + 1
    level: Floats = held_by_row(runs, nodes, 1, edges)[0]
    return level


def tasks_waiting(jobs: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Return (from, until, tasks) of every job's wait for its first start, or until dropped."""
    submit = series.column(jobs, "submit")
    until = jobs.select(pl.col("start").fill_null(pl.col("deadline")))["start"]
    return submit, np.maximum(until.cast(pl.Int64).to_numpy(), submit), series.column(jobs, "size")


def most_waiting(since: Ints, until: Ints, tasks: Ints, edges: Floats) -> Floats:
    """Return the most tasks that wait at once within each bin [edge, next edge).

    Parameters
    ----------
    since, until, tasks : int64[n], what `tasks_waiting` returns; who waits no time does not wait
    edges : float64[bins + 1], s
    """
    moments = np.concatenate((since, until))
    changes = np.concatenate((tasks, -tasks))
    times, place = np.unique(moments, return_inverse=True)
    steps = np.zeros(len(times), dtype=np.int64)
    np.add.at(steps, place, changes)
    level = np.concatenate(([0], np.cumsum(steps)))  # level[i]: before times[i]
    most = level[np.searchsorted(times, edges[:-1], side="right")].astype(np.float64)
    inside = np.searchsorted(edges, times, side="right") - 1
    kept = (inside >= 0) & (inside < len(most))
    np.maximum.at(most, inside[kept], level[1:][kept])
    return most


def job_interval(jobs: pl.DataFrame) -> tuple[float, float] | None:
    """Return the 95 % interval of the share of jobs completed, counting days where there are 20 of
    them, else jobs; None without jobs."""
    if jobs.is_empty():
        return None
    done = int(series.column(jobs, "completed").sum())
    return wilson(done, len(jobs), shared=shared_fate(jobs, "completed") or 1.0)


def task_interval(jobs: pl.DataFrame) -> tuple[float, float] | None:
    """Return the 95 % interval of the share of tasks completed, counting days where there are 20 of
    them, else jobs; None without jobs."""
    if jobs.is_empty():
        return None
    done, count = (int(series.column(jobs, name).sum()) for name in ("tasks_completed", "size"))
    return wilson(done, count, shared=tasks_shared(jobs)[0] or 1.0)


def tasks_shared(jobs: pl.DataFrame) -> tuple[float | None, str]:
    """Return how far tasks share their fate over days or, where the log is short, over jobs."""
    days = shared_fate(jobs, "tasks_completed", "size")
    if days is not None:
        return days, "days"
    return shared_fate(jobs, "tasks_completed", "size", by_job=True), "jobs"


FATES = ("completed", "late", "failure", "deadline", "dropped")


def with_fates(jobs: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs with a column `fate`.

    ``completed``, ``late`` (completed after the deadline), ``failure`` (uncompleted, and a failure
    had aborted one of its tasks), ``deadline`` (uncompleted, and none had), ``dropped`` (waited
    until the deadline).
    """
    hit = runs.filter(pl.col("outcome") == "aborted")["job"].unique()
    why = pl.when(pl.col("job").is_in(hit.implode())).then(pl.lit("failure"))
    fate = pl.when(pl.col("outcome") == "uncompleted").then(why.otherwise(pl.lit("deadline")))
    return jobs.with_columns(fate=fate.otherwise("outcome"))


@dataclass(frozen=True)
class SizeBin:
    """Jobs of `low` to `high` tasks: how many, how many completed, 95 % interval of the share."""

    low: int
    high: int
    count: int
    completed: int
    interval: tuple[float, float]

    @property
    def name(self) -> str:
        """The bin in words: 1, 2, 3 to 4."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}\N{EN DASH}{self.high:,}"


def by_size(jobs: pl.DataFrame) -> list[SizeBin]:
    """Return the jobs by number of tasks, in bins up to each power of two, where there are any."""
    size = series.column(jobs, "size")
    done = series.column(jobs, "completed")
    power = np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64)
    found = []
    for k in np.unique(power).tolist():
        inside = power == k
        count, good = int(inside.sum()), int(done[inside].sum())
        low = 2 ** (k - 1) + 1 if k > 1 else 2**k
        found.append(SizeBin(low, 2**k, count, good, wilson(good, count)))
    return found


@dataclass(frozen=True)
class Foresight:
    """How well failures were foreseen.

    Attributes
    ----------
    failures : that were played
    early, late : whose predicted time came no later, or later, than the failure; the rest had none
    gap : median s from the predicted time to the failure, of early ones; None without any
    accuracy : 1 - mean of |failure - predicted| / (failure - the node's one before); None without
        any that were foreseen
    doubtful : share of all node time from predicted times to their failures
    """

    failures: int
    early: int
    late: int
    gap: float | None
    accuracy: float | None
    doubtful: float


def foresight(failures: pl.DataFrame, start: int, end: int, nodes: int) -> Foresight:
    """Return how well the failures of a run in [start, end) were foreseen."""
    told = with_predictions(failures.sort("node", "time")).with_columns(
        before=pl.col("time").shift(1).over("node").fill_null(min(start, first(failures, start)))
    )
    seen = told.filter(pl.col("expected").is_not_null())
    time, expected, before = (series.column(seen, n) for n in ("time", "expected", "before"))
    early = expected <= time
    gaps = (time - expected)[early]
    whole = np.maximum(time - before, 1)
    kept = time > before
    wrong = np.abs(time - expected)[kept] / whole[kept]
    return Foresight(
        len(failures),
        int(early.sum()),
        int((~early).sum()),
        float(np.median(gaps)) if len(gaps) else None,
        float(1 - wrong.mean()) if len(wrong) else None,
        float(np.minimum(gaps, whole[early]).sum() / (max(end - start, 1) * nodes)),
    )


def first(failures: pl.DataFrame, start: int) -> int:
    """Return the time of the first failure, `start` without any."""
    return int(series.column(failures, "time").min(initial=start))


def with_predictions(failures: pl.DataFrame) -> pl.DataFrame:
    """Return the failures with a column `expected`: the predicted time, null where none was."""
    told = pl.col("predicted").cast(pl.Int64)
    return failures.with_columns(expected=pl.when((told >= 0) & (told < FAR)).then(told))


def why_aborted(runs: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """Return how many tasks failures aborted, and what they lost, by what was known.

    ``why,tasks,lost``: ``unforeseen`` (no predicted time, or a later one), ``placed`` (on the node
    since its predicted time or later), ``stayed`` (there before, and not moved off it).
    """
    told = with_predictions(failures).group_by("node", "time").agg(pl.col("expected").first())
    met = runs.filter(pl.col("outcome") == "aborted").join(
        told, left_on=["node", "end"], right_on=["node", "time"], how="left"
    )
    foreseen = pl.col("expected").is_not_null() & (pl.col("expected") <= pl.col("end"))
    since = pl.when(pl.col("start") >= pl.col("expected")).then(pl.lit("placed"))
    why = pl.when(~foreseen).then(pl.lit("unforeseen")).otherwise(since.otherwise(pl.lit("stayed")))
    return (
        met.group_by(why.alias("why"))
        .agg(tasks=pl.len(), lost=pl.col("lost").cast(pl.Float64).sum())
        .sort("why")
    )


@dataclass(frozen=True)
class Quarter:
    """A quarter of the nodes by failures: what was done and lost there, in processor-seconds."""

    name: str
    nodes: int
    failures: int
    useful: float
    left: int
    aborted: int
    lost: float


def quarters(
    runs: pl.DataFrame, tasks: pl.DataFrame, failures: pl.DataFrame, nodes: int
) -> list[Quarter]:
    """Return the nodes in four quarters, those with most failures first, ties by number.

    Useful is the work of tasks that ended, less what a failure took there.
    """
    struck = np.bincount(series.column(failures, "node"), minlength=nodes)[:nodes]
    order = np.lexsort((np.arange(nodes), -struck))
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes) * 4 // max(nodes, 1)
    good = tasks.filter(pl.col("outcome").is_in(("completed", "late"))).select("job", "task")
    sums = []
    for table, names in (
        (runs.join(good, on=["job", "task"], how="semi"), ("work", "lost")),
        (runs, ("lost",)),
        (runs.filter(pl.col("outcome") == "aborted"), ()),
        (runs.filter(pl.col("outcome") == "moved"), ()),
    ):
        where = place[series.column(table, "node")]
        weights = [amounts(table, name) for name in names] or [np.ones(len(table))]
        sums.append([np.bincount(where, w, 4) for w in weights])
    (work, redone), (lost,), (aborted,), (left,) = sums
    return [
        Quarter(
            name, int((place == k).sum()), int(struck[place == k].sum()),
            float(work[k] - redone[k]), int(left[k]), int(aborted[k]), float(lost[k]),
        )
        for k, name in enumerate(QUARTERS)
        if (place == k).any()
    ]  # fmt: skip
