"""Sections on losses, goodput, ETTR and start estimates: what they say, and what they do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from books_cases import accounts, site
from forestall.core.show.report import Section
from forestall.site.losses import ettr as ettr_section
from forestall.site.losses import goodput as goodput_section
from forestall.site.losses import losses as losses_section
from forestall.site.waits import starts as starts_section
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.records.start_estimates import StartEstimates
from forestall.slurm.sources.asked import Asked
from forestall.slurm.sources.swf_jobs import accounting_of_swf

DAY = 86_400
ASKED = Asked(0, 70 * DAY, node_hour_cost=2.0)
SECTIONS = (losses_section, goodput_section, ettr_section, starts_section)
Make = Callable[[SiteRecords, Asked], Section]


def checked(found: Section) -> Section:
    """Check what holds for every section, and draw its pictures."""
    assert found.lead
    assert found.lead.endswith(".")
    for one in (*found.facts, *found.series):
        assert one.value is not None or one.why
        json.dumps(one.as_json(), allow_nan=False)
    keys = [(one.key, one.unit, tuple(sorted(one.labels.items())))
            for one in (*found.facts, *found.series)]  # fmt: skip
    assert len(keys) == len(set(keys)), "a figure told twice"
    assert len({one.key for one in found.tables}) == len(found.tables)
    for table in found.tables:
        json.dumps([dict(row) for row in table.records], allow_nan=False)
        if table.key != "rules":
            wide = [max(len(row[k]) for row in (table.heads, *table.rows))
                    for k in range(len(table.heads))]  # fmt: skip
            assert sum(wide) + 2 * (len(wide) - 1) <= 100, table.key
    for picture in found.figures:
        drawn = picture.draw()
        assert drawn.axes
        drawn.canvas.draw()
    return found


def test_a_whole_site() -> None:
    records = site()
    for module in SECTIONS:
        found = checked(module.section(records, ASKED))
        assert found.figures or module is goodput_section
        assert found.facts[0].value is not None
        assert found.facts[0].key != ""
    # The same again, to the byte.
    twice = [[one.as_json() for one in module.section(records, ASKED).facts]
             for module in SECTIONS for _ in range(2)]  # fmt: skip
    assert twice[::2] == twice[1::2]


def test_losses_say_both_bounds_and_add_up() -> None:
    found = losses_section.section(site(), ASKED)
    table = next(one for one in found.tables if one.key == "causes")
    rows = [row for row in table.records if row["cause"] != "all"]
    assert table.records[0]["cause"] == "all"
    total = table.records[0]["node_hours"]
    assert sum(row["node_hours"] for row in rows) == pytest.approx(total, rel=1e-12)
    lost = {one.labels["bound"]: one.value for one in found.facts if one.key == "lost_work"
            and one.unit == "node_hours"}  # fmt: skip
    cost = {one.labels["bound"]: one.value for one in found.facts if one.key == "lost_cost"}
    assert cost == {bound: 2 * value for bound, value in lost.items() if value is not None}
    assert lost["lower"] is not None
    assert lost["upper"] is not None
    assert 0 < lost["lower"] < lost["upper"]
    assert "if no job writes checkpoints" in found.lead
    assert "every 1 h" in found.lead
    capacity = next(one for one in found.tables if one.key == "capacity")
    least = [row for row in capacity.records if row["what"] != "idle, at most"]
    assert sum(row["share_of_capacity"] for row in least) == pytest.approx(1)
    assert any("apparently continued" in note for note in found.notes)


def test_losses_of_a_cut_site_do_not_tell_capacity() -> None:
    found = checked(losses_section.section(site(), Asked(0, 70 * DAY, partition="p")))
    assert all(one.key != "capacity" for one in found.tables)
    assert any("never allocated" in one.what for one in found.untold)


def test_shared_nodes_have_no_capacity() -> None:
    rows = [{"start": 0, "end": DAY, "state": "COMPLETED"}] * 3
    records = accounts([row | {"job": k} for k, row in enumerate(rows)], machine_nodes=2)
    found = checked(losses_section.section(SiteRecords(accounting=records), Asked(0, DAY)))
    assert any("share nodes" in one.why for one in found.untold)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"submit": 5}],
        [{"submit": 5, "end": 9, "state": "CANCELLED"}],
        [{"start": 5, "state": "RUNNING"}],
        [{"start": 5, "end": 5, "state": "COMPLETED"}],
        [{"start": 5, "end": 900, "state": ""}],
        [{"start": 5, "end": 900, "state": "NODE_FAIL", "nodes": -1}],
        [{"start": 5, "end": 900, "state": "NODE_FAIL"}],
        [{"start": 5, "end": 900, "state": "COMPLETED", "exit_code": 0}],
    ],
)
@pytest.mark.parametrize("module", SECTIONS)
def test_hard_cases(module: Any, rows: list[dict[str, Any]]) -> None:
    records = SiteRecords(accounting=accounts(rows, until=2000))
    checked(module.section(records, Asked(0, 2000)))


@pytest.mark.parametrize("module", SECTIONS)
def test_no_records_at_all(module: Any) -> None:
    found = checked(module.section(SiteRecords(), ASKED))
    assert found.untold
    assert "unknown" in found.lead
    assert not found.facts


def test_untold_goodput_has_its_reasons() -> None:
    found = goodput_section.section(site(), ASKED)
    none = [one for one in found.series if one.key == "badput" and one.value is None]
    assert len(none) == 6
    assert all(one.why for one in none)
    shares = [one.value for one in found.series if one.key == "badput" and one.value is not None]
    assert found.facts[0].value is not None
    assert sum(shares) + found.facts[0].value == pytest.approx(1)


def test_coarse_states_tell_no_interruptions() -> None:
    rows = [{"job": k, "submit": k, "start": k, "end": k + 9000,
             "state": "FAILED" if k % 3 else "COMPLETED"} for k in range(30)]  # fmt: skip
    records = SiteRecords(accounting=accounts(rows))
    found = checked(goodput_section.section(records, Asked(0, 9100)))
    assert "wasted_progress_from_disruption" in {
        one.labels["type"] for one in found.series if one.value is None
    }
    assert (
        "runs stopped by a failure from runs that failed"
        in ettr_section.section(records, ASKED).lead
    )
    losses = losses_section.section(records, Asked(0, 9100))
    assert any("node failures" in one.what for one in losses.untold)


def test_a_log_of_completed_runs_alone() -> None:
    rows = [{"job": k, "submit": k, "start": k, "end": k + 900, "state": "COMPLETED"}
            for k in range(9)]  # fmt: skip
    records = SiteRecords(accounting=accounts(rows))
    assert "left out" in checked(losses_section.section(records, Asked(0, 910))).lead
    assert "left out" in checked(goodput_section.section(records, Asked(0, 910))).lead
    slurm = SiteRecords(accounting=accounts([row | {"exit_code": 0} for row in rows]))
    assert "left out" not in losses_section.section(slurm, Asked(0, 910)).lead
    assert goodput_section.section(slurm, Asked(0, 910)).facts[1].value == 1


def test_the_model_takes_outages_by_fault() -> None:
    records = site()
    found = ettr_section.section(records, ASKED)
    rate = next(one for one in found.facts if one.key == "ettr_failure_rate")
    in_service = 400 * 70 - 60 * 5000 / DAY
    assert rate.value == pytest.approx(1000 * 60 / in_service)
    assert rate.records == 60
    runs = ettr_section.section(site(events=None), ASKED)
    other = next(one for one in runs.facts if one.key == "ettr_failure_rate")
    assert "runs" in other.assumes


def test_starts_say_which_side() -> None:
    found = starts_section.section(site(), ASKED)
    assert "started later than estimated" in found.lead
    table = next(one for one in found.tables if one.key == "by_horizon")
    assert table.rows[-1][0] == "last before start"
    strange = StartEstimates(*(np.array([k], dtype=np.int64) for k in (5, 999_999, -1, 9)))
    none = checked(starts_section.section(site(estimates=strange), ASKED))
    assert "unknown" in none.lead


@pytest.mark.parametrize("name", ["nasa-ipsc-1993", "sdsc-sp2-1998", "lanl-mustang"])
def test_real_logs(data: Path, name: str) -> None:
    path = next(iter(sorted((data / name).glob("*.swf*"))))
    jobs: Accounting = accounting_of_swf(path)
    records = SiteRecords(accounting=jobs)
    asked = Asked(jobs.begin, jobs.until)
    sections = [checked(module.section(records, asked)) for module in SECTIONS]
    whole = sum(jobs.node_seconds.tolist()) / 3600
    used = next(one for one in sections[0].facts if one.key == "used")
    assert used.value == pytest.approx(whole)
    if not any(jobs.state.words) or not jobs.state.told.any():
        assert "is unknown" in sections[0].lead
