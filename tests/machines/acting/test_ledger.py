"""The ledger: every entry is there once, and half a line at its end does no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.machines.acting.ledger import MachineLedger, append_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def whats(path: Path) -> list[str]:
    return [entry["what"] for entry in MachineLedger(path).news()]


def test_entries_come_back_in_order(path: Path) -> None:
    ledger = MachineLedger(path)
    assert ledger.news() == []
    ledger.add("started", 12.34567, machine="vm", runtime=7, deadline=None)
    ledger.add("moved", 13, gap=0.5, why="ä \n b")
    assert ledger.news() == [
        {"time": 12.346, "what": "started", "machine": "vm", "runtime": 7, "deadline": None},
        {"time": 13, "what": "moved", "gap": 0.5, "why": "ä \n b"},
    ]
    assert ledger.news() == []
    assert len(path.read_text().splitlines()) == 2


def test_others_add_to_it(path: Path) -> None:
    mine, other = MachineLedger(path), MachineLedger(path)
    mine.add("a", 1)
    assert [one["what"] for one in other.news()] == ["a"]
    other.add("b", 2)
    assert [one["what"] for one in mine.news()] == ["a", "b"]


@given(st.integers(0, 200))
def test_a_torn_last_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Whatever was cut off its end: the whole lines are read, and the next entry is whole."""
    path = tmp_path_factory.mktemp("torn") / "ledger.jsonl"
    ledger = MachineLedger(path)
    for number in range(4):
        ledger.add(f"what{number}", number, more="x" * 20)
    data = path.read_bytes()
    kept = data[: max(len(data) - cut, 0)]
    path.write_bytes(kept)
    whole = [f"what{number}" for number in range(kept.count(b"\n"))]
    assert whats(path) == whole
    MachineLedger(path).add("after", 9)
    assert whats(path) == [*whole, "after"]


def test_a_torn_line_longer_than_a_block(path: Path) -> None:
    MachineLedger(path).add("first", 1)
    with path.open("ab") as file:
        file.write(b"x" * 10_000)
    MachineLedger(path).add("second", 2)
    assert whats(path) == ["first", "second"]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "7",
        '{"what": "x"}',
        '{"what": [], "time": 1}',
        '{"time": 1}',
        "",
        '{"what": "lost", "time": 1}',
        '{"what": "started", "time": 1, "machine": "vm", "runtime": "1h", "deadline": null}',
    ],
)
def test_a_line_that_is_no_entry_is_left_out(path: Path, line: str) -> None:
    good = json.dumps({"time": 1, "what": "x"})
    path.write_text(f"{good}\n{line}\n{good}\n")
    ledger = MachineLedger(path)
    assert [one["what"] for one in ledger.news()] == ["x", "x"]
    assert ledger.skipped() == f"{path}:2: not an entry of a ledger; left out"
    with path.open("a") as file:
        file.write(f"{line}\n{good}\n")
    assert len(ledger.news()) == 1
    assert ledger.skipped() == f"{path}:2: not an entry of a ledger (and 1 more); left out"


def test_lines_from_many_processes_are_whole(path: Path) -> None:
    """The head is there once, and no line is cut by another."""
    code = (
        "import sys; from pathlib import Path\n"
        "from forestall.machines.acting.ledger import append_line\n"
        "for k in range(20): append_line(Path(sys.argv[1]), sys.argv[2] * 50, head='head')"
    )
    running = [
        subprocess.Popen((sys.executable, "-c", code, str(path), letter)) for letter in "abc"
    ]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    lines = path.read_text().splitlines()
    assert lines[0] == "head"
    assert sorted(lines[1:]) == ["a" * 50] * 20 + ["b" * 50] * 20 + ["c" * 50] * 20


def test_a_torn_line_may_be_ended_instead(path: Path) -> None:
    path.write_text("head\nhalf")
    append_line(path, "whole", head="head", end_torn=True)
    assert path.read_text() == "head\nhalf\nwhole\n"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written: No such file"):
        MachineLedger(tmp_path / "no" / "ledger.jsonl").add("x", 1)
