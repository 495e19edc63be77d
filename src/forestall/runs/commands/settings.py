"""`forestall settings`: the file that `--settings` reads, written with all that can stand in it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.keys import written
from forestall.core.commands.questions import FILE, REACHING
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say_utf8
from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import likely

with lazily():
    from forestall.runs.commands import application

app = typer.Typer()


@command(
    app,
    "settings",
    "forestall settings simulate jobs > run.toml",
    "forestall settings simulate jobs --nodes 64 --accuracy 0.9 > run.toml",
    "forestall settings run > heat.toml",
    context_settings={"ignore_unknown_options": True},
)
def settings(
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="A command, and options of it to be set."),
    ],
) -> None:
    """Write all options of a command as a settings file: what they mean, defaults and units.

    Options that follow the command are set in the file; all others stand in it as comments.
    """
    found, name, rest = command_of(words)
    say_utf8("\n".join(written(found, name, said_of(found, name, rest))) + "\n")


def command_of(words: list[str]) -> tuple[Any, str, list[str]]:
    """Return the command with settings that words begin with, its name, and what follows;
    ParameterError where there is none."""
    found: Any = typer.main.get_command(application.app)
    path: list[str] = []
    while len(path) < len(words) and words[len(path)] in getattr(found, "commands", ()):
        found = found.commands[words[len(path)]]
        path.append(words[len(path)])
    rest = words[len(path) :]
    if hasattr(found, "commands") and not hasattr(found, "plain"):
        hint = likely(rest[0], found.commands) if rest else f": one of {', '.join(found.commands)}"
        raise ParameterError("COMMAND", " ".join(words), f"a command{hint}")
    found = getattr(found, "plain", found)
    if all(one.name != FILE for one in found.params):
        raise ParameterError("COMMAND", " ".join(path), "one with --settings in its help")
    return found, " ".join(("forestall", *path)), rest


def said_of(found: Any, name: str, rest: list[str]) -> dict[str, Any]:
    """Return the options that arguments of a command say, by their names."""
    for one in found.params:
        one.required = False
    context = found.make_context(name, list(rest))
    return {
        one.name: context.params[one.name]
        for one in found.params
        if one.param_type_name == "option"
        and one.name not in REACHING
        and context.get_parameter_source(one.name).name in {"COMMANDLINE", "DEFAULT_MAP"}
    }
