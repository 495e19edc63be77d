"""Every claim can hold and can fail: the tests on made-up grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from studies.kit.claims import FOLLOWS, UNTESTED, UntestableError
from studies.promises import asked
from studies.promises import claims as c
from studies.promises.claims import FAILS, HOLDS, LARGER, PARTLY, SMALLER
from studies.promises.surface import Surface
from synthetic_promises import made


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(-0.01, FAILS), (0, FAILS), (0.01, SMALLER), (0.05, HOLDS), (0.07, HOLDS), (0.2, LARGER)],
)
def test_size_of_an_effect(measured: float, verdict: str) -> None:
    assert c.size_verdict(measured, 0.06) == verdict


def test_levels() -> None:
    assert c.levels(made()).verdict == HOLDS
    assert c.levels(made(lambda a, u: 0.8 + 0.2 * a)).verdict == PARTLY
    assert c.levels(made(lambda a, u: 0.7 + 0.1 * a)).verdict == FAILS


@pytest.mark.parametrize("measure", ["qos", "utilization"])
def test_gain_of_accuracy(measure: str) -> None:
    for gain, verdict in ((0.06, HOLDS), (0.2, LARGER), (0.02, SMALLER), (-0.05, FAILS)):
        grid = made(**{measure: lambda a, u, g=gain: 0.7 + g * a})
        found = c.accuracy_gain(grid, measure, 0.06)
        assert found.verdict == verdict
    assert "points from 0.700" in found.measured


def test_gain_of_accuracy_takes_the_best_users_of_the_figures() -> None:
    found = c.accuracy_gain(made(lambda a, u: 0.9 + 0.06 * a * (u == 0.5)), "qos", 0.06)
    assert found.verdict == HOLDS
    assert found.measured.endswith("at U = .5")


def test_lost_work_saved_by_accuracy() -> None:
    for left, verdict in ((1 / 9, HOLDS), (0.01, LARGER), (0.5, SMALLER), (1.5, FAILS)):
        grid = made(lost=lambda a, u, k=left: 900 * (1 - a) + 900 * k * a)
        assert c.accuracy_loss(grid, 8 / 9).verdict == verdict
    assert "factor" not in c.accuracy_loss(made(lost=lambda a, u: 900 * (1 - a)), 8 / 9).measured
    assert c.accuracy_loss(made(lost=lambda a, u: 0), 8 / 9).verdict == FAILS


def test_early_benefit() -> None:
    assert c.early_benefit(made()).verdict == HOLDS
    assert c.early_benefit(made(lambda a, u: 0.9)).verdict == FAILS
    mixed = made()
    mixed.qos[0, 1] = 0.5
    assert c.early_benefit(mixed).verdict == FAILS
    mixed.qos[1, 1] = 1.9
    assert c.early_benefit(mixed).verdict == PARTLY


def test_early_benefit_elsewhere() -> None:
    assert c.early_elsewhere(np.full((3, 2), 0.01)).verdict == HOLDS
    assert c.early_elsewhere(np.array([[0.03, -0.01], [0.01, -0.01]])).verdict == PARTLY
    assert c.early_elsewhere(np.array([[-0.03, 0.01]])).verdict == FAILS
    with pytest.raises(UntestableError):
        c.early_elsewhere(np.zeros((3, 2)))


def test_onset() -> None:
    late = made(lambda a, u: 0.9 + max(0.0, a - u))
    assert c.onset(late).verdict == HOLDS
    assert c.onset(made(lambda a, u: 0.9 + 0.05 * a)).verdict == FAILS
    middling = made(lambda a, u: 0.9 + (0.05 * a if u == 0.5 else max(0.0, a - u)))
    assert c.onset(middling).verdict == PARTLY


def test_nondecreasing() -> None:
    up = np.array([[0.1, 0.2, 0.2], [0.1, 0.3, 0.4]])
    assert c.nondecreasing(up) == c.Finding("0 of 4 steps go down", HOLDS)
    one = np.array([[0.1, 0.2, 0.19], [0.1, 0.3, 0.4]])
    found = c.nondecreasing(one)
    assert found.verdict == PARTLY
    assert found.measured == "1 of 4 steps go down, the largest by 1.0 points; 0 of 2 in the mean"
    assert c.nondecreasing(-up).verdict == FAILS


def test_low_accuracy() -> None:
    assert c.lost_low_accuracy(made(lambda a, u: 0.9, lambda a, u: 0.5)).verdict == HOLDS
    assert c.lost_low_accuracy(made()).verdict == PARTLY
    assert c.lost_low_accuracy(made(lost=lambda a, u: 10 + a)).verdict == FAILS


def test_ratio() -> None:
    for factor, verdict in ((10, HOLDS), (30, LARGER), (3, SMALLER), (0.5, FAILS)):
        busy = made(lost=lambda a, u, k=factor: k * (900 - 800 * a))
        assert c.ratio(busy, made(lost=lambda a, u: 900 - 800 * a)).verdict == verdict
    with pytest.raises(UntestableError, match="no work is lost"):
        c.ratio(made(), made(lost=lambda a, u: 0))


def test_together() -> None:
    assert c.together(made()).verdict == HOLDS
    assert c.together(made(utilization=lambda a, u: 0.5)).verdict == FAILS
    assert c.together(made(utilization=lambda a, u: 0.5 - 0.1 * a)).verdict == FAILS
    weak = made(utilization=lambda a, u: 0.5 + 0.01 * a + 0.1 * ((10 * a + 10 * u) % 2))
    assert c.together(weak).verdict == PARTLY


def test_users() -> None:
    for gain, verdict in ((0.05, HOLDS), (0.5, LARGER), (0.01, SMALLER), (-0.1, FAILS)):
        assert c.user_gain(made(lambda a, u, g=gain: 0.9 + g * u), "qos", 0.04).verdict == verdict
    for end, verdict in ((1, HOLDS), (0.1, LARGER), (5, SMALLER), (20, FAILS)):
        grid = made(lost=lambda a, u, e=end: 9 + (e - 9) * (u - 0.1) / 0.8)
        assert c.user_loss(grid, 9).verdict == verdict


def test_less_lost_with_risk() -> None:
    assert c.less_lost_with_risk(made()).verdict == HOLDS
    assert c.less_lost_with_risk(made(lost=lambda a, u: 9 + a * u)).verdict == FAILS
    half = made(lost=lambda a, u: 9 + (u if a < 0.5 else -u))
    assert c.less_lost_with_risk(half).verdict == PARTLY


def test_perfect_is_exact() -> None:
    def spotless(qos: float, lost: float) -> c.Finding:
        end = {"qos": lambda a, u: qos if a == u == 1 else 0.9}
        return c.perfect(made(**end, lost=lambda a, u: lost if a == u == 1 else 9))

    assert spotless(1, 0).verdict == HOLDS
    assert spotless(np.nextafter(1, 0), 0).verdict == FAILS
    assert spotless(1, 1 / 3600).verdict == FAILS


def test_insensitivity_is_exact_and_tells_both_readings_apart() -> None:
    flat = {"utilization": lambda a, u: 0.5, "lost": lambda a, u: 9 - a}
    rest = made(lambda a, u: 0.9 + 0.01 * max(0.0, round(a + u - 1, 1)), **flat)
    assert c.insensitive(rest, c.below_rest).verdict == HOLDS
    assert c.insensitive(rest, c.below_risk).verdict == FAILS
    words = made(lambda a, u: 0.9 + 0.01 * (u if u <= a else 1 + a), **flat)
    assert c.insensitive(words, c.below_risk).verdict == HOLDS
    assert c.insensitive(words, c.below_rest).verdict == FAILS
    rest.lost[1, 3, 7] = np.nextafter(rest.lost[1, 3, 7], 0)
    found = c.insensitive(rest, c.below_rest)
    assert found.verdict == FAILS
    assert found.measured == "broken in 1 of 20 pairs of accuracy and draw"


def test_regions_in_exact_tenths() -> None:
    assert c.below_rest(3, 7)  # with doubles 0.3 <= 1 - 0.7 fails
    assert not c.below_rest(4, 7)
    assert not c.below_risk(3, 3)


def test_careless_users() -> None:
    flat = {"qos": lambda a, u: 0.9 + 0.05 * a * (u if u > 0.5 else 0)}
    assert c.careless_middle(made(**flat)).verdict == HOLDS
    assert c.careless_middle(made(lambda a, u: 0.9 + a * u * 0.3)).verdict == FAILS
    assert c.careless_late(made(**flat)).verdict == HOLDS
    assert c.careless_late(made(lambda a, u: 0.9 + 0.02 * (a >= 0.8))).verdict == PARTLY
    assert c.careless_late(made(lambda a, u: 0.9 + 0.08 * a)).verdict == FAILS
    assert c.negated(made(lambda a, u: 0.9 + 0.08 * a * u)).verdict == HOLDS
    assert c.negated(made(lambda a, u: 0.9 + 0.08 * a)).verdict == FAILS
    assert c.negated(made(lambda a, u: 0.9 - 0.08 * a * u)).verdict == FAILS
    assert c.negated(made(lambda a, u: 0.9)).verdict == FAILS


def test_idle_nodes_against_lost_work() -> None:
    assert c.idle_or_lost(made()).verdict == HOLDS
    assert c.idle_or_lost(made(idle=lambda a, u: 0.4 - 0.1 * u)).verdict == FAILS
    assert c.idle_or_lost(made(lost=lambda a, u: 9 + u)).verdict == FAILS
    late = made(idle=lambda a, u: 0.3 + (0.1 * u if a > 0.7 else -0.1 * u))
    assert c.idle_or_lost(late).verdict == PARTLY


def test_fragmentation() -> None:
    assert c.fragments({c.ODD: 0.2, c.POWERS: 0.1}).verdict == HOLDS
    assert c.fragments({c.ODD: 0.1, c.POWERS: 0.1}).verdict == FAILS
    with pytest.raises(UntestableError, match="no node is idle"):
        c.fragments({c.ODD: 0.0, c.POWERS: 0.0})
    few, many = ([[100.0] * 3, [50.0, 52, 54]], [[100.0] * 3, [80.0, 82, 84]])
    odd, powers = (np.array(one) for one in (few, many))
    assert c.avoids({c.ODD: odd, c.POWERS: powers}).verdict == HOLDS
    assert c.avoids({c.ODD: powers, c.POWERS: odd}).verdict == FAILS
    assert c.avoids({c.ODD: odd, c.POWERS: odd}).verdict == FAILS
    with pytest.raises(UntestableError, match="no failure strikes"):
        c.avoids({c.ODD: odd * 0, c.POWERS: powers})


def test_the_rival_without_prediction_stands_beside() -> None:
    beside = replace(made(), periodic=(0.95, 120.0))
    assert c.accuracy_gain(beside, "qos", 0.06).measured.endswith("without prediction 0.950")
    assert c.accuracy_loss(beside, 8 / 9).measured.endswith("without prediction 120")


LOGS = ("NASA", "SDSC", "NASA rebuilt")
HOLDING: dict[str, Surface] = {
    "levels": made(), "qos_accuracy": made(), "utilization_accuracy": made(),
    "lost_accuracy": made(lost=lambda a, u: 900 - 800 * a),
    "nasa_onset": made(lambda a, u: 0.9 + max(0.0, a - u)),
    "sdsc_early": made(), "careless_middle": made(lambda a, u: 0.9 + 0.05 * a),
    "careless_late": made(lambda a, u: 0.9 + 0.05 * a * u * (u > 0.5)),
    "negated": made(lambda a, u: 0.9 + 0.05 * a * u), "idle_or_lost": made(),
    "qos_monotone": made(), "lost_early": made(lambda a, u: 0.9, lambda a, u: 0.5),
    "together": made(), "qos_users": made(lambda a, u: 0.9 + 0.05 * u),
    "utilization_users": made(utilization=lambda a, u: 0.6 + 0.0375 * u),
    "lost_users": made(lost=lambda a, u: 9 - 8 * (u - 0.1) / 0.8),
    "lost_lower": made(), "qos_users_monotone": made(),
    "perfect": made(lambda a, u: 1.0 if a == u == 1 else 0.9,
                    lost=lambda a, u: 0 if a == u == 1 else 9),
    "insensitive_words": made(lambda a, u: 0.9 + (a if u <= a else 0) * u,
                              utilization=lambda a, u: 0.5, lost=lambda a, u: 9),
    "insensitive_equation": made(lambda a, u: 0.9 + max(0.0, round(a + u - 1, 1)),
                                 utilization=lambda a, u: 0.5, lost=lambda a, u: 9),
}  # fmt: skip
worse = made(lambda a, u: 0.7 - 0.3 * a * (1 + u), utilization=lambda a, u: 0.9 - 0.5 * a * (1 + u),
             lost=lambda a, u: 9 + 9 * a * (1 + u), idle=lambda a, u: 0.9 - u * a)  # fmt: skip
FAILING: dict[str, Surface] = {
    **dict.fromkeys(HOLDING, worse),
    "nasa_onset": made(lambda a, u: 0.9 + 0.1 * (a > 0)),
    "together": made(lambda a, u: 0.9 + 0.1 * a, utilization=lambda a, u: 0.9 - 0.1 * a),
}


def test_every_claim_has_its_counterexample() -> None:
    assert set(HOLDING) == {one.name for one in asked.ASKED if one.test is not None}


@pytest.mark.parametrize("name", HOLDING)
def test_a_claim_holds_fails_and_cannot_be_tested(name: str) -> None:
    def verdicts(grid: Surface) -> set[str]:
        surfaces = {log: replace(grid, log=log) for log in LOGS}
        return {one.verdict for one in asked.evaluate(surfaces) if one.name == name}

    [one] = [one for one in asked.ASKED if one.name == name]
    assert verdicts(HOLDING[name]) == {FOLLOWS if one.follows else HOLDS}
    assert verdicts(FAILING[name]) == {FAILS}
    calm = replace(made(lambda a, u: 1.0), lost=np.zeros_like(made().lost))
    assert verdicts(calm) == {UNTESTED}


def test_all_claims_have_a_reason_and_a_finding() -> None:
    found = asked.evaluate(
        {n: made(log=n) for n in ("NASA", "SDSC", "NASA rebuilt")}, np.ones((2, 2))
    )
    assert {claim.name for claim in found} == {one.name for one in asked.ASKED}
    assert all(claim.measured and claim.verdict and claim.why for claim in found)
    where = {one.name: [claim.where for claim in found if claim.name == one.name] for one in found}
    assert all(where.values())
    assert where["sdsc_early"] == ["SDSC", c.STARTS]
    assert where["nasa_onset"] == ["NASA", "NASA rebuilt"]
    assert where["ratio"] == [c.BETWEEN, c.BETWEEN_REBUILT]
