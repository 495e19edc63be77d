"""Spares and the ring in runs of promises: worlds by hand, a plain slow reference, the certifier, a
replay, and probabilities computed beside those that are played."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from forestall.core.model.failures import Failures
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.scheduling.certify.certifier import certify_promise
from forestall.scheduling.report.log import replay
from forestall.scheduling.simulate import simulate
from forestall.scheduling.simulation.checkpoint_costs import pause_of
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.run import Outcome
from reference.spared_promises import simulate_spared
from reference.stored_promises import simulate_stored
from scheduling.simulation.cases import Case, assert_same, nodes_of, result, run
from scheduling.simulation.spared_worlds import SparedWorld, promised_and_kept
from scheduling.simulation.test_stored_checkpoints import failing_case, stores_of

PLAIN = "size=1GB ratio=1 speed=1TB"


def ran_on(outcome: Outcome) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (start, end, nodes) of each run, in order."""
    return [
        (int(r["start"]), int(r["end"]), nodes_of(outcome, int(r["first_range"]), int(r["ranges"])))
        for r in outcome.runs
    ]


def played(case: Case, **more: Any) -> Outcome:
    return run(case, **{"accuracy": 0.0, "checkpoint": "periodic", "spares": 1, **more})


# ------------------------------------------------------------------------------ worlds by hand


def test_a_job_that_loses_a_node_goes_on_on_a_spare_at_once() -> None:
    # Requests at 1000 and 2005; the failure takes 495 s, and one of 1005 s would have been in time.
    case = Case([(0, 3, 2500, 2500), (0, 3, 100, 100)], [(1500, 1, 9000, 0.5)], 4, 5, 1000)
    outcome = played(case)
    first, second = ran_on(outcome)[:2]
    assert first == (0, 1500, (0, 1, 2))
    assert second == (1500, 3005, (0, 2, 3))
    assert outcome.deadlines[0] == 2500 + 2 * 5 + 1005
    assert outcome.jobs["finish"][0] <= outcome.deadlines[0]
    alone = played(case, spares=0)
    # Node 3 is free, but the next job has nodes 0 and 2 from 2510 on: the first waits for it.
    assert (alone.deadlines[0], alone.jobs["finish"][0]) == (2510, 4115)


def test_without_a_spare_the_job_waits_for_the_repair() -> None:
    case = Case([(0, 4, 2500, 2500)], [(1500, 1, 9000, 0.5)], 4, 5, 1000)
    outcome = played(case, spares=0)
    assert ran_on(outcome)[1][0] == 10_500
    assert outcome.jobs["finish"][0] > outcome.deadlines[0]


def test_time_for_two_failures_and_not_for_three() -> None:
    failures = [(900, 0, 90_000, 0.5), (1800, 1, 90_000, 0.5), (2700, 2, 90_000, 0.5)]
    case = Case([(0, 2, 1500, 1500)], failures, 6, 5, 1000)
    for failovers, kept in ((0, False), (1, False), (2, False), (3, True)):
        outcome = played(case, spares=4, failovers=failovers)
        assert (outcome.jobs["finish"][0] <= outcome.deadlines[0]) == kept, failovers


def test_a_promise_counts_the_failures_that_it_survives() -> None:
    failures = [(100, 0, 50, 0.4), (200, 1, 50, 0.7)]
    case = Case([(0, 2, 1000, 1000)], failures, 4, 5, 2000)
    told = {"accuracy": 1.0, "risk": 0.0, "spares": 2}
    # A spare is as good as sure, .99; that two failures take no more than one's room, even.
    one = 1 - 0.4 * 0.01 - 0.99 * 0.7 * 0.5
    for failovers, promise in ((0, 0.6), (1, one), (2, 1 - 0.4 * 0.01 - 0.99 * 0.7 * 0.01)):
        outcome = played(case, failovers=failovers, **told)
        assert outcome.promises[0] == pytest.approx(promise), failovers


def test_spares_are_for_nobody_else() -> None:
    case = Case([(0, 3, 100, 100), (0, 1, 100, 100)], [], 4, 5, 1000)
    # The reservation of the first has time for a failure, and the second is quoted beside it.
    assert [start for start, *_ in ran_on(played(case))] == [0, 200]
    outcome = played(Case([(0, 4, 100, 100), (0, 3, 9, 9)], [], 4, 5, 1000))
    assert len(outcome.jobs) == 1  # four nodes are not to be had
    assert "beside the spares" in str(outcome.workload.cleaning)


# ------------------------------------------------------------------------------------ the ring


@pytest.mark.parametrize(
    ("copies", "size", "pause", "recovery"),
    [(1, 4, 5, 5), (2, 4, 15, 10), (3, 4, 45, 20), (3, 2, 15, 10), (3, 1, 5, 5)],
)
def test_costs_of_a_ring_by_hand(copies: int, size: int, pause: int, recovery: int) -> None:
    # 5 s to the own disk; each copy to a neighbour at 100 MB/s, two of them at half of it.
    vault = f"layout=ring parity={copies - 1} {PLAIN}"
    given = Parameters(nodes=8, checkpoint_overhead=7, vault=vault)
    assert pause_of(size, given) == (7 + pause, recovery)


@pytest.mark.parametrize(
    ("lost", "copies", "resumed"),
    [
        ((1,), 1, 0), ((1,), 2, 1000), ((1, 2), 2, 0), ((1, 2), 3, 1000), ((0, 1, 2), 3, 0),
        ((0, 1, 4), 3, 0), ((0, 2, 3), 3, 1000), ((0, 1), 5, 1000), ((0, 1, 3, 4), 5, 1000),
    ],
)  # fmt: skip
def test_what_can_be_had_from_neighbours(lost: tuple[int, ...], copies: int, resumed: int) -> None:
    case = Case([(0, 5, 3000, 3000)], [(1500, n, 90_000, 0.5) for n in lost], 12, 5, 1000)
    outcome = played(case, spares=6, vault=f"layout=ring parity={copies - 1} {PLAIN}")
    assert int(outcome.runs[-1]["resumed"]) == resumed


def test_the_short_name_of_a_ring() -> None:
    short = Parameters(nodes=8, ring=3)
    assert short.vault == "layout=ring"
    assert Parameters(**short.model_dump()) == short
    assert Parameters(nodes=8, ring=3, vault="layout=ring size=4GiB").stores is not None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ring": 3, "vault": "layout=server"}, "ring should be as many copies"),
        ({"ring": 0}, "greater than or equal to 1"),
        ({"failovers": 2}, "failovers should be none"),
        ({"spares": 8}, "spares should be fewer than the 8 nodes"),
        ({"spares": 2, "policy": "easy"}, "another {policy} than promise"),
        ({"spares": 2, "users": "least=0.5"}, "none with {users}"),
    ],
)
def test_what_cannot_be(told: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Parameters(**{"nodes": 8, **told})


# -------------------------------------------------------------------------- against a reference


def spared_case(seed: int) -> tuple[Case, dict[str, Any]]:
    """Return a case whose jobs leave room for spares, and what else is told."""
    case, rng = failing_case(seed), random.Random(seed)
    more = rng.randint(0, 4)
    case = replace(case, nodes=case.nodes + more, failures=sorted(
        [*case.failures, *((time + 7, case.nodes + k, 300, 0.5)
                           for k, (time, *_) in enumerate(case.failures[:more]))]
    ))  # fmt: skip
    spares = rng.randint(0, max(0, case.nodes - max(size for _, size, *_ in case.jobs)))
    vault = rng.choice([None, "ring", stores_of(case, seed)])
    if vault == "ring":
        vault = f"layout=ring parity={rng.randint(0, 3)} size=300MB keep={rng.randint(1, 3)}"
    checkpoint = rng.choice(["risk", "periodic", "periodic", "none"])
    if checkpoint == "none":
        vault = None
    return case, {
        "accuracy": rng.choice([0.0, 0.7, 1.0]), "risk": rng.choice([0.0, 0.5, 0.9]),
        "checkpoint": checkpoint, "vault": vault, "spares": spares,
        "failovers": rng.randint(0, 3), "placement": rng.choice(["fault-aware", "first"]),
    }  # fmt: skip


def test_spares_against_the_plain_reference() -> None:
    seen: Counter[str] = Counter()
    for seed in range(250):
        case, told = spared_case(seed)
        outcome = run(case, **told)
        reference, begun = simulate_spared(
            case.jobs, case.failures, nodes=case.nodes, overhead=case.overhead,
            interval=case.interval, **told,
        )  # fmt: skip
        mine = sorted(
            (int(r["job"]), int(r["start"]), int(r["resumed"]), int(r["unrecovered"]))
            for r in outcome.runs
        )
        assert mine == begun, (seed, told)
        size = np.array([row[1] for row in case.jobs])
        owed = np.zeros(len(case.jobs), dtype=np.int64)
        for job, _, _, unrecovered in begun:
            owed[job] += unrecovered * size[job]
        reference.lost = (np.array(reference.lost) + owed).tolist()
        assert_same(outcome, reference, seed, told, leave_out=("promise",))
        np.testing.assert_allclose(outcome.promises, reference.promise, rtol=0, atol=1e-12)
        again = [k for k, row in enumerate(begun) if k and begun[k - 1][0] == row[0]]
        seen["again"] += len(again)
        first = case.nodes - told["spares"]
        seen["on spares"] += sum(max(nodes) >= first for _, _, nodes in ran_on(outcome))
        seen["fallen back on a ring"] += (told["vault"] or "").startswith("layout=ring") and sum(
            row[3] > 0 for row in begun
        )
    assert min(seen.values()) > 20, seen


def test_no_spares_change_nothing() -> None:
    for seed in range(40):
        case, told = spared_case(seed)
        bare = {k: v for k, v in told.items() if k not in ("spares", "failovers")}
        one, other = run(case, **bare), run(case, **bare, spares=0, failovers=0)
        np.testing.assert_array_equal(one.runs, other.runs)
        np.testing.assert_array_equal(one.deadlines, other.deadlines)


def test_a_ring_of_one_copy_is_the_own_disk_but_for_its_cost() -> None:
    case = failing_case(11)
    told = {"checkpoint": "periodic", "accuracy": 0.0, "risk": 0.0}
    ring = run(case, vault=f"layout=ring parity=0 {PLAIN}", **told)
    disk = run(case, vault=f"layout=local {PLAIN}", **told)
    np.testing.assert_array_equal(ring.runs, disk.runs)
    reference, _ = simulate_stored(
        case.jobs, case.failures, nodes=case.nodes, overhead=case.overhead, interval=case.interval,
        vault=f"layout=ring parity=0 {PLAIN}", **told,
    )  # fmt: skip
    assert max(reference.finish) == int(ring.jobs["finish"].max())


# --------------------------------------------------------------------- is a spare there?


def test_a_promise_counts_on_a_spare_only_as_often_as_one_was_there() -> None:
    # The lone spare is down all the time: the first loss is not made good, so the next job, to
    # which a failure is foreseen, is promised less than the failure alone would let it be.
    failures = [(0, 3, 90_000, 0.9), (100, 0, 90_000, 0.9), (200_100, 1, 50, 0.4)]
    jobs = [(0, 3, 1000, 1000), (200_000, 3, 1000, 1000)]
    case = Case(jobs, failures, 4, 5, 2000)
    outcome = played(case, accuracy=0.5, risk=0.0, placement="first")
    assert outcome.promises[0] == 1.0
    assert outcome.jobs["finish"][0] > outcome.deadlines[0]
    # Before the loss the pool expects nothing to be down: .99. Both jobs need all but the spare.
    length, begins = np.log(1000 / 3600) / np.log(4), np.log(0.99 / 0.01)
    told = 0.99 * 0.01
    spread = 1.5**2 + length**2
    weights = np.array([begins, 0.0]) - 0.99 * np.array([1.5**2, length]) / (1 + told * spread)
    good = 1 / (1 + np.exp(-(weights[0] + weights[1] * length)))
    assert good < 0.95
    assert outcome.promises[1] == pytest.approx(1 - 0.4 * (1 - good))


def test_a_node_lost_before_the_start_is_made_good_where_spares_are_counted_on() -> None:
    jobs = [(0, 3, 1000, 1000), (0, 3, 500, 500)]
    failures = [(1900, 1, 3000, 0.5)]
    for failovers, starts in ((1, [0, 2000]), (0, [0, 1000])):
        case = Case(jobs, failures, 4, 5, 2000)
        outcome = played(case, failovers=failovers)
        assert [start for start, *_ in ran_on(outcome)][:2] == starts
    outcome = played(Case(jobs, failures, 4, 5, 2000))
    assert ran_on(outcome)[1] == (2000, 2500, (0, 2, 3))
    assert outcome.jobs["finish"][1] <= outcome.deadlines[1]


@pytest.mark.parametrize("mttf", [150, 600])
def test_promises_with_spares_are_kept_as_often_as_they_say(mttf: float) -> None:
    played = [promised_and_kept(SparedWorld(mttf=mttf), seed) for seed in (1, 2)]
    said, kept, ahead = (np.concatenate(part) for part in zip(*played, strict=True))
    assert ahead.sum() > 4000
    for low, high in ((0.0, 0.7), (0.7, 0.95), (0.95, 1.01)):
        here = (said >= low) & (said < high) & ahead
        if np.count_nonzero(here) >= 60:
            mean, share = said[here].mean(), kept[here].mean()
            error = np.sqrt(mean * (1 - mean) / np.count_nonzero(here))
            assert abs(mean - share) < 0.03 + 2 * error, (low, mean, share)


# ----------------------------------------------------------------- certified, replayed, the same


def test_the_certifier_agrees_and_a_replay_decides_the_same(tmp_path: Path) -> None:
    took = 0
    for seed in range(12):
        case, told = spared_case(seed)
        folder = result(case, **told, log_events=True).save(tmp_path / str(seed), report=False)
        certificate = certify_promise(folder)
        assert certificate.passed, (seed, told, str(certificate))
        took += any(check.name == "spares" for check in certificate.checks)
        assert any(check.name == "promised probabilities" for check in certificate.checks)
        assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes(), seed
    assert took > 3


def test_a_job_on_a_spare_that_has_lost_no_node_is_found(tmp_path: Path) -> None:
    case = Case([(0, 2, 100, 100)], [], 4, 5, 1000)
    folder = result(case, spares=2).save(tmp_path / "run", report=False)
    assert certify_promise(folder).passed
    for file in ("runs.csv", "jobs.csv"):
        table = pl.read_csv(folder / file)
        table.with_columns(pl.lit("1-2").alias("nodes")).write_csv(folder / file)
    failed = {check.name for check in certify_promise(folder).checks if not check.passed}
    assert "spares" in failed


def test_a_promise_that_forgets_the_spares_is_found(tmp_path: Path) -> None:
    """The certifier computes promised probabilities anew, with and without spares."""
    found = 0
    for seed in (0, 3, 5, 8):
        case, told = spared_case(seed)
        told |= {"accuracy": 1.0, "risk": 0.0}
        folder = result(case, **told, log_events=True).save(tmp_path / str(seed), report=False)
        certificate = certify_promise(folder)
        assert certificate.passed, (seed, told, str(certificate))
        table = pl.read_csv(folder / "decisions.csv", infer_schema=False)
        odd = (pl.col("probability").cast(pl.Float64) < 1) & (pl.col("decision") == "reserve")
        more = table.with_columns(
            probability=pl.when(odd).then(pl.lit("1.0")).otherwise(pl.col("probability"))
        )
        if more.equals(table):
            continue
        more.write_csv(folder / "decisions.csv")
        failed = {check.name for check in certify_promise(folder).checks if not check.passed}
        assert "promised probabilities" in failed, seed
        found += 1
    assert found >= 2


def test_what_spares_did_is_measured_and_checked(tmp_path: Path) -> None:
    case = Case([(0, 3, 2500, 2500), (0, 3, 100, 100)], [(1500, 1, 9000, 0.5)], 4, 5, 1000)
    one = result(case, accuracy=0.0, checkpoint="periodic", spares=1)
    assert one.measures["spares"] == {"restarts": 1, "at_once": 1, "on_spares": 2}
    folder = one.save(tmp_path / "run", report=False)
    assert certify_promise(folder).passed
    summary = (folder / "summary.json").read_text(encoding="utf-8")
    (folder / "summary.json").write_text(summary.replace('"at_once": 1', '"at_once": 0'))
    failed = {check.name for check in certify_promise(folder).checks if not check.passed}
    assert failed == {"spares"}


def test_hazards_of_more_than_so_many() -> None:
    """The promise by hazards is that of every pattern of at most so many failures, added up."""
    predictor = HazardPredictor(0.7, 2.0, 2.0 * (100 / 86_400) ** 0.7)
    predictor.fit(Failures.build([0, 100, 200, 250], [0, 1, 2, 1]), nodes=6, end=0)
    jobs = pl.DataFrame({"job": [1], "submit": [0], "size": [5], "runtime": [40]})
    told = {"nodes": 6, "spares": 1, "risk": 0.0, "checkpoint": "none", "downtime": 120}
    made = [
        simulate(jobs, None, predictor=predictor, failovers=failovers, **told).outcome
        for failovers in range(3)
    ]
    asked = predictor.for_run(6, 0, 120)
    nodes = np.array(ran_on(made[0])[0][2])

    def beyond(most: int, end: int) -> float:
        risk = asked.failure_probability(nodes, 0, end)
        return 1 - sum(
            np.prod([risk[k] if k in lost else 1 - risk[k] for k in range(5)])
            for count in range(most + 1)
            for lost in combinations(range(5), count)
        )

    # The one spare is there while no node of the six is down: Poisson, of the mean N r D.
    good = np.exp(-asked.failure_probability(np.arange(6), 0, 120).sum())
    assert 0.05 < good < 0.95  # its five nodes are all but the spare, for the shortest time
    for failovers, outcome in enumerate(made):
        end = int(outcome.deadlines[0])
        assert end == 40 * (failovers + 1)
        failed = [beyond(k, 40 + 20 * k) for k in range(failovers + 1)]
        expected = sum(good**k * (1 - good) * risk for k, risk in enumerate(failed[:-1]))
        # That one failure more takes no more than the room of them all: 1/2, then 5/6.
        late = good * (1 - 1 / math.factorial(failovers + 1))
        past = [beyond(k, 40 * (failovers + 1) - 20 * failovers) for k in range(failovers, 5)]
        share = good**failovers
        for risk in past:
            expected += share * (1 - late) * risk
            share *= late
        assert float(outcome.promises[0]) == pytest.approx(1 - expected)
