"""`forestall reliability` as users call it: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forestall as fs
from core.commands.calls import call, failure_log
from core.show.pages import unscripted
from forestall.core.show import style
from forestall.reliability.report.failures.report import FOLDER
from forestall.runs.commands.entry import main

Capsys = pytest.CaptureFixture[str]
LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
KEYS = {
    "source", "window", "failures", "nodes", "nodes_failed", "node_days", "node_years", "service",
    "clock", "unit", "level", "remarks", "hints", "rate", "mtbf", "repairs", "fits", "trend",
    "years_are",    "years", "causes", "age", "nodes_apart", "bursts", "parameters", "versions",
}  # fmt: skip
SMALL = ("--families", "weibull,exponential,lognormal")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv", count=200, span=90_000_000)


@pytest.fixture(scope="module")
def rich_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log with dates, causes and repair times, some of them blank."""
    path = tmp_path_factory.mktemp("logs") / "rich.csv"
    rows = ["time,node,downtime,kind"]
    for k in range(120):
        date = f"20{18 + k // 40:02d}-{1 + k % 12:02d}-{1 + k % 28:02d}T{k % 24:02d}:15:00"
        down = "" if k % 5 == 0 else str(600 * (1 + k % 7))
        rows.append(f"{date},{(k * k) % 11},{down},{('Disk', 'Memory: DIMM', '')[k % 3]}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def written(rich_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the log's analysis."""
    out = tmp_path_factory.mktemp("reports") / "deep" / "report"
    options = [str(rich_log), *SMALL, "--out", str(out), "--quiet"]
    assert main(["reliability", *options]) == 0
    return out


def summary(capsys: Capsys, *arguments: object) -> dict[str, Any]:
    done = call(capsys, "reliability", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert "NaN" not in done.out
    found: dict[str, Any] = json.loads(done.out)
    return found


def tables(text: str) -> list[str]:
    """Return the lines of tables; prose has no two spaces in a row."""
    return [line for line in text.splitlines() if "  " in line]


@pytest.mark.parametrize("by", [None, "year", "node", "cause"])
def test_the_tables(by: str | None, rich_log: Path, capsys: Capsys) -> None:
    options = () if by is None else ("--by", by)
    done = call(capsys, "reliability", rich_log, *options)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, tables(done.out))) <= 100
    for word in ("120 failures", "Rate", "MTBF", "Availability", "Weibull", "Laplace", "2018"):
        assert word in done.out
    assert {"cause": "Memory", "node": "Expected", "year": "Trend within", None: "Years"}[by] in (
        done.out
    )
    assert ("Memory" in done.out) == (by == "cause")


def test_json_has_everything(rich_log: Path, log: Path, capsys: Capsys) -> None:
    found = summary(capsys, rich_log, *SMALL)
    assert set(found) == KEYS
    assert found["years_are"] == "calendar"
    assert [row["year"] for row in found["years"]] == ["2018", "2019", "2020"]
    assert found["window"]["from"].startswith("2018-01-01")
    assert {row["cause"] for row in found["causes"]} == {"Disk", "Memory", "(none given)"}
    assert found["repairs"]["known"] == 96
    plain = summary(capsys, log, *SMALL)
    assert set(plain) == KEYS
    assert (plain["years_are"], plain["repairs"], plain["causes"]) == ("age", None, [])
    assert plain["window"]["from"] is None
    assert plain["nodes"] == 16


@pytest.mark.parametrize(
    ("rule", "title"),
    [("calendar", "Years\n"), ("age", "Years of age\n"), ("own", "Years from each node's first")],
)
def test_years_by_every_rule(rule: str, title: str, rich_log: Path, capsys: Capsys) -> None:
    done = call(capsys, "reliability", rich_log, *SMALL, "--years", rule)
    assert (done.code, done.err) == (0, "")
    assert title in done.out
    assert ("its time in service before that is in" in done.out) == (rule == "own")
    found = summary(capsys, rich_log, *SMALL, "--years", rule)
    assert found["years_are"] == rule
    assert sum(row["failures"] for row in found["years"]) == 120
    python = fs.study_failures(rich_log, families=["weibull"], years=rule)  # type: ignore[arg-type]
    assert python.to_dict()["years"] == found["years"]


def test_years_that_cannot_be_are_refused(log: Path, capsys: Capsys) -> None:
    done = call(capsys, "reliability", log, "--years", "calendar")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "the log has no dates" in done.err
    assert call(capsys, "reliability", log, "--years", "wrong").code == 2


def test_options_of_reading(rich_log: Path, capsys: Capsys) -> None:
    part = summary(capsys, rich_log, *SMALL, "--from", "2019-01-01", "--days", 365)
    assert part["window"]["days"] == 365
    assert part["failures"] == 40
    assert part["parameters"]["from"] == "2019-01-01"
    folded = summary(capsys, rich_log, *SMALL, "--fold-nodes", 4)
    assert folded["nodes"] == 3


def test_the_folder(written: Path) -> None:
    pytest.importorskip("matplotlib")
    assert {path.name for path in written.iterdir()} == set(FOLDER.files)
    assert set(json.loads((written / "summary.json").read_text())) == KEYS
    for name in ("years", "causes", "nodes", "node_years"):
        assert pl.read_csv(written / f"{name}.csv")["failures"].sum() == 120
    assert len(pl.read_csv(written / "fits.csv")) == 3


def test_the_page_stands_alone(written: Path) -> None:
    pytest.importorskip("matplotlib")
    page = unscripted((written / "report.html").read_text())
    images = re.findall(r'<svg role="img"[^>]*>', page)
    assert len(images) == len(FOLDER.figures)
    for image in images:
        assert re.search(r'aria-label="[^"]{20,}"', image)
        assert "viewBox=" in image
    assert len(re.findall(r"<figcaption>[^<]{40,}</figcaption>", page)) == len(images)
    for outside in ("http://", "https://", "<script"):
        assert outside not in page
    for heading in ("Years", "Causes", "Nodes", "Bursts", "What was read"):
        assert re.search(f"<h2[^>]*>{heading}", page)


def test_gaps_are_ready_for_fit(written: Path, capsys: Capsys) -> None:
    found = json.loads((written / "summary.json").read_text())["fits"]
    for name, by in (("gaps.csv", "node"), ("system_gaps.csv", "system")):
        options = ("--family", "weibull", "--zeros", "censored", "--json")
        law = json.loads(call(capsys, "fit", written / name, *options).out)
        assert law["params"] == found[by]["weibull"]["params"]
        assert law["gaps"] == found[by]["gaps"]


def test_the_same_bytes_twice(
    rich_log: Path, written: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "again"
    done = call(capsys, "reliability", rich_log, *SMALL, "--out", out, "--quiet")
    assert done == (0, "", "")
    for path in written.iterdir():
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name


def test_a_folder_of_something_else_is_left_alone(
    log: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "has_matplotlib", lambda: False)
    out = tmp_path / "mine"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    done = call(capsys, "reliability", log, *SMALL, "--out", out)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert [path.name for path in out.iterdir()] == ["notes.txt"]
    assert call(capsys, "reliability", log, *SMALL, "--out", out, "--force").code == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "report.html").exists()
    assert call(capsys, "reliability", log, *SMALL, "--out", out).code == 0  # now it is ours


def test_without_matplotlib(
    rich_log: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "has_matplotlib", lambda: False)
    out = tmp_path / "report"
    done = call(capsys, "reliability", rich_log, *SMALL, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "forestall[plot]" in done.out
    assert {path.name for path in out.iterdir()} == {*FOLDER.tables, "report.html", "summary.json"}
    page = (out / "report.html").read_text()
    assert "forestall[plot]" in page
    assert "<img" not in page
    assert "<svg" not in page


@pytest.mark.parametrize("rows", [["5,0"], ["5,0", "900000,1"], ["5,3"] * 4])
def test_logs_with_next_to_nothing(rows: list[str], tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "few.csv"
    path.write_text("\n".join(["time,node", *rows]) + "\n")
    out = tmp_path / "report"
    done = call(capsys, "reliability", path, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert (out / "report.html").exists()
    json.loads((out / "summary.json").read_text())


def test_nothing_is_compiled(log: Path) -> None:
    script = (
        "import sys; from forestall.runs.commands.entry import main\n"
        f"main(['reliability', {str(log)!r}, *{SMALL!r}]); print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "MTBF" in done.stdout
    assert not {"numba", "scipy.stats", "matplotlib"} & set(done.stdout.split("MODULES")[1].split())


BAD: dict[str, tuple[tuple[object, ...], str]] = {
    "by": (("--by", "rack"), "--by"),
    "clock": (("--clock", "wall"), "--clock"),
    "family": (("--families", "weibull,wibull"), "wibull"),
    "no family": (("--families", ","), "--families"),
    "draws": (("--draws", 3), "--draws"),
    "unit": (("--unit", "y"), "--unit"),
    "system": (("--system", 20), "--system"),
    "days": (("--days", -1), "--days"),
    "fold": (("--fold-nodes", 0), "fold-nodes"),
    "format": (("--failure-format", "nonsense"), "--failure-format"),
    "from": (("--from", "yesterday"), "--from"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_one_line(name: str, log: Path, tmp_path: Path, capsys: Capsys) -> None:
    options, says = BAD[name]
    out = tmp_path / "report"
    done = call(capsys, "reliability", log, *options, "--out", out)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert says in done.err
    assert not out.exists()


@pytest.mark.parametrize("content", ["", "time,node\n", "when,who\n1,2\n", "time,node\nx,y\n"])
def test_bad_logs_are_one_line(content: str, tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(content)
    done = call(capsys, "reliability", path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err


def test_lanl_system_20(data: Path, capsys: Capsys) -> None:
    found = summary(capsys, data / LANL, "--system", 20, *SMALL)
    assert found["failures"] == 2478
    assert found["nodes"] == 512
    by_year = {row["year"]: row for row in found["years"]}
    assert sum(row["failures"] for row in found["years"]) == 2478
    assert by_year["2002"]["rate"] > 2 * by_year["2003"]["rate"] > 2 * by_year["2005"]["rate"]
    assert found["trend"]["node"]["direction"] == "fewer"
    law = found["fits"]["node"]["weibull"]
    assert law["params"]["shape"] < 0.7
    assert found["causes"][0]["cause"] == "Hardware"
    assert found["nodes_apart"]["nodes"][0]["node"] == "0"
    kinds = {one["kind"] for one in found["remarks"]}
    assert {"duplicate", "overlapping_outage"} <= kinds
    window = ("--from", "2004-09-01", "--days", 365)
    year = summary(capsys, data / LANL, "--system", 20, *SMALL, *window)
    assert (year["failures"], year["nodes_failed"]) == (307, 159)


def test_table_1_of_hacker_and_meglicki(data: Path, capsys: Capsys) -> None:
    found = summary(capsys, data / LANL, "--system", 2, *SMALL, "--years", "own")
    rows = found["years"]
    assert [row["failures"] for row in rows] == [2815, 1238, 736, 699, 684, 561, 312, 59]
    assert all(row["ks"] < row["exponential_ks"] for row in rows)
    assert all(0.57 < row["shape"] < 0.78 for row in rows)  # the paper's: 0.57 to 0.75
    printed = (185.3, 416.4, 494.2, 514.8, 542.9)
    for row, scale in zip(rows[1:6], printed, strict=True):
        assert row["scale"] == pytest.approx(scale, rel=0.31)
    assert rows[0]["rate"] > 2 * rows[1]["rate"] > 3 * rows[2]["rate"]


def test_lanl_says_what_it_means(data: Path, capsys: Capsys) -> None:
    text = call(capsys, "reliability", data / LANL, "--system", 20, *SMALL).out
    assert "The failure rate fell" in text
    assert "fits no year" in text
    assert max(map(len, tables(text))) <= 100
