"""Errors name parameters; the command line spells them as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from core.commands.calls import call
from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.runs.commands.application import app
from forestall.runs.commands.typed import as_typed, options_of

SIMULATE = options_of(typer.main.get_command(app).commands["simulate"].plain.params)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("error", "plain", "typed"),
    [
        (
            ParameterError("th1", 0.9, "at most {th2}"),
            "th1: 0.9 is not allowed; expected at most th2",
            "--th1: 0.9 is not allowed; expected at most --th2",
        ),
        (
            ParameterError("horizon", 5, "greater than or equal to 3600"),
            "horizon: 5 is not allowed; expected greater than or equal to 3600",
            "--horizon: '5 s' is not allowed; expected at least 1 h",
        ),
        (
            ParameterError("set depth", "x", "a number"),
            "set depth: 'x' is not allowed; expected a number",
            "--set depth: 'x' is not allowed; expected a number",
        ),
        (
            InputError("guests need {host_speeds} FILE"),
            "guests need host_speeds FILE",
            "guests need --host-speeds FILE",
        ),
        (
            TraceError("{days}.csv", "too long ({days})", line=3),
            "{days}.csv:3: too long (days)",
            "{days}.csv:3: too long (--days)",
        ),
    ],
)
def test_parameters_are_spelled(error: InputError, plain: str, typed: str) -> None:
    assert str(error) == plain
    assert as_typed(error, SIMULATE) == typed


def test_a_value_in_braces_stays_as_it_was_given() -> None:
    error = ParameterError("nodes", "{th1}", "a whole number")
    assert str(error) == "nodes: '{th1}' is not allowed; expected a whole number"
    assert as_typed(error, SIMULATE).startswith("--nodes: '{th1}' ")


def test_only_options_of_the_command_are_spelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "simulate", tmp_path / "jobs.swf", "--model", "cycle")
    assert done.code == 2
    assert "guests need hosts: --hosts FILE" in done.err
    assert options_of([]) == {}
    assert as_typed(ParameterError("nodes", 0, "at least 1"), {}).startswith("nodes: 0 ")
