"""`forestall assess jobs` as users call it: the chain of the paper on generated machines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from core.commands.calls import call
from forestall.core.show import style
from forestall.logs.generate.memory import generate_memory
from forestall.logs.jobs.job_records import write_job_records
from forestall.logs.metrics.write import write_metrics
from forestall.prediction.judge.jobs import report
from forestall.prediction.judge.jobs.decision import decision, on_area, verdict
from forestall.prediction.judge.jobs.report import FOLDER
from forestall.runs.commands.entry import main

Capsys = pytest.CaptureFixture[str]
KEYS = {
    "verdict", "source", "metrics_source", "metric", "side", "value", "window", "nodes",
    "cores_per_node", "jobs", "periods", "auc", "auc_ci", "auc_ci_by_node", "p_value",
    "p_value_by_node", "permutations", "permutations_as_high", "benefit", "rule", "advised",
    "decision", "act_on", "limit_nodes", "level", "remarks", "parameters", "versions",
}  # fmt: skip


def machine(folder: Path, relation: float) -> tuple[Path, Path]:
    """Write jobs and samples of 140 nodes in 16 days."""
    records, metrics, _ = generate_memory(4, nodes=140, days=16, relation=relation, period=900)
    write_job_records(records, folder / "jobs.csv")
    write_metrics(metrics, folder / "memory.parquet")
    return folder / "jobs.csv", folder / "memory.parquet"


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return machine(tmp_path_factory.mktemp("leaking"), 8.0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return machine(tmp_path_factory.mktemp("sound"), 0.0)


def asked(capsys: Capsys, logs: tuple[Path, Path], *options: object) -> dict[str, Any]:
    done = call(capsys, "assess", "jobs", logs[0], "--metrics", logs[1], *options, "--json")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_the_verdict_comes_first(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    done = call(capsys, "assess", "jobs", leaking[0], "--metrics", leaking[1])
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()[:2]
    assert re.match(r"Act when memory_share ≥ 0\.\d+: saves [\d,.]+ ± [\d,.]+ node-hours", first)
    assert "better than chance" in first
    assert second.startswith("would act on: ")
    for word in ("Case I", "Case III", "DeLong", "permutations", "Needless", "At random"):
        assert word in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 100


def test_the_numbers(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    found = asked(capsys, leaking)
    assert set(found) == KEYS
    periods, jobs = found["periods"], found["jobs"]
    assert periods["case_1"] > 20
    assert jobs["attributed"] <= jobs["judged"] <= jobs["all"]
    assert found["auc_ci"][0] < found["auc"] < found["auc_ci"][1]
    assert found["auc_ci"][0] > 0.5
    assert found["p_value"] < 0.01
    assert found["cores_per_node"] == 14
    benefit = found["benefit"]
    knee, best = benefit["knee"], benefit["best"]
    assert knee["net_node_hours"] >= 0.8 * best["net_node_hours"]
    assert knee["share_acted"] <= best["share_acted"]
    assert best["net_node_hours"] == pytest.approx(benefit["highest_node_hours"])
    assert benefit["perfect_node_hours"] >= benefit["highest_node_hours"]
    assert knee["net_cpu_hours"] == pytest.approx(14 * knee["net_node_hours"])
    assert knee["at_random_per_month_node_hours"] < knee["per_month_node_hours"]
    low, high = knee["per_month_ci_node_hours"]
    assert low < knee["per_month_node_hours"] < high
    assert (found["rule"], found["advised"]) == ("knee", True)


def test_p_values_are_one_sided(
    leaking: tuple[Path, Path], sound: tuple[Path, Path], capsys: Capsys
) -> None:
    for logs in (leaking, sound):
        for side in ("high", "low"):
            found = asked(capsys, logs, "--side", side)
            for name in ("p_value", "p_value_by_node"):
                assert (found[name] < 0.5) == (found["auc"] > 0.5), (logs, side, name)
    rows = report.area_rows(found)
    assert [row[2].split(";")[0].split(",")[0] for row in rows[2:]] == ["one-sided"] * 2


def test_a_gain_of_attribution_is_no_reason_to_act(
    leaking: tuple[Path, Path], capsys: Capsys
) -> None:
    found = asked(capsys, leaking)
    knee = found["benefit"]["knee"]
    knee["beats_no_relation"] = False
    knee["no_relation_per_month_node_hours"] = 1.04 * knee["per_month_node_hours"]
    saved = knee["per_month_node_hours"]
    knee["no_relation_per_month_band_node_hours"] = [0.9 * saved, 1.2 * saved]
    text = verdict(found)
    start = (
        "Not shown that acting on memory_share pays: the gain is not clearly above what attribution"
    )
    assert text.startswith(start)
    assert "better than chance" in text
    assert "There is no evidence for it so far" in text
    assert decision(found) == "not shown"
    assert report.dry_run(found).startswith(
        "would act on: nothing, because it is not shown to pay;"
    )
    knee["no_relation_per_month_node_hours"] = 0.8 * saved
    knee["no_relation_per_month_band_node_hours"] = [0.6 * saved, (0.8 + 1.645 * 0.2) * saved]
    # The gap is one standard error: 2.49 squared times the data shows it.
    days = found["window"]["days"]
    assert f"about {6.2001 * days:,.0f} days of such records" in verdict(found)


def test_what_does_harm_is_told_so(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    found = asked(capsys, leaking)
    knee = found["benefit"]["knee"]
    saved, ends = knee["per_month_node_hours"], knee["per_month_ci_node_hours"]
    assert decision(found) == "act"
    for name, value, said in (
        ("per_month_ci_node_hours", [-9.0, -1.0], "acting costs more than it saves"),
        ("no_relation_per_month_band_node_hours", [1.1 * saved, 1.3 * saved], "it saves less than"),
    ):
        other = {**found, "benefit": {**found["benefit"], "knee": {**knee, name: value}}}
        assert decision(other) == "do not act"
        assert verdict(other).startswith(f"Do not act on memory_share: {said}")
        assert report.dry_run(other).startswith("would act on: nothing, because it does harm;")
    round_the_other_way = {**found, "auc_ci": [0.3, 0.45], "auc_ci_by_node": [0.31, 0.49]}
    assert "points the wrong way" in verdict(round_the_other_way)
    assert knee["per_month_ci_node_hours"] is ends


def test_the_area_is_shown_with_the_interval_that_decides(
    leaking: tuple[Path, Path], capsys: Capsys
) -> None:
    found = asked(capsys, leaking)
    found |= {"auc_ci": [0.51, 0.6], "auc_ci_by_node": [0.48, 0.63], "p_value_by_node": 0.125}
    assert verdict(found).startswith("Not shown that acting on memory_share pays: it does not")
    assert "(0.480 to 0.630 with the periods of a node together), not clearly" in on_area(found)
    assert "(p = 0.125)" in on_area(found)


def test_an_action_has_a_cost_and_time_a_price(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    free = asked(capsys, leaking)["benefit"]
    options = ("--action-cost", 1, "--price", 2, "--currency", "EUR", "--cores", 4)
    found = asked(capsys, leaking, *options)
    dear = found["benefit"]
    assert found["rule"] == "best"
    assert dear["best"]["share_acted"] < free["best"]["share_acted"]
    assert dear["always_node_hours"] < free["always_node_hours"]
    assert dear["best"]["per_month_money"] == 2 * dear["best"]["per_month_node_hours"]
    assert "EUR" in found["verdict"]
    assert found["cores_per_node"] == 4
    never = asked(capsys, leaking, "--action-cost", 10_000)
    assert never["rule"] == "never"
    assert never["verdict"].startswith("Do not act")
    assert never["act_on"] == []
    half = asked(capsys, leaking, "--scale", 0.5)["benefit"]
    assert half["perfect_node_hours"] == pytest.approx(free["perfect_node_hours"] / 2, rel=0.01)


def test_without_a_relation_nobody_is_told_to_act(sound: tuple[Path, Path], capsys: Capsys) -> None:
    found = asked(capsys, sound)
    assert found["verdict"].startswith("Not shown that acting on memory_share pays: it does not")
    assert found["auc_ci"][0] < 0.5 < found["auc_ci"][1]
    assert found["advised"] is False
    done = call(capsys, "assess", "jobs", sound[0], "--metrics", sound[1])
    second = " ".join(done.out.split("\n\n")[0].splitlines()[1:])
    nodes = found["act_on"][0]
    assert second.startswith("would act on: nothing, because it is not shown to pay; the thresh")
    assert f"would select these nodes: {nodes}, " in re.sub(" +", " ", second)
    assert max(map(len, done.out.splitlines()[1:])) <= 100


def test_states_are_the_users_to_set(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    every = asked(capsys, leaking)
    few = asked(capsys, leaking, "--failed-states", "node_fail,FAILED")
    assert few["jobs"]["judged"] == every["jobs"]["judged"]
    states = every["jobs"]["states"]
    gone = sum(states[name] for name in ("TIMEOUT", "CANCELLED"))
    assert every["jobs"]["failed"] - gone <= few["jobs"]["failed"] < every["jobs"]["failed"]
    some = asked(capsys, leaking, "--ignored-states", "CANCELLED,TIMEOUT")
    assert some["jobs"]["judged"] < every["jobs"]["judged"]
    assert some["jobs"]["failed"] == few["jobs"]["failed"]


def test_the_dry_run_keeps_the_limit(leaking: tuple[Path, Path], capsys: Capsys) -> None:
    every = asked(capsys, leaking, "--limit", 1000)["act_on"]
    assert asked(capsys, leaking, "--limit", 2)["act_on"] == every[:2]
    assert len(set(every)) == len(every) > 2


def test_low_values_may_be_the_suspect_ones(
    leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    table = pl.read_parquet(leaking[1]).with_columns(free=1 - pl.col("memory_share"))
    table.drop("memory_share").write_parquet(tmp_path / "free.parquet")
    high = asked(capsys, leaking)
    low = asked(capsys, (leaking[0], tmp_path / "free.parquet"), "--side", "low")
    assert low["auc"] == pytest.approx(high["auc"], abs=1e-9)
    knee = low["benefit"]["knee"]["threshold"]
    assert knee == pytest.approx(1 - high["benefit"]["knee"]["threshold"])
    assert "free ≤" in low["verdict"]


def test_names_of_nodes_and_dates_are_joined(tmp_path: Path, capsys: Capsys) -> None:
    jobs, rows = ["JobID|State|Start|End|NodeList|NCPUS"], ["time,node,load"]
    for k in range(40):
        day, hour = 1 + k // 20, k % 20
        bad = k % 3 == 0
        state = "FAILED" if bad else "COMPLETED"
        day_text = f"2024-05-{day:02d}T{hour:02d}"
        jobs.append(f"{k}|{state}|{day_text}:10:00|{day_text}:50:00|n[1-2]|8")
        for node in (1, 2):
            level = 0.9 if bad and node == 2 else 0.1 + node / 100 + k / 1000
            rows.append(f"{day_text}:05:00,n{node},{level:.3f}")
    (tmp_path / "sacct.txt").write_text("\n".join(jobs) + "\n")
    (tmp_path / "load.csv").write_text("\n".join(rows) + "\n")
    found = asked(capsys, (tmp_path / "sacct.txt", tmp_path / "load.csv"), "--metric", "load")
    assert (found["periods"]["case_1"], found["periods"]["case_2"]) == (14, 26)
    assert found["auc"] == 1.0
    assert found["window"]["from"] == "2024-05-01T00:05:00"
    assert found["cores_per_node"] == 4
    other = tmp_path / "other.csv"
    other.write_text("\n".join(rows).replace(",n1", ",rack1").replace(",n2", ",rack2") + "\n")
    done = call(capsys, "assess", "jobs", tmp_path / "sacct.txt", "--metrics", other)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "rack1" in done.err


@pytest.fixture(scope="module")
def written(leaking: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reports") / "report"
    files = [str(leaking[0]), "--metrics", str(leaking[1]), "--out", str(out), "--quiet"]
    assert main(["assess", "jobs", *files]) == 0
    return out


def test_the_folder(
    written: Path, leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    pytest.importorskip("matplotlib")
    assert {path.name for path in written.iterdir()} == set(FOLDER.files)
    found = json.loads((written / "summary.json").read_text())
    assert set(found) == KEYS
    cases = pl.read_csv(written / "periods.csv")["case"].value_counts()
    assert dict(cases.iter_rows())[1] == found["periods"]["case_1"]
    curve = pl.read_csv(written / "benefit.csv")
    assert curve["net_node_hours"].max() == pytest.approx(found["benefit"]["highest_node_hours"])
    page = (written / "report.html").read_text()
    assert len(re.findall(r'role="img" aria-label="[^"]{20,}"', page)) == len(FOLDER.figures)
    assert "would act on" in page
    assert not re.search("https?://", page)
    again = tmp_path / "again"
    files = ("assess", "jobs", leaking[0], "--metrics", leaking[1], "--out", again, "-q")
    assert call(capsys, *files) == (0, "", "")
    for path in written.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_without_matplotlib(
    leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "has_matplotlib", lambda: False)
    out = tmp_path / "report"
    done = call(capsys, "assess", "jobs", leaking[0], "--metrics", leaking[1], "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "forestall[plot]" in done.out
    assert {path.name for path in out.iterdir()} == {*FOLDER.tables, "report.html", "summary.json"}


BAD: dict[str, tuple[tuple[object, ...], str]] = {
    "metric": (("--metric", "cpu"), "cpu"),
    "states": (("--failed-states", "BROKEN"), "BROKEN"),
    "no states": (("--failed-states", ","), "--failed-states"),
    "reboot": (("--reboot", "soon"), "--reboot"),
    "scale": (("--scale", -1), "--scale"),
    "cost": (("--action-cost", "nan"), "--action-cost"),
    "price": (("--price", -1), "--price"),
    "cores": (("--cores", 0), "--cores"),
    "value": (("--value", "median"), "--value"),
    "window": (("--from", 90_000_000), "memory.parquet"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_one_line(
    name: str, leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    options, says = BAD[name]
    out = tmp_path / "report"
    files = ("assess", "jobs", leaking[0], "--metrics", leaking[1], "--out", out)
    done = call(capsys, *files, *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert says in done.err or name == "window"
    assert not out.exists()


def test_bad_files_are_one_line(leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("what,ever\n1,2\n")
    for jobs, metrics in ((bad, leaking[1]), (leaking[0], bad), (leaking[0], tmp_path / "none")):
        done = call(capsys, "assess", "jobs", jobs, "--metrics", metrics)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err


def test_one_of_several_metrics_must_be_named(
    leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    several = tmp_path / "several.parquet"
    pl.read_parquet(leaking[1]).with_columns(load=1 - pl.col("memory_share")).write_parquet(several)
    done = call(capsys, "assess", "jobs", leaking[0], "--metrics", several)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "has 2 metrics: memory_share, load; say which one with --metric NAME" in done.err
    assert asked(capsys, (leaking[0], several), "--metric", "load")["metric"] == "load"


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_all_jobs_end_alike(state: str, tmp_path: Path, capsys: Capsys) -> None:
    jobs, samples = tmp_path / "jobs.csv", tmp_path / "load.csv"
    rows = [f"{k},{1000 * k + 500},{1000 * k + 900},{state},0-1" for k in range(20)]
    jobs.write_text("\n".join(["job,start,end,state,nodes", *rows]) + "\n")
    rows = [f"{100 * k},{node},{k % 7 + node}" for k in range(205) for node in (0, 1)]
    samples.write_text("\n".join(["time,node,load", *rows]) + "\n")
    out = tmp_path / "report"
    done = call(capsys, "assess", "jobs", jobs, "--metrics", samples, "--out", out)
    assert (done.code, done.err) == (0, "")
    start = {"COMPLETED": "Do not act on load", "FAILED": "Not shown that acting on load pays"}
    assert done.out.startswith(start[state])
    assert "No area" in done.out
    found = json.loads((out / "summary.json").read_text())
    assert (found["auc"], found["p_value"]) == (None, None)
    assert found["periods"]["case_1" if state == "FAILED" else "case_2"] == 20
    assert found["rule"] == ("knee" if state == "FAILED" else "never")


def test_one_clock_is_needed(leaking: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    dated = tmp_path / "dated.csv"
    dated.write_text("time,node,load\n2024-01-01T00:00:00,0,1\n2024-01-01T00:01:00,0,1\n")
    done = call(capsys, "assess", "jobs", leaking[0], "--metrics", dated)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "one clock" in done.err
    late = tmp_path / "late.csv"
    late.write_text("time,node,load\n99000000,0,1\n99000060,0,1\n")
    done = call(capsys, "assess", "jobs", leaking[0], "--metrics", late)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "same clock" in done.err
