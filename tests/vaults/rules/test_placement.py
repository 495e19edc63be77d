"""The best storage hosts, against plain references and in hindsight."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.vaults.rules import placement
from forestall.vaults.rules.placement import (
    Stake,
    StoreOutlook,
    at_least,
    choose,
    choose_exactly,
    judge,
    seen_together,
)
from vaults.rules import store_worlds


def drawn(seed: int, hosts: int = 9, moments: int = 40) -> StoreOutlook:
    """Hosts in three rooms whose power fails together."""
    chance = np.random.default_rng(seed)
    rooms = chance.integers(0, 3, hosts)
    dark = chance.random((moments, 3)) < 0.15
    up = np.where(dark[:, rooms], 0.0, chance.uniform(0.7, 1.0, hosts))
    weight = chance.random(moments)
    bandwidth = 10 ** chance.uniform(6, 9, hosts)
    return StoreOutlook(bandwidth, up, weight / weight.sum())


@pytest.mark.parametrize("data", [1, 2, 3])
def test_at_least_by_counting_all_worlds(data: int) -> None:
    chance = np.random.default_rng(data)
    up = chance.random((5, 4))
    plain = np.zeros(5)
    for world in product((0, 1), repeat=4):
        if sum(world) >= data:
            plain += np.prod(np.where(np.array(world), up, 1 - up), axis=1)
    assert at_least(up, data) == pytest.approx(plain)


def test_fewer_hosts_than_pieces() -> None:
    with pytest.raises(ParameterError, match="4 storage hosts"):
        choose(drawn(1, hosts=4), Stake(1e6, 0.1, 3600), 3, 2)


@pytest.mark.parametrize("seed", range(30))
def test_exchanges_find_what_looking_at_all_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outlook, stake = drawn(seed), Stake(5e7, 0.2, 7200)
    best = choose_exactly(outlook, stake, 3, 2)
    monkeypatch.setattr(placement, "EXACT", 0)
    found = choose(outlook, stake, 3, 2)
    assert found.loss <= best.loss + 0.01 * abs(best.benefit)
    losses = [judge(outlook, stake, one, 3).loss for one in combinations(range(9), 5)]
    assert best.loss == min(losses)


def test_nothing_at_stake_takes_the_nearest_and_much_the_surest() -> None:
    outlook = drawn(4)
    nearest = set(np.argsort(-outlook.bandwidth)[:5].tolist())
    assert set(choose(outlook, Stake(5e7, 0.0, 7200), 3, 2).hosts) == nearest
    sure = choose(outlook, Stake(1.0, 1.0, 1e9), 3, 2)
    assert sure.available == max(
        judge(outlook, Stake(1.0, 1.0, 1e9), one, 3).available for one in combinations(range(9), 5)
    )


def test_hosts_that_fail_with_the_machine_are_left() -> None:
    """Two hosts are up more often than the others, and down whenever the machine is."""
    moments = 200
    at_failure = np.zeros(moments, bool)
    at_failure[::10] = True
    up = np.full((moments, 4), 0.9)
    up[:, :2] = 1.0
    up[at_failure, :2] = 0.0
    outlook = StoreOutlook(np.full(4, 1e8), *seen_together(up, at_failure))
    assert set(choose(outlook, Stake(1e6, 0.5, 3600), 1, 1).hosts) == {2, 3}
    alone = StoreOutlook(
        np.full(4, 1e8), *seen_together(up - 0.1 * (up == 0.9), np.zeros(moments, bool))
    )
    assert choose(alone, Stake(1e6, 0.5, 3600), 1, 0).hosts[0] in (0, 1)


@pytest.mark.parametrize("seed", range(3))
def test_chosen_anew_is_near_the_best_fixed_choice_in_hindsight(seed: int) -> None:
    """Learned from what was seen before, in hosts that go down together, change bandwidth and load:
    what checkpoints are worth is within 10 % of the best fixed choice, known afterwards.
    `benchmarks.placement` has longer worlds, and many."""
    world = store_worlds.drawn(seed, hours=24 * 14, learnt=24 * 7)
    mine, fixed = store_worlds.chosen_anew(world).sum(), store_worlds.best_fixed(world)
    assert store_worlds.shortfall(world, mine, fixed) <= 0.1
