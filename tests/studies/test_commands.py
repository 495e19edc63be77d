"""`python -m studies`: help, options, bad input, and the entries that all of them are made of."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import forestall as fs
from forestall.core.model.errors import ParameterError
from studies import STUDIES
from studies.kit.commands import DATA, StudyEntry, example, group
from study_calls import call

ROOT = Path(__file__).resolve().parents[2]
GROUP: Any = typer.main.get_command(group(STUDIES.values()))
NAMES = sorted(STUDIES)


def told(path: str) -> str:
    return (ROOT / "docs" / path).read_text(encoding="utf-8")


def test_every_folder_is_a_study_and_every_study_a_folder() -> None:
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__init__.py")} - {"kit"}
    assert folders == {name.replace("-", "_") for name in STUDIES}
    assert set(GROUP.commands) == {*STUDIES, *fs.screen.RESEARCH}


@pytest.mark.parametrize("name", NAMES)
def test_a_study_has_its_plan_its_paper_and_its_command(name: str) -> None:
    entry = STUDIES[name]
    study = entry.study()
    assert study.paper
    assert study.title
    asked = {option.name for option in entry.options}
    assert ("quick" in asked) == (study.quick is not None)
    assert study.planned() == study.full
    if study.quick is not None:
        assert study.planned(quick=True) == study.quick != study.full
    assert set(study.asked) == asked - {"data", "workers", "on", "quick", "seed"}
    assert (DATA in entry.options) or not entry.real


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help_and_is_documented(name: str) -> None:
    after = told("reference/cli/studies.md").split(f"## python -m studies {name}\n")[1]
    section = after.partition("\n## ")[0]
    documented = set(re.findall(r"^\| `(--[a-z]+)", section, re.M))
    options = [one for one in GROUP.commands[name].params if one.name != "help"]
    assert documented == {one.opts[0] for one in options}
    assert all(one.help for one in options)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_documented_where_its_entry_says(name: str) -> None:
    entry = STUDIES[name]
    page = told(entry.docs)
    assert f"python -m studies {name} " in page
    assert f"[{entry.label}]({entry.docs.removeprefix('studies/')})" in told("studies/index.md")
    assert entry.docs in told("index.md")


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_its_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, name, "--help")
    assert done.code == 0
    for line in STUDIES[name].examples:
        typed = example(STUDIES[name], line)
        assert typed in done.out
        words = shlex.split(typed)
        assert words[:4] == ["python", "-m", "studies", name]
        GROUP.commands[name].make_context(name, words[4:])


def test_help_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "--help")
    assert done.code == 0
    assert all(re.search(rf"^.*{name} ", done.out, re.M) for name in STUDIES)


@pytest.mark.parametrize(
    "arguments",
    [
        ["promises", "--data", "nowhere"],
        ["promises"],
        ["queues"],
        ["virtual", "--data", "nowhere"],
        ["availability", "--workers", "2"],
        ["virtual", "--quick", "--workers", "0"],
        ["assessment", "--seed", "-1"],
        ["assessment", "--seed", "x"],
        ["cycle-sharing", "--quick", "--contention", "nowhere"],
        ["vault", "--quick", "--network", "nowhere"],
        ["no-such-study"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_used_is_one_line(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORESTALL_DATA", raising=False)
    code, out, err = call(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not list(tmp_path.iterdir())


def test_a_file_where_the_folder_should_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    code, out, err = call(capsys, "availability", "--quick", "--out", tmp_path / "file")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_the_environment_names_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORESTALL_DATA", str(tmp_path))
    code, _, err = call(capsys, "queues", "--out", tmp_path / "out")
    assert code == 2
    assert str(tmp_path / "lanl-failures-1996-2005") in err


def test_it_is_a_command_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "studies", "queues", "--data", "nowhere"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "a folder with the real logs" in done.stderr


def test_an_unknown_study_is_named() -> None:
    with pytest.raises(ParameterError, match="one of promises, queues"):
        STUDIES.chosen("none")
    assert all(isinstance(one, StudyEntry) for one in STUDIES.values())
