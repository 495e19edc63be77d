"""HTCondor's own reader and evaluator on what is written here; no daemons are needed."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from condor_pool import trixie
from condor_pool.pool import evaluated
from forestall.sharing.adapters.condor.attributes import ad_text
from forestall.sharing.adapters.condor.expressions import not_refused, rank, survival

HOURS = (1, 2, 4, 8)


@pytest.fixture(autouse=True)
def htcondor() -> None:
    if reason := trixie.why_not():
        pytest.skip(reason)


@cache
def now() -> int:
    return int(time.time())


def ad(*each: float, state: str | None = "S1", age: int = 0, **more: object) -> str:
    told = {f"{h}h": value for h, value in zip(HOURS, each, strict=True)} if each else None
    said = {"time": now() - age, "state": state, "reliability": told} | more
    return ad_text(said).replace("-\n", "")


def by_hand(each: dict[int, float], hours: float) -> float:
    """Return the probability of surviving so long when the hazard between the times is constant:
    interpolate its logarithm, which is 0 at 0, and go on beyond 8 h as from 0 to there."""
    times, logs = [0, *each], [0.0, *np.log(list(each.values()))]
    if hours > times[-1]:
        return float(np.exp(logs[-1] * hours / times[-1]))
    return float(np.exp(np.interp(hours, times, logs)))


def test_the_probability_for_any_length_is_what_it_is_by_hand() -> None:
    some = np.random.default_rng(7)
    many = [np.sort(some.uniform(0.05, 1, 4))[::-1].round(6) for _ in range(40)]
    lengths = [0.25, 1, 1.5, 2, 3.9, 4, 7, 8, 12, 48]
    found = evaluated([ad(*each) for each in many], *(survival(hours) for hours in lengths))
    for each, values in zip(many, found, strict=True):
        for hours, value in zip(lengths, values, strict=True):
            wanted = by_hand(dict(zip(HOURS, each, strict=True)), hours)
            assert float(value) == pytest.approx(wanted, rel=1e-4)


def test_the_rank_is_zero_where_nothing_fresh_and_good_is_known() -> None:
    whole = (0.9, 0.8, 0.7, 0.6)
    ads = {
        ad(*whole): (0.7, "true"),
        ad(*whole, state="S2"): (0.7, "true"),
        ad(*whole, age=570): (0.7, "true"),
        ad(*whole, age=-570): (0.7, "true"),
        ad(*whole, age=601): (0.0, "true"),
        ad(*whole, age=-660): (0.0, "true"),
        ad(*whole, state="S3"): (0.0, "false"),
        ad(*whole, state="S5", age=601): (0.0, "true"),
        ad(*whole, state=None): (0.0, "true"),
        ad(state="S1"): (0.0, "true"),
        ad(state="S4"): (0.0, "false"),
        ad(0, 0, 0, 0): (0.0, "true"),
        "": (0.0, "true"),
    }
    found = evaluated(list(ads), rank(4), rank(3), not_refused())
    for (value, usable), row in zip(ads.values(), found, strict=True):
        assert float(row[0]) == value
        assert (float(row[1]) > 0) == (value > 0)  # a value between two of the published ones
        assert row[2] == usable


def test_names_come_back_as_they_were_written() -> None:
    odd = ["a\\b", 'q"u"o', "\\\\server\\x", "a;b,c = d // e", "$(HOME) $ENV", "Zoë 東京", "-", ""]
    assert [row[0] for row in evaluated([ad(host=name) for name in odd], "ForestallHost")] == odd
    changed = evaluated([ad(host=name) for name in ('a\\"b', "end\\", "x\ty\nz")], "ForestallHost")
    assert [row[0] for row in changed] == ['a/"b', "end/", "x y z"]


def test_the_kinds_of_values_are_those_that_expressions_need() -> None:
    asked = (
        "isBoolean(ForestallAvailable)", "isReal(ForestallReliability8h)",
        "isInteger(ForestallMttf)", "isReal(ForestallLoad)", "isInteger(ForestallUpdated)",
        "isString(ForestallState)", "isUndefined(ForestallHost)",
    )  # fmt: skip
    (row,) = evaluated([ad(1, 1, 1, 1, mttf=1.5e8, cpu=0)], *asked)
    assert row == ["true"] * len(asked)
