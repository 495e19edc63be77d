"""Where records come from: kinds by content, one clock, windows, and what falls out of a cut."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from books_cases import accounts, outages
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.job_records import NEVER
from forestall.reliability.report.failure_rate import rate_of_records
from forestall.site.import_slurm import import_slurm
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.records.start_estimates import StartEstimates
from forestall.slurm.sources import sources
from forestall.slurm.sources.asked import Asked
from forestall.slurm.sources.sources import GivenRecords, cut, gather, window

DAY = 86_400
T0 = 1_000_000_000
SWF = """; UnixStartTime: 1000000000
; MaxNodes: 4
; MaxProcs: 16
; Queue: 1 batch
1 0 10 100 4 -1 -1 4 200 -1 1 7 1 3 1 -1 -1 -1
2 5 0 50 6 -1 -1 6 200 -1 0 8 1 3 1 -1 -1 -1
3 9 30 0 -1 -1 -1 4 200 -1 5 7 1 3 1 -1 -1 -1
4 20 -1 60 4 -1 -1 4 -1 -1 -1 7 1 3 1 -1 -1 -1
5 30 5 -1 4 -1 -1 4 -1 -1 2 7 1 3 1 -1 -1 -1
"""


def swf(path: Path, text: str = SWF) -> Path:
    path.write_text(text)
    return path


def failure_csv(path: Path, rows: str = "10,0\n20,1\n500,1\n") -> Path:
    path.write_text("time,node\n" + rows)
    return path


def sacct(path: Path) -> Path:
    path.write_text(
        "JobIDRaw|State|Submit|Start|End|NNodes\n"
        "1|COMPLETED|1000000000|1000000010|1000000110|2\n"
        "2|NODE_FAIL|1000000000|1000000010|1000000210|1\n"
    )
    return path


def test_swf_is_read_as_accounting(tmp_path: Path) -> None:
    site = gather(GivenRecords(paths=(swf(tmp_path / "a.swf"),)))
    jobs = site.accounting
    assert jobs is not None
    assert jobs.job.tolist() == [1, 2, 3, 4]
    assert (jobs.submit - T0).tolist() == [0, 5, 9, 20]
    assert jobs.start.tolist() == [T0 + 10, T0 + 5, NEVER, T0 + 20]
    assert (jobs.end - T0).tolist() == [110, 55, 39, 80]
    assert jobs.state.texts() == ["COMPLETED", "FAILED", "CANCELLED", ""]
    assert jobs.nodes.tolist() == [4, 6, 0, 4]
    assert jobs.asked.tolist() == [4, 6, 4, 4]
    assert jobs.limit.tolist() == [200, 200, 200, -1]
    assert jobs.partition.texts() == ["batch"] * 4
    assert jobs.user.texts() == ["7", "8", "7", "7"]
    assert (jobs.begin, jobs.until, jobs.dated, jobs.machine_nodes) == (T0, T0 + 110, True, 16)
    assert jobs.cleaning.counts() == {"no_run_time": 1, "no_wait": 1}
    assert "the header says 4 per node" in site.sources[0]


def test_processors_become_nodes(tmp_path: Path) -> None:
    given = GivenRecords(paths=(swf(tmp_path / "a.swf"),), processors_per_node=4)
    jobs = gather(given).accounting
    assert jobs is not None
    assert jobs.nodes.tolist() == [1, 2, 0, 1]
    assert (jobs.machine_nodes, jobs.cores_per_node) == (4, 4)


def test_an_undated_swf_counts_from_zero(tmp_path: Path) -> None:
    text = "\n".join(line for line in SWF.splitlines() if "Unix" not in line)
    jobs = gather(GivenRecords(paths=(swf(tmp_path / "a.swf", text),))).accounting
    assert jobs is not None
    assert (jobs.dated, jobs.begin) == (False, 0)


def test_files_are_told_apart_by_content(tmp_path: Path) -> None:
    packed = tmp_path / "what.ever"
    packed.write_bytes(gzip.compress(SWF.encode()))
    site = gather(GivenRecords(paths=(packed, failure_csv(tmp_path / "jobs.swf"))))
    assert site.accounting is not None
    assert len(site.accounting) == 4
    assert site.failures is not None
    assert len(site.failures) == 3
    slurm = gather(GivenRecords(paths=(sacct(tmp_path / "x"),)))
    assert slurm.accounting is not None
    assert slurm.accounting.state.texts() == ["COMPLETED", "NODE_FAIL"]


@pytest.mark.parametrize("text", ["", "\n\n", "hello, world\nfoo,bar\n", "{}"])
def test_files_of_nothing_known(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd"
    path.write_text(text)
    with pytest.raises(TraceError, match="odd"):
        gather(GivenRecords(paths=(path,)))


def test_refusals(tmp_path: Path) -> None:
    one, two = swf(tmp_path / "1.swf"), swf(tmp_path / "2.swf")
    log = failure_csv(tmp_path / "f.csv")
    for given in (
        GivenRecords(),
        GivenRecords(paths=(one, two)),
        GivenRecords(paths=(log,), failures=log),
        GivenRecords(paths=(one, sacct(tmp_path / "s"))),
        GivenRecords(paths=(one,), zone="Mars/Olympus"),
        GivenRecords(paths=(one,), processors_per_node=0),
    ):
        with pytest.raises(ParameterError):
            gather(given)
    with pytest.raises(TraceError, match="no such file"):
        gather(GivenRecords(paths=(tmp_path / "gone",)))


def test_a_failure_log_alone(tmp_path: Path) -> None:
    site = gather(GivenRecords(failures=failure_csv(tmp_path / "f.csv")))
    assert site.accounting is None
    assert site.failures is not None
    assert site.failures.time.tolist() == [10, 20, 500]
    assert window(site) == (0, 501)
    assert site.failures.service_start is not None
    assert site.failures.service_start.tolist() == [0, 0]


def test_options_with_nothing_to_act_on(tmp_path: Path) -> None:
    """They were once passed over in silence."""
    jobs = sacct(tmp_path / "jobs.txt")
    for name, options in (
        ("days", {"days": 3.0}),
        ("from", {"start": "2001-09-09"}),
        ("system", {"system": "20"}),
        ("fold_nodes", {"fold_nodes": 2}),
        ("failure_format", {"failure_format": "lanl"}),
        ("processors_per_node", {"processors_per_node": 4}),
    ):
        with pytest.raises(ParameterError, match=f"{name}: .*there is none"):
            gather(GivenRecords(paths=(jobs,), **options))  # type: ignore[arg-type]
    log = failure_csv(tmp_path / "f.csv")
    assert gather(GivenRecords(failures=log, days=1.0, fold_nodes=2)).failures is not None
    assert gather(GivenRecords(paths=(log,), days=1.0)).failures is not None


def test_nodes_alone_are_named(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("NodeName=n1 CPUTot=4 State=IDLE\n")
    site = gather(GivenRecords(paths=(nodes,)))
    with pytest.raises(ParameterError, match=r"nodes\.txt: 1 node .*records of jobs"):
        sources.asked_of(site, GivenRecords())
    with pytest.raises(ParameterError, match="name no partitions"):
        cut(SiteRecords(failures=log(0)), Asked(0, 9, partition="gpu"))


def imported(folder: Path) -> Path:
    """Import small records, and return the folder."""
    folder.mkdir()
    events = folder / "events.txt"
    rows = [f"n{k}|{T0 + 50 * k}|{T0 + 50 * k + 9}|DOWN|Not responding" for k in range(1, 4)]
    events.write_text("\n".join(["NodeName|TimeStart|TimeEnd|State|Reason", *rows]) + "\n")
    import_slurm(GivenRecords(paths=(sacct(folder / "jobs.txt"), events)), folder / "site")
    return folder / "site"


def test_failures_in_parquet_by_option_and_by_place(tmp_path: Path) -> None:
    log = imported(tmp_path / "x") / "failures.parquet"
    for given in (
        GivenRecords(failures=log),
        GivenRecords(paths=(log,)),
        GivenRecords(paths=(sacct(tmp_path / "j"), log)),
    ):
        site = gather(given)
        assert site.failures is not None
        assert site.failures.time.tolist() == [T0 + 50, T0 + 100, T0 + 150]
        assert site.sources[-1].startswith("failures.parquet: 3 failures of 3 nodes")


def test_an_imported_folder_is_a_source(tmp_path: Path) -> None:
    folder = imported(tmp_path / "x")
    site = gather(GivenRecords(paths=(folder,)))
    assert site.accounting is not None
    assert site.events is not None
    assert site.sources == (
        "site, from jobs.txt: 2 runs (sacct)",
        "site, from events.txt: 3 outages (sacctmgr show event)",
    )
    rate = rate_of_records(GivenRecords(paths=(folder,)))
    assert rate.failures == 3
    assert "The records cover only 3.52 min, so the result is mostly chance." in rate.note
    again = import_slurm(GivenRecords(paths=(folder,)), tmp_path / "again", anonymize=True).site
    assert again.accounting is not None
    assert again.accounting.end.tolist() == site.accounting.end.tolist()
    for name, said in (("runs.parquet", "give the folder"), ("jobs.parquet", "give the folder")):
        with pytest.raises(TraceError, match=said):
            gather(GivenRecords(paths=(folder / name,)))
    alone = tmp_path / "alone.parquet"
    alone.write_bytes((folder / "runs.parquet").read_bytes())
    with pytest.raises(TraceError, match="Parquet with other columns"):
        gather(GivenRecords(paths=(alone,)))


def test_no_folder_of_this_machine_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "home-of-ann"
    folder.mkdir()
    job_log, failures = swf(folder / "a.swf"), failure_csv(folder / "f.csv", "10,0\n20,1\n30,x\n")
    for given in (
        GivenRecords(paths=(job_log,), failures=failures),
        GivenRecords(paths=(sacct(folder / "jobs.txt"),), failures=failures),
    ):
        site = gather(given)
        told = [*site.sources, *(name for one in site.cleanings().remarks for name in one.names)]
        assert not any("home-of-ann" in text for text in told)
    assert site.sources[0] == "jobs.txt: 2 runs (sacct)"
    assert gather(GivenRecords(paths=(job_log,))).cleanings().remarks[0].names == ("a.swf line 9",)


def test_estimates_of_several_sources_are_joined(tmp_path: Path) -> None:
    two = whole_site().estimates
    assert two is not None
    other = replace(two, asked=np.array([10, 999]))
    site = sources._together([SiteRecords(estimates=two), SiteRecords(estimates=other)])
    assert site.estimates is not None
    assert site.estimates.asked.tolist() == [10, 150, 999]
    assert site.estimates.cleaning.counts() == {"repeated": 1}


def test_a_failure_log_of_another_machine_is_named(tmp_path: Path) -> None:
    log = failure_csv(tmp_path / "f.csv")
    (remark,) = (
        one
        for one in gather(GivenRecords(paths=(swf(tmp_path / "a.swf"), log))).cleanings().remarks
        if one.kind == "other_machine"
    )  # fmt: skip
    assert remark.names == ("f.csv (2 nodes)",)
    assert "another machine than the jobs' (16 nodes)" in remark.counted
    log.write_text("# nodes: 4\ntime,node\n10,0\n")
    same = gather(GivenRecords(paths=(swf(tmp_path / "a.swf"), log), processors_per_node=4))
    assert "other_machine" not in same.cleanings().counts()


def log(origin: int | None, times: tuple[int, ...] = (0, 50, 900)) -> Failures:
    whole = Failures.build(times, [0] * len(times))
    return replace(whole, origin=origin, span=1000)


def test_clocks_of_jobs_and_failures() -> None:
    jobs = accounts([{"submit": T0, "start": T0 + 10, "end": T0 + 100}])
    moved, text = sources.on_clock_of(jobs, log(T0 - 20))
    assert moved.time.tolist() == [T0 - 20, T0 + 30, T0 + 880]
    assert moved.origin == 0
    assert "by date" in text
    assert moved.service_end is not None
    assert moved.service_end.tolist() == [T0 + 980]
    for origin, chosen in ((T0 + 100_000, False), (None, False), (T0 - 20, True)):
        moved, text = sources.on_clock_of(jobs, log(origin), chosen=chosen)
        assert moved.time.tolist() == [T0, T0 + 50, T0 + 900]
        assert "with the start of the jobs" in text
    undated = replace(jobs, dated=False)
    assert sources.on_clock_of(undated, log(T0))[0].origin is None


def test_windows() -> None:
    jobs = accounts([{"submit": T0, "start": T0, "end": T0 + 100 * DAY}])
    site = SiteRecords(accounting=jobs)
    end = T0 + 100 * DAY
    assert window(site) == (T0, end)
    assert window(site, "all") == (T0, end)
    assert window(site, "30d") == (end - 30 * DAY, end)
    assert window(site, "2001-10-01") == (1_001_894_400, end)
    assert window(site, "2001-10-01", zone="Europe/Berlin") == (1_001_894_400 - 7200, end)
    assert window(site, "2001-10-01T00:00+01:00", "2001-11-01") == (1_001_890_800, 1_004_572_800)
    assert window(site, "1000d") == (T0, end)
    for since, until in (("2030-01-01", None), (None, "1999-01-01"), ("soon", None), ("0d", None)):
        with pytest.raises(ParameterError, match=r"^(since|until): "):
            window(site, since, until)
    # Who is to blame: `since` is all, `until` lies before the records.
    for since, until, name in (
        ("all", "1999-01-01", "until"), ("30d", "1999-01-01", "until"),
        ("2030-01-01", None, "since"), ("2001-10-01", "2001-09-20", "since"),
        ("30", None, "since"), ("20010909", None, "since"), (None, "2002", "until"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=f"^{name}: "):
            window(site, since, until)
    seconds = SiteRecords(accounting=replace(jobs, dated=False))
    assert window(seconds, str(T0 + 5)) == (T0 + 5, end)
    with pytest.raises(ParameterError, match="no dates"):
        window(seconds, "2001-10-01")
    with pytest.raises(ParameterError):
        window(SiteRecords())


def test_records_that_are_younger_than_what_was_asked_for_say_so() -> None:
    jobs = accounts([{"submit": T0, "start": T0, "end": T0 + DAY}])
    site = SiteRecords(accounting=jobs)
    said = sources.younger(site, GivenRecords(since="90d"))
    assert said == (
        "Asked for the time since 2001-06-12 01:46; the records, and so the window, begin "
        "2001-09-09 01:46 (UTC)."
    )
    assert "2001-01-01 00:00;" in sources.younger(site, GivenRecords(since="2001-01-01"))
    assert "so the window, begin" in sources.younger(
        site, GivenRecords(slurm=True, until="2001-09-10")
    )
    for given in (
        GivenRecords(), GivenRecords(since="all"), GivenRecords(slurm=True, since="all"),
        GivenRecords(since="1d"), GivenRecords(since="2001-09-09T12:00"),
    ):  # fmt: skip
        assert sources.younger(site, given) == ""


def test_a_live_report_begins_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three failures in two days of books are not spread over the 90 days asked for."""
    jobs = accounts([{"submit": T0, "start": T0, "end": T0 + 2 * DAY}])
    events = outages([{"node": f"n{k}", "begin": T0 + 9 * k, "end": T0 + 99} for k in range(3)],
                     (T0, T0 + 2 * DAY + 1))  # fmt: skip
    told = SiteRecords(accounting=jobs, events=events, sources=("Slurm itself",))
    monkeypatch.setattr("forestall.slurm.read.ask", lambda *_, **__: told)
    given = GivenRecords(slurm=True, until="2001-09-11T01:47")
    site = gather(given)
    assert site.sources[1].startswith("Asked for the time since ")
    asked = sources.asked_of(site, given)
    assert (asked.begin, asked.until) == (T0, T0 + 2 * DAY)
    found = rate_of_records(given)
    assert found.failures == 3
    assert 5.9 < found.node_days < 6.1
    assert "and so the window, begin" in found.text


def whole_site() -> SiteRecords:
    jobs = accounts(
        [
            {"submit": 0, "start": 10, "end": 50, "partition": "a", "nodes": 1},
            {"submit": 60, "start": 90, "end": 120, "partition": "a,b", "nodes": 4},
            {"submit": 150, "start": 160, "end": 170, "partition": "b", "nodes": 2},
            {"submit": 200, "start": 210, "partition": "a", "nodes": 2},
            {"submit": 250, "partition": "a", "nodes": 0, "asked": 3},
        ],
        begin=0,
        until=300,
    )
    events = outages(
        [
            {"node": "n1", "begin": 5, "end": 20},
            {"node": "n2", "begin": 80, "end": 110},
            {"node": "n1", "begin": 130},
        ],
        (0, 300),
    )
    nodes = Inventory(
        ("n1", "n2"), *(np.zeros(2, dtype=np.int64),) * 3, (("a",), ("b",)), ("", ""), ("", ""),
        ("", ""), np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    asked = np.array([10, 150])
    estimates = StartEstimates(asked, asked, asked, asked)
    return SiteRecords(jobs, events, nodes, estimates)


def test_whole_runs_that_touch_the_window_are_kept() -> None:
    done = cut(whole_site(), Asked(100, 200))
    assert done.accounting is not None
    assert done.accounting.submit.tolist() == [60, 150]
    assert done.events is not None
    assert done.events.begin.tolist() == [80, 130]
    assert done.estimates is not None
    assert done.estimates.asked.tolist() == [150]
    assert done.sources == (
        "Left out: of 5 runs 3 outside the window.",
        "Left out: of 3 outages 1 outside the window.",
        "Left out: 1 start estimate outside the window.",
    )


def test_partition_and_size() -> None:
    done = cut(whole_site(), Asked(0, 300, partition="a"))
    assert done.accounting is not None
    assert done.accounting.submit.tolist() == [0, 60, 200, 250]
    assert done.inventory is not None
    assert done.inventory.names == ("n1",)
    assert done.events is not None
    assert done.events.names == ("n1",)
    assert done.events.begin.tolist() == [5, 130]
    large = cut(whole_site(), Asked(0, 300, min_nodes=3))
    assert large.accounting is not None
    assert large.accounting.submit.tolist() == [60, 250]
    assert "on fewer than 3 nodes" in large.sources[0]
    with pytest.raises(ParameterError, match=r"min_nodes: 5 .*at most 4, the nodes of the large"):
        cut(whole_site(), Asked(0, 300, min_nodes=5))
    with pytest.raises(ParameterError, match="one of a, b"):
        cut(whole_site(), Asked(0, 300, partition="gpu"))


def test_nothing_is_copied_where_nothing_falls_out() -> None:
    site = whole_site()
    done = cut(site, Asked(0, 300))
    assert done.accounting is site.accounting
    assert done.events is site.events
    assert done.sources == ()


def test_failures_and_their_service_are_cut() -> None:
    site = SiteRecords(failures=sources.on_clock_of(None, log(None))[0])
    done = cut(site, Asked(20, 600))
    assert done.failures is not None
    assert done.failures.time.tolist() == [50]
    assert done.failures.service_start is not None
    assert done.failures.service_end is not None
    assert done.failures.service_start.tolist() == [20]
    assert done.failures.service_end.tolist() == [600]


def test_real_logs_side_by_side(data: Path) -> None:
    jobs = data / "swf-misc" / "KTH-SP2-1996-2.swf.gz"
    failures = data / "lanl-failures-1996-2005" / "LA-UR-05-7318-failure-data-1996-2005.csv.gz"
    site = gather(GivenRecords(paths=(jobs, failures), system="20"))
    assert site.accounting is not None
    assert site.accounting.state.counts() == {"COMPLETED": 20_541, "FAILED": 7_948}
    assert (site.accounting.machine_nodes, site.accounting.dated) == (100, True)
    done = cut(site, sources.asked_of(site, GivenRecords()))
    assert done.failures is not None
    assert 0 < len(done.failures) < 2_478
    assert int(done.failures.time.min()) >= site.accounting.begin
