"""Sweeps of virtual machines: the same plan, table, figures and resumption as of promises."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Kind
from forestall.machines.settings import VIRTUAL
from forestall.runs.models import MODELS
from forestall.runs.sweep import plan_of, values_of

Capsys = pytest.CaptureFixture[str]
STRATEGIES = ["random", "first-fit", "best-fit", "omniscient"]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "jobs.csv", 40)


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def virtual(jobs: Path, failures: Path, *more: object) -> tuple[object, ...]:
    machine = ("--nodes", 16, "--processors-per-node", 2)
    return (jobs, "--model", "virtual", "--failures", failures, *machine, *more)


def test_accuracy_and_strategy(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "out"
    done = call(
        capsys, "sweep", *virtual(jobs, failures, "--out", out), "--prediction-accuracy",
        "0:1:0.5", "--strategy", ",".join(STRATEGIES), "--seed", "1:2:1", "--random-stays",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert "24 points: 4 values of strategy, 3 values of prediction_accuracy" in done.out
    assert "Jobs completed" in done.out
    assert max(len(line) for line in done.out.splitlines() if str(out) not in line) <= 100
    table = pl.read_csv(out / "sweep.csv")
    asked = {"node_sizes", "overload_limit", "overload_hold", "tau"}  # told where they are given
    given = [name for name in VIRTUAL.fields if name not in asked]
    assert table.columns[: len(given)] == given
    assert table["strategy"].to_list() == [name for name in STRATEGIES for _ in range(6)]
    assert table["prediction_accuracy"].to_list() == [0, 0, 0.5, 0.5, 1, 1] * 4
    assert table["seed"].to_list() == [1, 2] * 12
    figures = {"rates", "lost_work", "migrations", "utilization"}
    assert {path.stem for path in (out / "figures").iterdir()} == figures
    about = json.loads((out / "sweep.json").read_text())
    assert about["model"] == "virtual"
    assert about["parameters"]["processors_per_node"] == 2
    assert "processors_per_node" not in about["reading"]
    blind = table.filter(pl.col("strategy") == "random").drop("prediction_accuracy")
    assert len(blind.unique()) == 2  # it looks at no prediction: a line for each seed
    knowing = table.filter(pl.col("strategy") == "omniscient")
    assert len(knowing.drop("prediction_accuracy", "seed").unique()) == 1


def test_a_point_is_what_simulate_gives(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    base = virtual(jobs, failures)
    more = ("--alpha", "0.2,dynamic", "--processors-per-node", "2,3", "--lead", "1m,2m")
    swept = call(capsys, "sweep", *base, *more, "--no-report", "--out", tmp_path / "out", "--json")
    rows = json.loads(swept.out)
    assert [(r["processors_per_node"], r["alpha"], r["lead"]) for r in rows] == [
        (p, a, lead) for p in (2, 3) for a in ("0.2", "dynamic") for lead in (60, 120)
    ]
    one = json.loads(
        call(
            capsys, "simulate", *base, "--alpha", "dynamic", "--processors-per-node", 3, "--lead",
            120, "--json",
        ).out
    )  # fmt: skip
    for name in ("job_completion_rate", "lost_work", "migrations", "makespan", "jobs_dropped"):
        assert rows[-1][name] == one[name]
    for name in ("wait", "processor_seconds", "migration_outcomes"):
        for part, value in one[name].items():
            assert rows[-1][f"{name}_{part.replace(' ', '_')}"] == value


def test_one_worker_or_two(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = virtual(
        jobs, failures, "--prediction-accuracy", "0:1:0.5", "--vary", "backfill=true,false"
    )
    for workers in (1, 2):
        out = tmp_path / str(workers)
        done = call(capsys, "sweep", *base, "--out", out, "--workers", workers, "-q")
        assert done == (0, "", "")
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_it_goes_on_where_it_was(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    base = ("sweep", *virtual(jobs, failures, "--alpha", "0:1:0.25", "--no-report", "--out", out))
    assert call(capsys, *base, "-q").code == 0
    whole = files(out)
    lines = (out / "points.jsonl").read_bytes().splitlines(keepends=True)
    (out / "points.jsonl").write_bytes(b"".join(lines[:-2]))
    (out / "sweep.csv").unlink()
    done = call(capsys, *base)
    assert "3 of them from before" in done.out
    assert files(out) == whole


def test_a_sweep_of_another_model_is_refused(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    base = ("sweep", jobs, "--failures", failures, "--nodes", 16, "--no-report", "-q", "--out", out)
    assert call(capsys, *base).code == 0
    code, _, err = call(capsys, *base, "--model", "virtual")
    assert (code, err.count("\n")) == (2, 1)
    assert "--force" in err
    assert call(capsys, *base, "--model", "virtual", "--force").code == 0
    assert "strategy" in pl.read_csv(out / "sweep.csv").columns


def test_means_over_seeds(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "out"
    more = ("--alpha", "0:1:0.1", "--strategy", "random,best-fit", "--seed", "1:3:1")
    done = call(capsys, "sweep", *virtual(jobs, failures, *more, "--no-report", "--out", out))
    assert (done.code, done.err) == (0, "")
    assert "means at: strategy, alpha" in done.out
    assert "and 2 more" in done.out
    lines = done.out.splitlines()
    assert max(len(line) for line in lines if str(out) not in line) <= 100
    rows = pl.read_csv(out / "sweep.csv").filter(strategy="random", alpha=0.1)
    (line,) = [line for line in lines if line.startswith("random, 0.1 ")]
    assert len(rows) == 3
    assert f"{rows['migrations'].mean():,.1f}" in line
    told = ("job_completion_rate", "task_completion_rate", "lost_work", "migrations")
    assert line.count("±") == sum(rows[name].n_unique() > 1 for name in told) == 3


def test_words_and_seeds_have_points(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    more = ("--alpha", "0,dynamic", "--seed", "1:3:1", "--out", out, "-q")
    assert call(capsys, "sweep", *virtual(jobs, failures, *more)) == (0, "", "")
    assert {path.stem for path in (out / "figures").iterdir()} == {
        "job_completion_rate", "task_completion_rate", "lost_work", "migrations", "utilization",
    }  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Means" in page
    assert "Lost work (processor-hours)" in page
    assert "jobs.csv" in page
    assert "processors_per_node" in page


@pytest.mark.parametrize("name", ["hazard", "rate"])
def test_predictors_that_learn(name: str, jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = learning(name, jobs, tmp_path)
    out = tmp_path / "out"
    more = ("--strategy", "first-fit,best-fit", "--no-report", "-q", "--out", out)
    assert call(capsys, "sweep", *base, *more).code == 0
    table = pl.read_csv(out / "sweep.csv")
    one = json.loads(call(capsys, "simulate", *base, "--json").out)
    assert table["lost_work"][1] == one["lost_work"]
    assert table["migrations"][1] == one["migrations"] > 0
    assert set(table["predictor"]) == {one["parameters"]["predictor"]}


@pytest.mark.slow
def test_workers_learn_the_same(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = learning("rate", jobs, tmp_path)
    more = ("--strategy", "first-fit,best-fit", "--alpha", "0.2,0.5,0.8", "--no-report", "-q")
    for workers in (1, 2):
        out = ("--out", tmp_path / str(workers), "--workers", workers)
        assert call(capsys, "sweep", *base, *more, *out) == (0, "", "")
    assert files(tmp_path / "1") == files(tmp_path / "2")


def learning(name: str, jobs: Path, folder: Path) -> tuple[object, ...]:
    log = failure_log(folder / "long.csv", count=300, span=2_000_000)
    return virtual(jobs, log, "--from", 1_500_000, "--train", log, "--predictor", name)


def test_a_promise_with_a_predictor_by_name(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    log = failure_log(tmp_path / "long.csv", count=300, span=2_000_000)
    base = (jobs, "--failures", log, "--nodes", 16, "--from", 1_500_000, "--train", log,
            "--predictor", "rate")  # fmt: skip
    more = ("--risk", "0,0.9", "--no-report", "--out", tmp_path / "out", "--json")
    rows = json.loads(call(capsys, "sweep", *base, *more).out)
    one = json.loads(call(capsys, "simulate", *base, "--json").out)
    assert rows[1]["qos"] == one["qos"]
    told = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert told["reading"]["predictor"] == "rate"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--prediction-accuracy", "0:1"], "--prediction-accuracy"),
        (["--prediction-accuracy", "0:2:1"], "--prediction-accuracy"),
        (["--strategy", "random,worst-fit"], "--strategy"),
        (["--strategy", "a:b:c"], "--strategy"),
        (["--alpha", "0.1,static"], "--alpha"),
        (["--link", "fast"], "--link"),
        (["--processors-per-node", "1:2:0.5"], "--processors-per-node"),
        (["--accuracy", "0:1:0.1"], "--accuracy"),
        (["--vary", "backfill=perhaps"], "--backfill"),
        (["--vary", "model=promise"], "--vary"),
        (["--vary", "risk=0.5"], "--risk"),
        (["--predictor", "tea-leaves"], "--predictor"),
        (["--predictor", "synthetic,hazard"], "--predictor"),
        (["--model", "promise,virtual"], "--model"),
        (["--least-rate", "0.1,4"], "--least-rate"),
    ],
    ids=str,
)
def test_wrong_options(
    options: list[str], names: str, jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    code, printed, err = call(capsys, "sweep", *virtual(jobs, failures, *options), "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert names in err
    assert not out.exists()


# -------------------------------------------------------------------------------------------- plan


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("prediction_accuracy", "0:1:0.25", [0, 0.25, 0.5, 0.75, 1]),
        ("alpha", "0:0.2:0.1,dynamic", [0, 0.1, 0.2, "dynamic"]),
        ("alpha", ["dynamic", 1], ["dynamic", 1]),
        ("processors_per_node", "2:8:2", [2, 4, 6, 8]),
        ("lead", "0s,1m:3m:1m", [0, 60, 120, 180]),
        ("migration_cost", "12", [12]),
        ("vm_memory", "512, 1024.5", [512.0, 1024.5]),
        ("least_rate", "0.1:0.5:0.2", [0.1, 0.3, 0.5]),
        ("backfill", "true,false", [True, False]),
        ("strategy", "random, best-fit", ["random", "best-fit"]),
        ("downtime", "log,2m", ["log", 120]),
    ],
)
def test_values(name: str, text: object, values: list[object]) -> None:
    found = values_of(VIRTUAL.declared[name], text)
    assert list(found) == values
    assert [type(one) for one in found] == [
        float if VIRTUAL.declared[name].kind is Kind.REAL and one != "dynamic" else type(one)
        for one in values
    ]


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("alpha", "static", "a number from 0 to 1 or dynamic"),
        ("link", "fast", "a number"),
        ("prediction_accuracy", "high", "a number from 0 to 1"),
        ("lead", "log", "a duration"),
    ],
)
def test_what_is_no_value(name: str, text: str, allowed: str) -> None:
    with pytest.raises(ParameterError, match=allowed):
        values_of(VIRTUAL.declared[name], text)


def test_the_fingerprint_of_promises_has_not_changed(jobs: Path, failures: Path) -> None:
    """Sweeps of promises that were stopped by an older build of this version go on."""
    from forestall import __version__

    plan = plan_of(jobs, {"failures": str(failures), "risk": "0,1"})
    digest = hashlib.sha256(f"forestall {__version__}\n".encode())
    digest.update(b"{}")
    for path in (jobs, failures):
        inner = hashlib.sha256(path.read_bytes()).digest()
        digest.update(hashlib.sha256(inner).digest())
    digest.update(b"none")
    for point in plan.points:
        digest.update(point.model_dump_json().encode())
    assert plan.fingerprint == digest.hexdigest()


def test_fingerprints_differ_by_what_results_depend_on(jobs: Path, failures: Path) -> None:
    base = {"model": "virtual", "failures": str(failures)}
    plans = [
        plan_of(jobs, {**base, **more})
        for more in ({}, {"alpha": "0.4"}, {"seed": "2"}, {"days": "1"}, {"model": "promise"})
    ]
    assert len({plan.fingerprint for plan in plans}) == len(plans)
    assert plan_of(jobs, base).fingerprint == plans[0].fingerprint


def test_the_file_of_a_predictor_is_part_of_the_fingerprint(
    jobs: Path, failures: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a.predictor"
    found = set()
    for content in ("one", "two"):
        place.write_text(content)
        values = {"model": "virtual", "failures": str(failures), "predictor": str(place)}
        found.add(plan_of(jobs, values).fingerprint)
    assert len(found) == 2


def test_what_is_compiled_depends_on_words_alone(jobs: Path) -> None:
    values = {"model": "virtual", "strategy": "random,best-fit", "seed": "1:5:1"}
    plan = plan_of(jobs, values)
    assert len(plan.points) == 10
    assert {point.strategy for point in plan.kinds} == {"random", "best-fit"}  # type: ignore[union-attr]
    assert len(plan.kinds) == 2


def test_every_model_names_measures_that_it_has() -> None:
    import forestall
    from forestall.core.model.hosts import HostTraces
    from forestall.machines.simulate import simulate_virtual
    from forestall.sharing.simulate import simulate_cycle

    jobs = forestall.Jobs.build(submit=[0], size=[2], runtime=[600])
    hosts = HostTraces(np.zeros((1, 20)), None, 60, np.ones(1), ("host",))
    flat = {
        "promise": forestall.simulate(jobs, nodes=2),
        "virtual": simulate_virtual(jobs, nodes=2),
        "cycle": simulate_cycle(jobs, hosts, warm_up=0),
    }
    for name, model in MODELS.items():
        assert {*model.drawn, *model.shown} <= columns(flat[name].measures), name
        keys = {measure.key.replace(".", "_") for measure in model.measures()}
        assert keys <= columns(flat[name].measures), name


def columns(measures: dict[str, object]) -> set[str]:
    deep = {n: value for n, value in measures.items() if isinstance(value, dict)}
    return {*measures, *(f"{n}_{part}" for n, value in deep.items() for part in value)}
