"""Nodes fail, whatever is foreseen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.live.slurm.background import OPINION, BackgroundRate
from live.slurm.test_reconcile import node, seen

DAY = 86_400


def looks(rate: BackgroundRate, failures: int, days: float, nodes: int = 4) -> None:
    """Show a rate so many days of nodes, and failures in them."""
    names = [f"n{k}" for k in range(nodes)]
    well, steps = seen(), int(days * DAY / nodes / 600)
    assert list(well.nodes) == names
    for k in range(steps + 1):
        ill = k % (steps // max(failures, 1)) == 1 and k < failures * (steps // max(failures, 1))
        look = seen(nodes=(node("n1", state="DOWN"),)) if ill and failures else well
        rate.learn(look, 600 * k)


def test_nothing_is_certain_before_anything_was_seen() -> None:
    rate = BackgroundRate()
    assert rate.survival(4, 3600) == pytest.approx((OPINION / (OPINION + 4 * 3600)) ** 0.5)
    assert 0.999 < rate.survival(4, 3600) < 1
    assert rate.survival(1000, DAY) < 0.4


def test_it_learns_what_the_site_shows() -> None:
    often, never = BackgroundRate(), BackgroundRate()
    looks(often, 20, 100)
    looks(never, 0, 100)
    assert often.told[1] == 20
    assert never.told[1] == 0
    assert often.told[0] == pytest.approx(100 * DAY, rel=0.01)
    assert often.survival(4, DAY) == pytest.approx((200 / 204) ** 20.5, rel=0.01)
    assert never.survival(4, DAY) == pytest.approx((200 / 204) ** 0.5, rel=0.01)
    assert BackgroundRate(often.told).survival(4, DAY) == often.survival(4, DAY)


def test_it_says_what_comes_true() -> None:
    """Of sites whose rates are drawn as the opinion has them, jobs survive as often as is said."""
    chance = np.random.default_rng(1)
    said, came = [], []
    for _ in range(4000):
        rate = chance.gamma(0.5, 1 / OPINION)
        seconds = chance.uniform(0, 300 * DAY)
        known = BackgroundRate([seconds, chance.poisson(rate * seconds)])
        work = chance.uniform(0, 200) * DAY
        said.append(known.survival(1, work))
        came.append(chance.random() < np.exp(-rate * work))
    error = (np.mean(came) - np.mean(said)) / (np.std(came) / len(came) ** 0.5)
    assert abs(error) < 3
    low = np.array(said) < np.median(said)
    assert np.mean(np.array(came)[low]) == pytest.approx(np.mean(np.array(said)[low]), abs=0.03)


def test_what_nobody_saw_counts_for_nothing() -> None:
    rate = BackgroundRate()
    rate.learn(seen(), 0)
    rate.learn(seen(nodes=(node("n1", state="DOWN"),)), 10 * DAY)
    assert rate.told == [0, 0]
    drained = seen(nodes=(node("n1", flags=("DRAIN",), reason="fan"),))
    rate.learn(replace(drained), 10 * DAY + 60)
    assert rate.told[1] == 0
