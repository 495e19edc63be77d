"""Bagchi et al., resource availability prediction for cycle sharing (FALCON and iShare), slides.

Temporal reliability by semi-Markov processes: its relative error by window of 1 to 10 h on weekdays
and weekends, beside five linear models, by size of the training, under noise, and its cost; on
generated hosts with the slides' statistics, and on real traces as far as they serve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from studies.availability import report, study
from studies.availability.claims import Claim, Results, evaluate
from studies.availability.figures import write_figures
from studies.availability.inputs import (
    GENERATED_SET,
    GRID,
    GRID_SET,
    PLANETLAB,
    PLANETLAB_SET,
    Host,
    generated,
    grid5000,
    planetlab,
)
from studies.availability.study import PLAIN, QUICK, SEMI_MARKOV, Plan

__all__ = ["QUICK", "Plan", "Reproduction", "reproduce"]

Progress = Callable[[int, int], None]
Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Reproduction:
    """What came out: where the files are, the files, the numbers, and the claims."""

    folder: Path
    files: tuple[Path, ...]
    results: Results
    claims: tuple[Claim, ...]


def reproduce(
    out: Path,
    *,
    data: Path | None = None,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Redo the experiments and write figures, tables and the verdict into the folder `out`.

    Parameters
    ----------
    out : folder for `accuracy.csv`, `linear.csv`, `training.csv`, `noise.csv`, `cost.csv`,
        `claims.json`, `verdict.md` and the figures
    data : folder with the real traces; without it, or without a trace in it, generated hosts alone
    plan : how much is done; `QUICK` for less
    progress : called with the number of steps done and of all steps

    All but the cost, which is measured, is the same for the same plan. Raises TraceError where a
    trace cannot be used or `out` cannot be written to, and MissingExtraError without Matplotlib.
    """
    new_figure()  # before a minute is spent
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    chosen = plan or Plan()
    results = _results(chosen, data, progress)
    claims = evaluate(results)
    figures = write_figures(folder, results)
    texts = {
        **{
            f"{name}.csv": getattr(results, name).write_csv()
            for name in ("accuracy", "linear", "training", "noise", "cost")
        },
        "claims.json": report.claims_json(claims),
        "verdict.md": report.verdict(results, claims, [path.name for path in figures]),
    }
    return Reproduction(folder, (*figures, *_write(folder, texts)), results, claims)


def _write(folder: Path, texts: Mapping[str, str]) -> Iterator[Path]:
    for name, text in texts.items():
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        yield folder / name


def _real(plan: Plan, data: Path | None) -> dict[str, tuple[Host, ...]]:
    """Return the hosts of the real traces that there are."""
    found: dict[str, tuple[Host, ...]] = {}
    if data is not None and (data / GRID).exists():
        found[GRID_SET] = grid5000(data, plan.real_hosts, plan.seed)
    if data is not None and (data / PLANETLAB).exists():
        found[PLANETLAB_SET] = planetlab(data, plan.real_hosts, plan.seed)
    return found


def _gather(rows: Rows, make: Callable[..., Rows], *given: object) -> None:
    rows.extend(make(*given))


def _results(plan: Plan, data: Path | None, progress: Progress | None) -> Results:
    sets = {GENERATED_SET: generated(plan.hosts, plan.days, plan.seed, plan.period)}
    sets |= _real(plan, data)
    hosts = sets[GENERATED_SET]
    fewer = replace(plan, lengths=tuple(h for h in (1, 3, 5, 10) if h in plan.lengths))
    accuracy: Rows = []
    training: Rows = []
    linear: Rows = []
    noise: Rows = []
    both = (SEMI_MARKOV, PLAIN)
    jobs: list[Callable[[], None]] = []
    jobs += [
        partial(_gather, accuracy, study.rows_of, name, k, host, plan, 0.5, both)
        for name, members in sets.items()
        for k, host in enumerate(members)
    ]
    for k, host in enumerate(hosts[: plan.share_hosts]):
        for share in plan.shares:
            jobs.append(
                partial(_gather, training, study.rows_of, GENERATED_SET, k, host, fewer, share,
                        both[:1])
            )  # fmt: skip
    jobs += [
        partial(_gather, linear, study.linear_rows, GENERATED_SET, k, host, plan)
        for k, host in enumerate(hosts[: plan.linear_hosts])
    ]
    jobs += [
        partial(_gather, noise, study.noise_rows, host, k, plan)
        for k, host in enumerate(hosts[: plan.noise_hosts])
    ]
    for done, job in enumerate(jobs):
        if progress is not None:
            progress(done, len(jobs))
        job()
    if progress is not None:
        progress(len(jobs), len(jobs))
    rows = study.table(accuracy)
    ours = rows.filter((pl.col("set") == GENERATED_SET) & (pl.col("host") < plan.linear_hosts))
    cost = study.cost_rows(hosts[0], plan)
    return Results(
        hosts,
        rows,
        study.table(training),
        pl.concat((ours, study.table(linear))),
        study.noise_table(noise),
        pl.DataFrame(cost, schema={"length_h": pl.Float64, "seconds": pl.Float64}, orient="row"),
    )
