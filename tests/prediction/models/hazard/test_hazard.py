"""The hazard predictor: its law by integration, its risks by simulation, and what it may know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, stats

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import window_of
from forestall.prediction.models.base import Predictor
from forestall.prediction.models.hazard import fit as fits
from forestall.prediction.models.hazard.hazard import HazardPredictor

DAY = 86_400


def seen_of(history: Failures, nodes: int) -> fits.SeenGaps:
    return fits.seen_in(history, nodes, window_of(history))


def days(*times: float) -> list[int]:
    return [round(t * DAY) for t in times]


# --------------------------------------------------------------------------------------- the law


def by_integration(
    gaps: list[list[float]], window: float, law: fits.GapLaw, new: set[int]
) -> float:
    """The marginal likelihood, a node's rate integrated out numerically."""
    k, total = law.shape, 0.0
    prior = stats.gamma(law.prior_failures, scale=1 / law.prior_exposure)

    def density(rate: float, x: float) -> float:
        return rate * k * x ** (k - 1) * math.exp(-rate * x**k)

    def lasting(rate: float, x: float) -> float:
        return math.exp(-rate * x**k)

    def under_way(rate: float, x: float) -> float:
        """Density of what is left of a gap under way: lasting / mean gap."""
        return lasting(rate, x) * rate ** (1 / k) / math.gamma(1 + 1 / k)

    for node, mine in enumerate(gaps):

        def likelihood(rate: float, mine: list[float] = mine, node: int = node) -> float:
            first = density if node in new else under_way
            if not mine:
                if node in new:
                    return lasting(rate, window)
                return 1 - integrate.quad(lambda x: under_way(rate, x), 0, window)[0]
            value = first(rate, mine[0])
            for x in mine[1:]:
                value *= density(rate, x)
            return value * lasting(rate, window - sum(mine))

        top = prior.ppf(1 - 1e-10)
        found = integrate.quad(
            lambda rate: likelihood(rate) * prior.pdf(rate), 0, top, epsabs=0, epsrel=1e-7,
            limit=200,
        )  # fmt: skip
        total += math.log(found[0])
    return total


@pytest.mark.parametrize("shape", [0.6, 1.0, 1.7])
@pytest.mark.parametrize("new", [set(), {0, 3}])
def test_the_marginal_likelihood_is_the_integral(shape: float, new: set[int]) -> None:
    gaps = [[3.0, 10.0, 0.5], [20.0], [], []]
    law = fits.GapLaw(shape, 1.8, 25.0)
    ends = [np.cumsum(mine) for mine in gaps]
    time = [round(t * DAY) for mine in ends for t in mine]
    node = [n for n, mine in enumerate(ends) for _ in mine]
    history = Failures.build([*time, 40 * DAY - 1], [*node, 9])  # the last one sets the window
    history = history.take(history.node < 9)
    seen = fits.seen_in(history, 4, (0, 40 * DAY))
    flags = np.array([n in new for n in range(4)])
    if new:
        service = {
            "service_start": np.zeros(4, dtype=np.int64),
            "service_end": np.full(4, 40 * DAY),
            "service_new": flags,
        }
        history = Failures(
            history.time, history.node, history.downtime, history.detectability,
            span=40 * DAY, nodes=4, **service,
        )  # fmt: skip
        seen = fits.seen_in(history, 4, (0, 40 * DAY))
    assert seen.new.tolist() == flags.tolist()
    expected = by_integration(gaps, 40.0, law, new)
    assert fits.log_likelihood(seen, law) == pytest.approx(expected, rel=1e-6)


def test_the_fit_is_a_maximum() -> None:
    history = fs.generate_failures(60, 1500, 4, heterogeneity=0.5)
    seen = seen_of(history, 60)
    law = fits.most_likely(seen)
    best = fits.log_likelihood(seen, law)
    for shape, a, b in [(1.02, 1, 1), (0.98, 1, 1), (1, 1.1, 1), (1, 0.9, 1), (1, 1, 1.05)]:
        other = fits.GapLaw(law.shape * shape, law.prior_failures * a, law.prior_exposure * b)
        assert fits.log_likelihood(seen, other) < best


def test_last_bits_of_the_arithmetic_do_not_change_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors differ in them."""
    seen = seen_of(fs.generate_failures(60, 1500, 4, heterogeneity=0.5), 60)
    law, exact, rng = fits.most_likely(seen), fits.gammaln, np.random.default_rng(5)

    def other(x: Any) -> Any:
        return exact(x) * (1 + 2e-16 * rng.integers(-1, 2, np.shape(x)))

    monkeypatch.setattr(fits, "gammaln", other)
    assert fits.most_likely(seen) == law


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.4])
def test_shape_and_spread_of_rates_are_found(shape: float) -> None:
    found = []
    for seed in range(3):
        history = fs.generate_failures(
            200, 2000, seed, mttf_hours=24 * 150, shape=shape, heterogeneity=0.4,
            bursts=_no_bursts(),
        )  # fmt: skip
        predictor = HazardPredictor()
        predictor.fit(history)
        assert predictor.trained == len(history)
        found.append((predictor.shape, predictor.prior_failures))
    shapes, failures = np.array(found).T
    assert shapes == pytest.approx(shape, rel=0.08)
    # the generator draws relative rates r of variance 0.4; a node's hazard grows with r ** shape
    rates = stats.gamma(1 / 0.4, scale=0.4).rvs(200_000, random_state=np.random.default_rng(1))
    powers = rates**shape
    assert failures.mean() == pytest.approx(powers.mean() ** 2 / powers.var(), rel=0.25)


def _no_bursts() -> Any:
    from forestall.logs.generate.times import Bursts

    return Bursts()


def test_nodes_all_alike_share_all_they_know() -> None:
    history = fs.generate_failures(300, 3000, 7, heterogeneity=0.0, bursts=_no_bursts())
    predictor = HazardPredictor()
    predictor.fit(history)
    assert predictor.prior_failures > 40


def test_the_window_of_a_log() -> None:
    assert window_of(Failures.build([5, 60], [0, 0])) == (5, 61)
    assert window_of(Failures.build([0, 60], [0, 0])) == (0, 61)
    assert window_of(fs.generate_failures(64, 100, 1)) == (0, 100 * DAY)
    assert window_of(Failures.build([-50, 60], [0, 0])) == (-50, 61)


def test_failures_of_one_second_and_one_node() -> None:
    history = Failures.build([0, *days(3, 3, 8, 20, 20, 33)], [0, 0, 0, 1, 1, 1, 0])
    predictor = HazardPredictor()
    predictor.fit(history)
    assert 0.1 <= predictor.shape <= 10
    assert np.isfinite(predictor.failure_probability(np.array([0, 1]), 33 * DAY, 40 * DAY)).all()


def test_nodes_that_came_later_or_never() -> None:
    history = Failures.build(days(10, 20, 30, 50), [0, 1, 0, 0])
    service = {
        "service_start": np.array([0, 15 * DAY, 40 * DAY, 0]),
        "service_end": np.array([60 * DAY, 60 * DAY, 60 * DAY, 0]),
        "service_new": np.array([False, True, True, False]),
    }
    told = Failures(
        history.time, history.node, history.downtime, history.detectability, span=60 * DAY,
        nodes=4, **service,
    )  # fmt: skip
    seen = fits.seen_in(told, 4, (0, 60 * DAY))
    assert seen.begin.tolist() == [0, 15 * DAY, 40 * DAY, 0]
    assert seen.there.tolist() == [True, True, True, False]
    assert (seen.first.tolist(), seen.failed.tolist()) == ([10.0], [0])
    assert sorted(zip(seen.owner.tolist(), seen.gaps.tolist(), strict=True)) == [
        (0, 20.0), (0, 20.0), (1, 5.0),
    ]  # fmt: skip
    predictor = HazardPredictor(shape=1.0, prior_failures=2.0, prior_exposure=100.0)
    predictor.fit(told)
    # with shape 1 a rate is known by failures over exposure, whenever gaps began
    rate = -np.log1p(-predictor.failure_probability(np.arange(3), 60 * DAY, 60 * DAY + 1)) * DAY
    assert rate == pytest.approx([(2 + 3) / 160, (2 + 1) / 145, 2 / 120], rel=1e-4)


# --------------------------------------------------------------------------------------- answers


def by_hand(a: float, b: float, k: float, age: float, length: float) -> float:
    return 1 - float((b + age**k) / (b + (age + length) ** k)) ** a


def test_it_is_a_predictor() -> None:
    assert isinstance(HazardPredictor(), Predictor)
    assert fs.HazardPredictor is HazardPredictor


def test_a_failure_now_and_its_node_later() -> None:
    predictor = HazardPredictor(shape=0.5, prior_failures=2.0, prior_exposure=10.0)
    predictor.fit(Failures.build(days(5, 21), [0, 0]), nodes=2, end=0)
    # in equilibrium at first: 1 / 0.5 for the first failure, then 1 for the next; gaps 0 and 16 d
    assert (predictor.begin, predictor.end) == (5 * DAY - 21 * DAY - 1, 0)
    a, b = 2.0 + 2.0 + 1.0, 10.0 + 0.0 + 4.0
    node = np.array([0])
    for length in (1, 100, 9 * DAY):
        found = predictor.failure_probability(node, 0, length)
        assert found == pytest.approx(by_hand(a, b, 0.5, 1 / DAY, length / DAY), rel=1e-9)
    predictor.update(4 * DAY - 1, 0)
    found = predictor.failure_probability(node, 4 * DAY - 1, 5 * DAY - 1)
    assert found == pytest.approx(by_hand(a + 1, b + 2, 0.5, 0, 1), rel=1e-6)
    predictor.advance(13 * DAY - 1)
    found = predictor.failure_probability(node, 0, 14 * DAY - 1)  # the past is not asked about
    assert found == pytest.approx(by_hand(a + 1, b + 2, 0.5, 9, 1), rel=1e-6)


def test_answers_hang_together() -> None:
    predictor = HazardPredictor()
    history = fs.generate_failures(32, 900, 3)
    predictor.fit(history)
    now, nodes = predictor.end, np.arange(32)
    each = predictor.failure_probability(nodes, now, now + 5 * DAY)
    any_of = predictor.partition_failure_probability(nodes, now, now + 5 * DAY)
    assert any_of == pytest.approx(1 - np.prod(1 - each), rel=1e-12)
    assert predictor.partition_failure_probability(nodes[:0], now, now + 5 * DAY) == 0.0
    assert predictor.failure_probability(nodes, now + DAY, now + DAY).tolist() == [0.0] * 32
    assert predictor.failure_probability(nodes, now - DAY, now).tolist() == [0.0] * 32
    median = predictor.time_to_failure(nodes)
    for node, wait in zip(nodes, median, strict=True):
        half = predictor.failure_probability(nodes[node : node + 1], now, now + round(wait))
        assert half == pytest.approx(0.5, abs=1e-4)


def test_those_that_failed_often_or_lately_are_riskier() -> None:
    often = Failures.build(days(*range(5, 95, 10), 40, 96), [*[0] * 9, 1, 2])
    predictor = HazardPredictor(shape=0.7, prior_failures=2.0, prior_exposure=60.0)
    predictor.fit(often, nodes=4)
    risk = predictor.failure_probability(np.arange(4), predictor.end, predictor.end + DAY)
    assert risk[0] > risk[1] > risk[3]
    assert risk[2] > risk[1]


def test_a_node_that_never_failed_has_the_hazard_of_one_in_equilibrium() -> None:
    law = fits.GapLaw(0.6, 1.5, 12.0)
    predictor = HazardPredictor(law.shape, law.prior_failures, law.prior_exposure)
    predictor.fit(Failures.build(days(0, 70), [0, 0]), nodes=2)
    now = predictor.end
    rate = predictor.failure_probability(np.array([1]), now, now + 60)[0] * DAY / 60

    def numerator(r: float) -> float:
        return stats.gamma.pdf(r, 1.5, scale=1 / 12) * r ** (1 / 0.6) / math.gamma(1 + 1 / 0.6)

    age = (now - predictor.begin) / DAY
    density = integrate.quad(lambda r: numerator(r) * math.exp(-r * age**0.6), 0, 5)[0]
    ends = np.linspace(0, age, 20_001)
    lasting = 1 - integrate.simpson(
        [integrate.quad(lambda r: numerator(r) * math.exp(-r * x**0.6), 0, 5)[0]  # noqa: B023
         for x in ends[::100]], x=ends[::100],
    )  # fmt: skip
    assert rate == pytest.approx(density / lasting, rel=2e-3)


def test_unknown_nodes_have_the_mean_rate() -> None:
    predictor = HazardPredictor(shape=1.0, prior_failures=3.0, prior_exposure=300.0)
    assert predictor.failure_probability(np.array([500]), 0, DAY) == pytest.approx(0.01, rel=0.01)
    predictor.update(0, 500)
    assert predictor.failure_probability(np.array([500]), 0, DAY)[0] > 0.0125


def paths(shape: float, draws: int, seed: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Rates of nodes and their failures from a failure at day 0 on, float64[draws, many] days."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(3.0, 1 / 40.0, draws)
    gaps = (rng.exponential(size=(draws, 60)) / rate[:, None]) ** (1 / shape)
    return rate, np.cumsum(gaps, axis=1)


@pytest.mark.parametrize("shape", [0.6, 1.0, 1.5])
def test_windows_now_and_later_against_simulated_nodes(shape: float) -> None:
    """A node that failed at day 0 and lasted until day 6, its rate known by the law alone."""
    _, times = paths(shape, 400_000, 5)
    lasted = times[times[:, 0] >= 6.0]
    predictor = HazardPredictor(shape, 3.0, 40.0)
    predictor.fit(Failures.build([0], [0]), end=1)
    table = predictor.known()
    table["failures"], table["exposure"], table["renewed"], table["fresh"] = 3.0, 40.0, 0, 0
    predictor.advance(6 * DAY)
    for start, end in [(6, 7), (6, 20), (7, 8), (10, 12), (16, 20), (36, 40)]:
        true = float(np.mean(np.any((lasted >= start) & (lasted < end), axis=1)))
        error = math.sqrt(true * (1 - true) / len(lasted))
        told = predictor.failure_probability(np.array([0]), start * DAY, end * DAY)[0]
        # exact from now on; to first order in the chance of failing before the start, later
        slack = 0.0 if start == 6 else 0.04 * true
        assert abs(told - true) < 4 * error + slack, (start, end, told, true)


def test_daily_risks_of_nodes_come_true() -> None:
    """Learnt from three years, told day by day in the next: expected failures are those seen."""
    whole = fs.generate_failures(
        150, 1400, 11, mttf_hours=24 * 90, heterogeneity=0.6, bursts=_no_bursts()
    )
    cut = 1095 * DAY
    predictor = HazardPredictor()
    before = whole.take(whole.time < cut)
    predictor.fit(
        Failures(before.time, before.node, before.downtime, before.detectability, span=cut,
                 nodes=150)
    )  # fmt: skip
    told, came = [], []
    nodes = np.arange(150)
    after = whole.take(whole.time >= cut)
    for day in range(1095, 1400):
        begin, end = day * DAY, (day + 1) * DAY
        predictor.advance(begin)
        told.append(predictor.failure_probability(nodes, begin, end))
        today = after.take((after.time >= begin) & (after.time < end))
        came.append(np.isin(nodes, today.node))
        for time, node in zip(today.time.tolist(), today.node.tolist(), strict=True):
            predictor.update(time, node)
    risk, failed = np.concatenate(told), np.concatenate(came)
    assert risk.sum() == pytest.approx(failed.sum(), rel=0.1)
    order = np.argsort(risk)
    for part in np.array_split(order, 5):
        expected, seen = risk[part].sum(), failed[part].sum()
        assert abs(expected - seen) < 3.5 * math.sqrt(expected), (expected, seen)
    alike = np.full(len(risk), risk.mean())
    assert np.mean((risk - failed) ** 2) < np.mean((alike - failed) ** 2)


# ------------------------------------------------------------------------------- runs and errors


def test_a_copy_for_a_run_learns_by_itself() -> None:
    predictor = HazardPredictor()
    predictor.fit(fs.generate_failures(8, 2000, 1), end=0)
    before = predictor.known().tobytes()
    run = predictor.for_run(10, 0, 120)
    assert (len(run.known()), run.downtime, run.trained) == (10, 120, predictor.trained)
    arrays = run.arrays()
    run.update(50, 3)
    assert predictor.known().tobytes()[: len(before)] == before
    assert arrays.nodes["failures"][3] != run.known()["failures"][3]


def test_a_gap_before_the_run_tells_nothing() -> None:
    predictor = HazardPredictor(shape=1.0, prior_failures=2.0, prior_exposure=50.0)
    predictor.fit(Failures.build(days(0, 30, 60), [0, 0, 0]), nodes=2)
    nodes, now = np.arange(2), predictor.end
    before = predictor.failure_probability(nodes, now, now + DAY)
    later = predictor.for_run(2, now + 500 * DAY, 120)
    after = later.failure_probability(nodes, now + 500 * DAY, now + 501 * DAY)
    assert after == pytest.approx(before, rel=1e-9)  # shape 1: no age, and no exposure
    predictor.advance(now + 500 * DAY)
    known = predictor.failure_probability(nodes, now + 500 * DAY, now + 501 * DAY)
    assert (known < 0.4 * before).all()


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"shape": 0.0, "prior_failures": 1.0, "prior_exposure": 1.0}, "shape"),
        ({"shape": math.nan, "prior_failures": 1.0, "prior_exposure": 1.0}, "shape"),
        ({"shape": 1.0, "prior_failures": -1.0, "prior_exposure": 1.0}, "prior_failures"),
        ({"shape": 1.0, "prior_failures": 1.0, "prior_exposure": math.inf}, "prior_exposure"),
        ({"shape": 1.0}, "shape"),
    ],
)
def test_numbers_that_cannot_be(numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        HazardPredictor(**numbers)


def test_too_little_to_learn_from() -> None:
    for history in (Failures.none(), Failures.build([5], [0])):
        with pytest.raises(ParameterError, match="at least 2 failures"):
            HazardPredictor().fit(history)
    with pytest.raises(ParameterError, match="fit"):
        HazardPredictor().failure_probability(np.array([0]), 0, 1)


@pytest.mark.parametrize(
    "history",
    [
        Failures.build([0, 1], [0, 0]),
        Failures.build([0, 0], [0, 1]),
        Failures.build([7, 7], [0, 0]),
        Failures.build(days(*range(50)), [0] * 50),
        Failures.build([0, 2**33], [0, 1]),
    ],
)
def test_odd_histories_give_probabilities(history: Failures) -> None:
    predictor = HazardPredictor()
    predictor.fit(history, nodes=5)
    now = predictor.end
    for start, length in [(now, 1), (now, 10**9), (now + 10**6, 10**4)]:
        risk = predictor.failure_probability(np.arange(6), start, start + length)
        assert ((risk >= 0) & (risk <= 1)).all()
    assert (predictor.time_to_failure(np.arange(6)) > 0).all()
