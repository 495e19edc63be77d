"""What would take too much memory ends in one line, and nothing is written."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from forestall.core.files import budget
from forestall.runs.commands.entry import main


def test_a_limit_is_an_option_of_the_application(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "jobs.swf"
    wanted = ["traces", "generate", "jobs", str(out), "--count", "1000000"]
    before = resource.getrlimit(resource.RLIMIT_DATA)
    assert main(["--max-memory", "1MB", *wanted]) == 2
    said = capsys.readouterr().err
    assert said.startswith("forestall: 1,000,000 jobs (--count) would take 440 MB of memory")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert (resource.getrlimit(resource.RLIMIT_DATA), os.environ.get(budget.VARIABLE)) == (
        before,
        None,
    )
    assert main(["--max-memory", "some", *wanted]) == 2
    assert "--max-memory: 'some' is not allowed; expected a size" in capsys.readouterr().err


def test_other_peoples_programs_are_not_held_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    real = budget.limited

    def limited(given: str | None = None, *, held_to_it: bool = True) -> object:
        held.append(held_to_it)
        return real(given, held_to_it=held_to_it)

    monkeypatch.setattr(budget, "limited", limited)
    main(["run", "--help"])
    main(["traces", "--help"])
    assert held == [False, True]


def test_memory_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object, **more: object) -> None:
        raise MemoryError

    monkeypatch.setattr("forestall.logs.generate.jobs.generate_jobs", full)
    assert main(["traces", "generate", "jobs", str(tmp_path / "a.swf"), "--count", "10"]) == 2
    assert capsys.readouterr().err.startswith("forestall: not enough memory for this: more was")
