"""One job, and the table by account: against plain loops, and what is said where records lack."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from books_cases import accounts, outages
from forestall.core.model.errors import ParameterError
from forestall.site.jobs import section as accounts_section
from forestall.site.jobs.job import find, job_named
from forestall.site.jobs.told import hits, promises, use, waits
from forestall.site.shared import how_ended
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.records.start_estimates import StartEstimates
from forestall.slurm.sources.asked import Asked
from forestall.slurm.sources.given import GivenRecords

RECORDED = Path(__file__).parents[1] / "slurm" / "recorded" / "22.05"
FILES = tuple(RECORDED / name for name in ("sacct.jobs.epoch.txt", "sacctmgr.event.epoch.txt"))
DAY = 86_400
ASKED = Asked(0, 90 * DAY)


def rows(count: int = 300) -> list[dict[str, Any]]:
    states = ("COMPLETED", "FAILED", "NODE_FAIL", "COMPLETED", "TIMEOUT")
    return [
        {"job": k + 1, "submit": 600 * k, "start": 600 * k + 37 * (k % 11),
         "end": 600 * k + 37 * (k % 11) + 500 + 90 * (k % 17), "limit": 7200 if k % 3 else -1,
         "nodes": 1 + k % 4, "state": states[k % 5], "user": f"u{k % 7}",
         "account": ("physics", "chemistry", "")[k % 3], "partition": "p", "nodelist": f"n{k % 4}"}
        for k in range(count)
    ]  # fmt: skip


def test_the_table_by_account_is_that_of_a_plain_loop() -> None:
    given = rows()
    made = accounts_section.section(SiteRecords(accounts(given)), ASKED)
    by_account, by_user = made.tables
    assert (by_account.key, by_user.key) == ("by_account", "by_user")
    assert len(by_user.rows) == 7
    for told in by_account.records:
        mine = [row for row in given if row["account"] == told["name"]]
        lost = [row for row in mine if row["state"] != "COMPLETED"]
        limited = [row for row in mine if row["limit"] > 0]
        assert told["runs"] == len(mine)
        assert (
            told["node_hours"]
            == sum(row["nodes"] * (row["end"] - row["start"]) for row in mine) / 3600
        )
        assert (
            told["lost_node_hours"]
            == sum(row["nodes"] * (row["end"] - row["start"]) for row in lost) / 3600
        )
        assert told["wait_median_seconds"] == statistics.median(
            row["start"] - row["submit"] for row in mine
        )
        assert told["runs_ended_by_node_failures"] == sum(
            row["state"] == "NODE_FAIL" for row in mine
        )
        if limited:
            share = sum(row["end"] - row["start"] for row in limited) / (7200 * len(limited))
            assert told["time_limit_used_ratio"] == pytest.approx(share)
        else:
            assert told["time_limit_used_ratio"] is None
    used = [row["node_hours"] for row in by_account.records]
    assert used == sorted(used, reverse=True)
    assert made.lead.startswith("2 accounts. Most node-hours: ")


def test_a_job_that_nodes_failed_twice() -> None:
    runs = rows()
    extra = {"job": 5000, "submit": 900, "user": "ann", "partition": "p", "nodes": 2,
             "nodelist": "n[1-2]", "limit": 7200}  # fmt: skip
    runs += [
        extra | {"start": 1000, "end": 4600, "state": "NODE_FAIL", "failed_node": "n2"},
        extra | {"start": 5000, "end": 8600, "state": "COMPLETED"},
    ]
    events = outages([{"node": "n2", "begin": 4600, "end": 9000, "reason": "Not responding"},
                      {"node": "n3", "begin": 4600, "end": 9000}], (0, 90 * DAY))  # fmt: skip
    records = accounts(runs)
    estimates = StartEstimates(*(np.array([one]) for one in (950, 5000, 900, 960)))  # fmt: skip
    site = SiteRecords(records, events, estimates=estimates)
    ends = how_ended(site)
    mine = (records.job == 5000).nonzero()[0]
    used = use(records, ends, mine, ASKED)
    assert used.lead == "2 runs, 4.00 node-hours, 50.0 % of its time limit. It ended COMPLETED."
    assert [one.value for one in used.facts] == [4.0, 0.5, 2.0, 1.0]
    assert [row["runs"] for row in used.tables[1].records] == [2, 1, 1]
    hit = hits(site, ends, mine)
    assert "node failure (node n2), 2.00 node-hours into the run." in hit.lead
    (table,) = hit.tables
    assert {row["node"] for row in table.records} == {"n2"}
    waited = waits(site, mine)
    assert waited.lead.startswith(
        "It waited 100 s. The median wait of 301 jobs in its partition is "
    )
    assert waited.tables[0].records[0]["late_seconds"] == 40


def test_a_promise_is_quoted_at_the_submission_and_judged() -> None:
    runs = rows(3000)
    records = accounts(runs)
    at = (records.job == 2500).nonzero()[0]
    made = promises(records, at, Asked(0, 3000 * 600))
    told = {one.key: one for one in made.facts}
    within = float(told["promised_in"].value or 0)
    took = runs[2499]["end"] - runs[2499]["submit"]
    assert 0 < within < 7200
    kept = "kept" if took <= within else "missed"
    assert told["promised_probability"].labels == {"outcome": kept}
    assert f"That promise would have been {kept}." in made.lead
    early = promises(records, (records.job == 20).nonzero()[0], ASKED)
    assert early.untold[0].what == "A promise of its end"
    assert early.tells


def test_recorded_jobs_and_what_is_no_job() -> None:
    found = find(GivenRecords(FILES), "4")
    json.dumps(found.to_dict(), allow_nan=False)
    text = found.report.text()
    assert text.startswith("Job 4 (goodgpu, of games, account research, partition gpu")
    assert "node taken down by an operator" in text
    assert len(repr(found).splitlines()) < 30
    with pytest.raises(ParameterError, match="JOB: '99999'"):
        find(GivenRecords(FILES), "99999")
    for bad in ("x", "", "-4", "1.5", "9" * 30, "12_[3-4]"):
        with pytest.raises(ParameterError, match="a job id"):
            job_named(bad)
    with pytest.raises(ParameterError, match="one of the 10 tasks of this array, such as 18_1"):
        find(GivenRecords(FILES), "18")
    with pytest.raises(ParameterError, match="records of jobs"):
        find(GivenRecords(FILES[1:]), "4")


def test_tasks_and_components_by_their_names(tmp_path: Path) -> None:
    """As Slurm shows them, whether or not they have ids of their own yet."""
    array = find(GivenRecords(FILES), "18_101")
    assert array.site.accounting is not None
    assert array.told.title == "Job 18_101"
    assert len(array.rows) == 1
    done = find(GivenRecords(FILES), "17_2")
    assert done.site.accounting is not None
    assert done.site.accounting.job[done.rows].tolist() == [32]
    path = tmp_path / "sacct.txt"
    start = 1_760_000_000
    rows = "".join(f"{5 + k}|5+{k}|COMPLETED|{start}|{start}|{start + 60}\n" for k in (0, 1))
    path.write_text("JobIDRaw|JobID|State|Submit|Start|End\n" + rows)
    part = find(GivenRecords((path,)), "5+1")
    assert part.site.accounting is not None
    assert part.site.accounting.job[part.rows].tolist() == [6]
    with pytest.raises(ParameterError, match=r"JOB: '5\+2'"):
        find(GivenRecords((path,)), "5+2")
