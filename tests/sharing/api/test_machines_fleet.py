"""fleet.toml and the predictions file: what they say, and one line for whatever is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.machines.acting.picture import Need
from forestall.machines.adapters.qemu.migration import MemoryTransfer
from forestall.machines.fleet.fleet import read_fleet
from forestall.machines.fleet.foreseen import (
    DRAIN,
    UNDRAIN,
    ForeseenFile,
    add_foreseen,
    read_foreseen,
)
from forestall.machines.fleet.machines import moment, need_of


def fleet(folder: Path, text: str) -> Path:
    (folder / "fleet.toml").write_text(text)
    return folder


def test_nodes_are_enough(tmp_path: Path) -> None:
    read = read_fleet(fleet(tmp_path, "[nodes]\nb = 4\na = 2.5\n"))
    plan = read.plan()
    assert list(plan.nodes) == ["b", "a"]  # their order in the file settles ties
    assert (plan.strategy, plan.alpha, plan.lead, plan.transfer) == ("best-fit", 0.5, 60, 2)
    assert plan.room("a") == 2
    assert read.transfer() == MemoryTransfer()


def test_everything(tmp_path: Path) -> None:
    text = """
strategy = "first-fit"
alpha = "dynamic"
lead = "5m"
machine_processors = 2
horizon = "2d"
retry = 10
seed = 3
wrapper = ["nice", "-n", "5"]
[nodes]
"rack.1" = 4
[migration]
link = "tcp"
bandwidth = "119M"
downtime = 50
timeout = "1m"
expected = 12
"""
    read = read_fleet(fleet(tmp_path, text))
    plan = read.plan()
    assert (plan.alpha, plan.lead, plan.horizon, plan.retry) == (-1.0, 300, 172_800, 10)
    assert plan.room("rack.1") == 2
    assert plan.transfer == 12
    assert read.transfer() == MemoryTransfer("tcp", 119 * 2**20, 50, 60)
    assert read.wrapper == ("nice", "-n", "5")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "nodes: is missing"),
        ("[nodes]\n", "nodes: {} is not allowed; expected a line such as `a = 4`"),
        ("nodes = 3\n", "nodes: 3 is not allowed; expected a table"),
        ("[nodes]\na = 0\n", r"nodes\.a: 0 is not allowed"),
        ("[nodes]\na = 'x'\n", r"nodes\.a: 'x' is not allowed"),
        ("[nodes]\na = nan\n", r"nodes\.a: nan is not allowed"),
        ("[nodes]\na = true\n", r"nodes\.a: True is not allowed; expected processors"),
        ("[nodes]\na = '2'\n", r"nodes\.a: '2' is not allowed; expected processors"),
        ("lead = 1.5\n[nodes]\na = 1\n", "lead: 1.5 is not allowed; expected whole seconds"),
        ("migration = 3\n[nodes]\na = 1\n", "migration: 3 is not allowed; expected a table"),
        ("[nodes]\n'../a' = 1\n", r"nodes\.\.\./a: '\.\./a' is not allowed.*letters, digits"),
        ("laed = 3\n[nodes]\na = 1\n", "laed: no such key; did you mean lead"),
        ("qwerty = 3\n[nodes]\na = 1\n", "qwerty: no such key; known are nodes, strategy"),
        ("lead = 'soon'\n[nodes]\na = 1\n", "lead: 'soon' is not allowed; expected a duration"),
        ("lead = true\n[nodes]\na = 1\n", "lead: True is not allowed; expected a duration"),
        ("alpha = 2\n[nodes]\na = 1\n", "alpha: 2 is not allowed; expected 0 to 1, or dynamic"),
        ("strategy = 'x'\n[nodes]\na = 1\n", "strategy: 'x' is not allowed; .*'best-fit'"),
        ("machine_processors = 3\n[nodes]\na = 4\nb = 2\n", r"nodes\.b: expected at least"),
        ("[nodes]\na = 1\n[migration]\nlink = 'rdma'\n", r"migration\.link: 'rdma'.*'unix'"),
        ("[nodes]\na = 1\n[migration]\nbandwith = 1\n", r"migration\.bandwith: .*bandwidth"),
        ("[nodes]\na = 1\n[migration]\nbandwidth = 'x'\n", r"bandwidth: 'x' .*119M or 1G"),
        ("[nodes]\na = 1\n[migration]\ntimeout = 0\n", r"migration\.timeout: 0 is not allowed"),
        (
            "wrapper = 'nice'\n[nodes]\na = 1\n",
            "wrapper: 'nice' is not allowed; expected a list of words",
        ),
        ("[nodes", "is not TOML"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(TraceError) as raised:
        read_fleet(fleet(tmp_path, text))
    said = str(raised.value)
    assert re.search(told, said), said
    assert "fleet.toml: " in said
    assert "\n" not in said


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"fleet\.toml: is not there; it needs \[nodes\]"):
        read_fleet(tmp_path)
    (tmp_path / "fleet.toml").write_bytes(b"\xff\xfa")
    with pytest.raises(TraceError, match=r"fleet\.toml:1: is not UTF-8"):
        read_fleet(tmp_path)


# ------------------------------------------------------------------------------- predictions


def test_the_last_line_about_a_node_counts(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    assert read_foreseen(path, ("a", "b")) == ForeseenFile()
    add_foreseen(path, "a", 100)
    add_foreseen(path, "b", 200)
    add_foreseen(path, "a", 150)
    assert path.read_text() == "time,node\n100,a\n200,b\n150,a\n"
    assert read_foreseen(path, ("a", "b")).failures == {"a": 150, "b": 200}
    add_foreseen(path, "b", None)
    assert read_foreseen(path, ("a", "b")).failures == {"a": 150}


def test_a_drain_leaves_predictions_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    add_foreseen(path, "a", 100)
    add_foreseen(path, "a", DRAIN)
    assert read_foreseen(path, ("a",)) == ForeseenFile({"a": 100}, frozenset({"a"}))
    add_foreseen(path, "a", None)
    assert read_foreseen(path, ("a",)) == ForeseenFile({}, frozenset({"a"}))
    add_foreseen(path, "a", 200)
    add_foreseen(path, "a", UNDRAIN)
    assert read_foreseen(path, ("a",)) == ForeseenFile({"a": 200})


def test_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("# by hand\r\n2026-11-22T12:00, a\r\n\r\n300 ,b\n400,a")
    read = read_foreseen(path, ("a", "b"))
    assert read == ForeseenFile({"a": 1_795_348_800, "b": 300})  # 400 is not whole yet
    add_foreseen(path, "b", 500)
    assert read_foreseen(path, ("a", "b")) == ForeseenFile({"a": 400, "b": 500})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("100", "'100' is not of the form time,node"),
        ("100,a,b", "is not of the form"),
        ("100,z", "'z' is not a node of the fleet: a, b"),
        ("soon,a", "time: 'soon' is not allowed; expected a time"),
        ("-5,a", "time: '-5' is not allowed"),
        ("99999999999999,a", "from 1970 to 4147"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, line: str, told: str) -> None:
    """Good ones count, before and after it."""
    path = tmp_path / "predictions.csv"
    path.write_text(f"time,node\n50,a\n{line}\ntime,node\n60,b\n")
    read = read_foreseen(path, ("a", "b"))
    assert read.failures == {"a": 50, "b": 60}
    assert re.search(rf"predictions\.csv:3: .*{told}.*; left out$", read.trouble)
    with path.open("a") as file:
        file.write(f"{line}\n")
    assert "(and 1 more)" in read_foreseen(path, ("a", "b")).trouble


def test_a_predictions_file_that_cannot_be_read(tmp_path: Path) -> None:
    read = read_foreseen(tmp_path, ("a",))
    assert read.failures == {}
    assert read.trouble == f"{tmp_path}: cannot be read: Is a directory"


# ------------------------------------------------------------------------------- options


def test_moments() -> None:
    assert moment("2h", 1000.9, "deadline") == 8200
    assert moment("5000", 1000.0, "deadline") == 5000
    assert moment("1970-01-01T01:00", 0.0, "deadline") == 3600
    with pytest.raises(ParameterError, match=r"deadline: 'x' .*such as 2h"):
        moment("x", 0.0, "deadline")


def test_needs() -> None:
    assert need_of(None, None, 100.0) == Need()
    assert need_of("1h", None, 100.0) == Need(3600, 7300)
    assert need_of("1h", "4000", 100.0) == Need(3600, 4000)
    assert need_of(None, "4000", 100.0) == Need(None, 4000)
    with pytest.raises(ParameterError, match=r"deadline: '99' .*a time in the future"):
        need_of(None, "99", 100.0)
    with pytest.raises(ParameterError, match=r"deadline: '1h' .*runtime 10h to run"):
        need_of("10h", "1h", 100.0)
    with pytest.raises(ParameterError, match=r"runtime: '0' .*above 0"):
        need_of("0", None, 100.0)
