"""Who runs on a node, looked up among the running jobs, against a list of every node."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.plugin import members
from forestall.scheduling.engine.state import RUNNING
from scheduling.engine.driving import drive, engine_for
from scheduling.simulation.cases import CLASSIC, random_case, run

POLICIES = ("promise", *CLASSIC)


@pytest.mark.parametrize("seed", range(12))
def test_the_job_on_a_node_is_found(seed: int) -> None:
    case, policy = random_case(seed, jobs=15, nodes=(5, 65, 130)[seed % 3]), POLICIES[seed % 4]
    settings = {"policy": policy, "accuracy": 0.5}
    engine, busy = engine_for(case, **settings), 0
    for mine, answers in drive(engine, run(case, log_events=True, **settings)):
        assert mine == answers
        table = engine.state.jobs
        expected = np.full(case.nodes, -1)
        for j in np.flatnonzero(table["status"][: engine.jobs] == RUNNING):
            expected[members(engine.state.timeline.rows[table["row"][j]])] = j
        found = [int(runs.job_on(engine.state, node)) for node in range(case.nodes)]
        assert found == expected.tolist(), (seed, policy)
        busy += int((expected >= 0).sum())
    assert busy > 0
