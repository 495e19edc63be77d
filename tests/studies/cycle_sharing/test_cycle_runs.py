"""Runs, pairs and cells of the study: by hand, and the same however they are played."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from studies.cycle_sharing import study
from studies.cycle_sharing.cells import Cell, GuestRuns
from studies.cycle_sharing.inputs import ALIKE_SET, OWN_SET, PLANETLAB_SET
from studies.cycle_sharing.runs import ALL, Given, play_batch, warm_up_of
from studies.cycle_sharing.study import Batch, Case, Plan, batches
from studies.kit.kept_runs import KEPT, play_all
from studies.kit.means import mean_of

GIVEN = Given(21)
BASE = Case(OWN_SET, 1, study.CONDOR, hosts=3)


def schedulers(base: Case) -> Batch:
    return tuple(replace(base, scheduler=one) for one in study.SCHEDULERS)


# A batch -----------------------------------------------------------------------------------------


def test_a_run_gives_a_row_for_all_jobs_and_one_a_length() -> None:
    rows = play_batch(schedulers(BASE), GIVEN)
    assert len(rows) == 4 * 8
    for scheduler in study.SCHEDULERS:
        mine = [row for row in rows if row["scheduler"] == scheduler]
        whole, each = mine[0], mine[1:]
        assert whole["length"] == ALL
        assert sum(row["jobs"] for row in each) == whole["jobs"]
        failures = sum(row["jobs"] * row["failures"] for row in each)
        assert failures == pytest.approx(whole["jobs"] * whole["failures"])
        assert (whole["said"] is None) == (scheduler in (study.CONDOR, study.OMNISCIENT))
        assert json.loads(json.dumps(mine, allow_nan=False)) == mine
    spans = {row["scheduler"]: row["makespan"] for row in rows if row["length"] == ALL}
    assert spans[study.OMNISCIENT] == min(spans.values())
    assert rows == play_batch(schedulers(BASE), GIVEN)


@pytest.mark.parametrize("learning", study.LEARNINGS)
def test_every_kind_of_forecast_is_played(learning: str) -> None:
    case = replace(BASE, scheduler=study.FALCON, learning=learning, hosts=2)
    (row, *_) = play_batch((case, replace(case, restart=study.HOURLY)), GIVEN)
    assert row["learning"] == learning
    assert row["makespan"] > 0


def test_knowing_the_future_helps() -> None:
    seen, truth = (
        play_batch((replace(BASE, scheduler=study.FALCON, learning=one),), GIVEN)[0]
        for one in (study.SEEN, study.TRUTH)
    )
    assert truth["makespan"] < seen["makespan"]
    assert truth["failures"] < seen["failures"]


def test_warm_up_is_whole_weeks_of_short_traces() -> None:
    assert [warm_up_of(OWN_SET, days) for days in (91, 200, 35, 21, 8)] == [28, 28, 14, 7, 1]
    assert warm_up_of(PLANETLAB_SET, 4) == 2


# The plan ----------------------------------------------------------------------------------------


def test_a_plan_names_each_case_once() -> None:
    plan = Plan()
    found = [case for batch in batches(plan, (PLANETLAB_SET,)) for case in batch]
    assert len(found) == len(set(found))
    for name in (OWN_SET, ALIKE_SET, PLANETLAB_SET):
        for restart in study.RESTARTS:
            for scheduler in study.SCHEDULERS:
                mine = {
                    case.seed for case in found
                    if (case.hosts_of, case.restart, case.scheduler) == (name, restart, scheduler)
                    and case.learning == study.SEEN and case.load == study.LOAD
                }  # fmt: skip
                assert mine == set(range(1, plan.seeds + 1))
    for batch in batches(plan, ()):
        assert len({(c.hosts_of, c.seed, c.hosts) for c in batch}) == 1  # hosts are shared
    assert {case.learning for case in found} == set(study.LEARNINGS)


@pytest.mark.slow
def test_workers_give_the_same(tmp_path: Path) -> None:
    todo = [schedulers(replace(BASE, seed=seed, hosts=2)) for seed in (1, 2, 3)]
    for name, workers in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        play_all(play_batch, todo, GIVEN, tmp_path / name, {}, workers=workers)
    texts = [(tmp_path / name / KEPT).read_text(encoding="utf-8") for name in ("one", "two")]
    assert texts[0] == texts[1]


# Pairs -------------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    base = {"hosts_of": "own hours", "restart": "scratch", "load": study.LOAD, "hosts": 20,
            "learning": study.SEEN, "length": ALL, "failures": 0.0}  # fmt: skip
    return pl.DataFrame([base | row for row in rows])


def test_pairs_by_hand() -> None:
    spans = {"condor": {1: 4.0, 2: 5.0, 3: 8.0}, "falcon": {1: 3.0, 2: 4.0, 3: None, 9: 1.0}}
    runs = GuestRuns(
        table([{"scheduler": s, "seed": k, "makespan": v} for s, of in spans.items()
               for k, v in of.items()])
    )  # fmt: skip
    condor, falcon = (Cell("own hours", one) for one in ("condor", "falcon"))
    gain = runs.gain(falcon, condor, "makespan")
    assert (gain.mean, gain.seeds) == (-1.0, 2)  # seeds 1 and 2 have both
    assert (gain.low, gain.high) == (-1.0, -1.0)
    shorter = runs.shorter(falcon, condor)
    assert shorter.mean == pytest.approx((1 / 4 + 1 / 5) / 2)
    half = 12.7062047 * 0.05 / 2**0.5 / 2**0.5  # t with 1 degree; deviation 0.05 / sqrt(2)
    assert shorter.high - shorter.mean == pytest.approx(half, rel=1e-6)
    assert runs.has(falcon)
    assert not runs.has(replace(falcon, hosts=7))
    assert runs.has(replace(falcon, hosts=20))
    assert runs.counts("own hours") == [20]
    assert runs.pools("own hours") == [(study.LOAD, 20, "scratch")]
    assert runs.pools("alike") == []
    assert runs.mean(condor, "makespan").mean == pytest.approx(17 / 3)


def test_slopes_and_long_jobs_by_hand() -> None:
    lengths = (3600, 7200, 14_400)
    rows = []
    for seed in (1, 2):
        for length in lengths:
            hours = length / 3600
            rows += [
                {"scheduler": "falcon", "seed": seed, "length": length,
                 "makespan": hours * 1.25 + seed},
                {"scheduler": "omniscient", "seed": seed, "length": length, "makespan": hours},
            ]  # fmt: skip
    runs = GuestRuns(table(rows))
    falcon, omniscient = (Cell("own hours", one) for one in ("falcon", "omniscient"))
    slope = runs.slope(falcon, omniscient)
    assert (slope.mean, slope.low) == pytest.approx((0.25, 0.25))
    long = runs.shorter_by_seed(falcon, omniscient, [7200, 14_400])
    first = -(np.array([(2.5 + 1) / 2, (5 + 1) / 4]) - 1).mean()
    second = -(np.array([(2.5 + 2) / 2, (5 + 2) / 4]) - 1).mean()
    assert long.mean == pytest.approx((first + second) / 2)
    relative = runs.slope(falcon, omniscient, relative=True)
    assert relative.mean < 0  # the gap is steady, so its share falls


def test_a_single_seed_has_no_interval() -> None:
    one = mean_of(np.array([3.0]))
    assert (one.mean, one.low, one.high) == (3.0, -np.inf, np.inf)
    assert not one.above
    assert not one.below
