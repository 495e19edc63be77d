"""Every result shows itself in the same few ways, however large it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import forestall as fs
from forestall.core.show.result import ShownResult
from forestall.logs.jobs.swf import write_swf


@cache
def run() -> fs.Result:
    jobs = fs.generate_jobs(16, 1, days=3, load=0.7)
    failures = fs.generate_failures(16, 10, 1, rate_per_year=800)
    return fs.simulate(jobs, failures, nodes=16, risk=0.9, log_events=True)


def failures_at(folder: Path) -> Path:
    log = fs.generate_failures(32, 365, 1, rate_per_year=300, heterogeneity=1.0)
    log.table().select("time", "node", "downtime").write_csv(folder / "failures.csv")
    return folder / "failures.csv"


def jobs_at(folder: Path) -> Path:
    write_swf(fs.generate_jobs(32, 1, count=400, load=0.8), folder / "jobs.swf")
    return folder / "jobs.swf"


def plan_at(folder: Path) -> Path:
    plan = """
    name = "ours"
    groups = [{ name = "nodes", count = 64, mttf = "1000d" }]
    queues = [{ name = "day", nodes = 16, limit = "1d", slots = 2 }]
    """
    (folder / "cluster.toml").write_text(plan, encoding="utf-8")
    return folder / "cluster.toml"


RESULTS: dict[str, Callable[[Path], ShownResult]] = {
    "simulate": lambda folder: run(),
    "compare": lambda folder: fs.compare(run(), again=run()),
    "certify": lambda folder: fs.certify(run().save(folder / "run", report=False)),
    "replay": lambda folder: fs.replay(run().save(folder / "run", report=False)),
    "sweep": lambda folder: fs.sweep(
        jobs_at(folder), out=folder / "out", policy=["easy", "fcfs"], nodes=32, report=False
    ),
    "fit": lambda folder: fs.fit([12.0, 40.0, 7.0, 90.0, 33.0]),
    "fit_all": lambda folder: fs.fit_all([12.0, 40.0, 7.0, 90.0, 33.0]),
    "interval": lambda folder: fs.interval(mtbf="4d", checkpoint_overhead="5m", work="10d"),
    "spares": lambda folder: fs.spares(nodes=64, duration="7d"),
    "lemons": lambda folder: fs.lemons(failures=failures_at(folder)),
    "backtest": lambda folder: fs.backtest_promises(jobs_at(folder), warm_up=100, learn=False),
    "report": lambda folder: fs.site_report(jobs_at(folder), learn=False),
    "policies": lambda folder: fs.assess_policies(
        fs.judge.PolicySettings(("nothing", "reboot"), (0.09,), nodes=16, days=2, machines=2)
    ),
    "design": lambda folder: fs.design(plan_at(folder)),
    "failures": lambda folder: fs.study_failures(failures_at(folder), families=["weibull"]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_itself(name: str, tmp_path: Path) -> None:
    found = RESULTS[name](tmp_path)
    assert len(repr(found).splitlines()) < 30
    assert max(map(len, repr(found).splitlines())) <= 200
    assert found._repr_html_().startswith('<div class="forestall">')
    assert isinstance(found.table, pl.DataFrame)
    assert found.table.height > 0 or name == "replay"
    kept = found.save(tmp_path / "kept.json")
    assert json.loads(kept.read_text(encoding="utf-8")) == json.loads(json.dumps(found.to_dict()))
    assert found.save(tmp_path / "kept.html").read_text(encoding="utf-8").startswith("<!")


@pytest.mark.parametrize("name", ["simulate", "fit", "fit_all", "sweep", "failures"])
def test_a_result_draws_itself(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = RESULTS[name](tmp_path)
    assert found.figures
    assert found.plot().get_axes()
    assert found.plot(found.figures[-1]).get_axes()
    assert found.save(tmp_path / "figure.png").stat().st_size > 1000
    with pytest.raises(fs.errors.ParameterError, match="expected one of"):
        found.plot("nothing such")


def test_what_has_no_figure_says_so(tmp_path: Path) -> None:
    with pytest.raises(fs.errors.ParameterError, match="nothing to draw"):
        RESULTS["replay"](tmp_path).plot()


def test_a_form_that_is_none_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(fs.errors.ParameterError, match=r"a folder, or a file \.html"):
        RESULTS["fit"](tmp_path).save(tmp_path / "fit.docx")
    assert not list(tmp_path.iterdir())


def test_a_folder_holds_all_that_a_result_has(tmp_path: Path) -> None:
    kept = RESULTS["fit"](tmp_path).save(tmp_path / "kept")
    assert {one.name for one in kept.iterdir()} == {"report.html", "result.json", "table.csv"}
    assert pl.read_csv(kept / "table.csv")["parameter"].to_list() == ["shape", "scale"]


def test_a_large_report_is_cut_where_it_is_printed() -> None:
    assert "203,932" not in repr(run().report)
    assert len(repr(run().report)) < 3000
