"""Options of the parameters of every model, made of their declarations: none is listed here.

A parameter that several models have gets one option; where they tell it differently, its help
does. Imported where a command that takes them is asked for, and by nothing else: declarations need
what the help of all commands does not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from forestall.core.commands.options import BESIDE, HOSTS, READING, TRAINING
from forestall.core.commands.questions import TextOptions, texts
from forestall.core.commands.spellings import spelled
from forestall.core.kit.model import Model
from forestall.core.model.settings import Kind, Parameter
from forestall.core.model.spelling import named
from forestall.core.model.units import typed_duration
from forestall.runs.models import MODELS, READ, all_parameters

MACHINE: Final = "Machine and policy"
PANELS: Final = {
    "machine": MACHINE,
    "prediction": "Prediction and promises",
    "checkpoints": "Checkpoints and failures",
}
"""Panels of help by the groups of declarations; the others belong to their models."""
[MODEL] = texts(
    MACHINE,
    (
        "model",
        "Jobs with their own nodes and promises (promise, the default), tasks in virtual machines "
        "that migrate before nodes fail (virtual), or guest jobs on hosts whose owners return "
        "(cycle)",
        "|".join(MODELS),
    ),
)
"""Which model plays the jobs."""
READ_BY: Final = (
    (HOSTS, {"cycle"}),
    (READING, set(MODELS)),
    (TRAINING, {"promise", "virtual"}),
    (BESIDE, {"promise"}),
)
"""Options of reading, and the models that they are for."""


@cache
def parameter_options(model: str | None = None) -> tuple[Parameter, ...]:
    """Return each parameter of all models, or of the one of this name, as its option tells it."""
    return tuple(
        option_told({one.name: one.declared[name] for one in _models(model) if name in one.fields})
        for name in (all_parameters() if model is None else MODELS[model].fields)
        if model is not None or name not in READ
    )


def run_options(*more: Parameter, model: str | None = None, varied: bool = False) -> TextOptions:
    """Return the options of a run of this model, or of any; `varied`: with ranges and lists."""
    own = parameter_options(model)
    taken = {one.name for one in own}
    read = [
        one
        for rows, models in READ_BY
        if model in {None, *models}
        for one in rows
        if one.name not in taken
    ]
    rows = map(_alone, (*read, *own, *more)) if model else (MODEL, *read, *own, *more)
    return TextOptions(rows, varied=taken if varied else ())


def _alone(one: Parameter) -> Parameter:
    """Return an option of a command of one model, whose panels need not say of which."""
    group = one.setting.group.partition(" (--model ")[0]
    return replace(one, setting=replace(one.setting, group=group))


def _models(name: str | None) -> list[Model]:
    return [one for one in MODELS.values() if name in {None, one.name}]


def option_told(told: dict[str, Parameter]) -> Parameter:
    """Return a parameter with the help and the panel of its option; `told` has what each model that
    has it declares of it."""
    model, one = next(iter(told.items()))
    panel = PANELS.get(one.setting.group) or f"{MODELS[model].label} (--model {model})"
    return replace(one, setting=replace(one.setting, group=panel, help=help_of(told)))


def help_of(told: dict[str, Parameter]) -> str:
    """Return the help of an option: what the first model tells, then in what others differ."""
    (_, first), *others = told.items()
    defaults, sentences = [default_of(first)], []
    for model, one in others:
        default = default_of(one) if default_of(one) != default_of(first) else ""
        if one.setting.help != first.setting.help:
            sentences.append(
                f"With --model {model}: {_otherwise(one, first)}{_said(one, default)}."
            )
        elif default:
            defaults.append(f"{default} with --model {model}")
    said = f"{named(first.setting.help, spelled)}{_said(first, '; '.join(filter(None, defaults)))}."
    return " ".join([said, *sentences])


def _otherwise(one: Parameter, first: Parameter) -> str:
    """Return what another model declares of a parameter, to stand within a sentence."""
    text = named(one.setting.help[0].lower() + one.setting.help[1:], spelled)
    told = bool(one.setting.shown) or one.choices == first.choices
    return text if told else f"{text}: {' or '.join(one.choices)}"


def _said(one: Parameter, default: str) -> str:
    """Return a default, or what it means that there is none, as the end of a phrase."""
    if not default:
        return ""
    return f" (default: {default})" if one.default is None else f" (default {default})"


def default_of(one: Parameter) -> str:
    """Return the default as it would be typed, or what none means; nothing of what is off."""
    value = one.default
    if value is None:
        return named(one.setting.unset, spelled)
    if isinstance(value, bool):
        return "on" if value else ""
    return typed_duration(value) if one.kind is Kind.DURATION else one.told(value)
