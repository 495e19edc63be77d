"""Week by week: sums against plain loops, weeks of dates and zones, what a short record says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from books_cases import accounts, outages, site
from forestall.core.show.as_json import section_json
from forestall.prediction.assess.losses import losses
from forestall.site.trends import section as weeks_section
from forestall.site.trends.weeks import WEEK, weeks_of
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked

DAY = 86_400
ASKED = Asked(0, 70 * DAY)


def test_sums_are_those_of_a_plain_loop() -> None:
    records = site()
    found = weeks_of(records, ASKED)
    assert found is not None
    runs = records.accounting
    assert runs is not None
    used = np.zeros(len(found), dtype=np.int64)
    for nodes, start, end in zip(runs.nodes.tolist(), runs.start.tolist(), runs.end.tolist(),
                                 strict=True):  # fmt: skip
        for k, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
            used[k] += nodes * max(0, min(end, int(high), runs.until) - max(start, int(low)))
    assert found.used.tolist() == used.tolist()
    whole = losses(runs, ASKED.checkpoint_interval)
    inside = runs.end <= ASKED.until
    assert bool(inside.all()) or found.lost.sum() <= whole.lost.node_seconds
    told = losses(runs.take(inside), ASKED.checkpoint_interval)
    assert found.lost.sum() == told.lost.node_seconds
    assert found.lost_after.sum() == told.lost.node_seconds_after
    assert found.lost_to_nodes.sum() == told.of("node_failure").node_seconds
    assert found.stopped.sum() == told.of("node_failure").runs
    assert found.failures is not None
    assert found.failures.sum() == 60
    assert found.median is not None
    first = runs.wait[(runs.start < found.edges[1])]
    assert found.median[0] == np.median(first)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_weeks_begin_on_monday_across_a_change_of_clocks(zone: str | None) -> None:
    here = UTC if zone is None else ZoneInfo(zone)
    begin = int(datetime(2024, 3, 20, 12, tzinfo=here).timestamp())
    until = int(datetime(2024, 4, 9, tzinfo=here).timestamp())
    rows: list[dict[str, Any]] = [{"submit": begin, "start": begin, "end": until, "nodes": 2,
                                   "state": "COMPLETED"}]  # fmt: skip
    records = SiteRecords(accounts(rows, begin=begin, until=until))
    found = weeks_of(records, Asked(begin, until, zone=zone))
    assert found is not None
    names = [found.name(k) for k in range(len(found))]
    assert names == ["2024-03-20", "2024-03-25", "2024-04-01", "2024-04-08"]
    assert found.whole.tolist() == [False, True, True, False]
    hours = (found.used // 7200).tolist()
    assert hours[1] == (168 if zone is None else 167)
    assert sum(hours) == (until - begin) // 3600


def test_the_section_says_how_the_last_week_compares() -> None:
    made = weeks_section.section(site(), ASKED)
    assert made.lead.startswith("The last whole week (from ")
    assert "if jobs checkpoint every 1 h; the median of " in made.lead
    (table,) = made.tables
    assert len(table.rows) == 11
    assert str(table.rows[0][0]) == "(1970-01-01)"
    assert table.records[0]["whole"] is False
    json.dumps(section_json(made), allow_nan=False)
    pytest.importorskip("matplotlib")
    (figure,) = made.figures
    assert len(figure.draw().axes) == 3
    assert table.records[3]["runs_ended_by_node_failures"] >= 0


def test_undated_weeks_have_numbers_and_absurd_spans_an_end() -> None:
    rows: list[dict[str, Any]] = [{"submit": k * DAY, "start": k * DAY, "end": k * DAY + 60,
                                   "state": "COMPLETED"}
                                  for k in range(30)]  # fmt: skip
    records = SiteRecords(accounts(rows, dated=False, until=30 * DAY))
    made = weeks_section.section(records, Asked(0, 30 * DAY))
    assert (
        made.lead
        == "None of 4 weeks is known to have lost node-hours. Median wait: 0 s (median of "
        "weeks 0 s)."
    )
    assert "runs_ended_by_node_failures" not in made.tables[0].records[0]
    assert made.tables[0].heads[0] == "Week"
    far = SiteRecords(accounts(rows, dated=False, until=10**12))
    found = weeks_of(far, Asked(0, 10**12))
    assert found is not None
    assert len(found) == 1040


def test_less_than_two_weeks_have_no_trend() -> None:
    rows: list[dict[str, Any]] = [{"submit": 0, "start": 0, "end": WEEK}]
    made = weeks_section.section(SiteRecords(accounts(rows)), Asked(0, WEEK))
    assert made.untold[0].why == "the records have fewer than two whole weeks"
    none = SiteRecords(events=outages([{"node": "a", "begin": 0}], (0, 9 * WEEK)))
    assert not weeks_section.section(none, Asked(0, 9 * WEEK)).tells


def test_losses_that_nothing_tells_of_are_no_zeros() -> None:
    rows: list[dict[str, Any]] = [
        {"submit": k * DAY, "start": k * DAY, "end": (k + 1) * DAY, "nodes": 2, "state": ""}
        for k in range(70)
    ]
    untold = weeks_section.section(SiteRecords(accounts(rows, until=70 * DAY)), ASKED)
    known = weeks_section.section(site(), ASKED)
    heads = ["Lost, no checkpoints" in one.tables[0].heads for one in (untold, known)]
    assert heads == [False, True]
