"""What is told of placements: sets beside the least of all, and nodes near each other."""

from __future__ import annotations

import itertools
import random

import numpy as np
import polars as pl
import pytest

from studies.kit.claims import UNTESTED
from studies.promises import placements, study
from studies.promises.claims import FAILS, HOLDS
from studies.promises.inputs import NASA, SDSC
from studies.promises.runs import play_case, runs_table
from studies.promises.watched import Watched
from synthetic_promises import small_inputs


@pytest.mark.parametrize("seed", range(40))
def test_sets_are_compared_with_all_others(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.sample(range(20), rng.randint(2, 7))
    free = np.array(sorted(nodes))
    failures = {
        (node, chance): rng.randrange(9)
        for node in rng.sample(nodes, rng.randint(1, len(nodes)))
        for chance in [round(rng.uniform(0.1, 0.9), 3)]
    }
    own = dict(failures.keys())
    risk = np.array([own.get(int(node), 0.0) for node in free])
    size = rng.randint(1, len(nodes))
    watched = Watched(failures)
    chosen = watched(free, size, risk, 0, 9).tolist()
    order = sorted((time, node, chance) for (node, chance), time in failures.items())

    def first(mine: tuple[int, ...]) -> float:
        return next((chance for _, node, chance in order if node in mine), 0.0)

    assert chosen == sorted(free.tolist(), key=lambda n: (own.get(n, 0.0), n))[:size]
    least = min(map(first, itertools.combinations(free.tolist(), size)))
    got = first(tuple(chosen))
    counted = watched.counts()
    assert counted["offers_worse"] == (got > least)
    assert counted["offers_excess"] == counted["offers_most"] == pytest.approx(got - least)


def test_watching_changes_nothing_and_tables_hold_every_case() -> None:
    inputs = small_inputs()
    plan = study.Plan(seeds=(1,), accuracies=(0.7, 1.0), risks=study.RISKS)
    cases = [*study.grid(plan), *study.placements(plan)]
    rows = [play_case(case, inputs) for case in cases if case.log in (NASA, SDSC)]
    runs = runs_table(rows)
    like = {"log": SDSC, "accuracy": 0.7, "risk": 0.9}
    grid, seen = (placements._some(runs, name, **like) for name in ("grid", study.OFFERS))
    assert grid["qos"].to_list() == seen["qos"].to_list()
    assert int(seen["offers_offers"][0]) >= 40
    table, _ = placements.least_section(runs)
    assert len(table.rows) == 12
    near, words = placements.near_section(runs)
    assert len(near.rows) == 2 * 2 * 2 * 2 * 3
    assert len(words.items) == 8
    claims = placements.least_claims(runs)
    assert [claim.where for claim in claims] == [NASA, SDSC]
    assert all(claim.rests for claim in claims)
    calm = runs.with_columns(offers_risky=pl.lit(0), offers_worse=pl.lit(0))
    assert {claim.verdict for claim in placements.least_claims(calm)} == {UNTESTED}
    bad = runs.with_columns(offers_risky=pl.lit(9), offers_worse=pl.lit(9))
    assert {claim.verdict for claim in placements.least_claims(bad)} == {FAILS}
    best = runs.with_columns(offers_risky=pl.lit(9), offers_worse=pl.lit(0))
    assert {claim.verdict for claim in placements.least_claims(best)} == {HOLDS}
