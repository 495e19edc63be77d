"""--set KEY=VALUE and --settings FILE say what options say, and are refused alike."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from core.commands.calls import call, failure_log, job_log
from forestall.core.commands.keys import by_key, written
from forestall.runs.commands.application import app

ROOT: Any = typer.main.get_command(app)
PLAY = ("simulate", "jobs", "jobs.csv", "--failures", "failures.csv", "--from", "0")
SAID = (
    "--nodes", "16", "--accuracy", "0.4", "--checkpoint-interval", "20m", "--min-runtime", "2m",
    "--no-report", "--log-events", "--policy", "conservative", "--no-compression",
)  # fmt: skip


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job_log(tmp_path / "jobs.csv")
    failure_log(tmp_path / "failures.csv")


def files(folder: str) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(Path(folder).iterdir())}


def test_a_written_file_gives_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Byte for byte: by options, by the file that they write, and by keys."""
    assert call(capsys, *PLAY, *SAID, "--out", "by-options", "-q").code == 0
    text = call(capsys, "settings", "simulate", "jobs", *SAID).out
    Path("run.toml").write_text(text, encoding="utf-8")
    assert call(capsys, *PLAY, "--settings", "run.toml", "--out", "by-file", "-q").code == 0
    sets = [
        word for key, value in tomllib.loads(text).items()
        for word in ("--set", f"{key}={str(value).lower() if value is not True else 'true'}")
    ]  # fmt: skip
    assert len(sets) == 2 * 8
    assert call(capsys, *PLAY, *sets, "--out", "by-keys", "-q").code == 0
    assert files("by-options") == files("by-file") == files("by-keys")
    assert {"run.json", "events.csv"} & set(files("by-file"))
    assert "report.html" not in files("by-file")


def test_a_file_of_all_defaults_gives_the_run_of_none(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in comments as a default is the default."""
    lines = call(capsys, "settings", "simulate", "jobs").out.splitlines()
    command = ROOT.commands["simulate"].commands["jobs"]
    known = {key: command.questions[one.name] for key, one in by_key(command).items()
             if one.name in command.questions}  # fmt: skip
    plain = [
        line[1:] for line in lines
        if line[:1] == "#" and " = " in line and line[1:].partition(" = ")[0] in known
        and known[line[1:].partition(" = ")[0]].default is not None
    ]  # fmt: skip
    assert len(plain) >= 20
    Path("run.toml").write_text("\n".join(plain))
    assert call(capsys, *PLAY, "--out", "bare", "-q").code == 0
    assert call(capsys, *PLAY, "--settings", "run.toml", "--out", "told", "-q").code == 0
    assert files("bare") == files("told")


def test_the_command_line_wins_over_keys_and_they_over_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("run.toml").write_text('nodes = 16\naccuracy = 0.1\nrisk = 0.2\nmin-runtime = "3m"\n')
    words = ("--settings", "run.toml", "--set", "risk=0.3", "--set", "accuracy=0.2")
    done = call(capsys, "settings", "simulate", "jobs", *words, "--accuracy", "0.9")
    assert tomllib.loads(done.out) == {
        "nodes": 16, "accuracy": 0.9, "risk": 0.3, "min_runtime": "3m"
    }  # fmt: skip


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    found = {}
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            found |= commands(one, (*path, name))
        elif any(each.name == "settings_" for each in one.params):
            found[" ".join((*path, name))] = one
    return found


def test_all_options_of_all_such_commands_stand_in_their_file() -> None:
    found = commands(ROOT)
    assert {"simulate jobs", "sweep guests", "run", "report", "traces filter"} <= set(found)
    for name, one in found.items():
        text = "\n".join(written(one, f"forestall {name}", {}))
        assert tomllib.loads(text) == {}
        lines = [line for line in text.splitlines() if line.startswith("#")]
        told = "\n".join(line[1:] for line in lines if line[1] != " ")
        assert {key.replace("-", "_") for key in tomllib.loads(told)} == {
            max(each.opts, key=len)[2:].replace("-", "_") for each in one.params
            if each.param_type_name == "option"
            and each.name not in {"settings_", "set_", "help_all"}
        }  # fmt: skip
        assert all(len(line) <= 100 for line in lines if line[1] == " "), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "acuracy=0.7"), "--set: 'acuracy=0.7' is not allowed; expected KEY=VALUE with "
         "an option of this command; did you mean 'accuracy'?"),
        (("--set", "accuracy"), "did you mean 'accuracy'?"),
        (("--set", "qqq=1"), "--help-all shows them"),
        (("--set", "accuracy=2"), "--accuracy: 2.0 is not allowed"),
        (("--set", "strict=perhaps"), "--strict: 'perhaps' is not allowed; expected true or false"),
        (("--set", "set=1"), "KEY=VALUE with an option of this command"),
        (("--settings", "nowhere.toml"), "nowhere.toml: "),
    ],
)  # fmt: skip
def test_a_wrong_key_is_one_line(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, *PLAY, *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acuracy = 0.7", "run.toml: unknown option 'acuracy'; did you mean 'accuracy'?"),
        ("accuracy = 2", "run.toml: accuracy: 2.0 is not allowed"),
        ("accuracy = true", "run.toml: accuracy: True is not allowed"),
        ("accuracy = {}", "run.toml: accuracy: {} is not allowed"),
        ("strict = 1", "run.toml: strict: 1 is not allowed; expected true or false"),
        ("min-runtime = '1m'\nmin_runtime = '1m'", "run.toml: option 'min_runtime' is given twice"),
        ("a = ", "run.toml: is not TOML"),
    ],
)
def test_an_error_of_a_file_names_it(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.toml").write_text(text)
    done = call(capsys, *PLAY, "--settings", "run.toml")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


def test_an_error_of_what_typer_reads_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.toml").write_text("draws = 1.5")
    done = call(capsys, "reliability", "failures.csv", "--settings", "run.toml")
    assert done.code == 2
    assert "forestall: run.toml: draws: " in done.err
    assert "integer" in done.err


def test_lists_are_values_of_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.toml").write_text(
        'accuracy = [0.1, 0.9]\nnodes = 16\nworkers = 1\nvary = ["compression=true,false"]\n'
    )
    words = ("sweep", "jobs", "jobs.csv", "--policy", "conservative", "--settings", "run.toml")
    done = call(capsys, *words, "--out", "swept", "--no-report")
    assert done.code == 0, done.err
    assert "4 points: 2 values of accuracy, 2 values of compression" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulat",), "did you mean 'simulate'?"),
        (("assess",), "expected a command: one of "),
        (("certify",), "one with --settings in its help"),
        (("simulate", "jobs", "--acuracy", "1"), "No such option: --acuracy"),
    ],
)
def test_settings_need_a_command(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "settings", *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_old_ways_go_on_working(capsys: pytest.CaptureFixture[str]) -> None:
    """What left the help is still an option, and so is what --settings was called."""
    Path("run.toml").write_text("nodes = 16")
    words = ("--config", "run.toml", "--topology", "contiguous", "--json")
    assert call(capsys, *PLAY, *words).code == 0
    assert call(capsys, "simulate", *PLAY[2:], *words).code == 0
