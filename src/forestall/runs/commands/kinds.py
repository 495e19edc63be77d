"""Commands that play a model: one for each, with its own options, and a plain one with all."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Final

import typer

from forestall.core.commands.questions import Given
from forestall.core.commands.registry import Group, command, group_of
from forestall.core.model.settings import Parameter
from forestall.runs.commands.parameters import run_options
from forestall.runs.models import MODELS

PLAIN: Final = "any"
"""The hidden command that stands for the plain form, which takes the options of all models."""


class WithPlain(Group):
    """A group whose own name, followed by what is none of its commands, is the plain form."""

    @property
    def plain(self) -> Any:
        """The command of the plain form."""
        return self.commands[PLAIN]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name, or the plain one with all of them."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "", self.plain, args

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return what a shell offers: the commands, and the options of the plain form."""
        offered = super().shell_complete(ctx, incomplete)
        return offered + self.plain.shell_complete(ctx, incomplete)


def commands_of_models(
    name: str,
    help: str,
    play: Callable[..., Any],
    more: Sequence[Parameter],
    told: Mapping[str, tuple[str, tuple[str, ...]]],
    *,
    varied: bool = False,
) -> typer.Typer:
    """Return a group with a command for each model, and the plain form.

    Parameters
    ----------
    name : of the group
    help : of the group
    play : the plain form: a function that has `given`, the options that were said
    more : options beside those of runs
    told : help and examples of each command, by model; those of the plain form by ""
    varied : whether options take ranges and lists
    """
    group = group_of(
        f"{help}\n\nWithout one of these commands, {name} takes the options of all of them, and "
        f"--model chooses: forestall {name} JOBS --help-all.",
        *(line for _, lines in told.values() for line in lines[:1]),
        cls=WithPlain,
        context_settings={"ignore_unknown_options": True},
    )
    for model, (text, lines) in told.items():
        options = run_options(*more, model=model or None, varied=varied)
        one = _playing(play, model, Annotated[Given, options])
        one.__doc__ = text
        command(group, MODELS[model].plays if model else PLAIN, *lines, hidden=not model)(one)
    return group


def _playing(play: Callable[..., Any], model: str, options: Any) -> Callable[..., Any]:
    """Return a function like `play`, with these options for `given`, of one model where named."""
    own = inspect.signature(play, eval_str=True)

    @wraps(play)
    def playing(*, given: Given, **more: Any) -> Any:
        return play(given={**given, "model": model} if model else given, **more)

    taken = [
        one.replace(annotation=options) if name == "given" else one
        for name, one in own.parameters.items()
    ]
    playing.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    return playing
