"""What is told to take so much memory takes about that: measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forestall.core.files import budget
from forestall.core.model.errors import MemoryLimitError
from forestall.runs import sweep_run
from forestall.runs.sweep import plan_of

SCRIPT = Path(__file__).parent / "measure_memory.py"


def test_estimates_are_right_within_a_factor_of_two(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    wrong = {name: both for name, both in found.items() if not 0.5 < both[0] / both[1] < 2}
    assert len(found) == 7
    assert not wrong, f"bytes told and taken: {wrong}"


def test_no_more_workers_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "jobs.csv"
    log.write_text("job,submit,size,runtime\n1,0,2,100\n2,5,1,100\n")
    plan = plan_of(log, {"nodes": "4:13:1", "policy": "fcfs"})
    logs = (plan.inputs.read_jobs(), plan.model.world(plan.inputs), None, {})
    each = sweep_run.PROCESS + plan.model.needed(*logs[:2], plan.points[-1])
    monkeypatch.setattr(budget, "left", lambda: int(3.5 * each))
    assert sweep_run._fitting(plan, logs, 8, given=False) == 3
    assert sweep_run._fitting(plan, logs, 3, given=True) == 3
    with pytest.raises(MemoryLimitError, match=r"^8 worker processes \(workers\) .* at most 3 of"):
        sweep_run._fitting(plan, logs, 8, given=True)
    monkeypatch.setattr(budget, "left", lambda: 1)
    assert sweep_run._fitting(plan, logs, 8, given=False) == 1
