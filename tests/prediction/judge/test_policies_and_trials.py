"""Policies beside static counting; trials planned, run on a generated machine, and judged."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.generate.memory import generate_memory, memory_machine
from forestall.logs.generate.memory_world import MemoryPolicy
from forestall.logs.jobs.job_records import write_job_records
from forestall.prediction.judge.policies import report as policy_report
from forestall.prediction.judge.policies.judge import account, play_policies, policies_of
from forestall.prediction.judge.questions import PolicySettings, TrialPlanSettings, TrialSettings
from forestall.prediction.judge.trials import judge as trials

SMALL = PolicySettings(nodes=60, days=8, machines=3, relation=4.0, thresholds=(0.05, 0.2))


def test_static_counting_told_plainly() -> None:
    one = memory_machine(4, nodes=60, days=8, relation=4.0)
    alone, plan = one.lived(), one.plan
    for policy in policies_of(SMALL):
        found = account(one, policy, alone)
        if policy.threshold == math.inf:
            assert math.isnan(found.static_actions)
            continue
        beyond = [look for look in alone.looks if look[2] >= policy.threshold]
        saved = 0.0
        for k in np.flatnonzero(alone.killed).tolist():
            begun = alone.begun[plan.campaign[k]]
            before = [v for t, n, v, _ in alone.looks if n == alone.worst[k] and t < begun]
            if before and before[-1] >= policy.threshold:
                size = len(plan.nodes_of[plan.campaign[k]])
                saved += size * (plan.end[k] - plan.start[k]) / 3600
        assert found.static_actions == pytest.approx(policy.share * len(beyond))
        assert found.static_saved == pytest.approx(policy.share * saved)


def test_policies_played(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = play_policies(SMALL)
    rows = {one["policy"]: one for one in found.summary["policies"]}
    assert list(rows) == [
        "nothing", "routine", "random 20 %", "reboot from 0.05", "reboot from 0.2",
        "clear from 0.05", "clear from 0.2", "drain from 0.05", "drain from 0.2", "steer",
    ]  # fmt: skip
    nothing = rows["nothing"]
    assert nothing["saved_share"] == nothing["actions"] == nothing["net_per_month_node_hours"] == 0
    assert rows["reboot from 0.05"]["saved_share"] > rows["reboot from 0.2"]["saved_share"] > 0
    for name in ("reboot from 0.05", "clear from 0.05"):
        assert rows[name]["actions"] < rows[name]["static_actions"]
        assert rows[name]["saved_share"] < rows[name]["static_saved_share"]
    assert rows["steer"]["static_actions"] is None
    text = policy_report.FOLDER.write(found, tmp_path / "out")
    assert "report.html" in text
    table = pl.read_csv(tmp_path / "out" / "runs.csv")
    assert len(table) == 3 * len(rows)
    mean = table.filter(policy="routine")["killed"].mean()
    assert mean == pytest.approx(rows["routine"]["killed"])
    assert (tmp_path / "out" / "actions.png").exists()
    dear = play_policies(PolicySettings(nodes=60, days=8, machines=2, action_cost=1000.0))
    assert "No policy" not in dear.summary["verdict"] or "saves more" in dear.summary["verdict"]
    none = play_policies(PolicySettings(nodes=60, days=4, machines=1, relation=0.0))
    assert "No policy here saves more than it costs" in none.summary["verdict"]
    assert none.summary["policies"][1]["saved_share"] is None


def test_a_trial_from_the_plan_to_the_verdict(tmp_path: Path) -> None:
    machine = {"nodes": 80, "days": 60, "relation": 60.0, "period": 3600}
    write_job_records(generate_memory(1, **machine)[0], tmp_path / "before.csv")  # type: ignore[arg-type]
    made = trials.plan(tmp_path / "before.csv", {}, TrialPlanSettings(effect=0.3))
    assert made.summary["days_needed"] < 60
    pl.DataFrame(made.arms_table(), strict=False).write_csv(tmp_path / "arms.csv")
    only = frozenset(np.flatnonzero(made.arm == 1).tolist())
    acting = MemoryPolicy("trial", -math.inf, only=only)
    after = generate_memory(2, policy=acting, **machine)[0]  # type: ignore[arg-type]
    write_job_records(after, tmp_path / "after.csv")
    found = trials.judge(tmp_path / "arms.csv", tmp_path / "after.csv", {}, TrialSettings())
    assert found.summary["verdict"].startswith("Acting helps: ")
    write_job_records(generate_memory(3, **machine)[0], tmp_path / "none.csv")  # type: ignore[arg-type]
    found = trials.judge(tmp_path / "arms.csv", tmp_path / "none.csv", {}, TrialSettings())
    assert found.summary["verdict"].startswith("Not shown that acting helps: ")


def test_what_is_measured_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "job,start,end,state,nodes\n1,0,3600,FAILED,0 1\n2,0,7200,COMPLETED,2\n"
        "3,90000,93600,NODE_FAIL,2\n4,172000,180000,FAILED,2\n"
    )
    records = trials._read(tmp_path / "jobs.csv", {})
    found = trials.measured(records, None, (), 2)
    assert found.failures.tolist() == [[0.5, 0], [0.5, 0], [0, 1]]
    assert found.lost.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert (found.failed, found.counted) == (2, 3)
    assert trials.measured(records, ("NODE_FAIL",), (), 2).failures.sum() == 1
    with pytest.raises(TraceError, match="shorter than a day"):
        trials.measured(trials._read(tmp_path / "jobs.csv", {}), None, (), 0.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("node,arm\n0,act\n0,control\n", "each node once"),
        ("node,arm\n0,treat\n", "act, control or out"),
        ("node,side\n0,act\n", "arm"),
        ("node,arm,pair\n0,act,-3\n", "whole number"),
        ("node,arm\nx,act\ny,control\n", "names no node"),
    ],
)
def test_arms_that_cannot_be_read(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text(text)
    (tmp_path / "jobs.csv").write_text("job,start,end,state,nodes\n1,0,90000,FAILED,0\n")
    with pytest.raises((TraceError, ParameterError), match=told):
        trials.judge(tmp_path / "arms.csv", tmp_path / "jobs.csv", {}, TrialSettings())
