"""What an analysis makes of logs whose truth is known, and of logs with next to nothing in them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.reliability.history.gaps import Gaps
from forestall.reliability.report.failures import report, words
from forestall.reliability.report.failures.change import verdict
from forestall.reliability.report.failures.groups import cut_off
from forestall.reliability.report.failures.nodes import ranks
from forestall.reliability.report.failures.study import FailureStudy, study_of
from forestall.reliability.report.questions import FailureStudySettings, families_of

HOUR, DAY = 3600, 86_400
FEW = FailureStudySettings(families=("weibull", "exponential", "lognormal"))


def log(time: Any, node: Any, nodes: int, span: int, **more: Any) -> Failures:
    """Return a log of `nodes` nodes over [0, span)."""
    plain = Failures.build(time, node, **{k: v for k, v in more.items() if k == "downtime"})
    rest = {k: v for k, v in more.items() if k != "downtime"}
    columns = {n: getattr(plain, n) for n in ("time", "node", "downtime", "detectability")}
    return Failures(**columns, span=span, nodes=nodes, source="made up", **rest)


def poisson(nodes: int, days: int, a_day: Any, seed: int = 1) -> Failures:
    """Return nodes that fail at rates (one or one each) that never change."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.broadcast_to(np.asarray(a_day) * days, (nodes,)))
    node = np.repeat(np.arange(nodes), counts)
    return log(rng.integers(0, days * DAY, len(node)), node, nodes, days * DAY)


def renewals(nodes: int, days: int, shape: float, scale_hours: float, seed: int = 1) -> Failures:
    """Return nodes that are renewed at each failure, with Weibull gaps."""
    rng = np.random.default_rng(seed)
    times, numbers = [], []
    for node in range(nodes):
        at = np.cumsum(scale_hours * HOUR * rng.weibull(shape, 4000))
        at = at[at < days * DAY].astype(np.int64)
        times.append(at)
        numbers.append(np.full(len(at), node))
    return log(np.concatenate(times), np.concatenate(numbers), nodes, days * DAY)


@pytest.fixture(scope="module")
def steady() -> FailureStudy:
    return study_of(poisson(40, 400, 0.05), FailureStudySettings())


def test_a_steady_machine(steady: FailureStudy) -> None:
    told = steady.summary
    count = len(steady.failures)
    assert told["failures"] == count
    assert told["node_days"] == 40 * 400
    assert told["rate"]["rate"] == pytest.approx(count / 16)
    assert told["rate"]["low"] < 50 < told["rate"]["high"]
    assert told["mtbf"]["node_hours"] == pytest.approx(40 * 400 * 24 / count)
    assert told["mtbf"]["system_hours"] == pytest.approx(400 * 24 / count)
    law = told["fits"]["node"]["weibull"]
    assert law["ci"]["shape"][0] < 1 < law["ci"]["shape"][1]
    assert told["trend"]["node"]["direction"] == "steady"
    assert told["nodes_apart"]["worse"] == 0
    assert told["bursts"]["in_bursts"]["p"] > 0.01
    assert "one distribution of gaps may describe" in words.on_trend(told)
    assert "no more than chance" in words.on_nodes(told)
    assert "close to 1" in words.on_clustering(told)


def test_totals_agree(steady: FailureStudy) -> None:
    told = steady.summary
    assert told["years_are"] == "age"
    assert not any(row["beyond"] for row in told["years"])
    assert sum(row["failures"] for row in told["years"]) == told["failures"]
    assert sum(row["node_years"] for row in told["years"]) == pytest.approx(told["node_years"])
    assert sum(row["failures"] for row in told["nodes_apart"]["nodes"]) == told["failures"]
    bins = told["age"]["bins"]
    assert sum(row["failures"] for row in bins) == told["failures"]
    assert sum(row["node_days"] for row in bins) == pytest.approx(told["node_days"])
    assert (
        told["fits"]["node"]["ended"] + told["fits"]["node"]["censored"]
        == (told["fits"]["node"]["gaps"])
    )


def test_the_law_of_gaps_is_found() -> None:
    told = study_of(renewals(60, 700, 0.6, 200.0), FEW).summary
    law = told["fits"]["node"]["weibull"]
    assert law["ci"]["shape"][0] < 0.6 < law["ci"]["shape"][1]
    assert law["ci"]["scale"][0] < 200 < law["ci"]["scale"][1]
    assert told["fits"]["node"]["best"] == "weibull"
    assert "below 1" in words.on_clustering(told)
    for row in told["years"]:
        assert row["shape_low"] < 0.6 < row["shape_high"]
        assert row["scale_low"] < 200 < row["scale_high"]


@pytest.mark.parametrize("unit", ["s", "min", "h", "d"])
def test_units_change_nothing_but_units(unit: str) -> None:
    of = {"s": 1, "min": 60, "h": HOUR, "d": DAY}[unit]
    failures = renewals(10, 300, 0.8, 300.0)
    told = study_of(failures, FailureStudySettings(families=("weibull",), unit=unit)).summary
    law = told["fits"]["node"]["weibull"]["params"]
    hours = study_of(failures, FailureStudySettings(families=("weibull",))).summary["fits"]["node"][
        "weibull"
    ]
    assert law["shape"] == pytest.approx(hours["params"]["shape"], rel=1e-6)
    assert law["scale"] * of == pytest.approx(hours["params"]["scale"] * HOUR, rel=1e-6)


@pytest.mark.parametrize(("power", "way"), [(2.0, "fewer"), (0.5, "more")])
def test_a_machine_that_changes(power: float, way: str) -> None:
    rng = np.random.default_rng(7)
    node = np.repeat(np.arange(30), 40)
    time = (rng.random(len(node)) ** power * 900 * DAY).astype(np.int64)
    told = study_of(log(time, node, 30, 900 * DAY), FEW).summary
    change = told["trend"]["node"]
    assert change["direction"] == way
    process = change["power_law"]
    assert process["shape_low"] < 1 / power < process["shape_high"]
    text = words.on_trend(told)
    moved = {"fewer": "fell", "more": "rose"}[way]
    assert f"The failure rate {moved}" in text
    assert "fits no year" in text
    rates = [row["rate"] for row in told["years"]]
    assert rates == sorted(rates, reverse=way == "fewer")


def test_a_bad_node_is_named() -> None:
    rates = np.full(50, 0.02)
    rates[[7, 31]] = 0.12
    told = study_of(poisson(50, 300, rates), FEW).summary
    named = {row["node"] for row in told["nodes_apart"]["nodes"] if row["worse"]}
    assert named == {"7", "31"}
    assert {row["node"] for row in told["nodes_apart"]["nodes"][:2]} == named
    assert "2 nodes fail more often" in words.on_nodes(told)


def test_bursts_are_seen() -> None:
    rng = np.random.default_rng(3)
    begins = np.repeat(rng.integers(0, 300 * DAY, 120), 4)
    time = begins + np.tile([0, 60, 120, 180], 120)
    told = study_of(log(time, rng.integers(0, 30, 480), 30, 301 * DAY), FEW).summary
    assert told["bursts"]["in_bursts"]["share"] > 0.95
    assert told["bursts"]["on_several_nodes"]["p"] < 0.01
    lines = words.on_bursts(told)
    assert "they come in bursts" in lines[0]
    assert "nodes fail together" in lines[1]


def test_causes_and_repairs() -> None:
    failures = poisson(10, 200, 0.05)
    count = len(failures)
    kinds = tuple(("Hardware: CPU", "Software", "")[k % 3] for k in range(count))
    down = np.where(
        np.arange(count) % 3 == 0, 2 * HOUR, np.where(np.arange(count) % 3 == 1, HOUR, -1)
    )
    named = log(
        failures.time, failures.node, 10, 200 * DAY, downtime=down, kind=kinds, repairs=True
    )
    told = study_of(named, FEW).summary
    rows = {row["cause"]: row for row in told["causes"]}
    assert set(rows) == {"Hardware", "Software", "(none given)"}
    assert sum(row["failures"] for row in rows.values()) == count
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    assert rows["Hardware"]["mean_repair_hours"] == 2
    assert rows["(none given)"]["mean_repair_hours"] is None
    repairs = told["repairs"]
    assert (repairs["known"], repairs["of"]) == (int((down >= 0).sum()), count)
    assert repairs["mean_hours"] == pytest.approx(down[down >= 0].mean() / HOUR)
    assert 0.99 < repairs["availability"] < 1
    uptime = study_of(named, FailureStudySettings(clock="uptime", families=("weibull",))).summary
    assert uptime["node_days"] < told["node_days"]
    assert uptime["fits"]["node"]["mean"] < told["fits"]["node"]["mean"]


def test_without_repair_times_and_causes(steady: FailureStudy) -> None:
    assert steady.summary["repairs"] is None
    assert steady.summary["causes"] == []
    availability = {one.label: one for one in report.measures(steady.summary)}["Availability"]
    assert availability.value is None
    assert "no repair times" in availability.why


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("together", [False, True])
def test_logs_with_next_to_nothing(count: int, nodes: int, together: bool) -> None:
    time = np.full(count, 5 * DAY) if together else np.arange(1, count + 1) * 3 * DAY
    failures = log(time, np.arange(count) % nodes, nodes, 100 * DAY)
    told = study_of(failures, FailureStudySettings()).summary
    json.dumps(told, allow_nan=False)
    assert told["failures"] == count
    for say in (words.on_trend, words.on_clustering, words.on_nodes, words.on_age):
        assert say(told).endswith(".")
    assert all(line.endswith(".") for line in words.on_bursts(told))
    assert report.measures(told)
    for table in (report.year_table, report.trend_table):
        assert table(told).rows
    if nodes == 1:
        assert "one node" in words.on_nodes(told)
    if count < 2:
        assert told["fits"]["node"]["why"]
        assert told["trend"]["node"]["direction"] in ("unknown", "steady")


def test_the_same_seed_gives_the_same_summary(steady: FailureStudy) -> None:
    again = study_of(poisson(40, 400, 0.05), FailureStudySettings()).summary
    assert json.dumps(again) == json.dumps(steady.summary)


def test_p_values_where_asked() -> None:
    told = study_of(
        renewals(5, 300, 0.7, 200.0),
        FailureStudySettings(families=("weibull", "exponential"), draws=99),
    )
    rows = {row["family"]: row for row in told.summary["fits"]["node"]["families"]}
    assert rows["exponential"]["ks_p"] <= 0.02 < rows["weibull"]["ks_p"]
    assert told.summary["fits"]["node"]["weibull"]["ks_p"] is not None


def test_a_log_of_none_but_failed_nodes() -> None:
    rng = np.random.default_rng(2)
    time = rng.integers(0, 300 * DAY, 90)
    told = study_of(log(time, np.arange(90) % 80, 80, 300 * DAY), FEW).summary
    assert "name only nodes that failed" in told["hints"][0]
    often = study_of(poisson(10, 300, 0.1), FEW).summary
    assert not any("name only" in hint for hint in often["hints"])


def test_a_scale_beyond_all_gaps_is_not_shown() -> None:
    rng = np.random.default_rng(4)
    quick = np.sort(rng.integers(0, 50 * DAY, 6))
    told = study_of(log(np.append(quick, quick + 60), np.arange(12) % 6, 400, 60 * DAY), FEW)
    row = told.summary["years"][0]
    assert row["beyond"]
    assert row["scale"] > 3 * told.node.sampled.gap.max()
    table = report.year_table(told.summary)
    scale = table.heads.index("Scale")
    assert table.rows[0][scale : scale + 2] == ("\N{EN DASH}", "\N{EN DASH}")


def test_progress_reaches_its_end() -> None:
    steps: list[tuple[int, int]] = []
    study_of(poisson(5, 800, 0.05), FEW, progress=lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1]


def asked_of(families: str = "all", **values: Any) -> FailureStudySettings:
    return FailureStudySettings(families=families_of(families), **values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"families": "weibull,nonsense"}, "nonsense"),
        ({"families": ","}, "families"),
        ({"unit": "y"}, "unit"),
        ({"level": 2}, "level"),
        ({"draws": 5}, "draws"),
    ],
)
def test_what_cannot_be_asked(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        asked_of(**values)


def test_families_by_name() -> None:
    assert families_of("all") is None
    assert families_of(" weibull , gamma") == ("weibull", "gamma")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_ranks(values: list[int]) -> None:
    assert ranks(np.array(values)).tolist() == stats.rankdata(values).tolist()


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans(), st.integers(0, 120)),
        min_size=1,
        max_size=20,
    )
)
def test_gaps_are_cut_off(rows: list[tuple[int, int, bool, int]]) -> None:
    begin, length, censored, later = (np.array(column) for column in zip(*rows, strict=True))
    until = begin + later
    whole = np.arange(len(rows))
    gaps = Gaps(
        length.astype(float), censored.astype(bool), whole, begin, begin + length, whole,
        np.zeros(len(rows), bool),
    )  # fmt: skip
    cut = cut_off(gaps, until)
    for k, (start, long, flag, _) in enumerate(rows):
        seen = min(long, until[k] - start)
        assert cut.length[k] == seen
        assert bool(cut.censored[k]) == (flag or long > seen)


def test_the_verdict_takes_the_test_that_supposes_least() -> None:
    def row(test: str, p: float | None, direction: str) -> dict[str, Any]:
        return {"test": test, "p_value": p, "direction": direction}

    strict, loose = row("lewis-robinson", 0.2, "steady"), row("laplace", 1e-9, "fewer")
    assert verdict((loose, strict)) == "steady"
    assert verdict((loose, row("lewis-robinson", None, ""))) == "fewer"
    assert verdict((row("lewis-robinson", 1e-4, "more"), loose)) == "more"
    assert verdict((row("laplace", None, ""),)) == "unknown"


def test_words_of_a_trend_follow_the_years() -> None:
    def year(name: int, rate: float, node_years: float = 100.0) -> dict[str, Any]:
        return {"year": name, "rate": rate, "node_years": node_years}

    def said(way: str, *years: dict[str, Any]) -> str:
        change = {"direction": way, "tests": [], "power_law": {}}
        told = {"trend": {"node": change}, "years": years, "years_are": "calendar"}
        return words.on_trend(told)

    short = year(2013, 0.0, 0.3)
    text = said("more", short, year(2014, 0.01), year(2016, 0.4), year(2019, 0.2))
    assert "0.0100 per 1000 node-days in 2014, 0.400, the highest, in 2016, 0.200 in 2019." in text
    assert "2013" not in text
    assert "do not show" not in text
    text = said("fewer", year(2001, 3.0), year(2002, 2.0), year(2003, 4.0))
    assert "though the first and the last year do not show it" in text
    assert "2.00, the lowest, in 2002" in text
    assert said("more", year(2001, 3.0)).startswith(
        "The failure rate rose (by the tests of trend)."
    )


def test_a_clock_too_coarse_is_told() -> None:
    rng = np.random.default_rng(3)
    time = np.repeat(rng.integers(0, 300, 60) * DAY, 4)
    told = study_of(log(time, rng.permutation(240), 240, 301 * DAY), FEW).summary
    fits = told["fits"]
    assert fits["system"]["notes"][0].startswith("7")
    assert "too coarse" in fits["system"]["notes"][0]
    assert "bursts" in fits["system"]["notes"][0]
    assert fits["node"]["notes"] == []
    assert (fits["system"]["clock_step"], fits["system"]["resolution"]) == (24, 12)
    assert "half the step of the log's clock, 12.00 h" in words.zeros_line(fits["system"], "h")


def test_the_main_law_beyond_all_gaps_has_no_scale() -> None:
    rng = np.random.default_rng(4)
    quick = np.sort(rng.integers(0, 50 * DAY, 6))
    told = study_of(log(np.append(quick, quick + 60), np.arange(12) % 6, 400, 60 * DAY), FEW)
    law = told.summary["fits"]["node"]["weibull"]
    assert law["beyond"]
    node, _ = report.law_table(told.summary).rows
    assert node[1] != "\N{EN DASH}"
    assert set(node[3:]) == {"\N{EN DASH}"}
    assert "far beyond the longest gap" in words.laws_note(told.summary)


def test_worst_nodes_are_shown_with_their_own_rates() -> None:
    counts = np.random.default_rng(9).poisson(12, 300)
    counts[7] = 60
    node = np.repeat(np.arange(300), counts)
    time = np.random.default_rng(1).integers(0, 900 * DAY, len(node))
    told = study_of(log(time, node, 300, 900 * DAY), FEW).summary
    row = told["nodes_apart"]["nodes"][0]
    assert (row["node"], row["beyond_fleet"]) == ("7", True)
    assert row["rate"] == pytest.approx(60 / 0.9)
    assert row["rate_shrunk"] == row["rate"]
    assert report.node_table(told, 1).rows[0][3] == "66.7"
    other = told["nodes_apart"]["nodes"][1]
    assert other["rate"] == pytest.approx(other["failures"] / 0.9)
    assert other["rate_shrunk"] < other["rate"]


def test_digits_of_a_narrow_band() -> None:
    told = study_of(poisson(40, 400, 0.05), FEW).summary
    told["bursts"]["gaps"] |= {"band": 0.0036, "correlation": [0.4512]}
    assert "is 0.4512 (chance: within 0.0036)" in words.on_bursts(told)[-1]


# Years --------------------------------------------------------------------------------------------


def late_nodes(shape: float = 0.7, nodes: int = 30) -> Failures:
    """Return nodes watched for 5 years, each first used, and failing, up to 2 years later; the last
    node never fails."""
    rng = np.random.default_rng(3)
    times, numbers = [], []
    for node in range(nodes - 1):
        gaps = 400 * HOUR * (1 + node % 2) * rng.weibull(shape, 400)
        at = rng.integers(DAY, 730 * DAY) + np.cumsum(gaps)
        at = at[at < 1826 * DAY].astype(np.int64)
        times.append(at)
        numbers.append(np.full(len(at), node))
    return log(np.concatenate(times), np.concatenate(numbers), nodes, 1826 * DAY)


def by_hand(failures: Failures, rule: str) -> tuple[dict[int, int], dict[int, float]]:
    """Return failures and node-days of years, day by day."""
    count: dict[int, int] = {}
    days: dict[int, float] = {}
    for node in range(30):
        mine = failures.time[failures.node == node]
        begin = int(mine.min()) if rule == "own" and len(mine) else 0
        edges = [begin + DAY * int(np.ceil(365.25 * k)) for k in range(1, 8)]
        for time in mine.tolist():
            year = 1 + sum(time >= edge for edge in edges)
            count[year] = count.get(year, 0) + 1
        for hour in range(-(-begin // HOUR), 1826 * 24):
            year = 1 + sum(hour * HOUR >= edge for edge in edges)
            days[year] = days.get(year, 0.0) + 1 / 24
    return count, days


@pytest.mark.parametrize("rule", ["age", "own"])
def test_years_are_counted_as_by_hand(rule: Any) -> None:
    failures = late_nodes()
    found = study_of(failures, FailureStudySettings(families=("weibull",), years=rule))
    assert found.summary["years_are"] == rule
    count, days = by_hand(failures, rule)
    rows = {int(row["year"]): row for row in found.summary["years"]}
    assert {year: row["failures"] for year, row in rows.items() if row["failures"]} == count
    for year, row in rows.items():
        assert row["node_years"] * 365.25 == pytest.approx(days[year], abs=30 / 24)
    table = found.node_years
    assert table.failures.sum(axis=0).tolist() == [row["failures"] for row in rows.values()]


def test_years_from_the_first_failure_leave_out_the_time_before_it() -> None:
    failures = late_nodes(shape=1.0)
    own, age = (
        study_of(failures, FailureStudySettings(families=("weibull",), years=rule)).summary["years"]
        for rule in ("own", "age")
    )
    # nodes that fail at a constant rate from their first use on: only `own` shows that
    rates = [row["rate"] for row in own[:3]]  # three years of all nodes
    assert max(rates) < 1.3 * min(rates)
    assert age[0]["rate"] < 0.5 * age[3]["rate"]


def test_each_year_tells_which_distribution_is_nearer() -> None:
    def nearer(shape: float) -> list[bool]:
        found = study_of(renewals(40, 1400, shape, 300.0), FEW)
        return [row["ks"] < row["exponential_ks"] for row in found.summary["years"]]

    assert all(nearer(0.5))
    found = study_of(log([DAY, 2 * DAY], [0, 1], 3, 400 * DAY), FEW)
    assert [row["ks"] for row in found.summary["years"]] == [None, None]
    assert report.pictures.by_year(found) is None


def test_a_plot_for_each_year_with_its_distribution() -> None:
    pytest.importorskip("matplotlib")
    found = study_of(renewals(40, 1400, 0.6, 300.0), FEW)
    drawn = report.pictures.by_year(found)
    assert drawn is not None
    assert "closer than the exponential one in 4 of 4 years" in drawn.caption
    axes = [one for one in drawn.draw().axes if one.get_title(loc="left")]
    assert [one.get_title(loc="left") for one in axes] == ["1", "2", "3", "4"]
    for one, row in zip(axes, found.summary["years"], strict=True):
        assert one.texts[0].get_text() == f"shape {row['shape']:.3g}\nscale {row['scale']:.3g}"
        diagonal, weibull, exponential = (line.get_xydata() for line in one.lines)
        far = [np.abs(line[:, 1] - line[:, 0]).max() for line in (weibull, exponential)]
        assert far[0] < far[1]
        np.testing.assert_allclose(far, [row["ks"], row["exponential_ks"]], atol=0.01)
        assert np.all(diagonal[:, 0] == diagonal[:, 1])


def test_calendar_years_need_dates() -> None:
    with pytest.raises(ParameterError, match="years: 'calendar' is not allowed"):
        study_of(late_nodes(), FailureStudySettings(years="calendar"))
