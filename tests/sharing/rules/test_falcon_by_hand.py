"""Falcon's figures and its rule, by hand: JCT, MTTF, ETL and JCTF of the slides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from forestall.core.model.cycle import FAR, GuestReason
from forestall.core.model.errors import ParameterError
from forestall.sharing.rules.falcon import Estimate, choose, estimate
from sharing.simulation import cycle_reference

YEAR = 365 * 86_400
MILLION = 1_000_000


def figures(found: Estimate) -> tuple[int, int, int, int]:
    return found.jct, found.mttf, found.etl, found.jctf


# ------------------------------------------------------------------------------- the figures


def test_a_host_that_never_fails() -> None:
    # Half of the host is free: everything takes twice as long, and there is no end of it.
    found = estimate(1000, [0.5, 0.5], [1, 1, 1], step=600)
    assert figures(found) == (2000, FAR, FAR, 2000)
    assert found.chance == MILLION
    assert figures(estimate(1000, [0.5, 0.5], [1, 1, 1], step=600, speed=2.0))[0] == 1000


@pytest.mark.parametrize("load", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_a_constant_load(load: float, speed: float) -> None:
    # JCT = TL / (CR (1 - L)). With TR falling in a line from 1 to 0 over H = 4000 s, MTTF is H / 2
    # and ETL = MTTF CR (1 - L). Of TR each step has its mean: 0.875 of the first 1000 s, 0.625 of
    # the second, 0.375 of the third.
    rate = speed * (1 - load)
    reliability = [1, 0.75, 0.5, 0.25, 0]
    for seconds, jctf in [(700, 800), (875, 1000), (1125, 1400), (1500, 2000), (1650, 2400)]:
        found = estimate(seconds * rate, [1 - load] * 4, reliability, step=1000, speed=speed)
        assert figures(found) == (seconds, 2000, 2000 * rate, jctf)
        assert found.chance == round(MILLION * (1 - seconds / 4000))


def test_a_reliability_that_halves_each_horizon() -> None:
    # TR of 2^-t/H at whole horizons, H = 1000 s: the integral of the first is 750, of all 1500.
    common = {"share": [1.0], "reliability": [1, 0.5], "step": 1000}
    assert figures(estimate(600, **common)) == (600, 1500, 1500, 800)
    assert figures(estimate(750, **common)) == (750, 1500, 1500, 1000)
    # In the second horizon each second counts 0.375: 75 more take 200 s.
    assert figures(estimate(825, **common)) == (825, 1500, 1500, 1200)
    # 750 + 375 + 187.5 / 2
    assert figures(estimate(1218.75, **common)) == (1219, 1500, 1500, 2500)
    # All of it is 1500, which is never reached; a little less takes ten horizons.
    assert figures(estimate(1500, **common)) == (1500, 1500, 1500, FAR)
    assert estimate(1500 - 1500 / 2**10, **common).jctf == 10_000
    assert figures(estimate(2000, **common)) == (2000, 1500, 1500, FAR)
    # Chances at 600, at 1000 and at 1500 s: half way from 1/2 to 1/4.
    chances = [estimate(work, **common).chance for work in (600, 1000, 1500)]
    assert chances == [700_000, 500_000, 375_000]


def test_loads_that_change() -> None:
    # 600 s of work in the first step, 150 in the second, none in the third; then again.
    common = {"share": [1, 0.25, 0], "reliability": [1, 1, 1, 1], "step": 600}
    for work, when in [
        (600, 600), (601, 604), (750, 1200), (751, 1801), (1350, 2400), (1500, 3000), (1501, 3601),
    ]:  # fmt: skip
        assert figures(estimate(work, **common)) == (when, FAR, FAR, when), work


def test_failures_weigh_the_work_where_it_falls() -> None:
    # The host is busy while it is sure to stay, and free when it may have gone: B is 0.5 x 1 x 100
    # + 1 x 0.5 x 100 = 100 by the horizon, and nothing comes after it. MTTF = 100 + 50 = 150 s, by
    # which it has done 50 + 50 = 100.
    common = {"share": [0.5, 1.0], "reliability": [1, 1, 0], "step": 100}
    assert figures(estimate(50, **common)) == (100, 150, 100, 100)
    assert figures(estimate(75, **common)) == (125, 150, 100, 150)
    assert figures(estimate(100, **common)) == (150, 150, 100, 200)
    assert figures(estimate(101, **common)) == (151, 150, 100, FAR)


def test_mttf_beyond_the_horizon() -> None:
    # 0.9 are left after a horizon of 100 s: 95 / (1 - 0.9) = 950 s, 9.5 horizons of 60 s of work.
    common = {"share": [0.8, 0.4], "reliability": [1, 0.95, 0.9], "step": 50}
    found = estimate(10, **common)
    assert (found.mttf, found.etl) == (950, 9 * 60 + 40)


def test_ten_years_are_for_ever() -> None:
    day = 86_400
    # 1 - q = 1 day / MTTF
    for years, far in [(9, False), (11, True)]:
        q = 1 - day / (years * YEAR)
        found = estimate(5, [1.0], [1, q], step=day)
        assert (found.mttf == FAR) == (found.etl == FAR) == far
        found = estimate(years * YEAR, [1.0], [1, 1], step=day)
        assert (found.jct == FAR) == (found.jctf == FAR) == far


def test_a_host_that_does_nothing() -> None:
    found = estimate(10, [0.0, 0.0], [1, 0.5, 0.25], step=60)
    assert (found.jct, found.jctf, found.etl, found.chance) == (FAR, FAR, 0, 0)
    assert found.mttf == int((45 + 22.5) / 0.75)


def test_a_host_that_fails_at_once() -> None:
    found = estimate(10, [1.0, 1.0], [1, 0, 0], step=60)
    assert figures(found) == (10, 30, 30, 20)
    assert figures(estimate(31, [1.0, 1.0], [1, 0, 0], step=60)) == (31, 30, 30, FAR)


def test_whole_seconds() -> None:
    # Up for completion, down for what the host gives; and a third of 900 is 300.
    common = {"reliability": [1, 0.5, 0], "step": 100}
    found = estimate(50.5, [1, 1], **common)
    assert figures(found) == (51, 100, 100, 68)  # 50.5 / 0.75 = 67.3
    third = estimate(100, [1 / 3] * 9, [1] * 10, step=50)
    assert (third.jct, third.jctf) == (300, 300)


@pytest.mark.parametrize(
    ("work", "share", "reliability", "options"),
    [
        (0, [1], [1, 1], {}),
        (-1, [1], [1, 1], {}),
        (math.nan, [1], [1, 1], {}),
        (10, [], [1], {}),
        (10, [1, 1], [1, 1], {}),
        (10, [1.5], [1, 1], {}),
        (10, [-0.1], [1, 1], {}),
        (10, [math.nan], [1, 1], {}),
        (10, [1], [1, 1.1], {}),
        (10, [1, 1], [1, 0.5, 0.6], {}),
        (10, [1], [1, math.nan], {}),
        (10, [1], [1, 1], {"step": 0}),
        (10, [1], [1, 1], {"speed": 0.0}),
        (10, [1], [1, 1], {"speed": -2.0}),
    ],
)
def test_what_is_refused(
    work: float, share: list[float], reliability: list[float], options: dict[str, float]
) -> None:
    with pytest.raises(ParameterError):
        estimate(work, share, reliability, **{"step": 60, **options})  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- what must hold


@st.composite
def curves(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    n = draw(st.integers(1, 8))
    share = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.77, 1.0]), min_size=n, max_size=n))
    falls = draw(st.lists(st.sampled_from([1.0, 1.0, 0.99, 0.8, 0.3]), min_size=n, max_size=n))
    last = draw(st.sampled_from([1.0, 1.0, 0.0]))
    reliability = np.concatenate(([1.0], np.cumprod(falls)))
    reliability[-1] *= last
    return share, reliability.tolist()


@given(curves(), st.sampled_from([1, 7, 100, 999.5, 12_345]), st.sampled_from([1.0, 0.5, 3.3]))
def test_the_figures_are_those_of_the_plain_reference(
    curve: tuple[list[float], list[float]], work: float, speed: float
) -> None:
    share, reliability = curve
    step, n = 60, len(share)
    means = [(reliability[j] + reliability[j + 1]) / 2 for j in range(n)]
    done = [0.0, *np.cumsum([speed * step * g for g in share])]
    sure = [0.0, *np.cumsum([speed * step * g * m for g, m in zip(share, means, strict=True)])]
    nothing = [0.0] * (n + 1)
    table = cycle_reference.Table(
        step, [done], [sure], [step * sum(means)], [reliability[-1]], nothing, [nothing],
        [reliability],
    )  # fmt: skip
    found = estimate(work, share, reliability, step=step, speed=speed)
    assert (*figures(found), found.chance) == cycle_reference.estimate(table, 0, work)


@given(curves(), st.integers(1, 5000))
def test_order_of_the_figures(curve: tuple[list[float], list[float]], work: int) -> None:
    share, reliability = curve
    slow = estimate(work, share, reliability, step=60)
    quick = estimate(work, share, reliability, step=60, speed=2.0)
    longer = estimate(work + 500, share, reliability, step=60)
    assert slow.jct <= slow.jctf
    assert quick.jct <= slow.jct <= longer.jct
    assert quick.jctf <= slow.jctf <= longer.jctf
    assert quick.mttf == slow.mttf == longer.mttf
    assert quick.etl >= slow.etl == longer.etl
    assert 0 <= longer.chance <= slow.chance <= quick.chance <= MILLION
    assume(slow.mttf < FAR)
    assert slow.etl <= slow.mttf


# ------------------------------------------------------------------------------- the rule


def one(jct: int, mttf: int, etl: int = 0, jctf: int = 0) -> Estimate:
    return Estimate(jct, mttf, etl, jctf, 0)


ENDS, LONGEST = GuestReason.ENDS_FIRST, GuestReason.LONGEST_LEFT


@pytest.mark.parametrize(
    ("hosts", "place", "reason"),
    [
        # The slides: a fast host that will have left by then, and a slower that stays.
        ([one(100, 50, 50, FAR), one(180, 900, 700, 190)], 1, ENDS),
        # Of those that stay, the one that ends it first, failures considered.
        ([one(100, 120, 120, 400), one(180, 900, 700, 190)], 1, ENDS),
        ([one(100, 120, 120, 180), one(180, 900, 700, 190)], 0, ENDS),
        # One that would leave too early is not looked at, however early it might end.
        ([one(100, 99, 99, 150), one(180, 900, 700, 190)], 1, ENDS),
        # JCT of exactly MTTF is not longer.
        ([one(100, 100, 100, 150), one(180, 900, 700, 190)], 0, ENDS),
        # All leave too early: the most effective time, not the longest.
        ([one(100, 50, 100, FAR), one(180, 90, 90, FAR)], 0, LONGEST),
        ([one(100, 50, 80, 120), one(180, 90, 90, 300)], 1, LONGEST),
        # Ties: larger mean time to failure, then the first.
        ([one(100, 50, 90), one(180, 90, 90), one(180, 90, 90)], 1, LONGEST),
        ([one(9, 50, 90, 9), one(9, 90, 90, 9), one(8, 90, 90, 9)], 1, ENDS),
        ([one(9, FAR, FAR, 9), one(9, FAR, FAR, 9)], 0, ENDS),
        # A host that stays for ever and never gets there is not one that ends it.
        ([one(FAR, FAR, FAR, FAR)], 0, LONGEST),
        ([one(FAR, FAR, 0, FAR), one(80_000, 34_830, 31_347, FAR)], 1, LONGEST),
        ([one(FAR, FAR, FAR, FAR), one(180, 900, 700, 190)], 1, ENDS),
        ([one(FAR, 100, 3, FAR), one(FAR, 200, 2, FAR)], 0, LONGEST),
        # Nobody ends it by expectation, though two are expected to stay: the longer of them.
        ([one(90, 100, 500, FAR), one(90, 110, 3, FAR), one(90, 89, 900, 70)], 1, ENDS),
    ],
)
def test_the_choice(hosts: list[Estimate], place: int, reason: GuestReason) -> None:
    assert choose(hosts) == (place, reason)


def test_without_hosts_there_is_no_choice() -> None:
    with pytest.raises(ParameterError):
        choose([])


FIGURE = st.sampled_from([1, 2, 3, 4, FAR])


@given(st.lists(st.builds(one, FIGURE, FIGURE, FIGURE, FIGURE), min_size=1, max_size=4))
def test_the_choice_is_that_of_the_plain_reference(hosts: Sequence[Estimate]) -> None:
    place, reason = choose(hosts)
    plain = [cycle_reference.Estimate(*figures(host)) for host in hosts]
    assert (place, reason) == cycle_reference.choose(plain)
    # In whatever order the hosts stand, an equal one is taken.
    for order in permutations(range(len(hosts))):
        there, again = choose([hosts[k] for k in order])
        other = hosts[order[there]]
        assert again == reason
        key = ("jctf", "mttf") if reason == ENDS else ("etl", "mttf")
        assert [getattr(other, name) for name in key] == [
            getattr(hosts[place], name) for name in key
        ]


# ------------------------------------------------------------------------------- by mean loads


def by_means(work: float, share: list[float], reliability: list[float], step: int) -> Estimate:
    return estimate(work, share, reliability, step=step, means=True)


@pytest.mark.parametrize("load", [0.0, 0.25, 0.5])
def test_a_constant_load_by_means(load: float) -> None:
    # The mean load is the load: all is as by the integral.
    reliability = [1, 0.75, 0.5, 0.25, 0]
    for seconds in (700, 875, 1125, 1500, 1650):
        given = seconds * (1 - load), [1 - load] * 4, reliability
        assert by_means(*given, 1000) == estimate(*given, step=1000)


def test_mean_loads_that_change() -> None:
    # C is 600 s by 600 s, 750 by 1200, 750 by 1800. JCT = TL / (1 - L(TL)) = TL^2 / C(TL); where
    # the host stays, JCTF is when C is TL.
    for work, jct, jctf in [(600, 600, 600), (700, 784, 1000), (750, 883, 1200)]:
        found = by_means(work, [1, 0.25, 0], [1, 1, 1, 1], 600)
        assert figures(found) == (jct, FAR, FAR, jctf), work


def test_mean_load_times_mean_time_available() -> None:
    # C is 100 by 100 s and 100 + x / 2 by 100 + x; R, the integral of TR, the same. JCTF is where
    # C R / T is 110: x^2 / 4 - 10 x - 1000 = 0, at 86.3 s. By the integral of TR dC it is 140 s.
    common = [1, 0.5], [1, 1, 0]
    assert by_means(110, *common, 100).jctf == 187
    assert estimate(110, *common, step=100).jctf == 140
    # C R / T is 112.5 at the end. With R at 150 for ever it is 150 C / T from there on: 125 at
    # most, at 300 s, where a horizon and a half have passed.
    assert by_means(112.5, *common, 100).jctf == 200
    assert by_means(116.6, *common, 100).jctf == 225  # 150 (150 + x) = 116.6 (200 + x)
    assert by_means(125.0, *common, 100).jctf == 300
    assert by_means(125.1, *common, 100).jctf == FAR


def test_what_falls_again_by_means() -> None:
    # 100 at 100 s, then less, as the host is full; 100 once more at 300 s.
    assert by_means(100, [1, 0], [1, 1, 0], 100).jctf == 100
    assert by_means(101, [1, 0], [1, 1, 0], 100).jctf == FAR
    assert by_means(10, [0.0, 0.0], [1, 1, 1], 100).jctf == FAR
    assert by_means(10, [0.0, 0.0], [1, 1, 1], 100).jct == FAR


def test_a_host_that_stays_for_ever_by_means() -> None:
    found = by_means(10_000, [0.5, 0.3], [1, 1, 1], 100)
    assert (found.jctf, found.mttf, found.chance) == (25_000, FAR, MILLION)
    assert by_means(12 * YEAR, [1.0], [1, 1], 86_400).jct == FAR
