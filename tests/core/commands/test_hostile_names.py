"""Names that play tricks go through every command that shows names: nothing raw comes out, in no
form, no file lies where it should not, and no cell of a table is a formula."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from core.commands import hostile_logs
from core.commands.calls import Called, call
from core.show.pages import unscripted
from forestall.logs.jobs.table import read_job_table
from forestall.logs.read import read_failures

Capsys = pytest.CaptureFixture[str]
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ud800-\udfff]"
)
SHOWN = {".html", ".json", ".svg", ".prom", ".md"}
"""Files that people or their tools look at; tables keep names as they are."""
FORMULA = re.compile("[=+@\t\r-]")
NUMBER = re.compile(r"-|[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
CLUSTER = """
[[groups]]
name = "=b\\u001b[31m\\u202e"
count = 516
mttf = "102840h"
[[queues]]
name = "../../q\\u001b\\u202e"
nodes = 258
limit = "2d"
slots = 2
[checkpoint]
cost = "15m"
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("logs")
    made = {
        name: getattr(hostile_logs, name)(folder / f"{name}.csv")
        for name in ("failures", "jobs", "records", "metrics", "ras", "alarms", "scores")
    }
    made["sacct"], made["events"] = hostile_logs.slurm(folder)
    made["cluster"] = folder / "cluster.toml"
    made["cluster"].write_text(CLUSTER)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder deep enough for names that climb out of it; figures have tests of their own."""
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    monkeypatch.setattr("forestall.core.show.style.has_matplotlib", lambda: False)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(inner / "home"))
    return inner


def checked(done: Called, place: Path, top: Path) -> Called:
    """Check what a call printed and wrote."""
    assert not RAW.search(done.out), RAW.findall(done.out)
    assert not RAW.search(done.err), RAW.findall(done.err)
    for path in top.rglob("*"):
        assert path in place.parents or path == place or place in path.parents, path
        if path.suffix in SHOWN:
            found = path.read_bytes().decode()
            assert not RAW.search(found), (path, RAW.findall(found))
            told = unscripted(found) if path.suffix == ".html" else found
            assert "<script>" not in told or path.suffix == ".json", path
        if path.suffix == ".prom":
            families = list(text_string_to_metric_families(found))
            assert {one.name for one in families} >= {"forestall_report_info"}
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                cells = [cell for row in csv.reader(file) for cell in row]
            assert not [one for one in cells if FORMULA.match(one) and not NUMBER.fullmatch(one)]
    return done


WORDS: list[tuple[str, ...]] = [
    ("report", "SACCT", "EVENTS", "--out", "r.html", "--openmetrics", "r.prom"),
    ("report", "SACCT", "EVENTS", "--full"),
    ("report", "SACCT", "EVENTS", "--json"),
    ("job", "1", "SACCT", "EVENTS", "--out", "j.html"),
    ("lemons", "SACCT", "EVENTS"),
    ("lemons", "--failures", "FAILURES", "--openmetrics", "-"),
    ("import", "slurm", "SACCT", "EVENTS", "--out", "books"),
    ("backtest", "promises", "SACCT", "--out", "bt"),
    ("traces", "info", "FAILURES"),
    ("traces", "info", "JOBS"),
    ("traces", "info", "RECORDS"),
    ("traces", "info", "METRICS", "--as", "metrics"),
    ("traces", "info", "RAS"),
    ("traces", "convert", "FAILURES", "f.csv"),
    ("traces", "filter", "RAS", "--out", "f.csv", "--names", "n.csv"),
    ("reliability", "FAILURES", "--json"),
    ("design", "CLUSTER", "--out", "design"),
    ("interval", "FAILURES", "--checkpoint-overhead", "5m"),
    ("predict", "train", "rate", "FAILURES", "--out", "p"),
    ("assess", "alarms", "ALARMS", "--failures", "FAILURES", "--out", "a"),
    ("assess", "scores", "SCORES", "--draws", "50", "--out", "a"),
    ("assess", "jobs", "RECORDS", "--metrics", "METRICS", "--metric", "=load()", "--out", "a"),
    ("assess", "collection", "FAILURES", "--metrics", "METRICS"),
    ("sweep", "JOBS", "--failures", "FAILURES", "--accuracy", "0.5,1", "--workers", "1",
     "--out", "s"),
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words[:2]))
def test_names_are_text(
    words: tuple[str, ...], logs: Mapping[str, Path], place: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = [logs.get(word.lower(), word) if word.isupper() else word for word in words]
    done = checked(call(capsys, *given), place, tmp_path)
    assert done.code == 0, done.err
    if "--json" in words:
        json.loads(done.out)


def test_a_run_of_such_names_is_certified_and_replayed(
    logs: Mapping[str, Path], place: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """Also in a folder whose name is a pattern."""
    words = ("--failures", logs["failures"], "--log-events", "--out", "run[1]*")
    assert checked(call(capsys, "simulate", logs["jobs"], *words), place, tmp_path).code == 0
    for asked in (("certify", "run[1]*"), ("replay", "run[1]*"), ("compare", "run[1]*", "run[1]*")):
        done = checked(call(capsys, *asked), place, tmp_path)
        assert (done.code, done.err) == (0, ""), asked


TRICK = "\x1b[31m\u202e\r\n=x"
WRONG: list[tuple[str, ...]] = [
    (TRICK,), ("report", TRICK), ("report", f"--{TRICK}"), ("lemons", TRICK), ("certify", TRICK),
    ("import", "slurm", TRICK, "--out", "o"), ("backtest", "promises", TRICK), ("futures", TRICK),
    ("simulate", TRICK), ("simulate", "JOBS", "--nodes", TRICK),
    ("simulate", "JOBS", "--maintenance", TRICK), ("simulate", "JOBS", "--vault", TRICK),
    ("sweep", TRICK), ("compare", TRICK, TRICK), ("replay", TRICK), ("reliability", TRICK),
    ("fit", TRICK), ("design", TRICK), ("interval", TRICK), ("quote", "-N", "2", "-t", TRICK),
    ("quote", "-N", "2", "-t", "5m", "--server", TRICK), ("submit", "--quote", TRICK, TRICK),
    ("promise", TRICK), ("proposals", "approve", TRICK), ("doctor", "--settings", TRICK),
    ("agent", "--listen", TRICK, "--no-listen"), ("agent", "status", "--folder", TRICK),
    ("guest", "stop", TRICK), ("guest", "run", "--name", TRICK, "--", "true"),
    ("machines", "list", "--fleet", TRICK), ("checkpoint", "save", TRICK, "--store", "v"),
    ("checkpoint", "list", "--store", TRICK), ("storage", "token", "add", TRICK, "d"),
    ("storage", "token", "revoke", TRICK, "d"), ("run", "--name", TRICK, "--", "true"),
    ("serve", "--settings", TRICK), ("predict", "ask", TRICK), ("assess", "scores", TRICK),
    ("assess", "trial", TRICK, TRICK), ("traces", "info", TRICK), ("traces", "filter", TRICK),
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=lambda words: " ".join(words[:2]).partition("\x1b")[0])
def test_so_are_arguments_that_are_refused(
    words: tuple[str, ...], logs: Mapping[str, Path], place: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = [logs["jobs"] if word == "JOBS" else word for word in words]
    done = checked(call(capsys, *given), place, tmp_path)
    assert done.code in (2, 3)
    assert done.err.count("\n") == 1
    assert done.err.startswith("forestall: ")


def test_tables_come_back_as_they_were(
    logs: Mapping[str, Path], place: Path, capsys: Capsys
) -> None:
    for name, read in (("failures", read_failures), ("jobs", read_job_table)):
        once, twice = place / f"{name}.once.csv", place / f"{name}.twice.csv"
        assert call(capsys, "traces", "convert", logs[name], once).code == 0
        assert call(capsys, "traces", "convert", once, twice).code == 0
        assert once.read_bytes() == twice.read_bytes()
        first: Any = read(logs[name])
        again: Any = read(once)
        assert first.table().equals(again.table())
        assert "'=" in once.read_text()
        if name == "failures":
            assert first.names == again.names


def test_what_a_controller_answers(place: Path, capsys: Capsys) -> None:
    """The answer of a server is printed as it is meant, without what it may hold."""
    from forestall.core.commands.screen import say_json_text

    say_json_text('{"a": "\x7f\u202e\x9b\U0001f600é"}')
    told = capsys.readouterr().out
    assert told.isascii()
    assert not RAW.search(told)
    assert json.loads(told) == {"a": "\x7f\u202e\x9b\U0001f600é"}
