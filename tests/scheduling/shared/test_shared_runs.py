"""Runs on shared nodes as files: machines read, results saved and certified, lies told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.jobs.table import jobs_from_table
from forestall.runs.commands.entry import main
from forestall.scheduling.certify.certifier import certify_promise
from forestall.scheduling.machine import read_machine
from forestall.scheduling.settings import PROMISE

TOML = """
[[nodes]]
name = "c[1-3]"
cores = 16
memory = "64G"

[[nodes]]
name = "g[1-2]"
cores = 32
memory = "128G"
gpus = 4
gpu_type = "a100"
features = ["fast"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with failures, checkpoints, tasks and whole nodes."""
    rng = np.random.default_rng(7)
    place, count = tmp_path_factory.mktemp("shared"), 150
    (place / "machine.toml").write_text(TOML)
    gpus = rng.choice([0, 0, 1, 2], count)
    jobs = pl.DataFrame(
        {
            "job": np.arange(1, count + 1),
            "submit": np.sort(rng.integers(0, 40_000, count)),
            "size": rng.choice([1, 1, 2], count),
            "runtime": rng.integers(60, 6000, count),
            "cores": rng.choice([1, 4, 8], count),
            "memory": rng.choice([1024, 8192], count),
            "gpus": gpus,
            "gpu_type": np.where(gpus > 1, "a100", ""),
            "tasks": np.where((gpus == 0) & (rng.random(count) < 0.3), 6, 0),
            "exclusive": (rng.random(count) < 0.05).astype(int),
        }
    )
    time = np.sort(rng.integers(0, 50_000, 10))
    failures = fs.Failures.build(time, rng.integers(0, 5, 10), rng.integers(600, 3000, 10))
    result = fs.simulate(
        jobs, failures, policy="easy", machine=place / "machine.toml", checkpoint="periodic",
        checkpoint_interval=900, checkpoint_overhead=30, downtime="log",
    )  # fmt: skip
    assert result.measures["restarts"] > 3
    assert result.runs["units"].n_unique() > 1
    return result.save(place / "run", report=False)


def test_an_honest_run_passes(folder: Path) -> None:
    certificate = certify_promise(folder)
    assert certificate.passed, str(certificate)
    assert len(certificate.checks) == 14


def changed(folder: Path, target: Path, name: str, change: Any) -> Path:
    """Copy a run with one table changed."""
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    change_at = target / name
    if name.endswith(".json"):
        change_at.write_text(json.dumps(change(json.loads(change_at.read_text()))))
    else:
        texts = dict.fromkeys(("nodes", "units", "asked_features", "gpu_type"), pl.String)
        change(pl.read_csv(change_at, schema_overrides=texts)).write_csv(change_at)
    return target


def at(column: str, row: int, value: Any) -> Any:
    """Return a change of one cell."""

    def change(table: pl.DataFrame) -> pl.DataFrame:
        cells = table[column].to_list()
        cells[row] = value(cells[row]) if callable(value) else value
        return table.with_columns(pl.Series(column, cells, dtype=table[column].dtype))

    return change


LIES: dict[str, tuple[str, Any, str]] = {
    "fewer cores": ("machine.csv", at("cores", 3, 4), "no node overbooked"),
    "fewer GPUs": ("machine.csv", at("gpus", 3, 1), "no node overbooked"),
    "a node of another type": ("machine.csv", at("gpu_type", 3, "h100"), "what jobs ask for"),
    "a job that asked for more": ("jobs.csv", at("asked_cores", 5, 9), "what jobs ask for"),
    "a job that asked for more nodes": ("jobs.csv", at("size", 5, 5), "what jobs ask for"),
    "a run on another node": ("runs.csv", at("nodes", 40, "0"), "what jobs ask for"),
    "a run cut short": ("runs.csv", at("end", 9, lambda end: end - 1), "work of each job"),
    "a run that began earlier": ("runs.csv", at("start", 9, lambda t: t - 1), "work of each job"),
    "a checkpoint more": ("runs.csv", at("checkpoints", 2, lambda n: n + 1), "work of each job"),
    "a run left out": ("runs.csv", lambda table: table[:-1], "work of each job"),
    "a longer outage": ("failures.csv", at("downtime", 0, 40_000), "no job on a node that is down"),
    "a failure left out": (
        "failures.csv", lambda table: table.filter(pl.col("jobs") == 0), "failures and failed runs",
    ),
    "a failure that hit nobody": ("failures.csv", at("jobs", 4, 77), "failures and failed runs"),
    "less work lost": (
        "summary.json", lambda told: {**told, "lost_work": told["lost_work"] / 2},
        "account of node-seconds",
    ),
    "a shorter wait": (
        "summary.json", lambda told: {**told, "wait": {**told["wait"], "mean": 1.0}},
        "times of jobs",
    ),
}  # fmt: skip


def test_runs_of_no_job_are_told_by_their_line(folder: Path, tmp_path: Path) -> None:
    lie = changed(folder, tmp_path / "lie", "jobs.csv", lambda table: table[1:])
    with pytest.raises(TraceError, match="is not a job of jobs") as told:
        certify_promise(lie)
    assert (told.value.line, told.value.field) == (2, "job")


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_found(folder: Path, tmp_path: Path, lie: str) -> None:
    name, change, rule = LIES[lie]
    certificate = certify_promise(changed(folder, tmp_path / "lie", name, change))
    failed = {check.name for check in certificate.checks if not check.passed}
    assert rule in failed, str(certificate)


def test_first_come_first_served_is_checked(folder: Path, tmp_path: Path) -> None:
    def claim(told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "parameters": {**told["parameters"], "policy": "fcfs"}}

    certificate = certify_promise(changed(folder, tmp_path / "lie", "summary.json", claim))
    failed = [check.name for check in certificate.checks if not check.passed]
    assert failed == ["order of the queue"]


def test_machines_of_each_form_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    (tmp_path / "m.csv").write_text(
        "name,cores,memory,gpus,gpu_type,features\nc1,16,65536,0,,\ng1,32,131072,4,a100,fast big\n"
    )
    (tmp_path / "m.txt").write_text(
        "NodeName=g1 Arch=x86_64 CPUTot=32 RealMemory=131072 Gres=gpu:a100:4(S:0-1)\n"
        "   AvailableFeatures=fast ActiveFeatures=fast Partitions=gpu State=IDLE\n"
    )
    toml, csv, slurm = (read_machine(tmp_path / name) for name in ("m.toml", "m.csv", "m.txt"))
    assert toml.capacity.tolist() == [[16, 65536, 0]] * 3 + [[32, 131072, 4]] * 2
    assert csv.capacity.tolist() == [[16, 65536, 0], [32, 131072, 4]]
    assert csv.features == (frozenset(), frozenset({"fast", "big"}))
    assert (slurm.capacity.tolist(), slurm.gpu_type) == ([[32, 131072, 4]], ("a100",))
    assert (slurm.features, slurm.partitions) == ((frozenset({"fast"}),), (frozenset({"gpu"}),))
    line = read_machine("nodes=2 cores=64 memory=512G gpus=8")
    assert line.capacity.tolist() == [[64, 524288, 8]] * 2


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "is empty"),
        ("name,cores\nc1,4\n", "memory"),
        ("name,cores,memory,gpus\nc1,4,x,0\n", "every node of a machine is needed"),
        ("name,cores,memory,gpus\nc1,0,1,0\n", "no cores"),
        ("name,cores,memory,gpus\nc1,1,1,0\nc1,1,1,0\n", "twice"),
    ],
)
def test_a_machine_that_is_none_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(TraceError, match=wrong):
        read_machine(tmp_path / "m.csv")


JOBS = {"job": [1, 2], "submit": [0, 0], "size": [1, 1], "runtime": [10, 10]}
LINE = "nodes=2 cores=8 memory=16G gpus=2"


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"users": "least=0.5:0.9"}, "not built yet"),
        ({"spares": 1}, "not built yet"),
        ({"policy": "easy", "placement": "least"}, "best, first, worst or gradient"),
        ({"policy": "easy", "nodes": 3}, "2, as machine has"),
        ({"policy": "easy", "placement": lambda *_: []}, "not built yet"),
        ({"policy": "easy", "log_events": True}, "not built yet"),
        (
            {"policy": "easy", "vault": "layout=ring parity=1", "checkpoint": "periodic"},
            "not built",
        ),
    ],
)
def test_what_such_runs_cannot_have_is_refused(more: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        fs.simulate(pl.DataFrame(JOBS), machine=LINE, **more)


def test_a_placement_of_shared_nodes_needs_a_machine() -> None:
    with pytest.raises(ParameterError, match="given with machine"):
        fs.simulate(pl.DataFrame(JOBS), policy="easy", placement="worst", nodes=2)


def test_jobs_that_fit_nowhere_are_named_by_what_is_short() -> None:
    jobs = pl.DataFrame(
        {
            "job": [1, 2, 3, 4], "submit": [0] * 4, "size": [1, 1, 1, 3], "runtime": [10] * 4,
            "cores": [1, 9, 1, 1], "memory": [1, 1, 1, 1], "gpus": [0, 0, 3, 0],
        }
    )  # fmt: skip
    result = fs.simulate(jobs, machine=LINE, policy="fcfs")
    told = {one.kind: one.names for one in result.cleaning.remarks}
    assert told["fits_nowhere_cores"] == ("2",)
    assert told["fits_nowhere_gpus"] == ("3",)
    assert told["larger_than_machine"] == ("4",)
    assert result.jobs["job"].to_list() == [1]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "promise"])
def test_jobs_that_ask_for_nothing_take_whole_nodes(policy: str, tmp_path: Path) -> None:
    """With whole nodes of one kind, runs are what they are without a machine."""
    jobs = fs.generate_jobs(6, 3, days=3, load=0.9)
    failures = fs.generate_failures(6, 4, 1, rate_per_year=300)
    more = {"policy": policy, "estimates": "requested"}
    alone = fs.simulate(jobs, failures, nodes=6, **more)
    shared = fs.simulate(jobs, failures, machine="nodes=6 cores=8 memory=16G", **more)
    assert shared.jobs.select(alone.jobs.columns).cast(alone.jobs.schema).equals(alone.jobs)
    assert shared.runs.select(alone.runs.columns).cast(alone.runs.schema).equals(alone.runs)
    assert shared.measures["node_seconds"] == alone.measures["node_seconds"]
    assert alone.measures["lost_work"] > 0
    assert certify_promise(shared.save(tmp_path / "run", report=False)).passed


def test_what_is_left_blank_is_asked_for_as_slurm_does(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "job,submit,size,runtime,cores,memory,gpus,tasks,exclusive\n"
        "1,0,1,9,,,1,,\n2,0,1,9,,2G,,,\n3,0,,9,,,,5,\n4,0,1,9,,,,,\n5,0,1,9,3,512,,,1\n"
        "6,0,1,9,1,x,,,\n"
    )
    jobs = fs.read_jobs(tmp_path / "jobs.csv")
    asks = jobs.requests
    assert asks is not None
    assert asks.amounts.tolist() == [[1, 0, 1], [1, 2048, 0], [1, 0, 0], [0, 0, 0], [3, 512, 0]]
    assert asks.exclusive.tolist() == [False, False, False, True, True]
    assert (asks.tasks.tolist(), jobs.size.tolist()) == ([0, 0, 5, 0, 0], [1] * 5)
    assert [one.count for one in jobs.cleaning.remarks if one.action == "left out"] == [1]


def test_hints_say_where_jobs_and_machine_do_not_go_together() -> None:
    failures = fs.Failures.none()
    plain = fs.Jobs.build([0], [1], [10])
    asking = jobs_from_table(pl.DataFrame({**JOBS, "gpus": [1, 1]}))
    for jobs, machine, said in ((plain, LINE, "does not say"), (asking, None, "without {machine}")):
        more = {"nodes": 2} if machine is None else {"machine": machine}
        result = fs.simulate(jobs, policy="easy", **more)
        assert any(said in hint for hint in PROMISE.hints(jobs, failures, result))
    result = fs.simulate(asking, policy="easy", machine=LINE)
    assert not any("machine" in hint for hint in PROMISE.hints(asking, failures, result))


def test_planned_outages_hit_all_jobs_of_a_node() -> None:
    jobs = pl.DataFrame({**JOBS, "runtime": [5000, 5000], "cores": [1, 1]})
    result = fs.simulate(jobs, policy="easy", machine=LINE, maintenance="2000s/3000s 0")
    assert result.failures.select("kind", "jobs", "lost").rows() == [("maintenance", 2, 500.0)]
    assert result.runs["nodes"].to_list() == ["0", "0", "1", "1"]


def test_the_gradient_leaves_fewer_fragments() -> None:
    """A job of one GPU goes where it breaks nothing up that jobs of four GPUs could use."""
    jobs = pl.DataFrame(
        {
            "job": [1, 2, 3], "submit": [0, 0, 1], "size": [1] * 3, "runtime": [100] * 3,
            "cores": [1] * 3, "memory": [0] * 3, "gpus": [3, 1, 4],
        }
    )  # fmt: skip
    found = {
        rule: fs.simulate(jobs, machine="nodes=2 cores=8 gpus=4", policy="fcfs", placement=rule)
        for rule in ("gradient", "worst")
    }
    assert found["gradient"].jobs["start"].to_list() == [0, 0, 1]
    assert found["worst"].jobs["start"].to_list() == [0, 0, 100]


def test_a_sweep_over_placements_tells_each_resource(tmp_path: Path) -> None:
    """From the command line, where a machine also says how many nodes there are."""
    (tmp_path / "m.toml").write_text(TOML)
    (tmp_path / "jobs.csv").write_text(
        "job,submit,size,runtime,cores,memory,gpus\n1,0,1,100,8,1024,3\n2,0,1,100,8,1024,1\n"
    )
    words = ["sweep", "jobs", str(tmp_path / "jobs.csv"), "--machine", str(tmp_path / "m.toml")]
    words += ["--policy", "fcfs", "--placement", "best,worst", "--out", str(tmp_path / "s"), "-q"]
    assert main(words) == 0
    table = pl.read_csv(tmp_path / "s" / "sweep.csv")
    assert table["placement"].to_list() == ["best", "worst"]
    assert table["resources_gpus_used_hours"].to_list() == pytest.approx([400 / 3600] * 2)
    words = ["simulate", *words[1:5], "--policy", "fcfs", "--out", str(tmp_path / "r"), "-q"]
    assert main(words) == 0
    assert main(["certify", str(tmp_path / "r")]) == 0


def test_promises_without_failures_are_conservative_backfilling() -> None:
    """Reservations never move in either, if nobody asks for safety and nothing is moved forward."""
    machine = fs.generate_machine(12)
    jobs = fs.generate_shared_jobs(machine, 4, count=600, load=1.2)
    promised, other = (
        fs.simulate(jobs, machine=machine, estimates="requested", policy=policy, **more)
        for policy, more in (
            ("promise", {"risk": 0, "checkpoint": "none"}),
            ("conservative", {"compression": False}),
        )
    )
    same = ["start", "finish", "nodes"]
    assert promised.jobs.select(same).equals(other.jobs.select(same))
    assert promised.measures["wait"]["mean"] > 60


def test_hazards_are_known_to_promises_on_shared_nodes() -> None:
    """The probability is what the predictor says of the job's nodes, until its deadline."""
    predictor = fs.HazardPredictor(0.7, 4.0, 300.0)
    training = fs.Failures.build([0, 3000, 40_000, 90_000], [0, 0, 1, 0])
    predictor.fit(training, nodes=5, end=100_000)
    jobs = pl.DataFrame(
        {
            "job": [1, 2, 3], "submit": [100_000] * 3, "size": [1, 2, 1],
            "runtime": [50_000, 900, 7000], "cores": [4, 8, 8], "gpus": [0, 0, 1],
        }
    )  # fmt: skip
    result = fs.simulate(
        jobs, machine="nodes=5 cores=8 gpus=1", predictor=predictor, downtime=600, risk=0,
        checkpoint="none",
    )  # fmt: skip
    for row in result.jobs.iter_rows(named=True):
        nodes = fs.NodeSet.parse(row["nodes"]).array()
        begin = max(100_000, row["start"] - 600 + 1)
        risk = predictor.partition_failure_probability(nodes, begin, row["deadline"])
        assert row["promise"] == pytest.approx(1 - risk, rel=1e-9)
    assert "0" not in result.jobs["nodes"].str.split("-").explode().to_list(), "it failed most"


def test_hazards_on_whole_nodes_are_as_without_a_machine() -> None:
    jobs = fs.generate_jobs(6, 3, days=4, load=0.9)
    failures = fs.generate_failures(6, 5, 1, rate_per_year=300)
    predictor = fs.HazardPredictor().fit(fs.generate_failures(6, 200, 2, rate_per_year=300))
    alone = fs.simulate(jobs, failures, nodes=6, predictor=predictor, risk=0.9)
    shared = fs.simulate(jobs, failures, machine="nodes=6 cores=8", predictor=predictor, risk=0.9)
    assert shared.jobs.select(alone.jobs.columns).cast(alone.jobs.schema).equals(alone.jobs)
    assert alone.measures["qos"] == pytest.approx(shared.measures["qos"], rel=1e-12)


SWF = """; MaxProcs: 8
1 0 -1 100 6 -1 -1 6 200 2097152 1 1 1 1 1 1 -1 -1
2 5 -1 100 2 -1 -1 2 200 -1 1 1 1 1 1 1 -1 -1
3 6 -1 100 4 -1 -1 4 200 1024 1 1 1 1 1 1 -1 -1
"""


def test_processors_of_swf_are_cores(tmp_path: Path) -> None:
    """Tasks of a core and the memory of a processor each; with processors a node, whole nodes."""
    (tmp_path / "jobs.swf").write_text(SWF)
    jobs = fs.read_jobs(tmp_path / "jobs.swf")
    assert jobs.processor_memory is not None
    assert (jobs.processor_memory.tolist(), jobs.requests) == ([2048, 0, 1], None)
    result = fs.simulate(jobs, policy="fcfs", machine="nodes=2 cores=4 memory=8G")
    assert result.runs["start"].to_list() == [0, 5, 100]
    assert result.runs["units"].to_list() == ["4 2", "2", "2 2"]
    assert result.runs.select("cores", "memory").rows() == [(6, 12_288), (2, 0), (4, 4)]
    hints = PROMISE.hints(jobs, fs.Failures.none(), result)
    assert not [one for one in hints if "machine" in one or "does not say" in one]
    assert certify_promise(result.save(tmp_path / "run", report=False)).passed
    told = fs.simulate(jobs, policy="fcfs", machine="nodes=2 cores=4")
    assert told.runs["memory"].to_list() == [0] * 3, "a machine that tells no memory"
    nodes = fs.read_jobs(tmp_path / "jobs.swf", processors_per_node=4)
    assert nodes.processor_memory is None
    whole = fs.simulate(nodes, policy="fcfs", machine="nodes=2 cores=4 memory=8G")
    assert whole.runs["start"].to_list() == [0, 100, 100]
    assert whole.runs["nodes"].to_list() == ["0-1", "0", "1"]
