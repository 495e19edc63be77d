"""Runs over all cores, kept as they are done: the same rows however often they were broken off."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import TraceError
from studies.kit.kept_runs import KEPT, Row, play_all
from studies.kit.workers import over_workers

STAMP = {"days": 3}


@dataclass(frozen=True)
class Case:
    """A toy run: it gives as many rows as it is told to."""

    name: str
    rows: int


TODO = [(Case("a", 1), Case("b", 2)), (Case("c", 0),), (Case("d", 3), Case("e", 1), Case("f", 1))]
ROWS = ["a0", "b0", "b1", "d0", "d1", "d2", "e0", "f0"]


def play(batch: tuple[Case, ...], given: float) -> list[Row]:
    return [
        asdict(case) | {"made": f"{case.name}{k}", "value": given / (k + 3), "none": None}
        for case in batch
        for k in range(case.rows)
    ]


class Study:
    """The toy study in a folder, and what it told of its progress."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = folder / KEPT
        self.told: list[tuple[int, int]] = []

    def rows(self, todo: Any = TODO, *, stamp: Any = None, **more: Any) -> list[Row]:
        self.told.clear()
        told = stamp or STAMP
        return play_all(
            play, todo, 1.0, self.folder, told, progress=lambda *at: self.told.append(at), **more
        )


def test_rows_come_in_the_order_of_the_cases(tmp_path: Path) -> None:
    study = Study(tmp_path)
    assert [row["made"] for row in study.rows(workers=1)] == ROWS
    assert study.told == [(2, 6), (3, 6), (6, 6)]
    assert [row["made"] for row in study.rows(TODO[::-1])] == [*ROWS[3:], *ROWS[:3]]
    assert study.told == []


def test_broken_off_anywhere_it_goes_on(tmp_path: Path) -> None:
    study = Study(tmp_path)
    first = study.rows(workers=1)
    text = study.kept.read_bytes()
    for length in range(len(text)):
        study.kept.write_bytes(text[:length])
        assert study.rows(workers=1) == first
        assert study.kept.read_bytes() == text
    lines = text.splitlines(keepends=True)
    study.kept.write_bytes(b"".join(lines[:2]) + lines[2][:10])
    study.rows(workers=1)
    assert study.told == [(3, 6), (6, 6)]


def test_only_what_is_new_is_played(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.rows(workers=1)
    more = [(*TODO[0], Case("g", 1)), *TODO[1:]]
    assert [row["made"] for row in study.rows(more)] == [*ROWS[:3], "g0", *ROWS[3:]]
    assert study.told == [(7, 7)]


def test_runs_of_other_inputs_are_not_taken_up(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.rows(workers=1)
    study.rows(stamp={"days": 4}, workers=1)
    assert study.told == [(2, 6), (3, 6), (6, 6)]


def test_any_number_of_workers_writes_the_same(tmp_path: Path) -> None:
    texts = []
    for workers, chunk in ((1, 1), (2, 1), (3, 2)):
        folder = tmp_path / str(workers)
        folder.mkdir()
        study = Study(folder)
        assert [row["made"] for row in study.rows(workers=workers, chunk=chunk)] == ROWS
        texts.append(study.kept.read_bytes())
    assert texts[0] == texts[1] == texts[2]


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / KEPT).mkdir()
    with pytest.raises(TraceError, match="cannot be written"):
        Study(tmp_path).rows()


def pid(thing: int, given: int) -> int:
    return os.getpid()


def test_the_first_is_done_here_and_the_others_by_workers() -> None:
    mine, *others = over_workers(pid, range(4), 0, workers=2)
    assert mine == os.getpid()
    assert os.getpid() not in others
    assert set(over_workers(pid, range(4), 0, workers=1)) == {os.getpid()}
    assert list(over_workers(pid, [], 0)) == []
