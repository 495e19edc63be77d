"""Tables as a certifier reads them: what each kind of column takes and refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from forestall.core.certify.finding import Finding
from forestall.core.certify.folder import RunFolder, Summary, table
from forestall.core.certify.sheet import (
    MAX_COUNT,
    NONE,
    Bool,
    Int,
    Reals,
    Rows,
    Sheet,
    column,
    flag,
    job,
    number_of_job,
    parts,
    seconds,
    whole,
    words,
)
from forestall.core.model.errors import TraceError
from forestall.core.model.units import MAX_SECONDS


@dataclass(frozen=True)
class Visits(Rows):
    FILE: ClassVar = "visits.csv"
    BESIDES: ClassVar = ("remark",)
    job: Int = job()
    node: Int = whole(0, "nodes", "where")
    start: Int = seconds(empty=True)
    kind: Int = words(("short", "long"))
    work: Int = parts(3, empty=0)
    speed: Reals = column(Sheet.real)
    open: Bool = column(lambda sheet, _: np.ones(len(sheet), np.bool_), there=False)

    def refused(self, sheet: Sheet) -> None:
        sheet.refuse(self.work < self.node, "work", "as much as its node")


HEAD = "job,where,start,kind,work,speed,remark"
ROWS = ("7,0,5,long,0.125,1.5,", " 9 ,2,,short,2,0,x", "7,1,-3,long,,2.25,")


def read(folder: Path, *rows: str, head: str = HEAD) -> Visits:
    (folder / "visits.csv").write_text("\n".join((head, *rows, "")))
    return Visits.read(folder, ids=np.array([9, 7]), nodes=3)


def test_columns_in_whole_numbers(tmp_path: Path) -> None:
    rows = read(tmp_path, *ROWS[:2], "7,0,-3,long,,2.25,")
    assert rows.job.tolist() == [1, 0, 1]
    assert rows.node.tolist() == [0, 2, 0]
    assert rows.start.tolist() == [5, NONE, -3]
    assert rows.kind.tolist() == [1, 0, 1]
    assert rows.work.tolist() == [125, 2000, 0]
    assert rows.speed.tolist() == [1.5, 0.0, 2.25]
    assert rows.line.tolist() == [2, 3, 4]
    assert len(rows) == 3
    turned = rows.take(np.array([2, 0]))
    assert (turned.line.tolist(), turned.start.tolist()) == ([4, 2], [-3, 5])
    assert len(rows.take(rows.node > 5)) == 0


REFUSED = [
    ("8,0,5,long,1,1,", "job: '8' is not a job of jobs.csv"),
    (",0,5,long,1,1,", "job: an empty field is not a whole number"),
    ("7,3,5,long,1,1,", "where: '3' is not below 3"),
    ("7,-1,5,long,1,1,", "where: '-1' is not a whole number from 0 up"),
    ("7,0.5,5,long,1,1,", "where: '0.5' is not a whole number"),
    (f"7,0,{MAX_SECONDS},long,1,1,", f"start: '{MAX_SECONDS}' is not below {MAX_SECONDS}"),
    ("7,0,5,middling,1,1,", "kind: 'middling' is not one of short, long"),
    ("7,0,5,,1,1,", "kind: an empty field is not one of short, long"),
    ("7,0,5,long,0.0001,1,", "work: '0.0001' is not a number of at most three decimals"),
    ("7,0,5,long,-1,1,", "work: '-1' is not a number from 0 up"),
    ("7,0,5,long,nan,1,", "work: 'nan' is not a number from 0 up"),
    ("7,0,5,long,1,inf,", "speed: 'inf' is not a number from 0 up"),
    ("7,2,5,long,0.001,1,", "work: '0.001' is not as much as its node"),
]


@pytest.mark.parametrize(("row", "said"), REFUSED)
def test_what_cannot_be_names_line_and_field(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(tmp_path, *ROWS[:2], row)
    assert str(caught.value) == f"{tmp_path}/visits.csv:4: {said}"


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"visits.csv: has no column where, remark"):
        read(tmp_path, head="job,node,start,kind,work,speed")
    (tmp_path / "visits.csv").write_text("")
    with pytest.raises(TraceError, match=f"is empty; expected a header with {HEAD}"):
        Visits.read(tmp_path, ids=np.array([1]), nodes=1)
    (tmp_path / "visits.csv").unlink()
    with pytest.raises(TraceError, match="is not there"):
        Visits.read(tmp_path, ids=np.array([1]), nodes=1)


@dataclass(frozen=True)
class Jobs(Rows):
    FILE: ClassVar = "jobs.csv"
    name: Int = number_of_job()
    state: Int = words(("on", "off"), empty=True)
    work: Int = parts(6, 10**9, empty=NONE)


@pytest.mark.parametrize(
    ("rows", "said"),
    [("", "jobs.csv: holds no jobs"), ("1,on,1\n1,on,1\n", "3: job: '1' is not a job of its own"),
     ("1,on,1000\n", "work: '1000' is not a number from 0 to 1000")],
)  # fmt: skip
def test_jobs_stand_once(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "jobs.csv").write_text("job,state,work\n" + rows)
    with pytest.raises(TraceError, match=said):
        Jobs.read(tmp_path)


def test_what_stands_for_nothing_is_no_number_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"where: .* is not a whole number from 0 up"):
        read(tmp_path, f"7,{NONE},5,long,1,1,")


def test_empty_fields_where_they_may_be(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job,state,work\n1,,\n2,off,0.000001\n")
    rows = Jobs.read(tmp_path)
    assert rows.state.tolist() == [NONE, 1]
    assert rows.work.tolist() == [NONE, 1]


class VisitsFolder(RunFolder):
    jobs = table(Jobs, alone=True)
    visits = table(Visits)

    @property
    def known(self) -> dict[str, object]:
        return {"ids": self.jobs.name, "nodes": 3}


def test_files_of_a_folder_are_read_once_and_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "jobs.csv").write_text("job,state,work\n9,on,1\n7,on,2\n")
    folder = VisitsFolder(tmp_path)
    assert folder.jobs.name.tolist() == [9, 7]
    with pytest.raises(TraceError, match=r"visits\.csv: is not there"):
        assert folder.visits
    read(tmp_path, *ROWS[:2])
    assert folder.visits.job.tolist() == [1, 0]
    assert folder.visits is folder.visits
    assert not folder.is_logged
    (tmp_path / "decisions.csv").touch()
    assert VisitsFolder(tmp_path).is_logged
    with pytest.raises(TraceError, match="not a folder of a run"):
        RunFolder(tmp_path / "other")


def test_the_summary_value_by_value(tmp_path: Path) -> None:
    said = Summary(tmp_path / "summary.json", {"a": {"b": 3, "none": None}, "c": True, "d": "x"})
    assert said.whole("a.b", 1, MAX_COUNT) == said.number("a.b", 0, 4) == said.measure("a.b") == 3
    assert said.whole("a.none", 1, 2, none=-1) == -1
    assert not said.told("a.none")
    assert said.flag("c")
    assert said.word("d", ("x", "y")) == "x"
    for ask, text in (
        (lambda: said.whole("a.b", 4, 9), "a.b: 3 is not 4 to 9"),
        (lambda: said.measure("c"), "c: True is not a number"),
        (lambda: said.flag("a.b"), "a.b: 3 is not true or false"),
        (lambda: said.word("d", ("y",)), "d: 'x' is not one of y"),
        (lambda: said.measure("a.e"), "a.e: is not there"),
    ):
        with pytest.raises(TraceError, match=text):
            ask()


# -------------------------------------------------------------------------------- findings


@dataclass(frozen=True)
class Switches(Rows):
    FILE: ClassVar = "switches.csv"
    on: Bool = flag()
    seen: Int = column(lambda sheet, name: sheet.whole(name), there="watched")


def test_columns_that_are_there_only_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "switches.csv").write_text("on,seen\ntrue,1\nfalse,2\n")
    rows = Switches.read(tmp_path, watched=True)
    assert (rows.on.tolist(), rows.seen.tolist()) == ([True, False], [1, 2])
    (tmp_path / "switches.csv").write_text("on\ntrue\n")
    with pytest.raises(TraceError, match="has no column seen"):
        Switches.read(tmp_path, watched=True)


def found(check: Callable[[Finding], None]) -> tuple[int, str]:
    finding = Finding("rows", np.array([9, 7]))
    check(finding)
    return finding.count, finding.first


def test_rows_that_are_wrong_are_shown_as_in_the_file(tmp_path: Path) -> None:
    rows = read(tmp_path, *ROWS[:2])
    bad = np.array([False, True])
    text = "job {job} is {kind} from {start} for {work:.3f}, not {most} or {few}"
    most = ("work", np.array([1, 2500]))
    count, said = found(lambda finding: rows.where(finding, bad, text, most=most, few=3))
    assert (count, said) == (1, "job 9 is short from nothing for 2.000, not 2.5 or 3 "
                                "(visits.csv, line 3)")  # fmt: skip
    assert found(lambda finding: rows.wrong(finding, 0, "{node}"))[1] == "0 (visits.csv, line 2)"
    assert found(lambda finding: rows.where(finding, bad & ~bad, text)) == (0, "")


def test_columns_that_differ_are_told_as_in_the_files(tmp_path: Path) -> None:
    rows = read(tmp_path, *ROWS[:2])
    mine = {"node": np.array([1, 3]), "work": np.array([125, NONE])}
    count, said = found(lambda finding: rows.compare(finding, "job {job}", mine, "there"))
    assert (count, said) == (3, "job 7: where is 0 in visits.csv (line 2), 1 there")
    mine.pop("node")
    count, said = found(lambda finding: rows.compare(finding, "job {job}", mine, "there"))
    assert (count, said) == (1, "job 9: work is 2.0 in visits.csv (line 3), nothing there")


@pytest.mark.parametrize(
    ("job", "speed", "once", "count"),
    [([1, 0], [1.5, 0.0], True, 0), ([1, 0], [1.5, 2.0], True, 2), ([0, 0], [0.0, 0.0], True, 2),
     ([1, 0], [1.5, 0.0], False, 0), ([1, 0, 0], [1.5, 0.0, 0.0], True, 1),
     ([1, 0, 0], [1.5, 0.0, 0.0], False, 2)],
)  # fmt: skip
def test_rows_of_two_tables(
    job: list[int], speed: list[float], once: bool, count: int, tmp_path: Path
) -> None:
    rows = read(tmp_path, *ROWS[:2])
    mine = {"job": np.array(job), "speed": np.array(speed)}
    wrong = found(lambda finding: rows.match(finding, "visit", mine, "other.csv", once=once))
    assert wrong[0] == count
    if count:
        row = "job 7: visit 1.5" if job == [0, 0] else "job 9: visit 0.0"
        assert wrong[1] == f"{row} is in only one of visits.csv and other.csv"


def test_rows_out_of_order(tmp_path: Path) -> None:
    rows = read(tmp_path, *ROWS[:2])
    text = "out of order, after a later row (visits.csv, line 3)"
    assert found(lambda finding: rows.in_order(finding, np.array([4, 3]))) == (1, text)
    assert found(lambda finding: rows.in_order(finding, np.array([4, 4]))) == (0, "")
