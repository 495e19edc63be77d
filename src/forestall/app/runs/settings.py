"""What a run shall be, from options and files: one frozen object, checked in one place.

Options come by their keys (`checkpoint_overhead`), their values as text or as TOML has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall._lazy import lazily
from forestall.app.kit.model import Model
from forestall.app.promise.settings import PROMISE
from forestall.app.runs.inputs import Inputs
from forestall.app.runs.models import MODELS, all_parameters, model_of
from forestall.model.errors import InputError, ParameterError, TraceError, brief
from forestall.model.settings import flag_of, real_of, text_of, whole_of
from forestall.model.units import parse_duration
from forestall.traces.files.documents import read_toml
from forestall.traces.files.findings import shown

with lazily():
    from forestall.predict import entries

if TYPE_CHECKING:
    from forestall.app.kit.model import AnyParameters

FAILURE_OPTIONS: Final = ("failure_format", "system", "from", "days", "fold_nodes")
TRAINING_OPTIONS: Final = ("train", "train_from", "train_days")
BESIDE_OPTIONS: Final = ("events", "metrics", "maintenance")
HOST_OPTIONS: Final = ("hosts", "host_speeds", "period")
READING_OPTIONS: Final = (
    *("failures", *FAILURE_OPTIONS, *HOST_OPTIONS, "jobs", "processors_per_node", "strict"),
)
OUTPUT_OPTIONS: Final = ("out", "log_events", "gantt", "report")


def path_of(name: str, value: Any) -> Path:
    """Return the path that an option says; ParameterError where it is none."""
    return Path(text_of(name, value))


READ_AS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "failures": lambda name, value: None if value is None else path_of(name, value),
    "jobs": text_of,
    "processors_per_node": whole_of,
    "failure_format": text_of,
    "system": text_of,
    "from": text_of,
    "days": real_of,
    "fold_nodes": whole_of,
    "strict": flag_of,
    "train": path_of,
    "train_from": text_of,
    "train_days": real_of,
    "events": path_of,
    "metrics": path_of,
    "maintenance": text_of,
    "hosts": path_of,
    "host_speeds": path_of,
    "period": lambda name, value: parse_duration(value, name, plain=True),
}
"""How options that say what is read become values, in the order in which they are checked."""


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
    given = {name: values[name] for name in model.fields if name in values}
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
    per_node = 1 if "processors_per_node" in model.fields else values.get("processors_per_node", 1)
    failures = values.get("failures")
    check_hosts(values, model)
    check_beside(values, model)
    if failures is None:
        for name in FAILURE_OPTIONS:
            if name in values and not (model.on_hosts and name != "failure_format"):
                raise ParameterError(name, values[name], "a failure log as well ({failures} FILE)")
    for name in TRAINING_OPTIONS[1:]:
        if name in values and "train" not in values:
            raise ParameterError(name, values[name], "a training log as well ({train} FILE)")
    given = {**values, "processors_per_node": per_node}
    told = {name: read(name, given[name]) for name, read in READ_AS.items() if name in given}
    return Inputs(log, **{"start" if name == "from" else name: one for name, one in told.items()})


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
        if name != "maintenance" and "failures" not in values:
            raise ParameterError(name, str(values[name]), "a failure log as well ({failures} FILE)")


def read_config(path: Path, known: Iterable[str]) -> dict[str, Any]:
    """Return the options in a TOML file by key; TraceError for a key that is not `known`."""
    table = read_toml(path)
    options: dict[str, Any] = {}
    allowed = frozenset(known)
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in allowed:
            likely = get_close_matches(name, sorted(allowed), 1)
            hint = f"; did you mean {likely[0]!r}?" if likely else ""
            raise TraceError(path, f"unknown option {shown(key)}{hint}")
        if name in options:
            raise TraceError(
                path, f"option {shown(key)} is given twice, once with - and once with _"
            )
        options[name] = value
    return options


def with_config(config: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file and those of the command line, which win."""
    if config is None:
        return dict(given)
    return {**read_config(config, _known()), **given}


def known_options() -> tuple[str, ...]:
    """Return the options of a run of any model, but for those of its output."""
    return ("model", *all_parameters(), *READING_OPTIONS, *TRAINING_OPTIONS, *BESIDE_OPTIONS)


@contextmanager
def of_config(config: Path | None, given: Mapping[str, Any]) -> Iterator[None]:
    """Have errors of options that a file brought, and not the command line, name the file."""
    try:
        yield
    except ParameterError as error:
        name = error.name.replace("-", "_")
        if config is None or name in given or name not in read_config(config, _known()):
            raise
        text = f"{brief(error.value)} is not allowed; expected {error.allowed}"
        raise TraceError(config, text, field=error.name) from None


def _known() -> tuple[str, ...]:
    return (*known_options(), *OUTPUT_OPTIONS)
