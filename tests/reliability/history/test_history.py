"""Histories: gaps against a plain loop, exposure and rates, and LANL's systems by their figures."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.logs import read_failures
from forestall.reliability.history.history import History, history
from forestall.reliability.history.rates import poisson_interval

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
DAY = 86_400
YEAR = 366 * DAY
"""The first year of age; three are 1,096 days."""


def log(
    rows: list[tuple[int, int, int]],
    service: list[tuple[int, int, bool]] | None = None,
    kinds: list[str] | None = None,
) -> Failures:
    """Return failures of (time, node, downtime), with each node's (start, end, new)."""
    rows = sorted(rows)
    time, node, down = (np.array(column) for column in zip(*rows, strict=True))
    read = Failures.build(time, node, down)
    if kinds is not None:
        read = replace(read, kind=tuple(kinds))
    if service is None:
        return read
    start, end, new = (np.array(column) for column in zip(*service, strict=True))
    return replace(read, nodes=len(service), service_start=start, service_end=end, service_new=new)


def slow_gaps(read: Failures, built: History, by_node: bool) -> list[tuple[float, bool]]:
    """Return (gap, censored) in order of (node, time), one failure after the other."""
    assert read.service_start is not None
    assert read.service_end is not None
    assert read.service_new is not None
    spans = list(zip(read.service_start.tolist(), read.service_end.tolist(), strict=True))
    new = read.service_new.tolist()
    if not by_node:
        there = [n for n, (a, b) in enumerate(spans) if b > a]
        first = min(spans[n][0] for n in there)
        new = [all(new[n] for n in there if spans[n][0] == first)]
        spans = [(first, max(spans[n][1] for n in there))]
    events = defaultdict(list)
    for time, node, up in zip(built.time, built.node, built.outages.up, strict=True):
        events[int(node) if by_node else 0].append((int(time), int(up)))
    out = []
    for group, (start, end) in enumerate(spans):
        count = {"all": True, "drop": False, "auto": new[group]}[built.first]
        since = start
        for time, up in events[group]:
            if count and time >= since:  # earlier: part of the outage that is still going on
                out.append((float(time - since), False))
            count = True
            since = time if built.clock == "calendar" else max(since, up)
        if count and end > since:
            out.append((float(end - since), True))
    return out


@st.composite
def logs(draw: st.DrawFn) -> Failures:
    nodes = draw(st.integers(1, 5))
    service = []
    for _ in range(nodes):
        start = draw(st.integers(-50, 50))
        service.append((start, start + draw(st.integers(1, 200)), draw(st.booleans())))
    rows = []
    for _ in range(draw(st.integers(1, 25))):
        node = draw(st.integers(0, nodes - 1))
        time = draw(st.integers(service[node][0], service[node][1] - 1))
        rows.append((time, node, draw(st.integers(-1, 60))))
    return log(rows, service)


OPTIONS = [
    (clock, merge, first)
    for clock in ("calendar", "uptime")
    for merge in (False, True)
    for first in ("auto", "all", "drop")
]


@given(logs(), st.sampled_from(OPTIONS))
def test_gaps_are_those_of_a_plain_loop(read: Failures, how: tuple[str, bool, str]) -> None:
    clock, merge, first = how
    built = history(read, clock=clock, merge_overlaps=merge, first=first)  # type: ignore[arg-type]
    for by in ("node", "system"):
        gaps, censored = built.sample(by)
        assert list(zip(gaps, censored, strict=True)) == slow_gaps(read, built, by == "node")


@given(logs(), st.booleans())
def test_all_intervals_add_up_to_the_exposure(read: Failures, merge: bool) -> None:
    seconds = history(read, merge_overlaps=merge).exposure_hours * 3600
    assert read.service_end is not None
    assert read.service_start is not None
    assert seconds == pytest.approx(int((read.service_end - read.service_start).sum()))
    gaps, _ = history(read, merge_overlaps=merge, first="all").sample()
    assert gaps.sum() == pytest.approx(seconds)
    # time up is what is not in any outage, second by second
    up = history(read, clock="uptime", merge_overlaps=merge)
    count = 0
    for node in range(read.nodes):
        mine = read.node == node
        down = {
            second
            for time, length in zip(read.time[mine], read.downtime[mine], strict=True)
            for second in range(int(time), int(time + max(0, length)))
        }
        watched = range(int(read.service_start[node]), int(read.service_end[node]))
        count += sum(second not in down for second in watched)
    assert up.exposure_hours * 3600 == pytest.approx(count)
    for years in ("age", "own"):
        assert up.node_years(years).node_days.sum() * DAY == pytest.approx(count)
        assert up.node_years(years).failures.sum() == len(up)


def test_overlapping_outages() -> None:
    rows = [(0, 0, 100), (50, 0, 10), (90, 0, 60), (150, 0, 5), (60, 1, -1), (60, 1, 7)]
    service = [(-100, 300, True), (0, 300, False), (0, 0, False)]
    kept = history(log(rows, service))
    assert kept.cleaning.counts() == {"overlapping_outage": 2, "first_interval": 1}
    assert (len(kept), kept.nodes, kept.gaps().zeros) == (6, 2, 1)
    assert kept.counts()["gaps_system_zero"] == 1
    merged = history(log(rows, service), merge_overlaps=True)
    assert merged.time.tolist() == [0, 60, 60, 150]
    assert merged.outages.up.tolist() == [150, 67, 67, 155]
    assert merged.cleaning.remarks[0].action == "left out"
    assert merged.cleaning.remarks[0].names == ("node 0 at 50 s", "node 0 at 90 s")
    up = history(log(rows, service), clock="uptime", merge_overlaps=True)
    gaps = up.sample(node=0)
    assert (gaps[0].tolist(), gaps[1].tolist()) == ([100, 0, 145], [False, False, True])
    assert up.cleaning.counts()["no_end"] == 1


def test_without_known_service_nodes_are_watched_over_the_span() -> None:
    read = log([(10, 0, 5), (30, 1, 5), (70, 0, 5)])
    built = history(replace(read, nodes=3, span=61))
    assert (built.start.tolist(), built.end.tolist()) == ([0] * 3, [71] * 3)
    assert built.sample()[0].tolist() == [60, 1, 41]
    assert built.cleaning.counts() == {"first_interval": 3}
    assert history(replace(read, nodes=3), first="all").sample()[0].tolist() == [
        10,
        60,
        1,
        30,
        41,
        71,
    ]
    seen = history(replace(read, nodes=3, span=61), service="seen")
    assert (seen.start.tolist(), seen.nodes) == ([10, 30, 71], 2)
    assert seen.sample()[0].tolist() == [60, 1, 41]
    assert seen.cleaning.counts() == {"never_seen": 1, "first_interval": 2}


def test_failures_outside_of_service_are_left_out_and_named() -> None:
    built = history(log([(5, 0, 1), (50, 0, 1), (90, 0, 1)], [(10, 90, True)]))
    assert built.time.tolist() == [50]
    assert built.cleaning.remarks[0].names == ("node 0 at 5 s", "node 0 at 90 s")


def test_causes_and_years() -> None:
    kinds = ["Hardware: CPU", "", "Software", "Hardware: Disk", "Hardware: CPU"]
    start = int(np.datetime64("1999-12-31", "s").astype(np.int64))
    rows = [(DAY * k, k % 2, 60) for k in range(5)]
    read = replace(log(rows, [(0, 10 * DAY, True)] * 2, kinds), origin=start)
    built = history(read)
    assert built.causes() == ("", "Hardware", "Software")
    assert built.causes(sub=True) == ("", "Hardware: CPU", "Hardware: Disk", "Software")
    assert built.rates("cause").failures.tolist() == [1, 3, 1]
    assert built.rates("all").node_days.tolist() == [20.0]
    hardware = built.only("Hardware")
    assert (hardware.time // DAY).tolist() == [0, 3, 4]
    assert (built.without("Hardware").time // DAY).tolist() == [1, 2]
    gaps = built.sample(cause="Hardware: CPU", node=0)
    assert (gaps[0] / DAY).tolist() == [0, 4, 6]
    assert built.years().labels == (1999, 2000)
    table = built.rates("year")
    assert (table.group, table.failures.tolist()) == (("1999", "2000"), [1, 4])
    assert table.node_days.tolist() == [2.0, 18.0]
    assert table.rate[1] == pytest.approx(4 / 18 * 1000)
    assert [len(built.sample(year=y)[0]) for y in (1999, 2000)] == [1, 6]
    assert [len(built.sample("system", year=y)[0]) for y in (1999, 2000)] == [1, 5]
    few = built.of_nodes([1])
    assert (few.nodes, len(few), few.exposure_hours) == (1, 2, 240)


def test_years_of_age_and_of_cohorts() -> None:
    rows = [(0, 0, 1), (YEAR - 1, 0, 1), (YEAR, 0, 1), (YEAR, 1, 1), (1096 * DAY, 1, 1)]
    built = history(log(rows, [(-YEAR, 4 * YEAR, True)] * 2))
    assert built.node_years("age").failures.sum(axis=0).tolist() == [0, 1, 3, 0, 1, 0]
    assert built.node_years("own").failures.sum(axis=0).tolist() == [3, 2, 0, 0, 0]
    origin = np.array([YEAR // 2, 0])
    assert built.node_years(origin).failures.tolist() == [[3, 0, 0, 0, 0], [0, 1, 0, 1, 0]]
    assert built.node_years(origin).node_days.sum() == pytest.approx(10 * 366)
    assert built.node_years(origin).node_days[1].tolist() == [2 * 366, 365, 365, 365, 3]
    gaps, censored = built.sample(year=4, years=origin)
    assert (gaps / DAY).tolist() == [3 * 366, 1096 - 366]
    assert censored.tolist() == [True, False]


BAD = [
    ({"clock": "wall"}, "clock: 'wall' is not allowed; expected calendar or uptime"),
    ({"first": "no"}, "first: 'no'"),
    ({"service": "x"}, "service: 'x'"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_options_that_are_not_there(options: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        history(log([(0, 0, 1)]), **options)  # type: ignore[arg-type]


def test_questions_without_an_answer() -> None:
    with pytest.raises(ParameterError, match="failures: 'none'"):
        history(Failures.none())
    built = history(replace(log([(0, 0, 1), (5, 1, 1)]), names=("a", "b")))
    assert built.sample(node="b", cause=None)[0].tolist() == [1]
    for call, message in (
        (lambda: built.sample(node="c"), "node: 'c' is not allowed; expected a node from 0 to 1"),
        (lambda: built.sample(node=2), "node: 2"),
        (lambda: built.sample("system", node=1), "none with the gaps of the system"),
        (lambda: built.sample("rack"), "by: 'rack'"),  # type: ignore[arg-type]
        (lambda: built.sample(year=1999), "years: 'calendar' .* the log has no dates"),
        (lambda: built.sample(year=3, years="age"), "year: 3 .* a year from 1 to 1"),
        (lambda: built.sample(cause="CPU"), "cause: 'CPU' .* it has none"),
        (lambda: built.rates("rack"), "by: 'rack'"),  # type: ignore[arg-type]
        (lambda: built.years("moon"), "years: 'moon'"),  # type: ignore[arg-type]
        (lambda: built.years([1]), "years: '1 origins' .* expected 2 seconds"),
        (lambda: built.rates(years="age", level=1), "level: 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


def test_poisson_intervals_are_those_of_scipy() -> None:
    count = np.array([0, 1, 2, 10, 1000])
    low, high = poisson_interval(count, 0.9)
    assert low[0] == 0
    assert low[1:] == pytest.approx(scipy.stats.chi2.ppf(0.05, 2 * count[1:]) / 2)
    assert high == pytest.approx(scipy.stats.chi2.ppf(0.95, 2 * count + 2) / 2)


def test_tables() -> None:
    kinds = ["Hardware: CPU", "Software"]
    built = history(log([(0, 0, 3), (9, 0, 2)], [(0, 20, True)], kinds))
    table = built.table()
    assert table.columns == ["time", "node", "back", "cause", "kind", "gap_node", "gap_system"]
    assert table["gap_node"].to_list() == [0, 9]
    assert table["cause"].to_list() == ["Hardware", "Software"]
    assert history(log([(0, 0, 3), (9, 0, 2)])).table()["gap_node"].to_list() == [None, 9]
    assert built.gaps().table()["gap"].to_list() == [0, 9, 11]
    assert built.rates("node").table().columns == [
        "node",
        *("failures", "node_days", "rate", "low", "high"),
    ]
    assert built.node_years("age").table().rows() == [(0, 1, 2, pytest.approx(20 / DAY))]


# LANL ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(data: Path) -> History:
    return history(read_failures(data / LANL, system=2))


def weibull(gaps: np.ndarray) -> tuple[float, float]:
    shape, _, scale = scipy.stats.weibull_min.fit(gaps[gaps > 0] / 3600, floc=0)
    return shape, scale


def test_system_two_by_each_nodes_own_age(two: History) -> None:
    counts = two.node_years("own").failures.sum(axis=0)
    assert counts.tolist() == [2815, 1238, 736, 699, 684, 561, 312, 59]
    shapes = [0.71, 0.66, 0.72, 0.73, 0.75, 0.76, 0.67, 0.72]
    scales = [111, 237, 459, 485, 518, 590, 351, 786]
    plain = replace(two, first="drop")
    for year, (shape, scale) in enumerate(zip(shapes, scales, strict=True), 1):
        gaps, censored = plain.sample(year=year, years="own")
        assert weibull(gaps[~censored]) == (
            pytest.approx(shape, abs=0.006),
            pytest.approx(scale, abs=0.6),
        )


COHORTS = [
    ("1996-12-10", "1997-06-08", "1998-04-04"),
    ("1997-06-08", "1997-08-07", "1998-01-24"),
]
"""Origins of the years of nodes 1 to 8, 9 to 16 and 17 to 48, fitted to the paper's counts."""


def of_cohorts(read: History, origins: tuple[str, str, str]) -> np.ndarray:
    assert read.origin is not None
    seconds = np.array(origins, dtype="datetime64[s]").astype(np.int64) - read.origin
    return seconds[np.searchsorted([8, 16], np.arange(len(read.start)))]


def test_system_two_by_the_age_of_cohorts(two: History) -> None:
    nodes = two.of_nodes(np.arange(1, 49))
    some = replace(nodes.without("Facilities"), first="drop")
    years = of_cohorts(some, COHORTS[0])
    counts = some.node_years(years).failures.sum(axis=0)
    assert counts.tolist() == [2024, 1601, 759, 715, 695, 586, 441, 111]
    shapes = [0.77, 0.67, 0.66, 0.73, 0.74, 0.80, 0.69, 0.68]
    scales = [101, 186, 400, 482, 505, 625, 479, 527]
    for year, (shape, scale) in enumerate(zip(shapes, scales, strict=True), 1):
        gaps, censored = some.sample(year=year, years=years)
        assert weibull(gaps[~censored]) == (
            pytest.approx(shape, abs=0.011),
            pytest.approx(scale, rel=0.012),
        )
    every = replace(nodes, first="drop")
    gaps, censored = every.sample(year=2, years=of_cohorts(every, COHORTS[1]))
    assert weibull(gaps[~censored]) == (pytest.approx(0.67, abs=0.006), pytest.approx(183, abs=1))


def test_system_two_by_calendar_year(two: History) -> None:
    rates = two.rates("year")
    assert rates.group == tuple(str(year) for year in range(1997, 2006))
    assert rates.failures.tolist() == [584, 2431, 972, 680, 662, 670, 628, 384, 93]
    assert rates.node_days[:3].tolist() == [48 * 365] * 3
    causes = two.rates("cause")
    assert dict(zip(causes.group, causes.failures.tolist(), strict=True))["Facilities"] == 165
    assert two.cleaning.counts()["overlapping_outage"] == 31
    assert two.counts() == {
        "failures": 7104,
        "nodes": 49,
        "nodes_failed": 49,
        "gaps_node": 7104,
        "gaps_node_censored": 49,
        "gaps_node_zero": 7,
        "gaps_system": 7104,
        "gaps_system_zero": 1707,
    }
    assert len(two.without("Facilities").of_nodes(range(1, 49))) == 6932


def test_systems_nineteen_and_twenty(data: Path) -> None:
    built = history(read_failures(data / LANL, system=19))
    assert (built.nodes, len(built)) == (1024, 3284)
    assert built.exposure_hours == pytest.approx(1024 * 24 * 1074.52, rel=1e-5)
    window = read_failures(data / LANL, system=20, start="2004-09-01", days=365)
    built = history(window, merge_overlaps=True)
    assert built.node_days[:256].tolist() == [365.0] * 256
    assert len(history(window)) == 307
    assert built.cleaning.counts()["first_interval"] == 512


def test_what_trend_tests_get() -> None:
    rows = [(3, 2, 1), (5, 0, 1), (9, 2, 1)]
    built = history(log(rows, [(1, 20, True), (0, 0, False), (2, 30, True)]))
    each = built.observed()
    assert (each.time.tolist(), each.system.tolist()) == ([5, 3, 9], [0, 1, 1])
    assert (each.start.tolist(), each.end.tolist()) == ([1, 2], [20, 30])
    whole = built.observed("system")
    assert (whole.time.tolist(), whole.systems) == ([3, 5, 9], 1)
    assert (whole.start.tolist(), whole.end.tolist()) == ([1], [30])
    with pytest.raises(ParameterError, match="by: 'rack'"):
        built.observed("rack")  # type: ignore[arg-type]


def test_no_failure_in_service() -> None:
    built = history(log([(5, 0, 1), (50, 0, 1)], [(10, 40, True)]))
    assert (len(built), built.counts()["gaps_node"]) == (0, 0)
    assert built.sample() == (pytest.approx([30]), pytest.approx([True]))
    assert built.sample("system")[0].tolist() == [30]
    assert built.rates("all").failures.tolist() == [0]
    assert built.rates("all").low.tolist() == [0]
    merged = history(log([(5, 0, 1)], [(10, 40, True)]), merge_overlaps=True, clock="uptime")
    assert (len(merged), merged.node_days.sum()) == (0, pytest.approx(30 / DAY))
    nowhere = history(log([(5, 0, 1)], [(0, 0, False)]))
    assert (nowhere.nodes, nowhere.span, len(nowhere.gaps("system"))) == (0, (0, 0), 0)


def test_on_the_uptime_clock_a_failure_while_down_ends_no_gap() -> None:
    rows = [(0, 0, 100), (50, 0, 10), (60, 1, 30), (100, 2, 0), (100, 2, -1), (300, 1, 5)]
    built = history(log(rows, [(-100, 400, True)] * 3), clock="uptime")
    assert len(built) == 5  # the one at 50 s is part of the outage of its node
    assert built.cleaning.counts()["overlapping_outage"] == 1
    assert built.cleaning.remarks[0].action == "left out"
    gaps = built.gaps("system")  # up again at 100 s; two failures then within one tick
    assert gaps.length.tolist() == [100, 0, 0, 200, 95]
    assert built.cleaning.counts()["machine_still_down"] == 1
    assert len(history(log(rows), clock="uptime", merge_overlaps=False)) == 6
    assert len(history(log(rows))) == 6


def test_the_step_of_the_clock() -> None:
    rng = np.random.default_rng(1)
    minutes = np.unique(rng.integers(0, 10_000, 30)) * 60 + 17
    rows = [(int(time), 0, 61) for time in minutes]
    assert history(log(rows)).clock_step == 60
    assert history(log(rows), clock="uptime").clock_step == 1
    assert history(log(rows[:9])).clock_step is None  # too few to tell


def test_the_uptime_of_lanl_twenty(data: Path) -> None:
    built = history(read_failures(data / LANL, system=20), clock="uptime")
    assert built.clock_step == 60
    gaps = built.gaps("system")
    down = built.cleaning.counts()["machine_still_down"]
    assert len(gaps) + down == len(built) + 1
    assert (len(gaps), gaps.zeros) == (1594, 34)  # 919 with those of a machine still down
    assert built.gaps("node").zeros <= 4
