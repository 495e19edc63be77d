"""Runs whose jobs have nodes near each other rather: what it changes, what of it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.core.model.nodes import NodeSet
from forestall.runs.certify import certify
from scheduling.simulation.cases import failures_of, jobs_of, random_case

WHERE = ("contiguous", "4", "a=0-2,7 b=3-5; c=0-5")
FAILURES = fs.Failures.build([50, 60], [0, 5], [120, 120], [0.2, 0.3])
ONE = fs.Jobs.build(submit=[0, 10], size=[3, 4], runtime=[600, 60])


def run(seed: int = 4, **more: Any) -> fs.Result:
    case = random_case(seed, jobs=60, horizon=3000, nodes=8)
    return fs.simulate(
        jobs_of(case.jobs), failures_of(case.failures), nodes=8, checkpoint_overhead=2,
        checkpoint_interval=60, **more,
    )  # fmt: skip


def counted(result: fs.Result, homes: list[int] | None) -> tuple[int, float, float]:
    """Return what `nearness` tells, by the nodes of `runs.csv` one by one."""
    places = []
    most = 8 if homes is None else max(homes.count(home) for home in homes)
    for text in result.runs["nodes"].to_list():
        nodes = list(NodeSet.parse(text))
        if 2 <= len(nodes) <= most:
            rows = len({node - k for k, node in enumerate(nodes)})
            places.append(rows if homes is None else len({homes[node] for node in nodes}))
    return len(places), places.count(1) / len(places), sum(places) / len(places)


@pytest.mark.parametrize("where", WHERE)
def test_runs_are_certified_replayed_and_counted(tmp_path: Path, where: str) -> None:
    result = run(topology=where, topology_slack=0.3, log_events=True)
    told = result.measures["topology"]
    homes = {"contiguous": None, "4": [0] * 4 + [1] * 4}.get(where, [0, 0, 0, 1, 1, 1, 2, 0])
    assert tuple(told.values()) == pytest.approx(counted(result, homes))
    assert told == result.nearness(where)
    result.save(tmp_path / "run", report=False)
    assert certify(tmp_path / "run").passed
    assert fs.replay(tmp_path / "run").same
    plain = run()
    assert told["near"] >= plain.nearness(where)["near"]
    assert "topology" not in plain.measures
    assert not {"topology", "topology_slack"} & set(plain.summary["parameters"])


def test_a_promise_gives_up_no_more_than_the_slack() -> None:
    def promises(**more: Any) -> list[float]:
        given = {"nodes": 8, "risk": 0.7, "accuracy": 1.0, **more}
        return fs.simulate(ONE, FAILURES, **given).jobs["promise"].to_list()

    assert promises() == promises(topology="4") == [1.0, 0.8]
    assert promises(topology="4", topology_slack=0.05) == [1.0, 0.8]
    assert promises(topology="4", topology_slack=0.1) == [1.0, 0.7]
    assert promises(topology="4", topology_slack=1.0, risk=0.8) == [1.0, 0.8], "users come first"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"topology": "4", "policy": "easy"}, "only with policy promise"),
        ({"topology_slack": 0.1}, "given with topology"),
        ({"topology": "a=0-9"}, "nodes from 0 to 7"),
        ({"topology": "4", "topology_slack": 2}, "topology_slack"),
        ({"topology": "4", "placement": lambda free, size, *_: free[:size]}, "of your own"),
    ],
)
def test_what_does_not_go_together(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        run(**more)


def test_least_needs_a_predictor_whose_sets_are_known() -> None:
    class Mine:
        def failure_probability(self, nodes: Any, start: int, end: int) -> Any:
            return [0.5] * len(nodes)

        def partition_failure_probability(self, nodes: Any, start: int, end: int) -> float:
            return 0.5

        def update(self, time: int, node: int) -> None:
            pass

    with pytest.raises(ParameterError, match="with your own predictor"):
        run(predictor=Mine(), placement="least")
