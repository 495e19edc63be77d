"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import TraceError, UnwritableError
from forestall.core.model.failures import Failures
from forestall.logs import write_failures_csv


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_appears_under_its_name(tmp_path: Path, sync: bool) -> None:
    with atomic_path(tmp_path / "a.csv.gz", sync=sync) as beside:
        assert beside.parent == tmp_path
        assert beside.name.endswith(".csv.gz")
        assert not (tmp_path / "a.csv.gz").exists()
        beside.write_text("whole")
    assert os.listdir(tmp_path) == ["a.csv.gz"]
    assert (tmp_path / "a.csv.gz").read_text() == "whole"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.csv.gz").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_a_failed_write(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "a.csv").write_text("old")

    def fail() -> None:
        with atomic_path(tmp_path / "a.csv") as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


def test_a_writer_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("forestall.logs.write.pack", full)
    with pytest.raises(TraceError, match=r"f\.csv: cannot be written: No space"):
        write_failures_csv(Failures.build([1], [2]), tmp_path / "f.csv")
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_written_is_an_error_of_the_system_too(tmp_path: Path) -> None:
    with pytest.raises(UnwritableError) as told, atomic_path(tmp_path / "no" / "a"):
        pass
    assert isinstance(told.value, OSError)
    assert (told.value.errno, told.value.strerror) == (errno.ENOENT, "No such file or directory")
    assert str(told.value) == f"{tmp_path}/no/a: cannot be written: No such file or directory"


def test_an_error_about_another_file_is_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), atomic_path(tmp_path / "a"):
        (tmp_path / "other").read_text()
    assert os.listdir(tmp_path) == []


def test_the_innermost_file_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match="/no/b: cannot be written"),
        atomic_path(tmp_path / "a"),
        atomic_path(tmp_path / "no" / "b"),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written"), atomic_path(tmp_path / "no" / "a"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(TraceError, match="cannot be written"), atomic_path(tmp_path / "folder"):
        pass
    assert os.listdir(tmp_path) == ["folder"]


def test_a_collector_does_not_take_a_file_in_the_making(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "books.prom") as beside:
        beside.write_text("half")
        assert beside.name.startswith(".")
        assert not list(tmp_path.glob("*.prom"))
    assert [one.name for one in tmp_path.iterdir()] == ["books.prom"]
