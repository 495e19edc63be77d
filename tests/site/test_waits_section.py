from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.model.job_records import NEVER
from forestall.core.show.quantities import duration
from forestall.core.show.report import Section
from forestall.site.waits.waits import section
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from slurm.records.accounting_cases import accounts

DAY = 86_400


def told(accounting: Accounting | None, **more: Any) -> Section:
    until = 1 if accounting is None else accounting.until
    return section(SiteRecords(accounting=accounting), Asked(0, until, **more))


def steady(count: int, late: int = 0, **more: Any) -> list[dict[str, Any]]:
    """Return a job an hour that waits 100 s, the last `late` of them 900 s."""
    return [
        {
            "job": k, "submit": k * 3600, "start": k * 3600 + (100 if k < count - late else 900),
            "end": k * 3600 + 1000, "partition": "batch", "user": "ann", "limit": 600, **more,
        }
        for k in range(count)
    ]  # fmt: skip


def figure(found: Section, key: str, **labels: str) -> Any:
    every = (*found.facts, *found.series)
    return next(one for one in every if one.key == key and dict(one.labels) == labels)


def by_partition(found: Section) -> Any:
    """Return the table of bounds, which stands behind those of learned waits."""
    return next(table for table in found.tables if table.key == "waits_by_partition")


def test_a_steady_queue() -> None:
    found = told(accounts(steady(1000)))
    assert "941 bounds made, 941 held, 100 %" in found.lead
    assert "short" not in found.lead
    assert figure(found, "waiting_time_median").value == 100
    coverage = figure(found, "waiting_bound_coverage")
    assert (coverage.value, coverage.records, coverage.high) == (1.0, 941, 1.0)
    assert coverage.low == pytest.approx(0.996, abs=0.001)
    assert figure(found, "waiting_bound_none").value == pytest.approx(0.059)
    now = figure(found, "waiting_bound", partition="batch", quantile="0.95", confidence="0.95")
    assert now.value == 100
    (row,) = by_partition(found).records
    assert row["partition"] == "batch"
    assert (row["bounds_made"], row["bounds_held"], row["short"]) == (941, 941, False)
    assert found.untold == ()


def test_bounds_that_fall_short_are_said_to() -> None:
    rng = np.random.default_rng(1)
    rows = steady(4000)
    for k, row in enumerate(rows):
        # Every week is slower than the one before: the past is always too short.
        row["start"] += int(200 * 1.5 ** (k / 168) * rng.exponential())
        row["end"] = row["start"] + 10
    found = told(accounts(rows))
    share = figure(found, "waiting_bound_coverage")
    assert share.high < 0.95
    assert "below the stated 95 %" in found.lead
    assert by_partition(found).rows[0][-1] == "yes"
    adaptive = figure(found, "waiting_bound_coverage_adaptive")
    assert adaptive.value > share.value


def test_partitions_by_size_and_words_that_could_do_harm() -> None:
    rows = [*steady(300), *steady(200, partition="gpu\x1b[31m"), *steady(5, partition="tiny")]
    found = told(accounts(rows))
    assert [row[0] for row in by_partition(found).rows] == ["batch", "gpu\\x1b[31m"]
    assert [row[1] for row in by_partition(found).rows] == ["300", "200"]
    assert "1 partition with fewer jobs not shown" in found.tables[0].note


def test_jobs_in_bursts_are_told_apart() -> None:
    rows = steady(400)
    burst = [dict(row, submit=row["submit"] + 30, start=row["submit"] + 130) for row in rows[:200]]
    found = told(accounts([*rows, *burst]))
    made = {row["jobs"]: row["bounds_made"] for row in found.tables[1].records}
    assert made["in bursts of their user"] > 100
    assert made["in bursts of their user"] + made["other jobs"] == made["all jobs"]
    nobody = told(accounts(steady(400, user="")))
    assert len(nobody.tables[1].rows) == 2


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"submit": 0, "start": NEVER, "end": NEVER}],
        [{"submit": 5, "start": NEVER, "end": 9, "state": "CANCELLED"}] * 3,
        [{"submit": 5, "start": 5, "end": 9}] * 100,
        [{"submit": 5 + k, "start": 9 + k, "end": 90 + k} for k in range(10)],
        [{"submit": 5, "start": 9, "end": NEVER}],
    ],
)
def test_records_that_tell_nothing_of_waiting(rows: list[dict[str, Any]]) -> None:
    found = told(accounts(rows))
    assert found.key == "waits"
    assert found.lead.startswith("No bound on waiting times:")
    assert found.untold
    assert found.tables == ()


def test_no_accounting_at_all() -> None:
    assert "no records of jobs" in told(None).lead


def test_requeued_runs_are_left_out() -> None:
    rows = steady(200)
    again = [
        dict(row, attempt=1, start=row["submit"] + 999, end=row["submit"] + 999) for row in rows
    ]
    assert told(accounts([*rows, *again])).lead == told(accounts(rows)).lead


def test_a_queue_that_stands_still_has_no_bound_now() -> None:
    rows = steady(300)
    stuck = [
        {"submit": 300 * 3600 + k, "start": NEVER, "end": NEVER, "partition": "batch", "limit": 600}
        for k in range(60)
    ]
    late = [{"submit": 300 * 3600 + 9000 + k, "start": NEVER, "end": NEVER, "partition": "batch",
             "limit": 600} for k in range(3)]  # fmt: skip
    found = told(accounts([*rows, *stuck, *late], until=302 * 3600 + 9000))
    now = figure(found, "waiting_bound", partition="batch", quantile="0.95", confidence="0.95")
    assert now.value is None
    assert "wait longer than the bound" in now.why
    assert found.untold[0].what == "A bound on waiting in partition batch"


def test_everything_is_plain_and_the_same_twice() -> None:
    accounting = accounts(steady(500, 20))
    one, two = told(accounting, seed=3), told(accounting, seed=3)
    assert one.lead == two.lead
    texts = [json.dumps([f.as_json() for f in (*s.facts, *s.series)]) for s in (one, two)]
    assert texts[0] == texts[1]
    json.dumps([table.records for table in one.tables], allow_nan=False)
    keys = [(f.key, tuple(sorted(f.labels.items()))) for f in (*one.facts, *one.series)]
    assert len(keys) == len(set(keys))


def test_one_number_for_one_thing() -> None:
    rng = np.random.default_rng(2)
    rows = steady(3000)
    for k, row in enumerate(rows):
        row["start"] += int(500 * rng.exponential() * (1 + (k // 700) % 2))
        row["end"] = row["start"] + 10
    rows += [{"job": 5000 + k, "submit": k * 3600, "partition": "batch"} for k in range(40)]
    found = told(accounts(rows))
    median = figure(found, "waiting_time_median")
    assert f"Half of the jobs that started waited {duration(median.value)} or less" in found.lead
    (row,) = by_partition(found).records
    assert row["wait_median_seconds"] == median.value
    # The only partition is all jobs: its interval is the same.
    share = figure(found, "waiting_bound_coverage")
    assert share.low < share.value < share.high
    assert (row["held_low_ratio"], row["held_high_ratio"]) == (share.low, share.high)
    assert "in every partition" not in found.lead


def test_the_worst_partition_is_named() -> None:
    rows = steady(1500)
    for k, row in enumerate(rows):
        if k % 3 == 0:
            row["partition"] = "gpu"
            row["start"] += int(50 * 1.05 ** (k / 10))  # ever slower
            row["end"] = row["start"] + 10
    found = told(accounts(rows))
    worst = min(by_partition(found).records, key=lambda row: row["held_ratio"])
    assert worst["partition"] == "gpu"
    assert "not in every partition: in gpu only" in found.lead


@pytest.mark.parametrize("dated", [True, False])
def test_the_picture_can_be_drawn(dated: bool) -> None:
    pytest.importorskip("matplotlib")
    from forestall.core.show.svg import png

    found = told(accounts(steady(900, 50), dated=dated))
    assert len(png(found.figures[0].draw())) > 5000
    assert "95 %" in found.figures[0].alt


def test_a_picture_of_few_bounds() -> None:
    pytest.importorskip("matplotlib")
    from forestall.core.show.svg import png

    found = told(accounts(steady(65)))
    assert len(png(found.figures[0].draw())) > 2000


@pytest.mark.slow
def test_a_real_log(data: Path) -> None:
    from forestall.slurm.sources.swf_jobs import accounting_of_swf

    log = accounting_of_swf(data / "swf-misc" / "SDSC-BLUE-2000-4.2-cln.rebuilt.swf.gz")
    found = told(log)
    coverage = figure(found, "waiting_bound_coverage")
    assert coverage.value == pytest.approx(0.955, abs=0.004)
    assert coverage.records > 190_000
