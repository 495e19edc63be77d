"""What decides in the user's own Python: swept, simulated, certified, compared and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forestall as fs
from core.commands.calls import call
from forestall.core.kit.own import frozen, own_of, thawed
from forestall.core.model.errors import ParameterError, TraceError
from forestall.runs.certify import certify
from forestall.runs.compare import compare
from forestall.runs.models import MODELS
from forestall.runs.sweep import plan_of
from runs.own_deciders import Locked, Shortest, ShortestJobFirst, Tightest

HERE = "runs.own_deciders"
CASES: dict[str, tuple[type[Any], str, dict[str, Any]]] = {
    "promise": (ShortestJobFirst, "fcfs", {"failures": "failures.csv", "nodes": 8}),
    "virtual": (
        Tightest,
        "first-fit",
        {"failures": "failures.csv", "nodes": 8, "processors_per_node": 2, "model": "virtual"},
    ),
    "cycle": (
        Shortest,
        "falcon",
        {"hosts": "hosts.parquet", "warm_up": "14d", "model": "cycle"},
    ),
}
"""By model: what is the user's own, what stands beside it, and what is given to both."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    fs.generate_jobs(8, 1, days=1, load=0.6).table().write_csv(folder / "jobs.csv")
    failures = fs.generate_failures(8, 4, 1, rate_per_year=4000)
    failures.table().write_csv(folder / "failures.csv")
    made = "traces generate hosts hosts.parquet --hosts 4 --days 16 --period 5m --seed 1"
    jobs = "traces generate guests guests.csv --count 12 --days 2 --seed 1"
    for line in (made, jobs):
        words = [str(folder / word) if "." in word else word for word in line.split()]
        assert fs_main(words) == 0
    return folder


def fs_main(words: list[str]) -> int:
    from forestall.runs.commands.entry import main

    return main(words)


@pytest.fixture
def there(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(logs)
    return logs


def log_of(model: str) -> str:
    return "guests.csv" if model == "cycle" else "jobs.csv"


@pytest.mark.parametrize("model", CASES)
def test_swept_on_any_number_of_workers(model: str, there: Path, tmp_path: Path) -> None:
    kind, other, given = CASES[model]
    what = MODELS[model].decides
    for workers, own in ((1, kind()), (2, kind)):
        done = fs.sweep(
            log_of(model), **given, **{what: [other, own]}, seed=[1, 2],
            out=tmp_path / str(workers), workers=workers, report=False,
        )  # fmt: skip
        assert done.table[what].to_list() == [other, other, own_name(kind), own_name(kind)]
    for name in ("sweep.csv", "sweep.json"):
        one, two = (tmp_path / folder / name for folder in "12")
        assert one.read_bytes() == two.read_bytes()
    spelled = fs.sweep(
        log_of(model), **given, **{what: f"{other},{own_name(kind)}"}, seed="1:2",
        out=tmp_path / "spelled", workers=1, report=False,
    )  # fmt: skip
    assert spelled.table.equals(done.table)


def own_name(kind: type) -> str:
    return f"{HERE}:{kind.__name__}"


@pytest.mark.parametrize("model", CASES)
def test_on_the_command_line(
    model: str, there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, other, given = CASES[model]
    what = MODELS[model].decides
    options = [str(word) for name, v in given.items() for word in (option(name), v)]
    for name in (own_name(kind), other):
        run = tmp_path / name.rpartition(":")[2]
        words = [log_of(model), *options, option(what), name, "--log-events", "--out", run]
        assert call(capsys, "simulate", *words, "--quiet", "--no-report").code == 0
        assert certify(run).passed
    run = tmp_path / kind.__name__
    summary = json.loads((run / "summary.json").read_text())
    assert summary[what] == summary["parameters"][what] == own_name(kind)
    assert call(capsys, "replay", run, option(what), own_name(kind)).code == 0
    done = call(capsys, "replay", run)
    assert done.code == 2
    assert f"the {what} {own_name(kind)} in Python" in done.err
    beside = compare(run, tmp_path / other)
    assert beside.differing[what] == (own_name(kind), other)
    words = [log_of(model), *options, option(what), f"{other},{own_name(kind)}"]
    out = ["--out", tmp_path / "sweep", "--no-report", "--json", "--workers", 1]
    swept = json.loads(call(capsys, "sweep", *words, *out).out)
    assert [row[what] for row in swept] == [other, own_name(kind)]
    key = {"promise": "utilization", "virtual": "task_completion_rate", "cycle": "makespan"}[model]
    assert swept[1][key] == summary[key]


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def test_two_of_one_class_have_names_of_their_own(there: Path, tmp_path: Path) -> None:
    given = CASES["cycle"][2]
    own = [Shortest(), Shortest(0.2), Shortest(0.9)]
    plan = plan_of(Path("guests.csv"), {**given, "scheduler": own})
    names = [f"{HERE}:Shortest", "own_deciders:AtLeast20", "own_deciders:AtLeast90"]
    assert list(plan.axes["scheduler"]) == names
    again = plan_of(Path("guests.csv"), {**given, "scheduler": own})
    assert plan.fingerprint == again.fingerprint
    own[0].least = 0.1
    changed = plan_of(Path("guests.csv"), {**given, "scheduler": own})
    assert plan.fingerprint != changed.fingerprint
    own[1].name = own[0].name
    with pytest.raises(ParameterError, match="one of each name"):
        plan_of(Path("guests.csv"), {**given, "scheduler": own})


def test_each_run_gets_one_made_anew(there: Path) -> None:
    plan = plan_of(Path("guests.csv"), {**CASES["cycle"][2], "scheduler": Shortest()})
    first, second = (plan.own_of(plan.points[0]) for _ in range(2))
    assert first is not second
    assert first is not None
    assert first.name == f"{HERE}:Shortest"


@pytest.mark.parametrize("where", ["held", "local", "typed"])
def test_what_no_other_process_can_make_is_refused(where: str, there: Path, tmp_path: Path) -> None:
    class Local(fs.Policy):
        pass

    names: dict[str, Any] = {"fs": fs, "__name__": "__main__"}
    exec("class Typed(fs.Policy):\n    pass\n", names)
    model = "cycle" if where == "held" else "promise"
    own = {"held": Locked(), "local": Local(), "typed": names["Typed"]}[where]
    with pytest.raises(ParameterError, match="other processes can rebuild") as error:
        fs.sweep(
            log_of(model), **CASES[model][2], **{MODELS[model].decides: ["falcon", own]},
            out=tmp_path / "out",
        )  # fmt: skip
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_process_that_lacks_the_module_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = frozen("scheduler", Shortest())
    monkeypatch.setattr("runs.own_deciders.Shortest", None)
    with pytest.raises(ParameterError, match="other processes can rebuild"):
        thawed("scheduler", data.replace(b"Shortest", b"Longest_"))


def test_a_sweep_refuses_what_it_does_not_know(there: Path) -> None:
    with pytest.raises(ParameterError, match="an option: 'polcy' is not allowed"):
        fs.sweep("jobs.csv", polcy="easy")


def test_another_kind_is_no_policy(there: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"subclass of fs\.Policy"):
        own_of("policy", fs.Policy, f"{HERE}:Tightest")
    with pytest.raises(ParameterError, match="strategy"):
        fs.simulate_virtual(fs.Jobs.build([0], [1], [5]), strategy=Shortest)
    fs.simulate(fs.Jobs.build([0], [1], [5]), nodes=2, log_events=True).save(tmp_path)
    with pytest.raises(ParameterError, match="none, for a run of the model promise"):
        fs.replay(tmp_path, strategy=Tightest)
    with pytest.raises(ParameterError, match="spelled module:Class"):
        fs.replay(tmp_path, scheduler="falcon")
    with pytest.raises(TraceError, match="expected a run's folder"):
        fs.replay(tmp_path / "nowhere")
