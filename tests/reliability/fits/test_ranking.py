"""Rankings: the order, the right family found, and nothing dropped in silence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.ranking import RANK_BY, RankBy, Ranking, fit_all
from forestall.reliability.lifetimes.registry import FAMILIES

Array = npt.NDArray[np.float64]

FEW = ("exponential", "weibull", "lognormal", "loglogistic", "gumbel")
GAPS = np.random.default_rng(1).weibull(0.7, 300) * 50


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    return fit_all(GAPS, families=FEW)


@pytest.mark.parametrize("rank_by", RANK_BY)
def test_order(ranking: Ranking, rank_by: RankBy) -> None:
    ordered = ranking.by(rank_by)
    keys = [row.key(rank_by) for row in ordered.rows]
    assert keys == sorted(keys)
    assert sorted(row.name for row in ordered.rows) == sorted(FEW)
    again = fit_all(GAPS, families=reversed(FEW), rank_by=rank_by)
    assert [row.name for row in again.rows] == [row.name for row in ordered.rows]


def test_loglik_ranks_the_highest_first(ranking: Ranking) -> None:
    heights = [fitted.loglik for fitted in ranking.by("loglik")]
    assert heights == sorted(heights, reverse=True)


def test_rows_are_the_fits(ranking: Ranking) -> None:
    for name in FEW:
        alone = fit(GAPS, name, zeros="censored")
        assert ranking[name].params == alone.params
        assert ranking[name].loglik == alone.loglik
    assert ranking.best is next(iter(ranking))
    assert len(ranking) == len(FEW)


def test_akaike_weights(ranking: Ranking) -> None:
    assert sum(row.weight for row in ranking.rows) == pytest.approx(1)
    first, second = ranking.rows[:2]
    gap = second.fitted.aic - first.fitted.aic
    assert second.weight / first.weight == pytest.approx(math.exp(-gap / 2))


def test_table(ranking: Ranking) -> None:
    table = ranking.table
    assert table["rank"].to_list() == [1, 2, 3, 4, 5]
    assert table["family"][0] == ranking.best.family.name
    assert table["ks_p"].null_count() == 5
    assert table["aic"].to_list() == [fitted.aic for fitted in ranking]
    tested = ranking.with_p_values(19, 1).table
    assert tested["ks_p"].is_between(0.05, 1).all()
    assert tested["ks"].to_list() == table["ks"].to_list()
    assert ranking.with_p_values(19, 1).table.equals(tested)


def test_families_that_cannot_be_fitted_are_listed() -> None:
    found = fit_all([5.0, 5.0, 5.0], families=("exponential", "weibull", "lognormal"))
    assert [row.name for row in found.rows] == ["exponential"]
    assert list(found.unfitted) == ["weibull", "lognormal"]
    assert all("same time" in reason for reason in found.unfitted.values())
    table = found.table
    assert table["family"].to_list() == ["exponential", "weibull", "lognormal"]
    assert table["rank"].to_list() == [1, None, None]
    assert "same time" in table["note"][1]
    assert "not fitted: weibull" in found.summary()
    with pytest.raises(ParameterError, match="same time"):
        found["weibull"]


def test_zeros_are_treated_alike_and_told() -> None:
    gaps = [0, 0, 1, 3, 4, 9, 20]
    found = fit_all(gaps, families=FEW)
    assert all(fitted.sample is found.sample for fitted in found)
    assert len(found.sample.left) == 2
    assert "2 gaps of 0" in found.summary()
    assert len(fit_all(gaps, families=FEW, zeros="drop").sample) == 5


def test_tables_go_in() -> None:
    table = pl.DataFrame({"gap": GAPS[:50], "censored": np.arange(50) % 3 == 0})
    found = fit_all(table, families=FEW)
    assert len(found.sample.right) == 17


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 30), min_size=3, max_size=30),
    st.integers(0, 2**30),
    st.sampled_from([1e-280, 1.0, 1e280]),
)
def test_summary_fits_the_page(gaps: list[int], flags: int, factor: float) -> None:
    censored = [bool(flags >> k & 1) for k in range(len(gaps))]
    if not any(gap > 0 and not open_end for gap, open_end in zip(gaps, censored, strict=True)):
        with pytest.raises(ParameterError, match="gaps"):
            fit_all(np.array(gaps) * factor, censored=censored, families=FEW)
        return
    found = fit_all(np.array(gaps) * factor, censored=censored, families=FEW)
    for text in (found.summary(), found.with_p_values(5).summary()):
        assert max(map(len, text.splitlines())) <= 100


# The right family is named ------------------------------------------------------------------------

TRUTHS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "exponential": lambda rng, n: rng.exponential(40.0, n),
    "weibull": lambda rng, n: 80 * rng.weibull(0.6, n),
    "gamma": lambda rng, n: rng.gamma(4.0, 10.0, n),
    "lognormal": lambda rng, n: rng.lognormal(3.0, 1.2, n),
    "loglogistic": lambda rng, n: stats.fisk(2.2, scale=30).rvs(n, random_state=rng),
    "frechet": lambda rng, n: stats.invweibull(1.8, scale=20).rvs(n, random_state=rng),
    "gumbel": lambda rng, n: rng.gumbel(200.0, 20.0, n),
    "rayleigh": lambda rng, n: rng.rayleigh(30.0, n),
    "inverse-gaussian": lambda rng, n: rng.wald(30.0, 15.0, n),
    "birnbaum-saunders": lambda rng, n: stats.fatiguelife(1.5, scale=9).rvs(n, random_state=rng),
    "lomax": lambda rng, n: stats.lomax(1.7, scale=30).rvs(n, random_state=rng),
    "nakagami": lambda rng, n: stats.nakagami(0.7, scale=30).rvs(n, random_state=rng),
    "burr": lambda rng, n: stats.burr12(3.0, 0.4, scale=10).rvs(n, random_state=rng),
    "hyperexponential": lambda rng, n: np.where(
        rng.random(n) < 0.4, rng.exponential(1.0, n), rng.exponential(60.0, n)
    ),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_names_the_right_family(truth: str) -> None:
    rng = np.random.default_rng(7)
    gaps = TRUTHS[truth](rng, 7000)
    stopped = rng.exponential(2.5 * gaps.mean(), 7000)
    found = fit_all(np.minimum(gaps, stopped), censored=stopped < gaps, rank_by="bic")
    best, fitted = found.best, found[truth]
    # The truth, or a law so near it that the likelihoods do not tell them apart.
    assert best.family.name == truth or best.loglik - fitted.loglik < stats.chi2(1).ppf(0.999) / 2
    assert fitted.bic - best.bic < np.log(7000)
    if len(best.params) > len(fitted.params):
        assert best.loglik >= fitted.loglik


def test_a_likelihood_without_bound_does_not_win() -> None:
    gaps = np.random.default_rng(7).weibull(0.6, 3000)
    found = fit_all(gaps, families=("weibull-3p", "weibull", "exponential"), rank_by="loglik")
    assert found.rows[0].name == "weibull"
    assert found.rows[-1].name == "weibull-3p" or not found.rows[-1].unbounded
    assert sum(row.weight for row in found.rows) == pytest.approx(1)


def test_all_families_by_default() -> None:
    found = fit_all(GAPS)
    assert {row.name for row in found.rows} | set(found.unfitted) == set(FAMILIES)
    assert len(FAMILIES) >= 17


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rank_by": "looks"}, "rank_by"),
        ({"families": ["weibul"]}, "family"),
        ({"families": []}, "families"),
        ({"censored": [True] * 3}, "^gaps: '3 gaps, none of which ended'"),
        ({"zeros": "keep"}, "zeros"),
    ],
)
def test_bad_input(options: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        fit_all([1.0, 2.0, 3.0], **options)  # type: ignore[arg-type]


def test_what_fits_show_of_themselves() -> None:
    found = fit_all([12.0, 40.0, 7.0, 90.0, 33.0], families=["weibull", "exponential"])
    assert repr(found) == "Ranking(by aic: exponential, weibull; 5 gaps)"
    assert repr(found["weibull"]) == "Fitted('weibull', shape=1.25231, scale=39.2373; 5 gaps)"
    assert repr(found["weibull"].lifetime) == "Lifetime('weibull', shape=1.25231, scale=39.2373)"
    assert repr(found.sample) == "Sample(5 gaps, 5 ended, 0 censored)"
    assert " at 0x" not in repr(found.rows)


def test_one_law_counts_once() -> None:
    rng = np.random.default_rng(3)
    found = fit_all(rng.weibull(1.5, 400), families=["weibull-3p", "weibull", "exponential"])
    rows = {row.name: row for row in found.rows}
    assert rows["weibull-3p"].fitted.params["location"] == 0
    assert (rows["weibull-3p"].same_as, rows["weibull-3p"].weight) == ("weibull", 0)
    alone = fit_all(found.sample, families=["weibull", "exponential"])
    assert {row.name: row.weight for row in alone.rows}["weibull"] == rows["weibull"].weight
    assert "same law as weibull" in found.summary()
    assert "same law as weibull" in str(found.table["note"].to_list())
    tails = fit_all(rng.pareto(1.5, 400), families=["generalized-pareto", "lomax", "weibull"])
    assert {row.name: row.same_as for row in tails.rows if row.same_as} == {
        "generalized-pareto": "lomax"
    }
    assert sum(row.weight for row in tails.rows) == pytest.approx(1)
    short = fit_all(rng.random(400), families=["generalized-pareto", "weibull"])
    assert not any(row.same_as for row in short.rows)


def test_a_maximum_that_was_not_reached_does_not_win() -> None:
    ranking = fit_all(np.random.default_rng(4).weibull(0.7, 200), families=["weibull", "gamma"])
    best, other = ranking.rows
    lost = replace(best, fitted=replace(best.fitted, converged=False))
    again = replace(ranking, rows=(lost, other)).by("aic")
    assert [row.name for row in again.rows] == [other.name, best.name]
    assert f"{best.fitted.family.title} *" in again.summary()
    neither = replace(ranking, rows=(lost, replace(other, fitted=lost.fitted))).by("bic")
    assert "nan" not in neither.summary()
