"""How often a node fails: over all nodes that the records name, and no surer than the events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from books_cases import accounts, outages
from forestall.reliability.report.failure_rate import (
    OF_LOG,
    OF_OUTAGES,
    OF_RUNS,
    MeasuredRate,
    measured,
)
from forestall.site.nodes import study as nodes_study
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked

DAY = 86_400
ASKED = Asked(0, 100 * DAY)


def two_outages() -> Any:
    return outages(
        [
            {"node": "n1", "begin": 10 * DAY, "end": 11 * DAY},
            {"node": "n2", "begin": 20 * DAY, "end": 22 * DAY},
        ],
        (0, 100 * DAY),
    )


def runs_on(*lists: str) -> Any:
    return accounts(
        [{"submit": 0, "start": 0, "end": 99 * DAY, "nodelist": one} for one in lists],
        begin=0,
        until=100 * DAY,
    )


def described(*names: str) -> Inventory:
    count = len(names)
    none = np.zeros(count, dtype=np.int64)
    blank = ("",) * count
    return Inventory(names, none, none, none, (("a",),) * count, blank, blank, blank, none)


def test_nodes_of_runs_count_though_they_were_never_out() -> None:
    """They were left out: a node's MTTF came out too low by far."""
    alone = measured(SiteRecords(events=two_outages()), ASKED)
    assert alone is not None
    assert alone.node_days == pytest.approx(200 - 3)
    assert "Only nodes with outages are known" in alone.text
    found = measured(SiteRecords(runs_on("n[1-8]", "n9"), two_outages()), ASKED)
    assert found is not None
    assert found.node_days == pytest.approx(900 - 3)
    assert "Only nodes with outages" not in found.text


def test_nodes_of_the_inventory_and_those_that_are_gone_count() -> None:
    site = SiteRecords(events=two_outages(), inventory=described("n1", "n2", "n3", "n4"))
    found = measured(site, ASKED)
    assert found is not None
    assert found.node_days == pytest.approx(400 - 3)
    with_runs = SiteRecords(runs_on("n[1-4]", "old"), two_outages(), site.inventory)
    found = measured(with_runs, ASKED)
    assert found is not None  # the one that is gone is watched up to its last run
    assert found.node_days == pytest.approx(400 - 3 + 99, abs=0.01)


def test_the_report_has_one_mttf() -> None:
    site = SiteRecords(runs_on("n[1-8]", "n9"), two_outages())
    times = nodes_study.study(site, ASKED).times
    found = measured(site, ASKED)
    assert times is not None
    assert found is not None
    assert (times.failures, times.events) == (found.failures, found.events)
    assert times.mttf.value * 3600 == pytest.approx(found.mttf)


def test_a_day_at_least() -> None:
    events = outages([{"node": "n1", "begin": 60, "end": 90}], (0, DAY - 1))
    assert measured(SiteRecords(events=events), Asked(0, DAY - 1)) is None
    assert measured(SiteRecords(events=events), Asked(0, DAY)) is not None


def test_failures_that_hang_together_make_the_rate_less_sure() -> None:
    rows = [{"node": f"n{k}", "begin": 50 * DAY, "end": 51 * DAY} for k in range(8)]
    rows += [{"node": "n9", "begin": k * DAY, "end": k * DAY + 60} for k in (5, 15, 25, 35)]
    found = measured(SiteRecords(events=outages(rows, (0, 100 * DAY))), ASKED)
    assert found is not None
    assert (found.failures, found.events) == (12, 5)
    # One event of 8 and four of 1: 12^2 / (64 + 4).
    assert found.alone == pytest.approx(144 / 68)
    low, high = found.ends()
    assert low < found.rate < high
    alone = MeasuredRate(12, 12, found.node_days, OF_OUTAGES, 0.95)
    assert low < alone.ends()[0]
    assert high > alone.ends()[1]
    # The exact interval of a Poisson count, by chi-squared, and scaled to the rate.
    k = 144 / 68
    wanted = np.array([chi2.ppf(0.025, 2 * k), chi2.ppf(0.975, 2 * k + 2)]) / 2 / k * found.rate
    assert (low, high) == pytest.approx(tuple(wanted))
    assert "5 events, which widens the interval" in found.text


@given(count=st.integers(0, 500), days=st.floats(1, 1e6))
def test_failures_one_by_one_have_the_interval_of_their_count(count: int, days: float) -> None:
    one = MeasuredRate(count, count, days, OF_LOG, 0.9)
    low, high = one.ends()
    assert low <= one.rate <= high
    assert high == pytest.approx(chi2.ppf(0.95, 2 * count + 2) / 2 / (days * DAY))


def test_one_of_a_kind_in_words() -> None:
    said = [MeasuredRate(1, 1, 9.0, what, 0.95).text for what in (OF_OUTAGES, OF_LOG, OF_RUNS)]
    assert [one.partition(" in 9")[0] for one in said] == [
        "1 outage that is a fault",
        "1 failure of the log",
        "1 run ended by a node failure",
    ]
