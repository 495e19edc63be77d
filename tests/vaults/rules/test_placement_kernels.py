"""The compiled rule of placement against the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.vaults.rules.placement import Stake, StoreOutlook, choose, choose_exactly, judge
from vaults.rules.rule_entry_kernels import chosen_by_kernels

FEW = settings(max_examples=40)


def outlook(seed: int, hosts: int, moments: int) -> StoreOutlook:
    rng = np.random.default_rng(seed)
    up = (rng.random((moments, hosts)) < rng.uniform(0.3, 1.0, hosts)).astype(np.float64)
    weight = rng.random(moments) + 0.01
    return StoreOutlook(rng.choice([1.0, 2.0, 5.0, 10.0], hosts), up, weight / weight.sum())


@FEW
@given(
    st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 12), st.integers(1, 3),
    st.integers(0, 2), st.sampled_from([0.0, 1.0, 50.0, 1000.0]),
)  # fmt: skip
def test_of_few_hosts_the_best_choice_is_taken(
    seed: int, hosts: int, moments: int, data: int, parity: int, work: float
) -> None:
    if data + parity > hosts:
        return
    known, stake = outlook(seed, hosts, moments), Stake(10.0, 0.5, work)
    best = choose_exactly(known, stake, data, parity)
    mine = chosen_by_kernels(known, stake, data, parity, most=12)
    assert judge(known, stake, mine, data).loss == pytest.approx(best.loss, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_of_many_hosts_the_short_list_loses_little(seed: int) -> None:
    known, stake = outlook(seed, 40, 60), Stake(10.0, 0.5, 200.0)
    mine = judge(known, stake, chosen_by_kernels(known, stake, 3, 2, most=12), 3)
    best = choose(known, stake, 3, 2)
    # Of what the best choice gains over the worst pieces of the pool at most a tenth is missed.
    worst = 5 * 10.0 / known.bandwidth.min()
    assert mine.loss - best.loss <= 0.1 * (worst - best.loss)
