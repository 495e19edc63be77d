"""Options of the parameters of every model, made of their declarations: none is listed here.

A parameter that several models have gets one option; where they tell it differently, its help
does. Imported where a command that takes them is asked for, and by nothing else: declarations need
what the help of all commands does not.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from forestall.app.kit.model import Model
from forestall.app.runs.models import MODELS, READ, all_parameters
from forestall.cli.choice import Choice, TextOptions, metavar_of
from forestall.cli.runs.options import BESIDE, HOSTS, READING, TRAINING
from forestall.cli.spellings import spelled
from forestall.model.settings import Kind, Parameter
from forestall.model.spelling import named
from forestall.model.units import typed_duration

MACHINE: Final = "Machine and policy"
PANELS: Final = {
    "machine": MACHINE,
    "prediction": "Prediction and promises",
    "checkpoints": "Checkpoints and failures",
}
"""Panels of help by the groups of declarations; the others belong to their models."""
MODEL: Final = Choice(
    "model",
    MACHINE,
    "Jobs with their own nodes and promises (promise, the default), tasks in virtual machines that "
    "migrate before nodes fail (virtual), or guest jobs on hosts whose owners return (cycle).",
    choices=tuple(MODELS),
)
"""Which model plays the jobs."""


@cache
def parameter_choices(model: str | None = None) -> tuple[Choice, ...]:
    """Return an option for each parameter of all models, or of the one of this name."""
    return tuple(
        choice_of({one.name: one.declared[name] for one in _models(model) if name in one.fields})
        for name in (all_parameters() if model is None else MODELS[model].fields)
        if model is not None or name not in READ
    )


def run_options(*more: Choice, model: str | None = None, varied: bool = False) -> TextOptions:
    """Return the options of a run of this model, or of any; `varied`: with ranges and lists."""
    own = parameter_choices(model)
    read = [
        one
        for one in (*HOSTS, *READING, *TRAINING, *BESIDE)
        if model in {None, *one.models} or not one.models
    ]
    taken = {one.name for one in own}
    rows = (*(one for one in read if one.name not in taken), *own, *more)
    first = (MODEL,) if model is None else ()
    return TextOptions(first, [one.of_model(model) for one in rows], varied=varied)


def _models(name: str | None) -> list[Model]:
    return [one for one in MODELS.values() if name in {None, one.name}]


def choice_of(told: dict[str, Parameter]) -> Choice:
    """Return the option of a parameter; `told` has what each model that has it declares of it."""
    model, one = next(iter(told.items()))
    setting = one.setting
    panel = PANELS.get(setting.group) or f"{MODELS[model].label} (--model {model})"
    return Choice(
        one.name,
        panel,
        help_of(told),
        setting.shown or metavar_of(one),
        choices=() if setting.shown else one.choices,
        flag=one.kind is Kind.FLAG,
        on=one.default is True,
        ranged=one.kind is not Kind.FLAG,
        rare=setting.rare,
    )


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
