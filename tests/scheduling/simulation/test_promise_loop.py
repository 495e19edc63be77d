"""The compiled promise scheduler against its plain reference: to the second and to the node."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.topology import CONTIGUOUS, Topology
from forestall.logs import read_failures, read_jobs
from forestall.runs.certify import certify
from reference.classic_reference import conservative_with_nodes
from scheduling.simulation.cases import (
    SHARES,
    Case,
    assert_equal_outcomes,
    assert_same,
    at_the_same_seconds,
    cases,
    loaded_case,
    promise_reference,
    random_case,
    result,
    run,
    schedule,
)

CHECKPOINTS = ("risk", "none", "periodic")
PLACEMENTS = ("fault-aware", "least", "first")


def settings_of(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    return {
        "accuracy": rng.choice([0, 1, 0.7, rng.random()]),
        "risk": rng.choice([0, 1, 0.9, rng.random()]),
        "checkpoint": rng.choice(["risk", *CHECKPOINTS]),
        "placement": rng.choice(["fault-aware", *PLACEMENTS]),
    }


def compare(case: Case, **chosen: Any) -> None:
    assert_same(run(case, **chosen), promise_reference(case, **chosen), case.seed, chosen)


WHERE: dict[int, str] = {1: "1", 2: "a=0 b=1", 3: "a=0,2 b=1", 4: "a=0,3 b=1 c=2; d=0-2", 65: "9"}
"""By the nodes of a machine: which of them are near each other."""


@settings(max_examples=150)
@given(
    cases(), SHARES, SHARES, st.sampled_from(PLACEMENTS), st.sampled_from([0.0, 0.2, 1.0]),
    st.booleans(),
)  # fmt: skip
def test_small_cases_near_each_other(
    case: Case, accuracy: float, risk: float, placement: str, slack: float, row: bool
) -> None:
    text = CONTIGUOUS if row else WHERE[case.nodes]
    units = [(level, set(unit)) for level, unit in Topology.of(text).units(case.nodes)]
    chosen = {"accuracy": accuracy, "risk": risk, "checkpoint": "risk", "placement": placement}
    reference = promise_reference(
        case, topology=CONTIGUOUS if row else units, slack=slack, **chosen
    )
    chosen |= {"topology": text, "topology_slack": slack}
    assert_same(run(case, **chosen), reference, chosen)


@pytest.mark.parametrize("first", [0, 60])
def test_random_cases_near_each_other(first: int) -> None:
    for seed in range(first, first + 60):
        case, rng = random_case(seed), random.Random(seed)
        chosen, slack = settings_of(seed), rng.choice([0.0, 0.1, 1.0])
        text = rng.choice([CONTIGUOUS, "7", "1"])
        units = [(level, set(unit)) for level, unit in Topology.of(text).units(case.nodes)]
        where = CONTIGUOUS if text == CONTIGUOUS else units
        reference = promise_reference(case, topology=where, slack=slack, **chosen)
        chosen |= {"topology": text, "topology_slack": slack}
        assert_same(run(case, **chosen), reference, seed, chosen)


@settings(max_examples=250)
@given(cases(), SHARES, SHARES, st.sampled_from(CHECKPOINTS), st.sampled_from(PLACEMENTS))
def test_small_cases(
    case: Case, accuracy: float, risk: float, checkpoint: str, placement: str
) -> None:
    compare(case, accuracy=accuracy, risk=risk, checkpoint=checkpoint, placement=placement)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_cases(first: int) -> None:
    for seed in range(first, first + 50):
        compare(random_case(seed), **settings_of(seed))


@pytest.mark.parametrize("first", range(0, 600, 200))
def test_failures_at_the_seconds_of_other_events(first: int) -> None:
    for seed in range(first, first + 200):
        compare(at_the_same_seconds(seed), **settings_of(seed))


@pytest.mark.parametrize("seed", range(3))
def test_loaded_cases(seed: int) -> None:
    compare(loaded_case(seed, jobs=250), **settings_of(seed + 1))


def test_all_nodes_fail_at_once_again_and_again() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        nodes = rng.choice([2, 9, 70])
        times = sorted(rng.sample(range(100), 4))
        hits = [(t, node, rng.randint(1, 30), rng.random()) for t in times for node in range(nodes)]
        jobs = sorted(
            (rng.randrange(90), rng.randint(1, nodes), k := rng.randint(1, 25), k)
            for _ in range(12)
        )
        compare(Case(jobs, hits, nodes, 2, 6, seed), **settings_of(seed))


# ------------------------------------------------------------------------------- real logs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "jobs"),
    [
        ("nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz", "1:2000"),
        ("sdsc-sp2-1998/SDSC-SP2-1998-4-cln.jobs-from-predictsim.swf.gz", "1:700"),
    ],
)
def test_real_jobs_under_real_failures(data: Path, log: str, jobs: str) -> None:
    case = real_case(data, log, jobs)
    assert sum(restarts > 0 for restarts in compared(case, accuracy=0.7, risk=0.9)) > 0
    compared(case, accuracy=0.0, risk=0.0, checkpoint="periodic")


def compared(case: Case, **chosen: Any) -> list[int]:
    chosen = {"checkpoint": "risk", "placement": "fault-aware", **chosen}
    compare(case, **chosen)
    restarts: list[int] = schedule(run(case, **chosen))["restarts"]
    return restarts


def real_case(data: Path, log: str, jobs: str, nodes: int = 128) -> Case:
    """Return a slice of a real log with the failures of LANL's system 19 from its beginning on."""
    table = read_jobs(data / log, jobs=jobs)
    lanl = read_failures(
        data / "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz",
        system=19, start="2003-07-18T16:00", days=365, fold_nodes=8,
    )  # fmt: skip
    rng = np.random.default_rng(7)
    origin = int(table.submit[0])
    usable = (table.runtime > 0) & (table.size > 0) & (table.size <= nodes)
    rows = [
        (v - origin, n, e, e)
        for v, n, e, fine in zip(
            table.submit.tolist(), table.size.tolist(), table.runtime.tolist(), usable, strict=True
        )
        if fine
    ]
    places = zip(lanl.time.tolist(), lanl.node.tolist(), strict=True)
    hits = [
        (t - lanl.time[0].item(), node, 120, rng.random()) for t, node in places if node < nodes
    ]
    return Case(rows, hits, nodes, 720, 3600)


# ------------------------------------------------------------------------------- what must come out


@settings(max_examples=150)
@given(cases(constant_downtime=True), st.sampled_from(["risk", "periodic"]))
def test_perfect_prediction_and_full_caution_keep_every_promise(
    case: Case, checkpoint: str
) -> None:
    found = result(case, accuracy=1.0, risk=1.0, checkpoint=checkpoint)
    assert found.qos == 1.0
    assert found.lost_work == 0
    assert found.jobs["restarts"].sum() == 0
    assert found.jobs["promise"].unique().to_list() == [1.0]


def test_perfect_prediction_on_large_cases() -> None:
    for seed in range(60):
        case = random_case(seed)
        down = [(t, node, 20, d) for t, node, _, d in case.failures]
        for checkpoint in ("risk", "periodic"):
            found = result(
                Case(case.jobs, down, case.nodes, case.overhead, case.interval, seed),
                accuracy=1.0, risk=1.0, checkpoint=checkpoint,
            )  # fmt: skip
            assert (found.qos, found.lost_work) == (1.0, 0), seed


@settings(max_examples=100)
@given(cases(), SHARES, st.lists(SHARES, min_size=1, max_size=4))
def test_nothing_depends_on_caution_below_what_is_predicted(
    case: Case, accuracy: float, risks: list[float]
) -> None:
    # The region in which every first offer is good enough: no answer exceeds a, so p >= 1 - a.
    careless = run(case, accuracy=accuracy, risk=0.0)
    for risk in (*risks, 1.0 - accuracy):
        if 1.0 - accuracy >= risk:
            assert_equal_outcomes(careless, run(case, accuracy=accuracy, risk=risk), risk)


def test_caution_matters_above() -> None:
    # The same with U above 1 - a: the job waits for the recovery at 8.
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 1)
    assert schedule(run(case, accuracy=0.5, risk=0.5))["start"] == [0]
    assert schedule(run(case, accuracy=0.5, risk=0.7))["start"] == [8]


@settings(max_examples=150)
@given(cases(fails=False), SHARES)
def test_without_failures_it_is_conservative_backfilling(case: Case, accuracy: float) -> None:
    ours = run(case, accuracy=accuracy, risk=0.0, checkpoint="none")
    told = ("deadline", "promise")
    assert_same(ours, conservative_with_nodes(case.jobs, nodes=case.nodes), leave_out=told)
    ends = [r.start + row[3] for r, row in zip(schedule(ours)["runs"], case.jobs, strict=True)]
    assert schedule(ours)["deadline"] == ends
    assert set(schedule(ours)["promise"]) == {1.0}


@pytest.mark.parametrize("seed", range(4))
def test_without_failures_it_is_conservative_backfilling_under_load(seed: int) -> None:
    case = loaded_case(seed, jobs=300).without_failures()
    ours = run(case, risk=0.0, checkpoint="none")
    other = conservative_with_nodes(case.jobs, nodes=case.nodes)
    assert_same(ours, other, seed, leave_out=("deadline", "promise"))


# ------------------------------------------------------------------------------- invariants


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_certifier_passes_what_was_saved(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        case = loaded_case(seed, jobs=80) if seed % 5 == 0 else random_case(seed)
        chosen = settings_of(seed)
        if seed % 4 == 0:
            chosen["checkpoint"] = "daly"
        found = result(case, **chosen)
        found.save(tmp_path, report=False)
        certificate = certify(tmp_path)
        assert certificate.passed, f"seed {seed}: {certificate}"


@settings(max_examples=100)
@given(cases(), SHARES, SHARES, st.sampled_from([*CHECKPOINTS, "daly"]))
def test_every_job_is_done_and_all_work_is_accounted_for(
    case: Case, accuracy: float, risk: float, checkpoint: str
) -> None:
    found = result(case, accuracy=accuracy, risk=risk, checkpoint=checkpoint)
    jobs, account = found.jobs, dict(found.measures["node_seconds"])
    assert (jobs["finish"] - jobs["last_start"] >= 0).all()
    assert (jobs["start"] >= jobs["submit"]).all()
    assert min(account.values()) >= 0
    assert account["useful"] == sum(n * e for _, n, e, _ in case.jobs)
    assert account.pop("total") == sum(account.values())
    up = [dict.fromkeys(range(-1, 400), True) for _ in range(case.nodes)]
    for row in found.runs.iter_rows(named=True):
        assert row["end"] >= row["start"]
    for time, node, down, _, _, _, _ in found.failures.iter_rows():
        for second in range(time, min(time + down, 400)):
            up[node][second] = False
    for row in schedule(found.outcome)["runs"]:
        for node in row.nodes:
            assert all(up[node][second] for second in range(row.start, min(row.end, 400)))
