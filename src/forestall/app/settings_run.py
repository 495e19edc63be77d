"""One run from settings: read, simulate, save, and what a person should be told about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.app.settings import Settings
from forestall.app.settings_folder import OTHER_RUN_FILES, RUN_FILES, check_folder, fill_folder
from forestall.app.simulate import simulate
from forestall.model.units import format_duration

if TYPE_CHECKING:
    from forestall.app.hazard import Training
    from forestall.app.result import Result
    from forestall.model.failures import Failures
    from forestall.model.jobs import Jobs
    from forestall.simulate.parameters import Parameters
    from forestall.simulate.run import Progress


LONG_GAP = 86_400
"""Seconds between what a predictor has seen and a run from which on it is worth a hint."""


@dataclass(frozen=True)
class Done:
    """A finished run: its result, hints in words, and where its files are (None: nowhere)."""

    result: Result
    hints: tuple[str, ...]
    folder: Path | None


def run(settings: Settings, *, force: bool = False, progress: Progress | None = None) -> Done:
    """Read, simulate and save as the settings say.

    Nothing is written before all is computed. Raises InputError and its kin.
    """
    if settings.out is not None:
        check_folder(settings.out, force=force)
    jobs, failures = settings.inputs.read_jobs(), settings.inputs.read_failures()
    training = settings.inputs.read_training(failures)
    result = simulate(
        jobs,
        failures,
        log_events=settings.log_events,
        progress=progress,
        **arguments_of(settings.parameters, training, settings.inputs.predictor),
    )
    told = {name: str(value) for name, value in settings.inputs.told().items()}
    if "jobs" in told:  # the slice; "jobs" is where they came from
        told["jobs_slice"] = told.pop("jobs")
    result = replace(result, sources={**result.sources, **told})
    if settings.out is not None:
        save_whole(result, settings.out, report=settings.report, gantt=settings.gantt)
    return Done(result, hints(jobs, failures, result), settings.out)


def arguments_of(
    parameters: Parameters, training: Training | None, learnt: Path | str | None = None
) -> dict[str, Any]:
    """Return the parameters as `simulate` takes them, the predictor fitted where it learns.

    `learnt` is the file of a trained predictor, or the name of one that a training log is for.
    """
    given = parameters.model_dump()
    if learnt is not None:
        given["predictor"] = learnt
    name = learnt if isinstance(learnt, str) else None
    if training is not None and (name is not None or parameters.predictor == "hazard"):
        given["predictor"] = training.predictor(parameters.nodes, name)
    return given


def save_whole(
    result: Result, folder: Path, *, report: bool = True, gantt: tuple[int, int] | None = None
) -> Path:
    """Write the files of a run: all or none of them."""

    def save(fresh: Path) -> Path:
        return result.save(fresh, report=report, gantt=gantt)

    return fill_folder(folder, save, (*OTHER_RUN_FILES, *RUN_FILES))


def hints(jobs: Jobs, failures: Failures, result: Result) -> tuple[str, ...]:
    """Return what looks as if the user meant something else, and which option would say so."""
    parameters = result.outcome.parameters
    found = [_machine(jobs, parameters), *_failures(failures, parameters, result), _unseen(result)]
    return tuple(hint for hint in found if hint)


def _machine(jobs: Jobs, parameters: Parameters) -> str:
    if jobs.nodes is None or jobs.nodes == parameters.nodes:
        return ""
    return (
        f"the job log's header says that its machine has {jobs.nodes:,} nodes; use "
        f"--nodes {jobs.nodes} for that machine"
    )


def _unseen(result: Result) -> str:
    """Return that a predictor knows nothing of the time just before the run, where that is so."""
    if result.table is None:
        return ""
    gap = int(result.table.times[0]) - result.predictor.seen.end
    if gap < LONG_GAP:
        return ""
    return (
        f"the predictor knows of nothing in the {format_duration(gap)} before the run, and takes "
        "it that no node failed then; train it up to the run (predict train --until, or --train)"
    )


def _failures(failures: Failures, parameters: Parameters, result: Result) -> list[str]:
    if len(failures) == 0:
        return []
    found = []
    fold = failures.nodes / parameters.nodes
    if fold >= 2 and fold == int(fold):
        found.append(
            f"the failure log has {failures.nodes:,} nodes, {int(fold)} times the machine's; "
            f"--fold-nodes {int(fold)} takes {int(fold)} neighbours as one"
        )
    played = len(result.outcome.played)
    submit = result.outcome.workload.jobs.submit
    first, last = int(submit[0]), int(result.outcome.jobs["finish"].max())
    if played == 0:
        found.append(
            f"no failure came about: those on the machine's nodes are not between "
            f"{format_duration(first)} and {format_duration(last)}, when the jobs are"
        )
    end = int(failures.time[0]) + failures.span
    if end < last and not parameters.repeat_failures:
        found.append(
            f"the failure log ends after {format_duration(end)} and the jobs after "
            f"{format_duration(last)}; --repeat-failures starts it again"
        )
    return found
