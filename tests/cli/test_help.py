"""Every command shows its use, every parameter has its option, help loads nothing heavy."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cli.calls import call
from forestall import __version__
from forestall.app.cycle.settings import CYCLE as CYCLE_MODEL
from forestall.app.kit.model import Model
from forestall.app.promise.settings import PROMISE
from forestall.app.runs.models import MODELS
from forestall.app.runs.settings import (
    FAILURE_OPTIONS,
    HOST_OPTIONS,
    READING_OPTIONS,
    parameter_value,
)
from forestall.app.virtual.settings import VIRTUAL as VIRTUAL_MODEL
from forestall.cli.application import app
from forestall.cli.runs.options import OPTIONS, PARAMETERS, READING
from forestall.cli.runs.options_cycle import CYCLE, HOSTS
from forestall.cli.runs.options_virtual import MODEL, VIRTUAL
from forestall.simulate.promise.parameters import Parameters

ROOT: Any = typer.main.get_command(app)


def commands(
    group: Any = ROOT, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


ALL = dict(commands())
LEAVES = {path: command for path, command in ALL.items() if not hasattr(command, "commands")}


def examples(command: Any) -> list[str]:
    lines = [line.strip() for line in (command.epilog or "").split("\n\n")]
    return [part.strip() for line in lines for part in line.split("&&") if "forestall" in part]


def test_all_commands_are_there() -> None:
    assert {path[0] for path in LEAVES} == {
        "agent", "assess", "backtest", "calibrate", "certify", "compare", "demo", "design", "fit",
        "guest", "import", "interval", "lemons", "machines", "predict", "reliability", "replay",
        "report", "reproduce", "simulate", "spares", "sweep", "traces",
    }  # fmt: skip


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_shows_an_example(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, *path, "--help")
    assert done.code == 0
    assert "Examples:" in done.out
    assert f"forestall {' '.join(path)}".strip() in done.out.split("Examples:")[1]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_no_list_of_choices_is_empty(path: tuple[str, ...]) -> None:
    for option in LEAVES[path].params:
        assert "One of: ." not in (getattr(option, "help", None) or ""), option.name


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_examples_can_be_parsed(path: tuple[str, ...]) -> None:
    mine = [e for e in examples(LEAVES[path]) if shlex.split(e)[1 : len(path) + 1] == list(path)]
    assert mine
    for example in examples(LEAVES[path]):
        words = shlex.split(example.partition(" > ")[0])[1:]
        command = next(p for p in LEAVES if tuple(words[: len(p)]) == p)
        LEAVES[command].make_context(" ".join(command), words[len(command) :])


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_has_help(path: tuple[str, ...]) -> None:
    for parameter in LEAVES[path].params:
        assert getattr(parameter, "help", None), f"{path}: {parameter.name}"


def test_help_names_optionswhole(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "simulate", "--help")
    for choice in (*MODEL, *PARAMETERS, *VIRTUAL, *CYCLE, *HOSTS, *READING):
        assert choice.spelling in done.out


def test_every_parameter_has_its_option() -> None:
    assert {choice.name for choice in PARAMETERS} == set(Parameters.model_fields)
    shared = {*Parameters.model_fields, *READING_OPTIONS}
    assert {choice.name for choice in VIRTUAL} == set(VIRTUAL_MODEL.fields) - shared
    shared |= set(VIRTUAL_MODEL.fields)
    assert {choice.name for choice in CYCLE} == set(CYCLE_MODEL.fields) - shared
    assert MODEL[0].choices == tuple(MODELS)
    assert {choice.name for choice in HOSTS} == set(HOST_OPTIONS)
    assert {choice.name for choice in READING} == set(READING_OPTIONS) - set(HOST_OPTIONS)
    assert set(FAILURE_OPTIONS) < set(READING_OPTIONS)
    assert {choice.name for choice in PARAMETERS if choice.flag} == PROMISE.flags
    flags = {choice.name for choice in (*PARAMETERS, *VIRTUAL) if choice.flag}
    assert VIRTUAL_MODEL.flags == flags & set(VIRTUAL_MODEL.fields)
    assert {choice.name for choice in CYCLE if choice.flag} == CYCLE_MODEL.flags


@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_every_parameter_can_be_given(name: str) -> None:
    spelled = {option for parameter in LEAVES[(name,)].params for option in parameter.opts}
    for model in MODELS.values():
        assert {OPTIONS[field] for field in model.fields} <= spelled


def test_help_tells_the_true_defaults() -> None:
    told = {}
    for choice in PARAMETERS:
        match = re.search(r"\(default ([\w.-]+)\b", choice.help)
        if match and match[1] not in {"on", "off"}:
            told[choice.name] = parameter_value(choice.name, match[1])
    defaults = Parameters().model_dump()
    assert len(told) > 10
    del told["downtime"]  # its default depends on the log
    assert Parameters(**told).model_dump() == defaults
    assert {n: Parameters(**{n: told[n]}).model_dump()[n] for n in told} == {
        n: defaults[n] for n in told
    }


def test_help_tells_the_true_defaults_of_virtual_machines() -> None:
    told = {}
    for choice in VIRTUAL:
        match = re.search(r"\(default ([\w.-]+)\b", choice.help)
        if match:
            told[choice.name] = parameter_value(choice.name, match[1], VIRTUAL_MODEL)
    defaults = VIRTUAL_MODEL.parameters().model_dump()
    assert VIRTUAL_MODEL.parameters(**told).model_dump() == defaults
    untold = {choice.name for choice in VIRTUAL if choice.name not in told}
    assert untold == {"lead", "predict_every", "vm_memory", "backfill", "random_migrates"}
    for name in set(told) & VIRTUAL_MODEL.durations:
        assert told[name] == defaults[name]


def test_help_tells_the_true_defaults_of_cycle_sharing() -> None:
    told = {}
    for choice in CYCLE:
        match = re.search(r"\(default ([\w.-]+)\b", choice.help)
        if match and not choice.flag:
            told[choice.name] = parameter_value(choice.name, match[1], CYCLE_MODEL)
    defaults = CYCLE_MODEL.parameters().model_dump()
    assert CYCLE_MODEL.parameters(**told).model_dump() == defaults
    assert {choice.name for choice in CYCLE if choice.name not in told} == {
        "job_length", "checkpoint_at_end",
    }  # fmt: skip
    for name in set(told) & CYCLE_MODEL.durations:
        assert told[name] == defaults[name]


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_kind_of_a_parameter_is_told(model: Model) -> None:
    told = (model.durations, model.whole, model.reals, model.flags)
    assert sum(map(len, told)) == len(frozenset().union(*told))  # none is of two kinds
    assert model.shares <= model.reals
    for name, field in model.parameters.model_fields.items():
        plain = str(field.annotation)
        assert (name in model.flags) == (field.annotation is bool), name
        assert (name in model.reals) == ("float" in plain), name
        assert (name in model.durations | model.whole) == bool(re.search(r"\bint\b", plain)), name


@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_choices_are_told_unbroken(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(call(capsys, name, "--help").out.replace("│", " ").split())
    for choice in (*MODEL, *PARAMETERS, *VIRTUAL, *CYCLE):
        listed = f"One of: {', '.join(choice.choices)}."
        assert "|".join(choice.choices) in text or listed in text, choice.name


def test_completion_knows_the_choices() -> None:
    policy = next(choice for choice in PARAMETERS if choice.name == "policy")
    assert policy._complete("c") == ["conservative"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"forestall {__version__}\n", "")


def test_usage_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["simulate"], ["nonsense"], ["simulate", "--bogus"], ["demo", "--seed", "x"]):
        code, out, err = call(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("forestall: ")
        assert "--help" in err


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "simulate" in call(capsys).out


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["sweep", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from forestall.cli import main\n"
        f"main({arguments!r}); print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split("MODULES")[1].split())
    heavy = {"numba", "polars", "matplotlib", "numpy", "scipy", "pandas"}
    if len(arguments) == 1:
        heavy.add("pydantic")  # Typer itself takes it for the options of a command
    assert not heavy & loaded
