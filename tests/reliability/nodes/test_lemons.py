"""Lemons: found where they were put, none found where there are none, and no flattery."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from forestall.core.model.errors import ParameterError
from forestall.reliability.nodes.fleet import WatchedNodes, fleet_of_events
from forestall.reliability.nodes.lemons import lemons
from forestall.slurm.records.node_events import FAULT
from reliability.nodes.site_nodes import DAY, HOUR, outages

DAYS = 365


def fleet(rates: np.ndarray, seed: int, days: int = DAYS) -> WatchedNodes:
    """Return nodes with these failures per 1000 node-days, each away for a minute."""
    rng = np.random.default_rng(seed)
    rows = []
    for k, count in enumerate(rng.poisson(rates * days / 1000).tolist()):
        for when in rng.integers(0, days * DAY - 60, count).tolist():
            rows.append((f"n{k:03d}", when, when + 60, FAULT))
    names = tuple(f"n{k:03d}" for k in range(len(rates)))
    return fleet_of_events(outages(rows, (0, days * DAY)), 0, days * DAY, names=names)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_lemons_that_were_put_in_are_found() -> None:
    rates = np.full(150, 6.5)
    rates[:6] = 65.0
    lost = np.zeros(150)
    made = fleet(rates, 2)
    lost[:] = 10.0 * made.counts()
    found = lemons(made, rng=rng(), lost=lost)
    names = [found.name[k] for k in found.lemons.tolist()]
    assert {f"n{k:03d}" for k in range(6)} <= set(names)
    assert len(names) <= 7
    true = 6 * (65 - 6.5) * DAYS / 1000
    assert found.gone.low * found.own.sum() < true < found.gone.high * found.own.sum()
    assert found.lost_hours is not None
    saved = found.saved(found.lost_hours)
    assert saved.low < 10 * true < saved.high
    assert saved.high <= float(found.lost_hours[found.lemons].sum())
    assert found.verdict(int(found.lemons[0])).startswith("lemon")
    assert "within chance" in {found.verdict(k) for k in range(10, 20)}
    held = found.held
    assert held is not None
    assert held.nodes >= 5
    assert held.ratio.low < 10 < held.ratio.high


def test_no_lemons_no_false_discoveries() -> None:
    false, small = [], []
    for seed in range(60):
        found = lemons(fleet(np.full(80, 8.0), seed), rng=rng(), draws=19)
        false.append(len(found.lemons) > 0)
        small.append(float((found.p_value <= 0.1).mean()))
    assert np.mean(false) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 60)
    assert 0.02 < np.mean(small) <= 0.1, "p-values of counts are at most uniform"


def test_savings_do_not_flatter() -> None:
    """Among nodes of many rates, what is said to go is what the nodes named have too much of."""
    said, true = [], []
    for seed in range(40):
        rates = np.random.default_rng(seed + 1000).gamma(1.5, 6.0, 120)
        made = fleet(rates, seed)
        found = lemons(made, rng=rng(), draws=19)
        at = found.lemons
        rest = np.setdiff1d(np.arange(len(found)), at)
        said.append(float(found.excess.sum()))
        mine = rates[found.node[at]] - rates[found.node[rest]].mean()
        true.append(float((mine * DAYS / 1000).sum()))
        naive = float((found.own[at] - found.average[at] * found.node_days[at] / 1000).sum())
        assert said[-1] <= naive + 1e-9
    assert np.sum(said) == pytest.approx(np.sum(true), rel=0.06)


@pytest.mark.parametrize(("lemon", "least"), [(26.0, 0.8), (60.0, 0.95)])
def test_nodes_that_refute_their_kind_are_not_drawn_toward_it(lemon: float, least: float) -> None:
    """What is said to be too much of a few bad nodes among like ones is what is too much."""
    said, true, held = 0.0, 0.0, 0
    for seed in range(40):
        rates = np.full(100, 4.0)
        rates[:3] = lemon
        found = lemons(fleet(rates, seed), rng=rng(), draws=19)
        at = found.lemons
        said += float(found.excess.sum())
        mine = rates[found.node[at]]
        true += float(((mine - 4.0) * DAYS / 1000).sum())
        held += int(((found.low[at] <= mine) & (mine <= found.high[at])).sum()) - len(at)
        far = found.beyond
        assert found.shrunk[far] == pytest.approx(found.rate[far])
        assert found.low[far] == pytest.approx(found.rate_low[far])
        assert (found.excess[far] - (found.own - found.usual)[far]) == pytest.approx(0)
    assert least * true < said < 1.05 * true, "never flattery; of lemons so clear nearly all"
    if lemon > 50:
        assert held >= -0.1 * 40 * 3, "intervals of 95 % hold about as often as they say"


def test_one_far_node_does_not_hide_another() -> None:
    rates = np.full(60, 4.0)
    rates[0], rates[1] = 200.0, 50.0
    found = lemons(fleet(rates, 3), rng=rng(), draws=19)
    assert [found.name[k] for k in np.flatnonzero(found.beyond)] == ["n000", "n001"]
    half = np.repeat([4.0, 60.0], 30)
    assert not lemons(fleet(half, 3), rng=rng(), draws=19).beyond.any(), "that is their spread"


def test_p_values_are_exact_and_ties_are_told() -> None:
    made = fleet(np.array([40.0, 3, 3, 3, 3, 3]), 3)
    found = lemons(made, rng=rng())
    total = int(found.own.sum())
    for k in range(6):
        share = found.node_days[k] / found.node_days.sum()
        assert found.p_value[k] == pytest.approx(
            scipy.stats.binom.sf(found.own[k] - 1, total, share)
        )
    assert found.order.tolist()[0] == 0
    assert sorted(found.order.tolist()) == list(range(6))


def test_bursts_and_troubles_that_come_again_are_not_held_against_a_node() -> None:
    names = [f"n{k:02d}" for k in range(30)]
    rows = []
    for burst in range(12):  # a rack that goes down each month
        at = (burst + 1) * 30 * DAY
        rows += [(name, at + k, at + 600, FAULT) for k, name in enumerate(names[:5])]
    flaps = [(names[9], 100 * DAY + k * 600, 100 * DAY + k * 600 + 60, FAULT) for k in range(15)]
    calm = [(name, (3 + 7 * k) * DAY, (3 + 7 * k) * DAY + 60, FAULT)
            for k, name in enumerate(names)]  # fmt: skip
    made = fleet_of_events(outages([*rows, *flaps, *calm], (0, 400 * DAY)), 0, 400 * DAY)
    found = lemons(made, rng=rng())
    assert len(found.lemons) == 0
    by_name = {name: k for k, name in enumerate(found.name)}
    assert found.in_bursts[by_name["n00"]] == 12
    assert (found.own[by_name["n09"]], found.again[by_name["n09"]]) == (2, 14)
    assert found.down_hours[by_name["n00"]] == pytest.approx(1 / 60)
    plain = lemons(made, rng=rng(), again=0)
    assert [plain.name[k] for k in plain.lemons.tolist()] == ["n09"]


def test_kinds_are_compared_within_themselves() -> None:
    rates = np.concatenate([np.full(60, 2.0), np.full(40, 20.0)])
    rates[0] = 20.0
    made = fleet(rates, 7)
    kind = (np.repeat([0, 1], [60, 40]), ("cpu", "gpu"))
    alike, apart = lemons(made, rng=rng()), lemons(made, rng=rng(), kind=kind)
    assert len(alike.lemons) >= 3
    assert [apart.name[k] for k in apart.lemons.tolist()] == ["n000"]
    assert apart.kinds == ("cpu", "gpu")
    few = (np.append(np.zeros(97, dtype=np.int64), [1, 1, 2]), ("a", "b", "c"))
    assert lemons(made, rng=rng(), kind=few).kinds == ("a", "other nodes")


def test_new_nodes_stand_against_their_own_time() -> None:
    names = tuple(f"n{k:02d}" for k in range(20))
    rows = [(name, (k + 1) * 10 * DAY, (k + 1) * 10 * DAY + HOUR, FAULT)
            for k, name in enumerate(names[1:])]  # fmt: skip
    rows += [("n00", (360 + k) * DAY, (360 + k) * DAY + HOUR, FAULT) for k in range(4)]
    start = np.zeros(20, dtype=np.int64)
    start[0] = 359 * DAY
    service = (start, np.full(20, 365 * DAY), start > 0)
    span = (0, 365 * DAY)
    made = fleet_of_events(outages(rows, span, names=names), *span, names=names, service=service)
    found = lemons(made, rng=rng())
    assert [found.name[k] for k in found.lemons.tolist()] == ["n00"]
    assert found.verdict(0).endswith("new, 6 days in service")
    old = fleet_of_events(outages(rows, span, names=names), *span, names=names)
    assert len(lemons(old, rng=rng()).lemons) == 0


def test_what_is_no_node_is_left_out_and_odd_input_is_told() -> None:
    made = fleet(np.array([500.0, *[5.0] * 20]), 5)
    assert len(lemons(made, rng=rng()).lemons) == 1
    left = np.arange(21) == 0
    found = lemons(made, rng=rng(), left_out=left)
    assert len(found) == 20
    assert len(found.lemons) == 0
    quiet = lemons(fleet(np.zeros(5), 1), rng=rng())
    assert len(quiet.lemons) == 0
    assert quiet.p_value.tolist() == [1.0] * 5
    assert quiet.gone == (0.0, 0.0, 0.0)
    with pytest.raises(ParameterError, match="false_discovery_rate"):
        lemons(made, rng=rng(), false_discovery_rate=1.0)
