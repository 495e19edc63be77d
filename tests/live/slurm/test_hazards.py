"""What a predictor says over a window is asked over that window: no moment is made of a hazard."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.live.desk.promises import likelihood
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.outlook import foretold, with_usual, without_usual
from forestall.live.slurm.quoting import mean_of_sets
from forestall.prediction.watching.foreseen import JoinedForecasts, NodeForecast
from forestall.scheduling.rules.curved_risk_kernels import PARTS
from forestall.slurm.cluster.nouns import ClusterView
from live.slurm.scenarios import Scenario

DAY = 86_400
NOW = 1_800_000_000


def hazard(day_risk: float, shape: float = 1.0, at: int = NOW) -> NodeForecast:
    """Return the hazard of a Weibull law that fails with such a probability within a day."""
    scale = -math.log1p(-day_risk)
    curve = tuple(1 - math.exp(-scale * ((k + 1) / PARTS) ** shape) for k in range(PARTS))
    return NodeForecast(at, at + DAY, curve[-1], "rate", curve)


@given(
    st.floats(1e-6, 0.999), st.floats(0.4, 3.0),
    st.lists(st.integers(NOW, NOW + 3 * DAY), min_size=3, max_size=3).map(sorted),
)  # fmt: skip
def test_windows_that_follow_one_another_multiply(
    day_risk: float, shape: float, moments: list[int]
) -> None:
    one = hazard(day_risk, shape)
    first, second, third = moments
    lives = (1 - one.risk(first, second)) * (1 - one.risk(second, third))
    assert 1 - one.risk(first, third) == pytest.approx(lives, abs=1e-9)
    assert 0 <= one.risk(first, second) <= one.risk(first, third) <= 1


def test_a_rate_is_the_same_in_every_window() -> None:
    one = hazard(0.5)
    for start in (NOW - 500, NOW, NOW + 7 * 3600 + 11, NOW + 2 * DAY):
        length = 1200 if start >= NOW else 1700
        assert one.risk(start, start + length) == pytest.approx(1 - 0.5 ** (1200 / DAY))
    assert one.risk(NOW, NOW + DAY) == pytest.approx(0.5)
    assert one.risk(NOW + 5, NOW + 5) == 0
    certain = NodeForecast(NOW, NOW + DAY, 1.0, "sure", (0.5, 1.0))
    assert 0.999 < certain.risk(NOW, NOW + DAY) <= 1


def test_a_moment_is_one_still() -> None:
    one = NodeForecast(NOW + 100, NOW + 200, 0.3, "list")
    assert [one.risk(NOW, NOW + end) for end in (100, 101)] == [0.0, 0.3]
    assert one.risk(NOW + 200, NOW + 300) == 0.0
    assert one.moment(NOW, NOW + 500) == NOW + 100


def test_the_engine_is_told_of_moments_and_of_hazards_where_they_are_news() -> None:
    number, rate = {"n1": 0, "n2": 1}, hazard(0.1)
    moment = NodeForecast(NOW + 100, NOW + 200, 0.3, "list")
    events, known = foretold({}, {"n1": rate, "n2": moment}, number, NOW)
    assert [(one.key, len(one.hazard)) for one in events] == [(0, PARTS), (1, 0)]
    assert known["n1"].risk(NOW, NOW + 7000) == pytest.approx(rate.risk(NOW, NOW + 7000))
    assert known["n2"] == moment
    # A rate goes on as it was told, however late; another one is news.
    assert foretold(known, {"n1": hazard(0.1, at=NOW + DAY), "n2": moment}, number, NOW + DAY) == (
        [], known
    )  # fmt: skip
    events, after = foretold(known, {"n1": hazard(0.2), "n2": rate}, number, NOW + 60)
    assert [(one.key, bool(one.hazard), one.at) for one in events] == [
        (0, True, NOW), (1, False, -1), (1, True, NOW)
    ]  # fmt: skip
    events, none = foretold(after, {}, number, NOW + 90)
    assert [one.hazard for one in events] == [(0.0,), (0.0,)]
    assert none == {}


def test_a_hazard_stays_beside_a_failure_at_a_moment() -> None:
    """It was forgotten for a maintenance next week."""
    view = ClusterView({}, {}, {})
    planned = NodeForecast(NOW + 5 * DAY, NOW + 5 * DAY + 600, 1.0, "maintenance")
    said = [Said({"n1": planned}), Said({"n1": hazard(0.3), "n2": hazard(0.1)})]
    both = JoinedForecasts(*said).foreseen(view, NOW)
    assert both["n1"].risk(NOW, NOW + DAY) == pytest.approx(0.3)
    assert both["n1"].risk(NOW, NOW + DAY, NOW + DAY // 2) == pytest.approx(1 - 0.7**0.5)
    assert both["n1"].risk(NOW, NOW + 6 * DAY) == 1
    assert both["n1"].is_acted_on(NOW, NOW + DAY)
    assert both["n2"].curve
    events, known = foretold({}, both, {"n1": 0, "n2": 1}, NOW)
    assert [(one.key, bool(one.hazard)) for one in events] == [(0, False), (0, True), (1, True)]
    assert known["n1"].risk(NOW, NOW + 3 * DAY) == pytest.approx(0.657)


def test_a_node_of_which_nothing_is_known_is_as_likely_to_fail_as_others() -> None:
    names, rate = ("n1", "n2"), 0.1 / DAY
    assert with_usual({}, names, rate, NOW) == {}  # where no hazard is known it is asked elsewhere
    wanted = with_usual({"n1": hazard(0.3)}, names, rate, NOW)
    assert wanted["n2"].risk(NOW + 1000, NOW + 1000 + 2 * DAY) == pytest.approx(1 - math.exp(-0.2))
    assert without_usual(wanted) == {"n1": hazard(0.3)}


def test_the_mean_over_the_nodes_that_slurm_may_take() -> None:
    chance = np.random.default_rng(11)
    for count, size, spread in ((1, 1, 0.5), (7, 3, 0.05), (9, 9, 0.05), (12, 5, 0.1)):
        lasting = 1 - spread * chance.random(count)
        sets = [math.prod(lasting[list(one)]) for one in combinations(range(count), size)]
        assert mean_of_sets(lasting, size) == pytest.approx(np.mean(sets), rel=2e-4)
    assert mean_of_sets(np.full(5, 0.9), 4) == pytest.approx(0.9**4)
    assert mean_of_sets(np.zeros(5), 2) == 0


@dataclass
class Said:
    """Foresees what it is given."""

    told: dict[str, NodeForecast]

    def foreseen(self, seen: ClusterView, now: int) -> dict[str, NodeForecast]:
        return self.told


class Hazards:
    """Foresees the same rate for every node."""

    def __init__(self, day_risk: float) -> None:
        self.day_risk = day_risk

    def foreseen(self, seen: ClusterView, now: int) -> dict[str, NodeForecast]:
        return {name: hazard(self.day_risk, at=now) for name in seen.nodes}


def quoted(day_risk: float, nodes: int, time: int) -> float:
    one = Scenario(15, calm=True)  # its keeper holds starts
    one.controller._forecasts = Hazards(day_risk)
    for _ in range(2):
        one.world.advance(one.world.state.now + 60)
        one.controller.cycle()
    offers = one.controller.quote(WantedJob(nodes, time, user="ann")).offers
    held = [offer for offer in offers if offer.held]
    assert held
    offer = min(held, key=lambda each: each.start)
    window = offer.deadline - offer.start
    if offer.start <= one.cluster.clock:  # it starts at once; the rest is the time to take it
        window = time
    stated: float = offer.before
    assert stated == pytest.approx((1 - day_risk) ** (nodes * window / DAY), rel=0.02)
    return stated


def test_what_is_left_to_slurm_is_what_nothing_is_foreseen_of() -> None:
    """Against a plain look at each node, with hazards, moments, both, and nodes without any."""
    one, chance = Scenario(15, calm=True), np.random.default_rng(4)
    one.world.advance(one.world.state.now + 60)
    names, now = sorted(one.world.state.nodes), one.world.state.now
    told = dict[str, NodeForecast]()
    for k, name in enumerate(names):
        moment = NodeForecast(now + 60 * k, now + 60 * k + 600, 0.3, "list")
        rate = hazard(float(chance.uniform(0.1, 0.99)), at=now)
        kinds = (None, rate, moment, moment._replace(beside=rate))
        if (kind := kinds[k % 4]) is not None:
            told[name] = kind
    one.controller._forecasts = Said(told)
    for _ in range(2):
        one.world.advance(one.world.state.now + 60)
        one.controller.cycle()
    mind = one.controller._mind
    assert mind is not None
    sizes = set()
    for start, length in chance.integers(0, 40_000, (60, 2)).tolist():
        begin, end = now + 120 + start, now + 121 + start + length
        plain = [
            node
            for node, name in enumerate(mind.beliefs.names)
            if name not in mind.outlook or not mind.outlook[name].is_acted_on(begin, end)
        ]
        left = mind.left_to_slurm(0, 1, begin, end).tolist()
        sizes.add(len(left))
        assert left == (plain or left)
    assert len(sizes) > 2


def test_a_short_wide_job_is_quoted_by_the_hazard_over_its_run() -> None:
    """Ten percent that one of four nodes fails within 20 min were stated as 0.2 % once."""
    day_risk = 1 - 0.9 ** (DAY / (4 * 1200))
    assert quoted(day_risk, 4, 1200) == pytest.approx(0.9, abs=0.01)
    assert quoted(0.0001, 4, 1200) > 0.9999


def test_stated_probabilities_come_true() -> None:
    """Deciles of what is stated for windows of nodes with hazards of many shapes, against failures
    drawn from their laws: within 3 points."""
    chance = np.random.default_rng(7)
    count = 40_000
    stated, lives = np.empty(count), np.empty(count, dtype=bool)
    for k in range(count):
        day_risk, shape = (
            -math.expm1(-math.exp(chance.uniform(-4, 3))),
            chance.choice([0.6, 1.0, 1.5]),
        )
        start = int(chance.uniform(0, DAY // 2))
        end = start + int(chance.uniform(600, DAY // 2))
        one = hazard(day_risk, shape)
        stated[k] = 1 - one.risk(NOW + start, NOW + end)
        scale = -math.log1p(-day_risk)
        before = scale * (start / DAY) ** shape  # it lives at the start of the window
        fails = DAY * ((before + chance.exponential()) / scale) ** (1 / shape)
        lives[k] = fails >= end
    deciles = np.minimum((10 * stated).astype(int), 9)
    for decile in range(10):
        among = deciles == decile
        assert among.sum() >= 1000  # one standard error is 1.6 points at most
        assert abs(stated[among].mean() - lives[among].mean()) < 0.03


def test_an_open_promise_is_told_by_the_hazard_over_what_is_left() -> None:
    one = Scenario(15, calm=True)
    one.controller._forecasts = Hazards(0.5)
    for _ in range(20):
        one.world.advance(one.world.state.now + 60)
        one.controller.cycle()
    view = one.controller.view
    assert view is not None
    told = 0
    for job in view.plans:
        plan = view.plans[job]
        likely, end = likelihood(view, job, plan.end)
        assert end == plan.end
        left = max(plan.end - max(plan.start, view.looked), 0)
        assert likely == pytest.approx(0.5 ** (len(plan.nodes) * left / DAY), rel=0.02)
        told += 1
    assert told > 0
    unknown = replace(view, outlook={})
    some = next(iter(view.plans))
    plain, _ = likelihood(unknown, some, view.plans[some].end)
    assert plain is not None
    assert plain > likelihood(view, some, view.plans[some].end)[0]  # type: ignore[operator]
