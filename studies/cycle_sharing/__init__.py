"""Bagchi et al., fine-grained cycle sharing: the Falcon scheduler, slides.

What a guest takes from a host's owner; how often and why hosts are not available; makespan,
failures and unscheduled jobs against job length under Condor-style matchmaking, Falcon and an
omniscient scheduler, on generated hosts with the slides' statistics and on real traces; and runs
that tell why a claim does not hold where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from studies.cycle_sharing import contention as contention_study
from studies.cycle_sharing import report, statistics
from studies.cycle_sharing.claims import Claim, Found, evaluate
from studies.cycle_sharing.contention import Contention
from studies.cycle_sharing.figures import write_figures
from studies.cycle_sharing.inputs import real_sets
from studies.cycle_sharing.paired import Runs
from studies.cycle_sharing.runs import Given, play_batch, runs_table
from studies.cycle_sharing.study import QUICK, Plan, batches
from studies.kit.kept_runs import play_all

__all__ = ["QUICK", "Contention", "Plan", "Reproduction", "contend", "reproduce"]

Progress = Callable[[int, int], None]


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
    contention: Contention | None = None,
    workers: int = 0,
    progress: Progress | None = None,
) -> Reproduction:
    """Redo the experiments and write figures, tables and the verdict into the folder `out`.

    Parameters
    ----------
    out : folder for `runs.csv`, `states.csv`, `contention.csv`, `claims.json`, `verdict.md` and the
        figures; `runs.jsonl` there holds each run as soon as it is done, and a study that was
        broken off goes on from it
    data : folder with the real traces; without it, or without a trace in it, generated hosts alone
    plan : how much is played; `QUICK` for a look
    contention : the contention study, see `contend`; None: left out
    workers : processes (0: one for each core); the bytes written do not depend on it
    progress : called with the number of runs done and of all runs

    All but the contention study, which is measured, is the same for the same plan. Raises
    TraceError where a trace cannot be used or `out` cannot be written to, and MissingExtraError
    without Matplotlib.
    """
    new_figure()  # before minutes are spent
    chosen = plan or Plan()
    folder = _folder(Path(out))
    named = None if data is None else Path(data)
    real = real_sets(named)
    rows = play_all(
        play_batch,
        batches(chosen, real),
        Given(chosen.days, named if real else None),
        folder,
        {"days": chosen.days, "real": bool(real)},
        workers=workers,
        progress=progress,
    )
    found = Found(
        Runs(runs_table(rows)),
        statistics.states_table(chosen, real, named),
        statistics.telling(chosen),
        contention or contend("none"),
        chosen.loads,
    )
    return written(chosen, found, folder)


def contend(asked: str | Path, *, progress: Progress | None = None) -> Contention:
    """Return the contention study.

    Parameters
    ----------
    asked : "measure": of this host, which takes some three minutes and all of its cores; left out,
        and told so, where others use them; "none": left out; else a folder of `forestall calibrate`
    progress : called with steps done and steps in all

    Raises TraceError where the folder cannot be used.
    """
    if str(asked) == "none":
        return contention_study.left_out("it was not asked for (--contention)")
    if str(asked) == "measure":
        return contention_study.measured(progress)
    return contention_study.read(Path(asked))


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    return out


def written(plan: Plan, found: Found, folder: Path) -> Reproduction:
    """Evaluate the results of a plan, write everything into the folder, and return it."""
    claims = evaluate(found)
    figures = write_figures(folder, found)
    texts = {
        "runs.csv": found.runs.table.write_csv(),
        "states.csv": found.states.write_csv(),
        "accuracy.csv": found.telling.write_csv(),
        "claims.json": report.claims_json(found, claims),
        "verdict.md": report.verdict(plan, found, claims, [path.name for path in figures]),
    }
    if found.contention.points:
        texts["contention.csv"] = found.contention.text()
    return Reproduction(folder, (*figures, *_write(folder, texts)), found.runs.table, claims)


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    paths = []
    for name, text in texts.items():
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        paths.append(folder / name)
    return paths
