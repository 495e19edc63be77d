"""The table of models: what ``--model`` can be, and which options go with which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.model import Model
from forestall.core.model.errors import ParameterError
from forestall.machines.settings import VIRTUAL
from forestall.scheduling.settings import PROMISE
from forestall.sharing.settings import CYCLE

if TYPE_CHECKING:
    from forestall.core.kit.measure import Measure

MODELS: Final[Mapping[str, Model]] = {one.name: one for one in (PROMISE, VIRTUAL, CYCLE)}


def model_of(values: Mapping[str, Any]) -> Model:
    """Return the model that these options say; ParameterError where there is none of that name, or
    an option is one of another model."""
    given = values.get("model", PROMISE.name)
    model = MODELS.get(given) if isinstance(given, str) else None
    if model is None:
        raise ParameterError("model", given, "one of " + ", ".join(MODELS))
    for name in all_parameters():
        if name in values and name not in model.fields and name not in READ:
            theirs = " or ".join(one.name for one in MODELS.values() if name in one.fields)
            allowed = f"only with {{model}} {theirs}, not with {{model}} {model.name}"
            raise ParameterError(name, values[name], allowed)
    return model


READ: Final = frozenset({"processors_per_node"})
"""Parameters of one model that tell the others how a log is read."""


def all_parameters() -> tuple[str, ...]:
    """Return the names of the parameters of all models, each once, in order."""
    return tuple(dict.fromkeys(name for model in MODELS.values() for name in model.fields))


def measures_of(summaries: Iterable[Mapping[str, Any]]) -> tuple[Measure, ...]:
    """Return the measures by which runs are compared: those that the models of all of them tell
    alike. The summaries of promises name no model."""
    names = dict.fromkeys(str(one.get("model", PROMISE.name)) for one in summaries)
    told = [MODELS[name].measures() for name in names if name in MODELS] or [PROMISE.measures()]
    return tuple(one for one in told[0] if all(one in others for others in told[1:]))


def model_in(summary: Mapping[str, Any]) -> Model:
    """Return the model of the run of this summary; that of promises where it names none."""
    return MODELS.get(str(summary.get("model", PROMISE.name)), PROMISE)


def told_of(summary: Mapping[str, Any], name: str, value: Any) -> str:
    """Return a parameter of a run as it could be given; what is none as it stands."""
    model = model_in(summary)
    return model.told(name, value) if name in model.fields else str(value)
