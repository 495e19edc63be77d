"""One run from settings: read, simulate, save, and what a person should be told about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.core.kit.folder import check_folder
from forestall.runs.logs import jobs_of
from forestall.runs.settings import Settings

with lazily():
    from forestall.prediction.given import learned

if TYPE_CHECKING:
    from forestall.core.clock.progress import Progress
    from forestall.core.kit.model import AnyParameters, AnyResult
    from forestall.prediction.given.learned import Training


@dataclass(frozen=True)
class Done:
    """A finished run: its result, hints in words, and where its files are (None: nowhere)."""

    result: AnyResult
    hints: tuple[str, ...]
    folder: Path | None


def run(settings: Settings, *, force: bool = False, progress: Progress | None = None) -> Done:
    """Read, simulate and save as the settings say.

    Nothing is written before all is computed. Raises InputError and its kin.
    """
    if settings.out is not None:
        check_folder(settings.out, force=force)
    jobs, failures = jobs_of(settings.inputs), settings.model.world(settings.inputs)
    training = learned.training_of(settings.inputs, failures)
    result = settings.model.simulate(
        jobs,
        failures,
        log_events=settings.log_events,
        progress=progress,
        **learned.besides_of(settings.inputs, failures),
        **arguments_of(settings.parameters, training, settings.inputs.predictor),
    )
    told = {name: str(value) for name, value in settings.inputs.told().items()}
    if "jobs" in told:  # the slice; "jobs" is where they came from
        told["jobs_slice"] = told.pop("jobs")
    result = replace(result, sources={**result.sources, **told})
    if settings.out is not None:
        result.save(settings.out, report=settings.report, gantt=settings.gantt)
    hints = settings.model.hints(jobs, failures, result)
    return Done(result, tuple(hints), settings.out)


def arguments_of(
    parameters: AnyParameters, training: Training | None, learnt: Path | str | None = None
) -> dict[str, Any]:
    """Return the parameters as `Model.simulate` takes them, the predictor fitted where it learns.

    `learnt` is the file of a trained predictor, or the name of one that a training log is for.
    """
    given = parameters.model_dump()
    if learnt is not None:
        given["predictor"] = learnt
    name = learnt if isinstance(learnt, str) else None
    if training is not None and (name is not None or given["predictor"] == "hazard"):
        given["predictor"] = training.predictor(given["nodes"], name)
    return given
