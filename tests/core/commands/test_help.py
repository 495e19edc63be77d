"""Every command shows its use, every parameter has its option, help loads nothing heavy."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from core.commands.calls import call
from forestall import __version__
from forestall.core.commands.options import HOSTS, READING
from forestall.core.commands.questions import text_option
from forestall.core.commands.spellings import spelled
from forestall.core.kit.model import Model
from forestall.core.model.settings import Kind
from forestall.logs.inputs import FAILURE_OPTIONS, HOST_OPTIONS, READING_OPTIONS
from forestall.runs.commands.application import app
from forestall.runs.commands.kinds import PLAIN
from forestall.runs.commands.parameters import MODEL, default_of, parameter_options
from forestall.runs.models import MODELS

ROOT: Any = typer.main.get_command(app)


def commands(
    group: Any = ROOT, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        if name != PLAIN and not getattr(command, "hidden", False):
            yield from commands(command, (*path, name))


ALL = dict(commands())
PLAINS = {path: group.plain for path, group in ALL.items() if hasattr(group, "plain")}
LEAVES = {path: one for path, one in ALL.items() if not hasattr(one, "commands")} | PLAINS


def examples(command: Any, *, whole: bool = False) -> list[str]:
    lines = (command.epilog or "").splitlines()
    if whole:
        return lines[2:]
    return [part.strip() for line in lines for part in line.split("&&") if "forestall" in part]


def test_all_commands_are_there() -> None:
    assert {path[0] for path in LEAVES} == {
        "agent", "assess", "backtest", "calibrate", "certify", "checkpoint", "compare", "demo",
        "design", "doctor", "fit", "settings",
        "futures", "guest", "import", "interval", "job", "lemons", "machines", "man", "predict",
        "promise", "promises", "proposals", "quote", "reliability", "replay", "report", "run",
        "serve", "simulate", "spares", "storage", "submit", "sweep", "traces", "warm-up",
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
def test_examples_can_be_parsed(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text("accuracy = 0.5\n")
    mine = [e for e in examples(LEAVES[path]) if shlex.split(e)[1 : len(path) + 1] == list(path)]
    assert mine
    for example in examples(LEAVES[path]):
        words = shlex.split(example.partition(" > ")[0])[1:]
        command = max((p for p in LEAVES if tuple(words[: len(p)]) == p), key=len)
        LEAVES[command].make_context(" ".join(command), words[len(command) :])


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_has_help(path: tuple[str, ...]) -> None:
    for parameter in LEAVES[path].params:
        assert getattr(parameter, "help", None), f"{path}: {parameter.name}"


def test_help_names_optionswhole(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "simulate", "--help-all")
    for question in (MODEL, *parameter_options(), *HOSTS, *READING):
        assert spelled(question.name) in done.out


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.plays)
@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_a_model_has_a_command_with_its_options_alone(
    name: str, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    command = LEAVES[name, model.plays]
    there = {option for parameter in command.params for option in parameter.opts}
    others = {field for one in MODELS.values() for field in one.fields} - set(READING_OPTIONS)
    assert {spelled(field) for field in model.fields} <= there
    assert not {spelled(field) for field in others - set(model.fields)} & there
    assert "--model" not in there
    short = call(capsys, name, model.plays, "--help").out
    whole = call(capsys, name, model.plays, "--help-all").out
    assert "--model" not in whole
    rare = {spelled(one.name) for one in model.declared.values() if one.setting.rare}
    assert rare
    assert all(re.search(rf"{option}\b", whole) for option in rare)
    assert not any(re.search(rf"│ {option}\b", short) for option in rare)
    assert short.count("\n") < 0.8 * whole.count("\n")


def test_every_parameter_has_its_option() -> None:
    ours = {one.name: one for one in parameter_options()}
    fields = {name for model in MODELS.values() for name in model.fields}
    assert set(ours) == fields - {"processors_per_node"}  # an option of reading, for all models
    assert "processors_per_node" in {one.name for one in READING}
    assert MODEL.choices == tuple(MODELS)
    assert {one.name for one in HOSTS} == set(HOST_OPTIONS)
    assert {one.name for one in READING} == set(READING_OPTIONS) - set(HOST_OPTIONS)
    assert set(FAILURE_OPTIONS) < set(READING_OPTIONS)
    for model in MODELS.values():
        for name, one in model.declared.items():
            if name in ours:
                assert (ours[name].kind is Kind.FLAG) == (one.kind is Kind.FLAG), name


@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_every_parameter_can_be_given(name: str) -> None:
    there = {option for parameter in LEAVES[(name,)].params for option in parameter.opts}
    for model in MODELS.values():
        assert {spelled(field) for field in model.fields} <= there


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_help_tells_the_true_defaults(model: Model) -> None:
    """What help says of a default, given as an option, is the default."""
    defaults = dict(model.parameters())
    shown = {one.name: one.setting.help for one in parameter_options(model.name)}
    told = {}
    for name, one in model.declared.items():
        match = re.search(r"\(default ([\w.-]+)[^()]*\)\.$", shown[name])
        if match and one.kind is not Kind.FLAG:
            told[name] = one.read(match[1])
            assert told[name] == defaults[name] or one.kind is not Kind.DURATION, name
    untold = {name for name in model.fields if name not in told}
    assert dict(model.parameters(**told)) == defaults
    assert untold == {
        name for name, one in model.declared.items()
        if one.default is None or one.kind is Kind.FLAG
    }  # fmt: skip
    assert len(told) > 10
    for name in untold:
        assert default_of(model.declared[name]) in shown[name]


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_kind_of_a_parameter_is_told(model: Model) -> None:
    for name, field in model.parameters.model_fields.items():
        plain, kind = str(field.annotation), model.declared[name].kind
        assert (kind is Kind.FLAG) == (field.annotation is bool), name
        assert (kind is Kind.REAL) == ("float" in plain), name
        whole = kind in {Kind.DURATION, Kind.WHOLE}
        assert whole == bool(re.search(r"\bint\b", plain)), name
        assert model.declared[name].is_number == (whole or kind is Kind.REAL), name


@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_choices_are_told_unbroken(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(call(capsys, name, "--help-all").out.replace("│", " ").split())
    for one in (MODEL, *parameter_options()):
        listed = f"One of: {', '.join(one.choices)}."
        told = "" if one.setting.shown else "|".join(one.choices)
        assert told in text or listed in text, one.name


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_free_of_noise(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither `<bool>` beside a flag nor `{JOBS}`; what stands for a value is unbroken; lines end
    where the screen ends, and examples follow each other."""
    text = call(capsys, *path, "--help").out
    assert not re.search(r"<(bool|path|str|list|int|float|UUID)\b|\{[A-Z.|]+\}|\[default: ", text)
    for option in ALL[path].params:
        if not getattr(option, "hidden", False):
            assert (option.metavar or "").strip() in text, option.name
    assert "\n" not in (ALL[path].help or "").replace("\n\n", "")
    shown = [line.strip() for line in text.split("Examples:")[1].strip().splitlines()]
    assert "" not in shown
    assert " ".join(shown) == " ".join(examples(ALL[path], whole=True))


def test_completion_knows_the_choices() -> None:
    policy = next(one for one in parameter_options() if one.name == "policy")
    complete = text_option(policy).annotation.__metadata__[0].autocompletion
    assert complete("c") == ["conservative"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"forestall {__version__}\n", "")


def test_usage_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["compare"], ["nonsense"], ["simulate", "--bogus"], ["demo", "--seed", "x"]):
        code, out, err = call(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("forestall: ")
        assert "--help" in err


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "simulate" in call(capsys).out


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["sweep", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from forestall.runs.commands.entry import main\n"
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
