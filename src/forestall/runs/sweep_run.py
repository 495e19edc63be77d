"""Running a sweep over all cores: the same bytes however many, and nothing lost when stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from forestall.core._lazy import lazily
from forestall.core.files import budget
from forestall.core.kit.folder import check_folder, fill_folder
from forestall.core.kit.output import write_csv, write_json
from forestall.core.kit.progress import Interrupted
from forestall.core.kit.versions import versions
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ForestallError, InputError, ParameterError
from forestall.core.model.spelling import likely
from forestall.core.model.units import format_duration
from forestall.core.show.page import page, write_page
from forestall.core.show.result import ShownResult
from forestall.core.show.style import has_matplotlib
from forestall.core.show.svg import save
from forestall.runs.keywords import SweepKeywords
from forestall.runs.logs import jobs_of
from forestall.runs.many import sweep_report
from forestall.runs.on_cluster import check_place, over_cluster
from forestall.runs.settings import known_options
from forestall.runs.single import arguments_of
from forestall.runs.sweep import Plan, plan_of
from forestall.runs.sweep_figures import label_of, sweep_heatmap, sweep_lines, sweep_points
from forestall.runs.sweep_kept import ABOUT, Kept, Measures, is_sweep_folder
from forestall.runs.sweep_words import means
from forestall.scheduling.settings import PROMISE

with lazily():
    from forestall.prediction.given import learned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.core.kit.model import AnyParameters
    from forestall.core.model.jobs import Jobs
    from forestall.core.show.report import Report
    from forestall.prediction.given.learned import Training

Logs = tuple["Jobs", Any, "Training | None", dict[str, Any]]
"""The logs of a sweep: jobs, failures or hosts, what was known before, and what is given
besides."""
Point = tuple[int, "AnyParameters"]
FIGURES = "figures"
MOST_CHUNK = 8
PROCESS = 200_000_000
"""Bytes that a worker process takes before its first run, about."""
LONG = 3600.0
"""s from which on it is said beforehand how long a sweep will take."""
WORTH_IT = 4.0
"""Seconds of work below which more processes cost more than they save."""


@dataclass(frozen=True, repr=False)
class Swept(ShownResult):
    """A finished sweep.

    Attributes
    ----------
    plan : what was run
    rows : a row a run, parameters and measures; `table` is the same
    folder : where its files are
    resumed : how many runs were there before
    """

    plan: Plan
    rows: pl.DataFrame
    folder: Path
    resumed: int

    @property
    def table(self) -> pl.DataFrame:
        """A row a run: all parameters, then all measures."""
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return what the sweep was made from, and its rows."""
        return {**_about(self.plan, ()), "rows": self.table.to_dicts()}

    def _as_report(self) -> Report:
        shown = figures(self.plan, self.table) if has_matplotlib() else {}
        return _report(self.plan, self.table, _captions(self.plan, shown))

    def _save_folder(self, folder: Path) -> Path:
        write_all(self.plan, self.table, folder, report=True)
        return folder


def sweep(
    log: str | Path,
    /,
    *,
    out: str | Path = "forestall-sweep",
    workers: int | None = None,
    on: str | None = None,
    force: bool = False,
    report: bool = True,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[SweepKeywords],
) -> Swept:
    """Run every combination of values of parameters: `forestall sweep` in Python.

    Parameters
    ----------
    log : the job log
    out : folder for table, figures and finished points; a stopped sweep continues there
    workers : processes, or None for one per core; results do not depend on it
    on : where points are run, if not here: ``"slurm"``, ``"slurm:partition=main,time=2h"`` (worker
        jobs, as many as `workers`, 8 by default), or ``"dask://HOST:PORT"``, a running scheduler;
        results do not depend on it
    force : write into a folder that holds something else
    report : draw figures and write `report.html`
    progress : called periodically with the number of points done and of all points
    **options : the options of `forestall sweep` by their keys; parameters take lists of values, and
        ``policy`` (``strategy``, ``scheduler``) policies of your own, or their classes, among them

    Raises InputError and its kin for unusable input; ParameterError if your own object cannot
    be recreated in another process.
    """
    for name in options.keys() - set(known_options()):
        allowed = f"a parameter, or an option that says what is read{likely(name, known_options())}"
        raise ParameterError("an option", name, allowed)
    plan = plan_of(Path(log), options)
    with waiting(progress, "points") as bar:
        return run_sweep(
            plan, Path(out), workers=workers, on=on, force=force, report=report, progress=bar
        )


def run_sweep(
    plan: Plan,
    out: Path,
    *,
    workers: int | None = None,
    on: str | None = None,
    force: bool = False,
    report: bool = True,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Swept:
    """Run what is left of a sweep, then write `sweep.csv`, `sweep.json`, figures and `report.html`.

    The first point runs here, before anything is written: what is wrong with logs or parameters
    shows at once. Raises InputError and its kin, and Interrupted on Ctrl-C, when every finished
    point is kept.
    """
    check_place(on, workers)
    check_folder(out, force=force, ours=is_sweep_folder)
    jobs, world = jobs_of(plan.inputs), plan.model.world(plan.inputs)
    training = learned.training_of(plan.inputs, world)
    logs = (jobs, world, training, learned.besides_of(plan.inputs, world))
    first = measured(plan, logs, plan.points[0])
    began = time.monotonic()
    if workers is None and on is None and len(plan.points) > 1:
        measured(plan, logs, plan.points[0])  # compiled by now
    total = len(plan.points)
    takes = (time.monotonic() - began) * total
    short = takes < WORTH_IT
    number = _fitting(plan, logs, workers or (1 if short else cores()), given=workers is not None)
    if on is None and takes / number > LONG:
        tell(_how_long(total, takes, number))
    with Kept(out, plan.fingerprint, total, force=force) as kept:
        resumed = len(kept.done)
        try:
            kept.add(_with_alike(plan, kept, [(0, first), *kept.done.items()]))
            left = [
                (k, plan.points[k])
                for k, same in enumerate(plan.same)
                if k not in kept.done and k == same[0]
            ]
            if on is None:
                played = _played(plan, logs, left, number)
            else:
                played = _played_on(on, plan, logs, left, workers, out, tell)
            for finished in played:
                kept.add(_with_alike(plan, kept, finished))
                if progress is not None:
                    progress(len(kept.done), total)
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted; {len(kept.done)} of {total} points are kept in {out}, and the "
                "same command continues from there"
            ) from None
        table = table_of(plan, [kept.done[k] for k in range(total)])
    write_all(plan, table, out, report=report)
    return Swept(plan, table, out, resumed)


def _how_long(points: int, takes: float, processes: int) -> str:
    """Return how long a sweep will take, and how much of it an hour would do."""
    fits = max(1, int(points * LONG / (takes / processes)))
    whole = format_duration(round(takes / processes))
    on = f"{processes} process{'es' if processes > 1 else ''}"
    return f"{points:,} points take about {whole} on {on}; about {fits:,} fit into an hour"


def _with_alike(
    plan: Plan, kept: Kept, finished: Iterable[tuple[int, Measures]]
) -> list[tuple[int, Measures]]:
    """Return finished points, and those that give the same, without those that are kept."""
    told = {k: measures for number, measures in finished for k in plan.same[number]}
    return [(k, told[k]) for k in sorted(told) if k not in kept.done]


def _fitting(plan: Plan, logs: Logs, workers: int, *, given: bool) -> int:
    """Return how many worker processes to start: no more than fit into memory. Raises
    MemoryLimitError where more were asked for."""
    number = min(workers, max(1, len(plan.points) - 1))
    if number == 1:
        return 1
    largest = max(plan.points, key=lambda point: getattr(point, "nodes", 0))
    each = PROCESS + plan.model.needed(*logs[:2], largest)
    if given:
        what = f"{number} worker processes ({{workers}})"
        budget.require(number * each, what, count=number, of="of them")
    return max(1, min(number, int(budget.left() / each)))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measured(plan: Plan, logs: Logs, parameters: AnyParameters) -> Measures:
    """Return the measures of one point, flat: no lists, parts of dictionaries joined by ``_``."""
    flat: Measures = {}
    jobs, failures, training, besides = logs
    given = {**besides, **arguments_of(parameters, training, plan.inputs.predictor)}
    decider = plan.own_of(parameters)
    if decider is not None:
        given[plan.model.decides] = decider
    done = plan.model.simulate(jobs, failures, **given)
    for name, value in done.measures.items():
        if isinstance(value, dict):
            parts = {part.replace(" ", "_"): inner for part, inner in value.items()}
            for part, inner in parts.items():
                own = inner if name == "resources" else {}  # each has measures
                flat |= {f"{name}_{part}_{key}": each for key, each in own.items()}
                if not own:
                    flat[f"{name}_{part}"] = inner
        elif name not in plan.model.deep:
            flat[name] = value
    return flat


# ------------------------------------------------------------------------------------- processes

_work: list[tuple[Plan, Logs]] = []
"""The plan and the logs of a worker process, read once."""


def _played(
    plan: Plan, logs: Logs, points: list[Point], workers: int
) -> Iterator[list[tuple[int, Measures]]]:
    """Yield finished points as they come, with their numbers."""
    if workers == 1 or len(points) < 2:
        for number, parameters in points:
            yield [(number, measured(plan, logs, parameters))]
        return
    size = max(1, min(MOST_CHUNK, len(points) // (4 * workers)))
    chunks = [points[k : k + size] for k in range(0, len(points), size)]
    bare = replace(plan, points=())
    # New processes, not forks: threads of Polars and Numba would not come along alive.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (bare,))
    try:
        with _deaf():
            waiting: list[Future[list[tuple[int, Measures]] | str]] = [
                pool.submit(_points, chunk) for chunk in chunks
            ]
        for future in as_completed(waiting):
            finished = future.result()
            if isinstance(finished, str):
                raise InputError(finished)
            yield finished
    except BrokenProcessPool:
        raise InputError(
            "a worker process ended, perhaps for lack of memory; finished points are kept: try "
            "the same command with fewer {workers}"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _played_on(
    on: str,
    plan: Plan,
    logs: Logs,
    points: list[Point],
    workers: int | None,
    out: Path,
    tell: Callable[[str], None],
) -> Iterator[list[tuple[int, Measures]]]:
    """Yield finished points as workers of a cluster send them, with their numbers."""
    if not points:
        return
    size = max(1, min(MOST_CHUNK, len(points) // (4 * (workers or MOST_CHUNK))))
    chunks = [points[k : k + size] for k in range(0, len(points), size)]
    work = (replace(plan, points=()), logs)
    for _, finished in over_cluster(
        on, _points_of, chunks, work, workers=workers, folder=out, tell=tell
    ):
        if isinstance(finished, str):
            raise InputError(finished)
        yield finished


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore Ctrl-C and SIGHUP, which a terminal sends to all of us, for a moment, so that
    processes started in it ignore them from their birth."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _begin(plan: Plan) -> None:
    """Prepare a worker: Ctrl-C and SIGHUP are for the parent, whose end ends this too; read the
    logs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    inputs = plan.inputs
    world = plan.model.world(inputs)
    training = learned.training_of(inputs, world)
    besides = learned.besides_of(inputs, world)
    _work.append((plan, (jobs_of(inputs), world, training, besides)))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _points(points: Sequence[Point]) -> list[tuple[int, Measures]] | str:
    """Return measures by number; what is wrong with the input comes as text."""
    return _points_of(points, _work[0])


def _points_of(
    points: Sequence[Point], work: tuple[Plan, Logs]
) -> list[tuple[int, Measures]] | str:
    """The same with the plan and the logs that are given."""
    try:
        return [(number, measured(*work, parameters)) for number, parameters in points]
    except ForestallError as error:
        return str(error)


# ----------------------------------------------------------------------------------------- files


def table_of(plan: Plan, measures: Sequence[Measures]) -> pl.DataFrame:
    """Return a row for each point in order: all parameters, then all measures."""
    dumped = [point.model_dump() for point in plan.points]
    columns = {name: _column([one[name] for one in dumped]) for name in dumped[0]}
    names = dict.fromkeys(name for one in measures for name in one)
    columns |= {name: _column([one.get(name) for one in measures]) for name in names}
    return pl.DataFrame([values.alias(name) for name, values in columns.items()])


def _column(values: list[Any]) -> pl.Series:
    """Return values as a column: as text where only some of them are."""
    if len({type(value) for value in values if value is not None}) > 1 and any(
        isinstance(value, str) for value in values
    ):
        values = [None if value is None else str(value) for value in values]
    return pl.Series(values, strict=False)


def _captions(plan: Plan, shown: Mapping[str, Figure]) -> dict[str, Figure]:
    return {label_of(name, plan.model.labels)[0]: figure for name, figure in shown.items()}


def _report(plan: Plan, table: pl.DataFrame, captions: Mapping[str, Figure]) -> Report:
    """Return the report of a sweep with figures by their captions."""
    return sweep_report(
        table.select(_shown(plan, table)),
        captions,
        means=means(table, tuple(plan.axes), plan.model),
        labels=plan.model.labels,
        logs=_logs(plan),
        fixed={name: plan.model.told(name, value) for name, value in _fixed(plan).items()},
    )


def write_all(plan: Plan, table: pl.DataFrame, out: Path, *, report: bool) -> None:
    """Write the table, what it was made from, figures and the page: all of them or none."""

    def write(fresh: Path) -> None:
        write_csv(table, fresh / "sweep.csv")
        shown = {}
        if report:
            shown = figures(plan, table) if has_matplotlib() else {}
            folder = fresh / FIGURES
            if shown:
                folder.mkdir()
            for name, figure in shown.items():
                save(figure, folder / f"{name}.png")
            told = page(_report(plan, table, _captions(plan, shown)))
            write_page(fresh / "report.html", told)
        write_json(_about(plan, shown), fresh / ABOUT)

    before = (f"{FIGURES}/{path.name}" for path in (out / FIGURES).glob("*.png"))
    fill_folder(out, write, ("sweep.csv", *before, *(["report.html"] if report else []), ABOUT))


def _about(plan: Plan, shown: Iterable[str]) -> dict[str, Any]:
    """Return what a sweep was made from, as `sweep.json` has it."""
    inputs = plan.inputs
    return {
        **({} if plan.model.name == PROMISE.name else {"model": plan.model.name}),
        "jobs": str(inputs.log),
        **({"hosts": str(inputs.hosts)} if inputs.hosts is not None else {}),
        "failures": None if inputs.failures is None else str(inputs.failures),
        "reading": inputs.told(),
        "points": len(plan.points),
        "axes": {name: list(values) for name, values in plan.axes.items()},
        "parameters": _fixed(plan),
        "figures": sorted(f"{FIGURES}/{name}.png" for name in shown),
        "fingerprint": plan.fingerprint,
        "versions": versions(),
    }


def _fixed(plan: Plan) -> dict[str, Any]:
    """Return the parameters that all points share."""
    dumped = plan.points[0].model_dump()
    return {name: value for name, value in dumped.items() if name not in plan.axes}


def _logs(plan: Plan) -> str:
    """Return the names of the logs, for the page."""
    other = plan.inputs.hosts or plan.inputs.failures
    return str(plan.inputs.log) + ("" if other is None else f" with {other}")


def _shown(plan: Plan, table: pl.DataFrame) -> list[str]:
    """Return the columns for the page: what varies, and the measures that people ask for first."""
    wanted = [*plan.axes, *plan.model.drawn, *plan.model.shown]
    return [
        name for name in wanted if name in table.columns and table[name].null_count() < len(table)
    ]


def figures(plan: Plan, table: pl.DataFrame) -> dict[str, Figure]:
    """Return a figure for each measure by its name: lines over the longest axis of numbers, or a
    heat map; points where axes are words only.

    Axes beyond the second are averaged over; so are seeds, unless nothing else varies. What the
    model's own figures tell is not drawn again.
    """
    numeric = [n for n in plan.axes if table[n].dtype.is_numeric() and n != "seed"]
    words = [n for n in plan.axes if n not in numeric and n != "seed"]
    if not numeric and not words:
        numeric = [n for n in plan.axes if n == "seed"]
    if not numeric and not words:
        return {}
    numeric.sort(key=lambda name: -len(plan.axes[name]))
    drawn = plan.model.own_figures(table, plan.axes)
    told = {one for name in drawn for one in plan.model.told_by.get(name, ())}
    names = [n for n in _shown(plan, table) if n in plan.model.drawn and n not in told]
    labels, orders = plan.model.labels, plan.model.orders
    if not numeric:
        x, by = (*sorted(words, key=lambda name: -len(plan.axes[name])), None)[:2]
        assert x is not None
        return drawn | {n: sweep_points(table, x, n, by, labels, orders) for n in names}
    x, *more = numeric
    by = next(iter((*words, *more)), None)
    for name in names:
        drawn[name] = sweep_lines(table, x, name, by, labels, orders.get(by or "", ()))
        if by in more and len(plan.axes[by]) > 2 and name in plan.model.drawn[:3]:
            drawn[f"{name}_map"] = sweep_heatmap(table, x, by, name, labels)
    return drawn
