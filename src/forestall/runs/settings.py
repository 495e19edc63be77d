"""What a run shall be, from options and files: one frozen object, checked in one place.

Options come by their keys (`checkpoint_overhead`), their values as text or as TOML has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.kit.model import Model
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.settings import flag_of, text_of
from forestall.core.model.units import parse_duration
from forestall.logs.inputs import (
    FAILURE_OPTIONS,
    HOST_OPTIONS,
    READING_OPTIONS,
    TRAINING_OPTIONS,
    Inputs,
    chosen_rows,
)
from forestall.runs.models import MODELS, all_parameters, model_of
from forestall.scheduling.settings import PROMISE

with lazily():
    from forestall.prediction.models import entries
    from forestall.scheduling import machine as machines

if TYPE_CHECKING:
    from forestall.core.kit.model import AnyParameters

BESIDE_OPTIONS: Final = ("events", "metrics", "maintenance", "machine")


@dataclass(frozen=True)
class Settings:
    """Everything about one run: what goes in, its parameters, what comes out."""

    inputs: Inputs
    parameters: AnyParameters
    out: Path | None = None
    log_events: bool = False
    report: bool = True
    gantt: tuple[int, int] | None = None
    model: Model = PROMISE


def settings_of(log: Path, values: Mapping[str, Any]) -> Settings:
    """Return what these options say; InputError and its kin for invalid arguments.

    Parameters
    ----------
    log : the job log
    values : options by key, without those that were not given
    """
    model = model_of(values)
    given = given_parameters(values, model)
    out = values.get("out")
    learnt = learnt_of(given, model)
    if learnt is not None:
        given["predictor"] = "learned"
    settings = Settings(
        replace(inputs_of(log, values, model), predictor=learnt),
        model.checked({name: model.declared[name].read(value) for name, value in given.items()}),
        None if out is None else folder_of(values),
        flag_of("log_events", values.get("log_events", False)),
        report_of(values),
        gantt_of(values),
        model,
    )
    check_training(settings.inputs, asked_of([settings.parameters], learnt), model)
    if settings.log_events and out is None:
        raise ParameterError("log_events", True, "a folder to write to as well ({out} DIR)")
    return settings


def given_parameters(values: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Return the parameters among options, and those that a machine says."""
    given = {name: values[name] for name in model.fields if name in values}
    if "machine" in values and model is PROMISE:
        return {**machines.defaults_of(values["machine"]), **given}
    return given


def learnt_of(values: Mapping[str, Any], model: Model = PROMISE) -> Path | str | None:
    """Return the file, or the name, of a predictor that has learned; None for those that a name is
    enough for.

    Raises ParameterError for what is neither.
    """
    given = values.get("predictor")
    named = (*model.unlearnt, "hazard")
    if given is None or str(given) in named:
        return None

    name = text_of("predictor", given)
    if name in entries.LEARNERS and "/" not in name:
        return name
    if Path(name).is_file():
        return Path(name)
    files = "a file of forestall predict train, or one of forestall predict list"
    raise ParameterError("predictor", name, f"{', '.join(named)}, {files}")


def asked_of(points: Iterable[AnyParameters], learnt: Path | str | None) -> frozenset[Path | str]:
    """Return the predictors that runs with these parameters ask; `learnt` instead of all."""
    if learnt is not None:
        return frozenset({learnt})
    named = (getattr(point, "predictor", None) for point in points)
    return frozenset(name for name in named if name is not None)


def check_training(
    inputs: Inputs, predictors: Collection[str | Path], model: Model = PROMISE
) -> None:
    """Raise ParameterError where a predictor lacks its training log, or a log its predictor."""
    learns = [one for one in predictors if isinstance(one, str) and one not in model.unlearnt]
    if any(isinstance(one, Path) for one in predictors) and inputs.failures is None:
        raise ParameterError("predictor", "of a file", "a failure log as well ({failures} FILE)")
    if learns:
        for name in ("failures", "train"):
            if getattr(inputs, name) is None:
                allowed = f"a {'training' if name == 'train' else 'failure'} log as well"
                raise ParameterError("predictor", learns[0], f"{allowed} ({{{name}}} FILE)")
    elif inputs.train is not None:
        allowed = "a predictor that learns as well ({predictor} hazard)"
        raise ParameterError("train", str(inputs.train), allowed)


def folder_of(values: Mapping[str, Any], otherwise: str = "") -> Path:
    """Return the folder for results that these options say."""
    return Path(text_of("out", values.get("out", otherwise)))


def report_of(values: Mapping[str, Any]) -> bool:
    """Return whether these options want a report."""
    return flag_of("report", values.get("report", True))


def gantt_of(values: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the wanted span of the Gantt chart, s since the first submission; None: choose one."""
    given = values.get("gantt")
    if given is None:
        return None
    first, colon, last = text_of("gantt", given).partition(":")
    if not colon:
        raise ParameterError("gantt", given, "two durations FROM:TO such as 3d:6d")
    start, end = (parse_duration(one, "gantt", plain=True) for one in (first, last))
    if start >= end:
        raise ParameterError("gantt", given, "FROM:TO with FROM before TO")
    return start, end


def inputs_of(log: Path, values: Mapping[str, Any], model: Model = PROMISE) -> Inputs:
    """Return which rows of which logs these options say, but for those that are parameters of the
    model."""
    check_hosts(values, model)
    check_beside(values, model)
    given = (
        {**values, "processors_per_node": 1} if "processors_per_node" in model.fields else values
    )
    of_failures = FAILURE_OPTIONS[:1] if model.on_hosts else FAILURE_OPTIONS
    return chosen_rows(log, given, of_failures)


def check_hosts(values: Mapping[str, Any], model: Model) -> None:
    """Raise InputError where host traces are missing, twice there, or not for this model, and where
    a model on hosts is given what is not for it."""
    others = HOST_OPTIONS if not model.on_hosts else TRAINING_OPTIONS
    for name in others:
        if name in values:
            theirs = " or ".join(
                one.name for one in MODELS.values() if one.on_hosts != model.on_hosts
            )
            allowed = f"only with {{model}} {theirs}, not with {{model}} {model.name}"
            raise ParameterError(name, values[name], allowed)
    if not model.on_hosts:
        return
    if "hosts" in values and "failures" in values:
        allowed = "either {hosts} or {failures}: both say when hosts were available"
        raise ParameterError("hosts", str(values["hosts"]), allowed)
    if "hosts" not in values and "failures" not in values:
        raise InputError(
            "guests need hosts: {hosts} FILE with samples of their load, or {failures} FILE "
            "with the times they were down (forestall traces generate hosts makes an example)"
        )


def check_beside(values: Mapping[str, Any], model: Model) -> None:
    """Raise ParameterError where what only runs of promises know is given to another model, or
    without what it goes with."""
    for name in BESIDE_OPTIONS:
        if name not in values:
            continue
        if model is not PROMISE:
            allowed = f"only with {{model}} promise, not with {{model}} {model.name}"
            raise ParameterError(name, str(values[name]), allowed)
        if name not in {"maintenance", "machine"} and "failures" not in values:
            raise ParameterError(name, str(values[name]), "a failure log as well ({failures} FILE)")


def known_options() -> tuple[str, ...]:
    """Return the options of a run of any model, but for those of its output."""
    return ("model", *all_parameters(), *READING_OPTIONS, *TRAINING_OPTIONS, *BESIDE_OPTIONS)
