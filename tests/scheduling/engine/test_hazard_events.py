"""Hazards of nodes as a live cluster's engine is told them: what is chosen and promised."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest

from forestall.core._compile import records
from forestall.core.model.decisions import Reason
from forestall.core.model.errors import ParameterError
from forestall.core.model.events import Event, EventKind
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.engine.state import Rules
from forestall.scheduling.rules.checkpoint_kernels import CHECKPOINT_NONE
from forestall.scheduling.rules.curved_risk_kernels import Curved
from forestall.scheduling.rules.search_state import LEAST_RISKY

K = EventKind
DAY = 86_400


def engine(nodes: int, wanted: float = 0.0, policy: str = "promise") -> Engine:
    code = POLICIES[policy].code
    rules = Rules(code, int(CHECKPOINT_NONE), int(LEAST_RISKY), 0, 0, 1, 0, wanted)
    return Engine(nodes, rules, Foreseen(records(0, FORESEEN), 0, 0), 0, validate=True)


def rate(node: int, day_risk: float, now: int = 0, parts: int = 24) -> Event:
    scale = -math.log1p(-day_risk)
    curve = tuple(-math.expm1(-scale * (k + 1) / parts) for k in range(parts))
    return Event(now, K.PREDICTION_CHANGED, node, now + DAY, now, hazard=curve)


def test_the_nodes_of_least_hazard_over_the_run_are_chosen_and_their_product_is_promised() -> None:
    """Against all sets of nodes, by the laws themselves."""
    chance = np.random.default_rng(3)
    for _ in range(20):
        nodes, size = 6, int(chance.integers(1, 5))
        scale, shape = chance.uniform(0.05, 3, nodes), chance.choice([0.5, 1.0, 2.0], nodes)
        ends = np.arange(1, 25)[:, None] / 24
        curves = (-np.expm1(-scale * ends**shape)).T
        one = engine(nodes)
        told = [Event(0, K.PREDICTION_CHANGED, k, DAY, 0, hazard=tuple(curves[k].tolist()))
                for k in range(nodes)]  # fmt: skip
        one.handle(told, 0)
        length = int(chance.integers(1, 24)) * 3600
        quote = one.quote(size, length, length, 0)
        lives = np.exp(-scale * (length / DAY) ** shape)
        best = max(math.prod(lives[list(some)]) for some in combinations(range(nodes), size))
        assert quote.probability == pytest.approx(best)
        assert math.prod(lives[list(quote.nodes)]) == pytest.approx(best)


def test_a_moment_made_of_a_hazard_chose_other_nodes() -> None:
    """A node with a hazard of 60 % a day, and one of 70 %: for an hour both were called safe."""
    one = engine(3)
    one.handle([rate(0, 0.7), rate(1, 0.6), rate(2, 0.1)], 0)
    assert list(one.quote(2, 3600, 3600, 0).nodes) == [1, 2]
    other = engine(3)
    other.handle([Event(0, K.PREDICTION_CHANGED, k, DAY, 43_200, 0.7 - k / 10) for k in (0, 1)], 0)
    quote = other.quote(2, 3600, 3600, 0)
    assert (list(quote.nodes), quote.probability) == ([0, 1], 1.0)


def test_hazards_and_moments_are_independent() -> None:
    one = engine(2)
    one.handle([rate(0, 0.3), rate(1, 0.3)], 0)
    one.handle([Event(5, K.PREDICTION_CHANGED, 0, 9000, 4000, 0.5)], 5)
    lives = 0.7 ** (7200 / DAY)
    assert one.quote(1, 7200, 7200, 5).probability == pytest.approx(lives)
    assert list(one.quote(1, 7200, 7200, 5).nodes) == [1]
    assert one.quote(2, 7200, 7200, 5).probability == pytest.approx(lives**2 * 0.5)
    one.handle([Event(6, K.PREDICTION_CHANGED, 0)], 6)  # it is taken back; the hazard stays
    assert one.quote(2, 7200, 7200, 6).probability == pytest.approx(lives**2)
    one.handle([Event(7, K.PREDICTION_CHANGED, 0, 8, 7, hazard=(0.0,))], 7)
    assert one.quote(2, 7200, 7200, 7).probability == pytest.approx(lives)


def test_offers_trade_a_later_start_for_safer_nodes() -> None:
    one = engine(2)
    one.handle([rate(0, 0.01), rate(1, 0.9)], 0)
    job = one.add_job(1, 3600, 3600, 0)
    one.handle([Event(0, K.SUBMITTED, job)], 0)
    now, later = one.offers(1, 7200, 7200, 0)
    assert (list(now.nodes), now.start, list(later.nodes), later.start) == ([1], 0, [0], 3600)
    assert now.probability == pytest.approx(0.1 ** (1 / 12))
    assert later.probability == pytest.approx(0.99 ** (1 / 12))


def test_nobody_waits_for_what_no_start_escapes() -> None:
    """A hazard delays no job of which nobody asked; a peak that passes does."""
    one = engine(2, wanted=0.9)
    one.handle([rate(0, 0.99), rate(1, 0.99)], 0)
    busy = one.add_job(1, 600, 600, 0)
    one.handle([Event(0, K.SUBMITTED, busy)], 0)
    job = one.add_job(1, 36_000, 36_000, 0)
    one.handle([Event(0, K.SUBMITTED, job)], 0)
    assert one.field(job, "start") == 0
    peak = (0.8, *(0.8 + k / 1000 for k in range(23)))
    other = engine(1, wanted=0.9)
    other.handle([Event(0, K.PREDICTION_CHANGED, 0, DAY, 0, hazard=peak)], 0)
    job = other.add_job(1, 3600, 3600, 0)
    other.handle([Event(0, K.SUBMITTED, job)], 0)
    assert other.field(job, "start") == 3600


def test_reservations_move_where_a_hazard_has_risen() -> None:
    one = engine(3)
    one.handle([rate(k, 0.01) for k in range(3)], 0)
    first, job = one.add_job(3, 3600, 3600, 0), one.add_job(2, 36_000, 36_000, 0)
    one.handle([Event(0, K.SUBMITTED, first), Event(0, K.SUBMITTED, job)], 0)
    assert (one.field(job, "start"), list(one.nodes_of(job))) == (3600, [0, 1])
    promise = float(one.state.jobs["promise"][job])
    # Less than 5 points over the run is no reason; nor is a node that is told of as late.
    assert one.handle([rate(0, 0.05, 1), rate(1, 0.05, 1)], 1) == []
    assert one.handle([rate(0, 0.5, 2), rate(1, 0.9, 2), rate(2, 0.95, 2)], 2) == []
    [moved] = one.handle([rate(2, 0.01, 3), rate(1, 0.999, 3)], 3)
    assert (moved.reason, list(one.nodes_of(job))) == (Reason.SAFER_NODES, [0, 2])
    assert moved.probability == promise


def test_an_engine_that_is_kept_knows_its_hazards() -> None:
    one = engine(3)
    one.handle([rate(0, 0.3, parts=1), rate(2, 0.2)], 0)
    kept = json.loads(json.dumps(one.snapshot()))
    again = Engine.restore(kept)
    assert isinstance(again.state.prediction, Curved)
    asked = (3, 50_000, 50_000, 0)
    assert again.quote(*asked).probability == one.quote(*asked).probability
    assert one.quote(*asked).probability == pytest.approx((0.7 * 0.8) ** (50_000 / DAY))
    kept["state"]["prediction"]["span"] = kept["state"]["prediction"]["passes"] = 1
    with pytest.raises(ParameterError):
        Engine.restore(kept)


def test_what_is_no_hazard_is_refused() -> None:
    figures = {"until": DAY, "at": 0}
    for curve in ((0.5, 0.4), (1.5,), (-0.1,), (math.nan,)):
        with pytest.raises(ParameterError):
            Event(0, K.PREDICTION_CHANGED, 0, **figures, hazard=curve)
    with pytest.raises(ParameterError):
        Event(0, K.PREDICTION_CHANGED, 0, hazard=(0.5,))
    with pytest.raises(ParameterError):
        Event(0, K.NODE_FAILED, 0, hazard=(0.5,))
    with pytest.raises(ParameterError, match="only the promise policy"):
        engine(2, policy="easy").handle([rate(0, 0.5), Event(0, K.PASS, 0)], 0)
    one = rate(3, 0.25)
    assert Event.of(json.loads(json.dumps(one.as_dict()))) == one
