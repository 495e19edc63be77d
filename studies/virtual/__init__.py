"""Fu and Xu, "Proactive resource management for failure resilient high performance computing
clusters", ARES 2009.

Jobs of many tasks in virtual machines on 256 nodes, nodes chosen by capacity and predicted time to
failure, machines moved before failures: Figures 1 and 2 redrawn at the paper's failure rate and at
3, 10 and 30 times of it, each claim beside what was measured, and where each strategy begins to
pay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from forestall.traces.generate.tasks import DAYS
from studies.kit.kept_runs import play_all
from studies.virtual import report
from studies.virtual.claims import evaluate
from studies.virtual.figures import write_figures
from studies.virtual.found import Claim, Found
from studies.virtual.inputs import Real, read_real
from studies.virtual.network import Foretold, foretold
from studies.virtual.paired import Runs
from studies.virtual.runs import CHUNK, Given, play_alone, runs_table
from studies.virtual.study import QUICK, Plan, cases

__all__ = ["QUICK", "Plan", "Reproduction", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """What came out: where the files are, the files, the table of all runs, and the claims."""

    folder: Path
    files: tuple[Path, ...]
    runs: pl.DataFrame
    claims: tuple[Claim, ...]


def reproduce(
    out: Path,
    *,
    data: Path | None = None,
    plan: Plan | None = None,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Redo the experiments and write figures, tables and the verdict into the folder `out`.

    Parameters
    ----------
    out : folder for `runs.csv`, `claims.json`, `verdict.md` and the figures; `runs.jsonl` there
        holds each run as soon as it is done, and a study that was broken off goes on from it
    data : folder with the real failures; without it, generated ones alone
    plan : how much is played; `QUICK` for a look
    workers : processes (0: one for each core); the bytes written do not depend on it
    progress : called with the number of runs done and of all runs

    Raises TraceError where the log cannot be used or `out` cannot be written to, and
    MissingExtraError without Matplotlib.
    """
    new_figure()  # before minutes are spent
    chosen = plan or Plan()
    real, said = _real(data, chosen)
    folder = _folder(Path(out))
    given = Given(
        chosen.days,
        None if real is None else real.year,
        None if said is None else said.predictions,
    )
    rows = play_all(
        play_alone,
        [(case,) for case in cases(chosen, real=real is not None)],
        given,
        folder,
        {"days": chosen.days, "real": real is not None},
        workers=workers,
        chunk=CHUNK,
        progress=progress,
    )
    return written(chosen, runs_table(rows), real, said, folder)


def _real(data: Path | None, plan: Plan) -> tuple[Real | None, Foretold | None]:
    """Return the real failures, for whole years only, and what the network says of them."""
    if data is None or plan.days != DAYS:
        return None, None
    real = read_real(Path(data))
    return real, foretold(real)


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    return out


def written(
    plan: Plan, table: pl.DataFrame, real: Real | None, said: Foretold | None, folder: Path
) -> Reproduction:
    """Evaluate the runs of a whole plan, write everything into the folder, and return it."""
    found = Found(
        Runs(table),
        tuple(plan.rates),
        tuple(plan.more_rates),
        tuple(plan.loads),
        tuple(plan.accuracies),
        said,
    )
    claims = evaluate(found)
    figures = write_figures(folder, found)
    texts = {
        "runs.csv": table.write_csv(),
        "claims.json": report.claims_json(claims),
        "verdict.md": report.verdict(plan, found, claims, real, [path.name for path in figures]),
    }
    return Reproduction(folder, (*figures, *_write(folder, texts)), table, claims)


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    paths = []
    for name, text in texts.items():
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        paths.append(folder / name)
    return paths
