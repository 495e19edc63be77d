"""What acting is worth as users ask for it: costs of alarms and scores, policies, trials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "failures.csv").write_text("time,node\n36000,0\n100000,3\n")
    (tmp_path / "alarms.csv").write_text("time,node,score\n32400,1,0.9\n50000,2,0.2\n99999,3,0.5\n")
    (tmp_path / "jobs.csv").write_text(
        "job,start,end,state,nodes\n1,0,36000,NODE_FAIL,0-1\n2,43200,57600,COMPLETED,2\n"
        "3,90000,100000,NODE_FAIL,3\n4,100100,400000,COMPLETED,0\n"
    )
    (tmp_path / "scores.csv").write_text("score,failed\n0.9,1\n0.8,0\n0.3,1\n0.1,0\n0.05,0\n")
    return tmp_path


def test_alarms_cost_as_wide_as_jobs_are(logs: Path, capsys: Capsys) -> None:
    asked = ("assess", "alarms", logs / "alarms.csv", "--failures", logs / "failures.csv",
             "--records", logs / "jobs.csv", "--action-time", "36s", "--horizons", "1h,6h,24h",
             "--json")  # fmt: skip
    told = json.loads(call(capsys, *asked).out)
    saved, moved = told["costs"]
    assert saved["lost_node_hours"] == pytest.approx(20 + 10000 / 3600)
    assert saved["saved_node_hours"] == pytest.approx(2 * 9 + 9999 / 3600)  # an alarm of its node 1
    assert (saved["actions"], saved["nodes_per_action"]) == (3, pytest.approx(4 / 3))
    assert saved["spent_node_hours"] == pytest.approx(4 * 0.01)
    assert saved["net_node_hours"] == pytest.approx(18 + 9999 / 3600 - 0.04)
    assert moved["jobs_helped"] == 1
    assert [one["checkpoint_net_node_hours"] for one in told["by_score"]]
    text = call(capsys, *asked[:-1]).out
    assert "Does answering them pay?" in text
    assert "Saving a checkpoint at each saves" in text
    dear = call(capsys, *asked[:-1], "--action-cost", 100).out
    assert "does not pay" in dear
    plain = json.loads(call(capsys, *asked[:5], "--json").out)
    assert "costs" not in plain


def test_scores_take_costs(logs: Path, capsys: Capsys) -> None:
    asked = ("assess", "scores", logs / "scores.csv", "--loss", 10, "--action-cost", 1, "--draws",
             50, "--json")  # fmt: skip
    told = json.loads(call(capsys, *asked).out)
    by = {one["chosen_for"]: one for one in told["costs"]}
    assert by["always"]["net_node_hours"] == 2 * 10 - 5
    assert (by["best"]["threshold"], by["best"]["net_node_hours"]) == (0.3, 17)
    assert by["right probabilities"]["threshold"] == pytest.approx(0.1)
    assert told["costs_perfect_node_hours"] == 18
    half = json.loads(call(capsys, *asked[:-1], "--effect", 0.5, "--json").out)
    assert half["costs_perfect_node_hours"] == 8
    assert "Does acting on them pay?" in call(capsys, *asked[:-1]).out
    assert "costs" not in json.loads(call(capsys, *asked[:3], "--json").out)


def test_policies_and_trials(tmp_path: Path, capsys: Capsys) -> None:
    small = ("--nodes", 40, "--days", 6, "--machines", 2, "--relation", 8)
    done = call(capsys, "assess", "policies", "--policies", "nothing,reboot", *small, "--json")
    told = json.loads(done.out)
    assert [one["policy"] for one in told["policies"]] == [
        "nothing", "reboot from 0.05", "reboot from 0.09", "reboot from 0.2",
    ]  # fmt: skip
    call(capsys, "traces", "generate", "memory", tmp_path / "leaks", "--nodes", 40, "--days", 20,
         "--period", "1h")  # fmt: skip
    jobs = tmp_path / "leaks" / "jobs.csv"
    out = tmp_path / "plan"
    done = call(capsys, "assess", "plan-trial", jobs, "--effect", 0.5, "--out", out)
    assert done.code == 0, done.err
    assert "Act on 20 nodes and leave as many alone for" in done.out
    found = call(capsys, "assess", "trial", out / "arms.csv", jobs)
    assert found.code == 0, found.err
    assert "Not shown that acting helps" in found.out


@pytest.mark.parametrize(
    "asked",
    [
        ("policies", "--policies", "pray"),
        ("policies", "--thresholds", "high"),
        ("policies", "--share", "2"),
        ("policies", "--load", "0"),
        ("plan-trial", "JOBS"),
        ("plan-trial", "JOBS", "--effect", "1"),
        ("plan-trial", "JOBS", "--effect", "0.5", "--pairs", "99"),
        ("plan-trial", "nowhere.csv", "--effect", "0.5"),
        ("trial", "nowhere.csv", "JOBS"),
        ("trial", "JOBS", "JOBS"),
        ("scores", "SCORES", "--loss", "-1"),
        ("scores", "SCORES", "--effect", "1.5", "--loss", "3"),
        ("alarms", "ALARMS", "--failures", "FAILURES", "--records", "nowhere.csv"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_one_line(asked: tuple[str, ...], logs: Path, capsys: Capsys) -> None:
    files = {name.upper(): str(logs / f"{name}.csv")
             for name in ("jobs", "alarms", "failures", "scores")}  # fmt: skip
    done = call(capsys, "assess", *(files.get(word, word) for word in asked))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
