"""Folders appear whole or not at all; options are checked in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.files.atomic import atomic_path
from forestall.core.kit.folder import check_folder, fill_folder
from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.inputs import Inputs
from forestall.runs.settings import inputs_of, settings_of
from forestall.scheduling.settings import PROMISE

NAMES = ("a.csv", "b.csv", "summary.json")


def write(*names: str) -> object:
    def fill(folder: Path) -> None:
        for name in names:
            (folder / name).write_text("new")

    return fill


def test_a_new_folder_is_filled(tmp_path: Path) -> None:
    out = tmp_path / "x" / "y"
    fill_folder(out, write("a.csv", "summary.json"), NAMES)  # type: ignore[arg-type]
    assert sorted(p.name for p in out.iterdir()) == ["a.csv", "summary.json"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_fails_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "a.csv").write_text("half")
        raise error

    out = tmp_path / "out"
    with pytest.raises(error):
        fill_folder(out, fail, NAMES)
    assert not out.exists()
    out.mkdir()
    (out / "a.csv").write_text("old")
    with pytest.raises(error):
        fill_folder(out, fail, NAMES)
    assert [(p.name, p.read_text()) for p in out.iterdir()] == [("a.csv", "old")]


def test_a_file_that_cannot_be_written_is_named_where_it_was_asked_for(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        with atomic_path(folder / "a.csv"):
            raise OSError(28, "No space left on device")

    with pytest.raises(TraceError) as told:
        fill_folder(tmp_path / "out", fail, NAMES)
    assert str(told.value) == f"{tmp_path}/out/a.csv: cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_stale_files_go_and_others_stay(tmp_path: Path) -> None:
    for name in (*NAMES, "notes.txt"):
        (tmp_path / name).write_text("old")
    fill_folder(tmp_path, write("a.csv", "summary.json"), NAMES)  # type: ignore[arg-type]
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "a.csv": "new", "summary.json": "new", "notes.txt": "old",
    }  # fmt: skip


def test_a_folder_of_others_needs_force(tmp_path: Path) -> None:
    check_folder(tmp_path, force=False)
    (tmp_path / "summary.json").write_text('{"mine": 1}')
    with pytest.raises(TraceError, match="use force"):
        check_folder(tmp_path, force=False)
    check_folder(tmp_path, force=True)


def test_inputs_tell_what_was_chosen() -> None:
    values = {"failures": "f.csv", "from": "2003-07-18T16:00", "days": "365", "fold_nodes": "8"}
    inputs = inputs_of(Path("jobs.swf"), values)
    assert inputs.told() == {"from": "2003-07-18T16:00", "days": 365.0, "fold_nodes": 8}
    assert Inputs(Path("jobs.swf")).told() == {}


def test_values_become_what_they_mean() -> None:
    assert PROMISE.declared["checkpoint_overhead"].read("12m") == 720
    assert PROMISE.declared["downtime"].read("log") == "log"
    assert PROMISE.declared["nodes"].read("64") == 64
    with pytest.raises(ParameterError, match="mtbf"):
        PROMISE.declared["mtbf"].read("log")


def test_events_need_a_folder() -> None:
    with pytest.raises(ParameterError, match="log_events"):
        settings_of(Path("jobs.swf"), {"log_events": True})
