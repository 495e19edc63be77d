"""What every policy has to keep to, those in Python too, and what the table of them must tell."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import forestall as fs
from docs.test_docs import ROOT, call, sections, slug
from forestall.core.figures.sweep_lines import line_colours
from forestall.core.kit.own import own_of
from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.own import is_own
from forestall.runs.certify import certify
from forestall.runs.models import MODELS
from forestall.runs.sweep import plan_of
from forestall.runs.sweep_figures import colours_of
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.own import MachineView, Waiting
from forestall.scheduling.engine.policies import OWN, POLICIES
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, rules_of
from scheduling.engine.own_policies import Easy, FirstCome, Nobody, ShortestJobFirst
from scheduling.simulation.cases import (
    Case,
    failures_of,
    jobs_of,
    loaded_case,
    nodes_of,
    random_case,
)


def called(policy: Any) -> str:
    return policy if isinstance(policy, str) else type(policy).__name__


EVERY = (*POLICIES, ShortestJobFirst(), Easy())
FILES = ("jobs.csv", "runs.csv", "failures.csv", "events.csv", "decisions.csv", "foreseen.csv")


def played(case: Case, policy: str | fs.Policy, **chosen: Any) -> Result:
    settings = {
        "nodes": case.nodes, "checkpoint_overhead": case.overhead,
        "checkpoint_interval": case.interval, "estimates": "requested", "log_events": True,
    }  # fmt: skip
    jobs, failures = jobs_of(case.jobs), failures_of(case.failures)
    return fs.simulate(jobs, failures, policy=policy, **{**settings, **chosen})


def some_cases() -> list[Case]:
    return [*(random_case(seed, 40, 300) for seed in range(8)), loaded_case(1, jobs=150)]


# --------------------------------------------------------------------- what every policy keeps to


@pytest.mark.parametrize("policy", EVERY, ids=called)
@pytest.mark.parametrize("checkpoint", ["none", "periodic", "risk"])
def test_work_is_conserved_and_no_node_has_two_jobs(
    policy: str | fs.Policy, checkpoint: str
) -> None:
    for case in some_cases():
        result = played(case, policy, checkpoint=checkpoint)
        outcome = result.outcome
        size, runs = outcome.workload.jobs.size, outcome.runs
        spans: dict[int, list[tuple[int, int]]] = {}
        for run in runs:
            mine = nodes_of(outcome, int(run["first_range"]), int(run["ranges"]))
            assert len(mine) == size[run["job"]]
            for node in mine:
                spans.setdefault(node, []).append((int(run["start"]), int(run["end"])))
        for held in spans.values():
            held.sort()
            assert all(one[1] <= other[0] for one, other in pairwise(held)), case.seed
        assert bool((outcome.jobs["finish"] >= outcome.workload.jobs.submit).all())
        account = result.measures["node_seconds"]
        parts = sum(value for name, value in account.items() if name != "total")
        assert parts == account["total"]
        assert account["useful"] == int((outcome.workload.jobs.runtime * size).sum())


@pytest.mark.parametrize("policy", EVERY, ids=called)
def test_runs_are_certified_and_replayed_to_the_byte(
    policy: str | fs.Policy, tmp_path: Path
) -> None:
    for number, case in enumerate(some_cases()):
        checkpoint = ("none", "risk", "periodic", "daly")[number % 4]
        placement = ("first", "fault-aware")[number % 2]
        folder = tmp_path / str(number)
        run = played(case, policy, checkpoint=checkpoint, placement=placement, accuracy=0.5)
        run.save(folder, report=False)
        failed = [one for one in certify(folder).checks if not one.passed]
        assert not failed, (case.seed, failed)
        found = fs.replay(folder, policy=None if isinstance(policy, str) else policy)
        assert found.same, (case.seed, found)
        assert found.decisions > 0


@pytest.mark.parametrize("policy", EVERY, ids=called)
def test_the_same_run_again_is_the_same(policy: str | fs.Policy) -> None:
    case = random_case(3, 40, 300)
    one, other = played(case, policy), played(case, policy)
    assert one.jobs.equals(other.jobs)
    assert one.runs.equals(other.runs)


# ----------------------------------------------------------------------------- what the table tells


def test_entries_are_documented() -> None:
    for entry in (*POLICIES.values(), OWN):
        page, _, anchor = entry.docs.partition("#")
        headings = sections(ROOT / "docs" / page)
        assert not anchor or anchor in {slug(one) for one in headings}, entry.docs
        assert entry.about, entry.name
        assert not entry.about.endswith("."), entry.name


def test_each_policy_is_a_row_of_the_documented_table() -> None:
    text = (ROOT / "docs" / "models" / "classic.md").read_text(encoding="utf-8")
    for entry in POLICIES.values():
        place = Path(entry.docs.removeprefix("models/"))
        assert f"| [`{entry.name}`]({place}) | {entry.label} | {entry.about} |" in text


def test_names_codes_and_colours_are_their_own() -> None:
    entries = (*POLICIES.values(), OWN)
    assert len({one.code for one in entries}) == len(entries)
    assert len({one.colour for one in POLICIES.values()}) == len(POLICIES)
    assert all(POLICIES.coded(one.code) is one for one in entries)
    assert POLICIES.coded(99) is None


def test_the_command_line_offers_every_policy() -> None:
    assert MODELS["promise"].declared["policy"].choices == tuple(POLICIES)


@pytest.mark.parametrize(
    "name", ["best", "", "Easy", "easy ", ":Easy", "a b:Easy", "0:1:0.1", "a:"]
)
def test_an_unknown_policy_is_refused_everywhere(name: str) -> None:
    assert not is_own(name)
    with pytest.raises(ParameterError, match="policy"):
        fs.simulate(fs.Jobs.build([0], [1], [5]), nodes=2, policy=name)
    with pytest.raises(ParameterError, match="one of promise, fcfs, easy, conservative"):
        POLICIES.chosen(name)
    rules = rules_of(Parameters(nodes=2))._replace(policy=99)
    with pytest.raises(ParameterError, match="99"):
        Engine(2, rules, foreseen_by(None, fs.Failures.none(), 0))


# ---------------------------------------------------------------------------- policies in Python


@pytest.mark.parametrize(("own", "compiled"), [(FirstCome(), "fcfs"), (Easy(), "easy")], ids=called)
def test_a_policy_in_python_gives_the_files_of_the_compiled_one(
    own: fs.Policy, compiled: str, tmp_path: Path
) -> None:
    for number, case in enumerate([*some_cases(), *(random_case(50 + k) for k in range(8))]):
        chosen = {
            "checkpoint": ("none", "risk", "periodic", "daly")[number % 4],
            "placement": ("first", "fault-aware")[number // 2 % 2],
            "requeue": ("now", "original")[number // 3 % 2],
            "accuracy": 0.6,
        }
        told = []
        for name, policy in (("own", own), ("compiled", compiled)):
            folder = tmp_path / f"{name}-{number}"
            played(case, policy, **chosen).save(folder, report=False)
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            assert summary.pop("policy") == summary["parameters"].pop("policy")
            told.append([summary, *((folder / file).read_bytes() for file in FILES)])
        assert told[0] == told[1], (case.seed, chosen)


def test_the_shortest_job_starts_first() -> None:
    jobs = fs.Jobs.build(submit=[0, 1, 2, 3], size=[2, 2, 1, 2], runtime=[10, 30, 5, 20])
    result = fs.simulate(jobs, nodes=2, policy=ShortestJobFirst())
    assert result.jobs["start"].to_list() == [0, 35, 10, 15]
    assert result.summary["policy"] == "scheduling.engine.own_policies:ShortestJobFirst"
    assert result.qos is None


def test_what_a_policy_is_shown() -> None:
    seen: list[tuple[Any, ...]] = []

    class Curious(fs.Policy):
        def select(self, queue: Any, machine: MachineView) -> Any:
            down, running = machine.down, machine.running
            seen.append((machine.now, machine.nodes, machine.free, down, running, tuple(queue)))
            yield from super().select(queue, machine)
            seen.append((machine.free,))

    jobs = replace(fs.Jobs.build([0, 4], [1, 2], [10, 10], [20, 30]), user=("ann", "bob"))
    failures = fs.Failures.build([2], [3], [100])
    fs.simulate(jobs, failures, nodes=4, policy=Curious(), estimates="requested")
    assert seen[0] == (0, 4, 4, [], [], (Waiting(0, 0, 0, 1, 20, 20, "ann"),))
    assert seen[1] == (3,)
    now, nodes, free, down, running, queue = seen[2]
    assert (now, nodes, free, down) == (4, 4, 2, [(3, 102)])
    assert [(one.number, one.size, one.start, one.end) for one in running] == [(0, 1, 0, 20)]
    assert queue == (Waiting(1, 4, 4, 2, 30, 30, "bob"),)
    assert seen[3] == (0,)


def test_a_policy_by_users_is_replayed_with_them(tmp_path: Path) -> None:
    class AnnFirst(fs.Policy):
        def order(self, job: Waiting) -> bool:
            return job.user != "ann"

    jobs = replace(fs.Jobs.build([0, 1, 2], [2, 2, 2], [10, 10, 10]), user=("bob", "bob", "ann"))
    result = fs.simulate(jobs, nodes=2, policy=AnnFirst(), log_events=True)
    assert result.jobs["start"].to_list() == [0, 20, 10]
    result.save(tmp_path, report=False)
    assert fs.replay(tmp_path, policy=AnnFirst()).same


class Wrong(fs.Policy):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select(self, queue: Any, machine: MachineView) -> Any:
        return self.answer(queue)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda queue: ["job 1"], "jobs of its queue"),
        (lambda queue: [queue[0], queue[0]], "each once"),
        (lambda queue: queue, "job 1 of 2 nodes.*at most 1"),
    ],
)
def test_what_cannot_start_is_an_error(answer: Any, said: str) -> None:
    jobs = fs.Jobs.build([0, 0], [1, 2], [10, 10])
    with pytest.raises(ParameterError, match=said):
        fs.simulate(jobs, nodes=2, policy=Wrong(answer))


def test_a_policy_that_starts_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="own_policies:Nobody starts nothing more; jobs left: 2"):
        fs.simulate(fs.Jobs.build([0, 1], [1, 1], [5, 5]), nodes=2, policy=Nobody())


def test_a_policy_by_the_spelling_of_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mysite_policies.py").write_text(
        "import forestall as fs\n\n\nclass Sjf(fs.Policy):\n"
        "    def order(self, job):\n        return job.estimate\n"
        "\n\nclass Needs(Sjf):\n    def __init__(self, what):\n        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    assert own_of("policy", fs.Policy, "easy") is None
    assert own_of("policy", fs.Policy, ShortestJobFirst).__class__ is ShortestJobFirst
    jobs = fs.Jobs.build([0, 0, 0], [1, 1, 1], [9, 3, 5])
    result = fs.simulate(jobs, nodes=1, policy="mysite_policies:Sjf")
    assert result.jobs["start"].to_list() == [8, 0, 3]
    for name, said in (
        ("mysite_policies:Nix", "has no 'Nix'"),
        ("mysite_nothing:Sjf", "no module 'mysite_nothing'"),
        ("mysite_policies:Needs", "without arguments"),
        ("mysite_policies:fs", "subclass of fs.Policy"),
    ):
        with pytest.raises(ParameterError, match=said):
            fs.simulate(jobs, nodes=1, policy=name)


def test_a_replay_wants_the_policy_of_the_run(tmp_path: Path) -> None:
    case = random_case(1, 20, 100)
    played(case, ShortestJobFirst()).save(tmp_path, report=False)
    with pytest.raises(TraceError, match="own_policies:ShortestJobFirst in Python"):
        fs.replay(tmp_path)
    with pytest.raises(ParameterError, match="own_policies:ShortestJobFirst"):
        fs.replay(tmp_path, policy=Easy())
    with pytest.raises(ParameterError, match="module:Class"):
        fs.replay(tmp_path, policy="easy")
    assert fs.replay(tmp_path, policy=ShortestJobFirst).same
    played(case, "easy").save(tmp_path / "easy", report=False)
    with pytest.raises(ParameterError, match="none, for a run with the policy easy"):
        fs.replay(tmp_path / "easy", policy=Easy())


def test_predictors_of_the_promise_policy_are_none_of_it() -> None:
    jobs = fs.Jobs.build([0], [1], [5])
    with pytest.raises(ParameterError, match="promise"):
        fs.simulate(jobs, nodes=2, policy=Easy(), placement=lambda free, size, *rest: free[:size])


def test_a_sweep_begins_anew_where_a_policy_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import forestall as fs\n\n\nclass Mine(fs.Policy):\n    pass\n"
    Path("mysite_swept.py").write_text(text)
    Path("jobs.csv").write_text("submit,size,runtime\n0,1,5\n1,2,5\n")
    asked = {"policy": "fcfs,mysite_swept:Mine", "nodes": "2"}
    first = plan_of(Path("jobs.csv"), asked)
    assert first.axes["policy"] == ("fcfs", "mysite_swept:Mine")
    assert plan_of(Path("jobs.csv"), asked).fingerprint == first.fingerprint
    Path("mysite_swept.py").write_text(text + "    # other\n")
    assert plan_of(Path("jobs.csv"), asked).fingerprint != first.fingerprint


def test_the_command_line_says_that_it_needs_the_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played(random_case(2, 20, 100), ShortestJobFirst()).save(tmp_path, report=False)
    done = call(capsys, "replay", tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "ShortestJobFirst in Python" in done.err
    named = "scheduling.engine.own_policies:ShortestJobFirst"
    assert call(capsys, "replay", tmp_path, "--policy", named).code == 0


def test_a_policy_has_the_same_colour_in_every_figure() -> None:
    own = "mysite.policies:Sjf"
    for groups in (["easy"], ["promise", "easy"], ["fcfs", "easy", own], [own, "conservative"]):
        drawn = dict(zip(groups, colours_of("policy", groups), strict=True))
        assert len(set(drawn.values())) == len(groups)
        assert all(drawn[name] == POLICIES[name].colour for name in groups if name != own)
    assert colours_of("nodes", [1, 2]) == line_colours(2)
