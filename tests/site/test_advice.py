"""What to do: numbers by hand, bounds that do not flatter, and silence where nothing is known."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_cases import accounts, outages
from forestall.core.show.quantities import duration
from forestall.reliability.queues.queues import LADDER
from forestall.reliability.report.failure_rate import OF_OUTAGES, OF_RUNS, MeasuredRate, measured
from forestall.site.advice import advice as own
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked

HOUR, DAY = 3600, 86_400
ASKED = Asked(0, 100 * DAY)
RATE = MeasuredRate(10, 10, 1000.0, OF_OUTAGES, 0.95)


def runs(count: int, length: int, nodes: int = 4, state: str = "COMPLETED", **more: Any) -> Any:
    return [
        {"submit": k, "start": k, "end": k + length, "nodes": nodes, "state": state, **more}
        for k in range(count)
    ]


def test_the_rate_is_counted_from_outages() -> None:
    events = outages(
        [
            {"node": "n1", "begin": 10 * DAY, "end": 11 * DAY},
            {"node": "n2", "begin": 20 * DAY, "end": 22 * DAY},
            {"node": "n2", "begin": 40 * DAY, "end": 41 * DAY, "nature": "administrative"},
        ],
        (0, 100 * DAY),
        ("n1", "n2", "n3"),
    )
    found = measured(SiteRecords(events=events), ASKED)
    assert found is not None
    assert found.failures == 2
    assert found.node_days == pytest.approx(300 - 1 - 2 - 1)
    assert found.mttf == pytest.approx(296 / 2 * DAY)
    assert found.repair == pytest.approx(1.5 * DAY)
    low, high = found.mttf_ends()
    # Garwood's interval of a count of 2 is 0.2422 to 7.2247.
    assert low == pytest.approx(296 * DAY / 7.2247, rel=1e-4)
    assert high == pytest.approx(296 * DAY / 0.2422, rel=1e-3)
    assert "2 outages that are faults in 296 node-days" in found.text


def test_the_rate_is_counted_from_runs_else() -> None:
    failed = runs(3, DAY, nodes=2, state="NODE_FAIL", nodelist="n[1-2]", failed_node="n1")
    failed[1]["end"] = failed[0]["end"]  # two runs that one node took with it
    site = SiteRecords(accounting=accounts([*failed, *runs(5, DAY, nodelist="n[1-4]")]))
    found = measured(site, ASKED)
    assert found is not None
    assert (found.failures, found.what) == (2, OF_RUNS)
    assert found.node_days == pytest.approx((3 * 2 + 5 * 4), rel=1e-3)


def test_no_rate_without_records() -> None:
    assert measured(SiteRecords(), ASKED) is None
    assert measured(SiteRecords(accounting=accounts([])), ASKED) is None
    unknown = accounts(runs(3, DAY, state=""))
    assert measured(SiteRecords(accounting=unknown), ASKED) is None
    # A log that knows only completed and failed does not tell that no node failed.
    assert measured(SiteRecords(accounting=accounts(runs(3, DAY))), ASKED) is None


def test_no_failures_give_a_bound() -> None:
    none = MeasuredRate(0, 0, 1000.0, OF_OUTAGES, 0.95)
    assert none.mttf == math.inf
    assert none.mttf_ends() == (pytest.approx(1000 * DAY / 3.6889, rel=1e-4), math.inf)


def test_checkpoints_by_hand() -> None:
    accounting = accounts(runs(20, 24 * HOUR))
    (size,) = own.size_classes(accounting)
    assert (size.low, size.high, size.mean) == (2, 4, pytest.approx(4.0))
    (one,) = own.checkpoints(size, RATE, ASKED, told=True)
    best = own.rounded(own.best_interval(4, RATE.rate, 300))
    paid = 20 * 4 * (24 * HOUR // 3900 - 24 * HOUR // (best + 300)) * 300
    exposed = 20 * 4 * 4 * 24 * HOUR * (3600 - best) / 2
    assert one.saves == pytest.approx((paid + exposed * RATE.rate) / HOUR)
    low, high = RATE.ends()
    assert one.low == pytest.approx((paid + exposed * high) / HOUR)
    assert one.high == pytest.approx((paid + exposed * low) / HOUR)
    assert one.labels == {"nodes": "2-4"}
    # What nobody told may already be so: then nothing is saved.
    (assumed,) = own.checkpoints(size, RATE, ASKED)
    assert assumed.low == 0.0
    assert "(not in the records)" in assumed.assumes


def test_an_interval_that_is_right_gets_no_advice() -> None:
    accounting = accounts(runs(20, 24 * HOUR))
    (size,) = own.size_classes(accounting)
    best = own.rounded(own.best_interval(4, RATE.rate, 300))
    asked = Asked(0, 100 * DAY, checkpoint_interval=best)
    assert own.checkpoints(size, RATE, asked, told=True) == []
    free = Asked(0, 100 * DAY, checkpoint_cost=0)
    assert own.checkpoints(size, RATE, free, told=True) == []


def test_limits_by_hand() -> None:
    failed = runs(5, 30 * HOUR, nodes=8, state="NODE_FAIL")
    accounting = accounts([*failed, *runs(20, 10 * HOUR, nodes=8)])
    (size,) = own.size_classes(accounting)
    (one,) = own.limits(size, None, ASKED)
    # The best of the ladder: every limit L saves floor(30 h / L) L a failed run, and each new end
    # of a run costs 10 min on 8 nodes.
    saved = {}
    for hours in (1, 2, 4, 6, 8, 12, 18, 24):
        ends = 5 * ((30 * HOUR - 1) // (hours * HOUR)) + 20 * ((10 * HOUR - 1) // (hours * HOUR))
        saved[hours] = 8 * (5 * (30 // hours) * hours - ends / 6)
    best = max(saved, key=lambda hours: saved[hours])
    assert one.saves == pytest.approx(saved[best])
    assert f"to {best} h" in one.text
    assert one.low is not None
    assert one.low < 0 < one.saves  # with checkpoints every hour it would not have paid
    assert "5 runs of 25 ended by a node failure" in one.because


@given(
    rows=st.lists(st.tuples(st.integers(1, 300_000), st.booleans()), min_size=20, max_size=40),
    price=st.integers(0, 50_000),
)
def test_the_best_limit_of_all(rows: list[tuple[int, bool]], price: int) -> None:
    """As a loop over the whole ladder, shortest limit first, finds it."""
    some = [runs(1, time, nodes=8, state="NODE_FAIL" if bad else "COMPLETED")[0]
            for time, bad in rows]  # fmt: skip
    (size,) = own.size_classes(accounts([row | {"job": k} for k, row in enumerate(some)]))
    best, saved = 0.0, 0.0
    for limit in (one for one in LADDER if one < max(time for time, _ in rows)):
        net = sum(8 * (time // limit * limit) for time, bad in rows if bad)
        net -= sum(8 * ((time - 1) // limit) for time, _ in rows) * price
        if net > saved:
            best, saved = limit, net
    found = own.limits(size, None, Asked(0, 100 * DAY, checkpoint_cost=price, restart=0))
    if sum(bad for _, bad in rows) < own.FEWEST_FAILURES or saved < HOUR:
        assert found == []
    else:
        (one,) = found
        assert one.saves == pytest.approx(saved / HOUR)
        assert f"to {duration(best)}, and" in one.text


def test_no_limit_without_failures() -> None:
    accounting = accounts(runs(25, 30 * HOUR))
    (size,) = own.size_classes(accounting)
    assert own.limits(size, RATE, ASKED) == []


def test_requests_that_are_far_off() -> None:
    rows = runs(4, 2 * HOUR, state="OUT_OF_MEMORY", user="ann", name="train")
    rows += runs(2, 2 * HOUR, state="OUT_OF_MEMORY", user="bob", name="train")
    rows += runs(3, HOUR, state="TIMEOUT", user="ann", name="<b>\n")
    found = own.far_off(accounts(rows), ASKED)
    assert [(one.key, one.saves, one.low) for one in found] == [
        ("out_of_memory", 24.0, 12.0),  # 3 runs of 2 h on 4 nodes; 1 h of each with checkpoints
        ("timeout", 8.0, 0.0),
    ]
    assert found[0].labels == {"user": "ann", "name": "train"}
    assert "\n" not in found[1].text


def test_alarms() -> None:
    accounting = accounts(runs(20, 24 * HOUR))
    (size,) = own.size_classes(accounting)
    one = own.alarm(size, RATE, ASKED)
    assert one.with_recall == pytest.approx(own.best_interval(4, RATE.rate * 0.7, 300))
    assert one.with_recall / one.interval == pytest.approx(1 / math.sqrt(0.7), rel=0.01)
    assert one.threshold == pytest.approx(300 / (one.with_recall / 2))


def test_spares_of_large_runs_only() -> None:
    often = MeasuredRate(1000, 1000, 10_000.0, OF_OUTAGES, 0.95)
    accounting = accounts([*runs(20, 24 * HOUR, nodes=64), *runs(20, 60, nodes=1)])
    small, large = own.size_classes(accounting)
    assert own.spares(small, often) == []
    (one,) = own.spares(large, often)
    # 6.4 failures are expected in a day on 64 nodes: 13 spares for 99 % (Poisson).
    assert "13" in one.text
    assert one.saves is None


def test_a_study_of_little() -> None:
    for accounting in (None, accounts([]), accounts([{"submit": 1}])):
        found = own.study(SiteRecords(accounting=accounting), ASKED)
        assert found.advice == ()
        assert found.alarms == ()
