"""Sections on nodes and lemons: what they say, what they do not, on made and on real records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.show.report import Section
from forestall.reliability.report.fleet import offset_of, watched
from forestall.site.advice.advice import Advice
from forestall.site.lemons import section as lemons_section
from forestall.site.nodes import section as nodes_section
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, UNCLEAR
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from reliability.nodes.site_nodes import DAY, HOUR, OPEN, outages, runs

BEGIN = 1_704_067_200  # Monday 2024-01-01
UNTIL = BEGIN + 200 * DAY
ASKED = Asked(BEGIN, UNTIL, zone="Europe/Berlin")
NAMES = tuple(f"n{k:02d}" for k in range(40))


def inventory(names: tuple[str, ...] = NAMES) -> Inventory:
    many = np.ones(len(names), dtype=np.int64)
    half = len(names) // 2
    return Inventory(
        names, many, many, many,
        tuple(("gpu", "all") if k < half else ("all",) for k in range(len(names))),
        tuple("8 GPUs" if k < half else "64 CPUs" for k in range(len(names))),
        ("IDLE",) * len(names), ("",) * len(names), many,
    )  # fmt: skip


def site(*, seed: int = 1, **changed: object) -> SiteRecords:
    """Return 40 nodes over 200 days: a lemon, n05, a rack's burst, maintenance, jobs that fail."""
    rng = np.random.default_rng(seed)
    rows, reasons, jobs = [], [], []
    for k, name in enumerate(NAMES):
        count = 25 if k == 5 else int(rng.poisson(2))
        for when in np.sort(rng.integers(0, 195 * DAY, count)).tolist():
            end = BEGIN + when + int(rng.integers(600, 20_000))
            rows.append((name, BEGIN + when, end, FAULT))
            reasons.append(("Not responding", "Xid 79 on GPU 3", "bad DIMM RT #48213")[k % 3])
            at = {"start": BEGIN + max(when - 7200, 0), "end": BEGIN + when, "state": "NODE_FAIL"}
            jobs.append({**at, "nodelist": name, "nodes": 1, "user": "ann"})
    for k in range(10, 22):
        rows.append((NAMES[k], BEGIN + 50 * DAY + k, BEGIN + 50 * DAY + 4 * HOUR, FAULT))
        reasons.append("power outage in rack 2")
    for name in NAMES:
        rows.append((name, BEGIN + 100 * DAY, BEGIN + 100 * DAY + 8 * HOUR, ADMINISTRATIVE))
        reasons.append("maintenance")
    rows += [("n30", BEGIN + 120 * DAY, BEGIN + 121 * DAY, UNCLEAR),
             ("n31", BEGIN + 199 * DAY, OPEN, FAULT)]  # fmt: skip
    reasons += ["talk to bob", "Not responding"]
    for k in range(400):
        start = BEGIN + k * 40_000
        jobs.append({"start": start, "end": start + 30_000, "state": "COMPLETED", "user": "bob",
                     "nodelist": NAMES[k % 40], "nodes": 1,
                     "excluded": "n[05-06]" if k % 10 == 0 else ""})  # fmt: skip
    whole = {
        "accounting": runs(jobs, (BEGIN, UNTIL)),
        "events": outages(rows, (BEGIN, UNTIL), names=NAMES, reasons=reasons),
        "inventory": inventory(),
    }
    return SiteRecords(**(whole | changed))  # type: ignore[arg-type]


def both(records: SiteRecords, asked: Asked = ASKED) -> tuple[Section, Section, tuple[Advice, ...]]:
    """Return both sections and the advice, after checks of what holds for all of them."""
    nodes = nodes_section.section(nodes_section.study(records, asked))
    study = lemons_section.study(records, asked)
    named, advice = lemons_section.section(study), lemons_section.advice(study)
    for one in (nodes, named):
        assert one.lead.endswith(".")
        keys = [(f.key, tuple(f.labels.items())) for f in (*one.facts, *one.series)]
        assert len(keys) == len(set(keys))
        json.dumps([f.as_json() for f in (*one.facts, *one.series)], allow_nan=False)
        json.dumps([dict(row) for table in one.tables for row in table.records], allow_nan=False)
        for picture in one.figures:
            assert picture.draw().axes
    json.dumps([one.as_json() for one in advice], allow_nan=False)
    return nodes, named, advice


def value(section: Section, key: str) -> float:
    return next(float(f.value) for f in section.facts if f.key == key and f.value is not None)


def test_a_site_with_everything() -> None:
    records = site()
    assert records.events is not None
    nodes, named, advice = both(records)
    faults = int(np.count_nonzero(records.events.nature == 0))
    assert value(nodes, "node_failures") <= faults
    assert value(nodes, "node_failure_events") == value(nodes, "node_failures") - 11
    assert value(nodes, "node_mttf_with_unclear") < value(nodes, "node_mttf")
    by = {table.key: table for table in nodes.tables}
    assert set(by) == {"outages", "by_cause", "by_partition", "by_hardware", "by_weekday", "laws"}
    wanted = next(row for row in by["outages"].records if row["nature"] == ADMINISTRATIVE)
    assert wanted["times"] == 40
    assert wanted["node_hours"] == pytest.approx(320)
    assert {row["cause"] for row in by["by_cause"].records} >= {"gpu", "memory", "not responding"}
    assert [row["partition"] for row in by["by_partition"].records] == ["all,gpu", "all"]
    hours = [f for f in nodes.series if f.key == "node_failure_rate_by_hour"]
    assert len(hours) == 24
    assert any("Europe/Berlin" in note for note in nodes.notes)

    assert named.lead.startswith("1 node of 40 fails more than chance allows: n05;")
    assert value(named, "lemon_nodes") == 1
    assert [one.labels for one in advice] == [{"node": "n05"}]
    saved = advice[0]
    assert saved.saves is not None
    assert saved.low is not None
    assert saved.high is not None
    assert 0 < saved.low < saved.saves < saved.high <= 25 * 0.5
    first = named.tables[0].records[0]
    assert first["node"] == "n05"
    assert first["excl_jobid_count"] == 40
    assert first["single_node_node_fails"] == 25
    assert first["tickets"] == 25
    assert first["xid_cnt"] == 0


def test_what_is_too_much_can_be_checked_by_subtraction() -> None:
    study = lemons_section.study(site(), ASKED)
    found = study.found
    assert found is not None
    at = found.name.index("n05")
    assert found.beyond[at]
    because = lemons_section.advice(study)[0].because
    told = re.match(
        r"(\d+) failures of its own, where an average node had ([\d.]+) .*: ([\d.]+) too many",
        because,
    )
    assert told is not None
    own, usual, over = (float(one) for one in told.groups())
    assert own == found.own[at]
    assert over == pytest.approx(own - usual, abs=0.06)
    assert "luck" not in because
    assert study.hours is not None
    share = over / own
    assert found.saved(study.hours).value == pytest.approx(study.hours[at] * share, rel=0.01)
    doubtful = replace(found, beyond=np.zeros(len(found), dtype=np.bool_))
    told_so = lemons_section.advice(replace(study, found=doubtful))[0].because
    assert "after allowing for luck" in told_so
    assert "1 outages" not in because


def test_a_node_that_was_taken_away_by_hand_has_not_failed() -> None:
    jobs = [{"start": BEGIN, "end": BEGIN + k * DAY, "state": "NODE_FAIL", "nodelist": f"n0{k}"}
            for k in range(1, 5)]  # fmt: skip
    rows = [(f"n0{k}", BEGIN + k * DAY + 2, BEGIN + k * DAY + HOUR,
             FAULT if k < 3 else ADMINISTRATIVE) for k in range(1, 5)]  # fmt: skip
    found = watched(
        SiteRecords(
            accounting=runs(jobs, (BEGIN, UNTIL)),
            events=outages(rows, (BEGIN, UNTIL), names=NAMES),
        ),
        ASKED,
    )
    assert found is not None
    assert found.runs is not None
    assert len(found.runs) == 2


def test_ten_that_cost_most_come_first() -> None:
    rng = np.random.default_rng(3)
    names = tuple(f"m{k:03d}" for k in range(200))
    rows = []
    for k, name in enumerate(names):
        count = 12 + (k == 12) if k < 13 else int(rng.poisson(0.5))
        for when in np.sort(rng.integers(0, 195 * DAY, count)).tolist():
            away = 50 * HOUR if k == 3 else 2 * HOUR
            rows.append((name, BEGIN + when, BEGIN + when + away, FAULT))
    study = lemons_section.study(
        SiteRecords(events=outages(rows, (BEGIN, UNTIL), names=names)), ASKED
    )
    assert study.found is not None
    assert len(study.found.lemons) >= 13
    advice = lemons_section.advice(study)
    assert len(advice) == lemons_section.ADVISED
    assert advice[0].labels == {"node": "m003"}
    saves = [one.saves for one in advice]
    assert saves == sorted(saves, key=lambda one: -(one or 0.0))


def test_jobs_in_bursts_are_not_held_against_nodes() -> None:
    study = lemons_section.study(site(), ASKED)
    assert study.found is not None
    assert study.of_jobs
    assert study.hours is not None
    at = study.found.name.index("n05")
    assert study.hours[at] == pytest.approx(25 * 0.5), "half an interval of an hour each"
    whole = replace(ASKED, checkpoint_interval=10**6)
    longer = lemons_section.study(site(), whole)
    assert longer.hours is not None
    assert longer.hours[at] > study.hours[at] * 3


def test_without_jobs_what_is_lost_are_hours_out_of_service() -> None:
    nodes, named, advice = both(site(accounting=None))
    assert "node-hours out of service" in named.lead
    assert advice[0].saves is not None
    assert any("Per node" in one.what for one in named.untold)
    nodes, named, _ = both(site(inventory=None))
    assert any("partition" in one.what for one in nodes.untold)
    assert value(named, "lemon_nodes") == 1


def test_failures_known_from_runs_alone() -> None:
    records = site(events=None)
    nodes, named, _ = both(records)
    assert records.accounting is not None
    failed = int(records.accounting.base().among(["NODE_FAIL"]).sum())
    days = float(records.accounting.node_seconds.sum()) / DAY
    assert value(nodes, "job_node_failure_rate") == pytest.approx(1000 * failed / days)
    assert "show neither MTTF nor MTTR" in nodes.lead
    assert "n05" in named.lead
    assert any("runs only" in note for note in named.notes)
    unknown = [{"start": BEGIN, "end": BEGIN + 9000, "state": "NODE_FAIL", "nodelist": "n[1-9]",
                "nodes": 9}]  # fmt: skip
    nodes, named, _ = both(SiteRecords(accounting=runs(unknown, (BEGIN, UNTIL))))
    assert value(nodes, "job_node_failures") == 1
    assert value(nodes, "job_node_failures_known") == 0


def test_no_failures_and_no_records() -> None:
    calm = outages([], (BEGIN, UNTIL), names=NAMES)
    nodes, named, advice = both(site(events=calm, accounting=None))
    assert nodes.lead.startswith(
        "None of 40 nodes failed in 8,000 node-days: the MTTF of a node is"
    )
    assert named.lead.startswith("No node failed")
    assert advice == ()
    for records in (
        SiteRecords(),
        SiteRecords(accounting=runs([], (BEGIN, UNTIL))),
        SiteRecords(accounting=runs([{"start": 5, "end": 9, "state": "COMPLETED"}], (0, DAY))),
        SiteRecords(inventory=inventory()),
    ):
        nodes, named, advice = both(records)
        assert nodes.untold
        assert named.untold
        assert not nodes.facts
    one = outages([("a", BEGIN, BEGIN + 5, FAULT)], (BEGIN, UNTIL))
    _, named, _ = both(SiteRecords(events=one))
    assert "fewer than two nodes" in named.lead


def test_logs_without_names_dates_or_repairs() -> None:
    rng = np.random.default_rng(2)
    log = Failures.build(np.sort(rng.integers(0, 90 * DAY, 150)), rng.integers(0, 30, 150))
    log = replace(log, span=90 * DAY, nodes=32)
    nodes, named, _ = both(SiteRecords(failures=log), Asked(0, 90 * DAY))
    told = {one.what for one in nodes.untold}
    assert {"Failures by hour and weekday", "How long outages last"} <= told
    assert "No node is worse than chance" in named.lead
    assert not any(f.key == "node_mttr" for f in nodes.facts)
    none = Failures.none()
    nodes, named, _ = both(SiteRecords(failures=none), Asked(0, DAY))
    assert nodes.lead == "No node was in service in this time."


def test_nodes_that_come_go_and_change_their_names() -> None:
    rows = [("old7", BEGIN + DAY, BEGIN + 2 * DAY, FAULT), ("n00", BEGIN + DAY, OPEN, FAULT)]
    jobs = [{"start": BEGIN + 150 * DAY, "end": BEGIN + 151 * DAY, "nodelist": "n39",
             "state": "COMPLETED"},
            {"start": BEGIN + 1, "end": BEGIN + DAY, "nodelist": "n[00-38]", "nodes": 39,
             "state": "COMPLETED"}]  # fmt: skip
    records = SiteRecords(
        accounting=runs(jobs, (BEGIN, UNTIL)),
        events=outages(rows, (BEGIN, UNTIL)),
        inventory=inventory(),
    )
    found = watched(records, ASKED)
    assert found is not None
    days = dict(zip(found.fleet.names, found.fleet.node_days.tolist(), strict=True))
    assert days["n39"] == pytest.approx(50)
    assert days["old7"] == pytest.approx(1, abs=1e-3)
    assert days["n01"] == 200
    assert (found.strangers, found.late) == (("old7",), 1)
    nodes, _, _ = both(records)
    assert any(one.what == "Nodes no longer described" for one in nodes.untold)


def test_what_a_short_log_does_not_tell() -> None:
    rows = [(f"n{k:02d}", BEGIN + 10 * k, BEGIN + 10 * k + 5, FAULT) for k in range(5)]

    def over(length: int) -> tuple[Section, Section]:
        events = outages(rows, (BEGIN, BEGIN + length), names=NAMES)
        asked = replace(ASKED, until=BEGIN + length)
        return both(SiteRecords(events=events, inventory=inventory()), asked)[:2]

    nodes, named = over(133)
    assert nodes.lead.startswith(
        "2.22 min of records are too short for an MTTF: 5 failures of 40 nodes."
    )
    by = {one.key: one for one in nodes.facts}
    assert by["node_mttf"].value == pytest.approx((40 * 133 - 5 * 5) / 5 / DAY)
    assert by["node_mttf"].assumes.endswith(
        "the records cover only 2.22 min, so the result is mostly chance"
    )
    assert by["node_failure_rate"].value is not None
    assert by["node_failures"].value == 5
    assert {table.key for table in nodes.tables} == {"outages", "laws"} & {
        table.key for table in nodes.tables
    }
    assert not any(one.value and one.value > 10_000 for one in nodes.series)
    assert "How long nodes last" in {one.what for one in nodes.untold}
    assert "rate" not in named.tables[0].heads
    for length, keys in ((2 * DAY, set()), (5 * DAY, {"hour"}), (15 * DAY, {"hour", "weekday"})):
        nodes, named = over(length)
        told = {one.key.rpartition("_")[2] for one in nodes.series if "_by_" in one.key}
        assert told & {"hour", "weekday"} == keys
        assert "A node fails every" in nodes.lead
        assert "rate" in next((one.heads for one in named.tables), ("rate",))
        untold = {one.what for one in nodes.untold}
        assert ("Failures by weekday" in untold) == (length == 5 * DAY)
        assert ("Failures by hour and weekday" in untold) == (length == 2 * DAY)


def test_weekdays_show_what_they_are_judged_by() -> None:
    rows = [(f"n{k:02d}", BEGIN + 4 * DAY + k, BEGIN + 4 * DAY + 900, FAULT) for k in range(30)]
    rows += [(f"n{k:02d}", BEGIN + k * DAY, BEGIN + k * DAY + 900, FAULT) for k in range(10, 38)]
    events = outages(rows, (BEGIN, UNTIL), names=NAMES)
    nodes, _, _ = both(SiteRecords(events=events), replace(ASKED, zone=None))
    table = next(one for one in nodes.tables if one.key == "by_weekday")
    friday = table.records[4]
    assert friday["failures"] == 34
    assert friday["events"] == 5, "30 nodes at once are one"
    at = table.heads.index("events per 1000 node-days")
    days = float(friday["node_days"])
    assert float(table.rows[4][at]) == pytest.approx(1000 * 5 / days, abs=0.01)
    assert friday["events_per_1000_node_days"] == pytest.approx(1000 * 5 / days)
    assert friday["rate_per_1000_node_days"] == pytest.approx(1000 * 34 / days)
    assert "one event" in table.note


def test_laws_name_no_second_mean() -> None:
    nodes, _, _ = both(site())
    laws = next(one for one in nodes.tables if one.key == "laws")
    assert "mean" not in laws.heads
    assert laws.records[0]["median_hours"] is None or laws.records[0]["median_hours"] > 0


def test_common_unclear_reasons_are_named() -> None:
    nodes, _, _ = both(site())
    why = next(one.why for one in nodes.untold if one.what == "What unclear outages were")
    assert why.endswith("most often: 'talk to bob' (1)")


def test_clocks_follow_daylight_saving() -> None:
    times = np.arange(1_711_846_800 - 7200, 1_711_846_800 + 7200, 900)  # 2024-03-31 01:00 UTC
    offset = offset_of("Europe/Berlin")
    assert offset is not None
    shift = offset(times)
    assert (shift[times < 1_711_846_800] == 3600).all()
    assert (shift[times >= 1_711_846_800] == 7200).all()
    assert offset_of(None) is None


@pytest.mark.parametrize(
    ("name", "system", "lemon"),
    [
        ("lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz", "20", "node 0"),
        ("bluegene-l-fatal/Best.any-loc.xz", None, "R63"),
        pytest.param("fta-grid5000", None, "node66", marks=pytest.mark.slow),
    ],
)
def test_real_logs(data: Path, name: str, system: str | None, lemon: str) -> None:
    from forestall.slurm.sources import sources

    given = sources.GivenRecords(failures=data / name, system=system)
    records = sources.gather(given)
    asked = sources.asked_of(records, given)
    nodes, named, _ = both(sources.cut(records, asked), asked)
    assert lemon in named.lead
    assert "unknown" not in named.lead, "that is no node"
    assert value(nodes, "node_mttf") > 1
    held = next(f for f in named.facts if f.key == "lemon_held_ratio")
    assert held.low is not None
    if system is not None or "grid" in name:  # nodes named in the first half fail more later too
        assert held.low > 1
    else:  # of Blue Gene/L, which has few failures once "unknown" is no node, that is not shown
        assert held.low < 1
        assert any("do not show" in note for note in named.notes)
