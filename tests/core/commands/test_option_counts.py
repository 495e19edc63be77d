"""Help stays short: what few need is reached by --set and --settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import typer

from forestall.core.commands.questions import REACHING
from forestall.runs.commands.application import app

MOST_A_COMMAND: Final = 30
MOST_COMMANDS: Final = 93
MOST_OPTIONS: Final = 898
"""These fall, and do not rise."""


def visible(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each command that help lists and that does something by itself."""
    for name, one in group.commands.items():
        if one.hidden:
            continue
        if not hasattr(one, "commands") or one.invoke_without_command:
            yield " ".join((*path, name)), one
        if hasattr(one, "commands"):
            yield from visible(one, (*path, name))


COMMANDS: Final = dict(visible(typer.main.get_command(app)))
SHOWN: Final = {
    name: [one for one in each.params if one.param_type_name == "option" and not one.hidden]
    for name, each in COMMANDS.items()
}


def test_no_command_shows_more_options_than_one_reads() -> None:
    many = {name: len(shown) for name, shown in SHOWN.items() if len(shown) > MOST_A_COMMAND}
    assert not many


def test_commands_and_options_only_become_fewer() -> None:
    assert len(SHOWN) == MOST_COMMANDS, "lower the number above where there are fewer"
    assert sum(map(len, SHOWN.values())) == MOST_OPTIONS, "as above"


def test_what_help_leaves_out_can_be_reached() -> None:
    for name, one in COMMANDS.items():
        rare = [each.name for each in one.params if getattr(each, "hidden", False)]
        there = REACHING & {each.name for each in one.params}
        assert there == (REACHING if rare else set()), name


def test_the_forms_that_take_all_options_are_hidden() -> None:
    assert not {"simulate any", "sweep any"} & set(COMMANDS)
    assert {"simulate jobs", "sweep guests"} <= set(COMMANDS)
