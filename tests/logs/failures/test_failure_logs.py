"""Every other failure log: made-up lines of each format, and the real ones by their figures."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs import read_failures
from forestall.logs.failures.formats import FORMATS
from forestall.logs.failures.lanl import OTHERS, REQUIRED, STARTED
from forestall.logs.read import failure_format
from logs.failures.samples import SAMPLES, WITHOUT

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"


def lanl_rows(*rows: dict[str, object], title: str = "LANL failures,,\n") -> str:
    names = [*REQUIRED, *OTHERS]
    lines = [",".join(str(row.get(name, "")) for name in names) for row in rows]
    return title + ",".join(names) + "\n" + "\n".join(lines) + "\n"


def record(**more: object) -> dict[str, object]:
    base: dict[str, object] = {
        "System": 2,
        "nodes": 4,
        "nodenumz": 1,
        STARTED: "1/2/2003 4:05",
        "Prob Fixed (mm/dd/yy hh:mm)": "1/2/2003 4:15",
        "Down Time": 10,
        "Hardware": '"CPU, L2"',
    }
    return base | {name.replace("_", " "): value for name, value in more.items()}


def test_every_format_has_a_name_of_its_own_and_a_sample() -> None:
    names = [known.name for known in FORMATS]
    assert sorted(SAMPLES) == sorted(names)  # no name twice
    assert all(known.text for known in FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_keeps_the_contract(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(SAMPLES[name])
    assert failure_format(path).name == name
    if name in WITHOUT:
        with pytest.raises(TraceError, match="no failures in it"):
            read_failures(path, strict=True)
        return
    guessed, named = read_failures(path, strict=True), read_failures(path, format=name)
    assert len(guessed) > 0
    assert guessed.time.tolist() == named.time.tolist()
    assert guessed.node.tolist() == named.node.tolist()
    path.write_text("no such line\n")
    with pytest.raises(TraceError, match="log"):
        read_failures(path, format=name, strict=True)


@pytest.mark.parametrize("title", ["", "LANL failures,,\n"])
def test_lanl_records(tmp_path: Path, title: str) -> None:
    path = tmp_path / "lanl.csv"
    rows = [record(), record(), record(Hardware="", Down_Time=11), record(nodenumz=9)]
    path.write_text(lanl_rows(*rows, title=title))
    read = read_failures(path, strict=True)
    assert (len(read), read.nodes, read.downtime.tolist()) == (4, 10, [600, 600, 660, 600])
    assert read.kind == ("Hardware: CPU, L2", "Hardware: CPU, L2", "", "Hardware: CPU, L2")
    counts = {"duplicate": 1, "no_cause": 1, "downtime_differs": 1, "node_beyond_machine": 1}
    assert read.cleaning.counts() == counts


def test_lanl_dirt_and_systems(tmp_path: Path) -> None:
    path = tmp_path / "lanl.csv"
    bad = {STARTED: "2003-01-02"}
    path.write_text(lanl_rows(record(), record() | bad, record(System=3, nodenumz="")))
    with pytest.raises(ParameterError, match=r"system: is missing; .* systems 2, 3"):
        read_failures(path)
    with pytest.raises(ParameterError, match="system: '4' is not allowed"):
        read_failures(path, system=4)
    assert read_failures(path, system=2).cleaning.remarks[0].names == ("line 4",)
    with pytest.raises(TraceError, match=r"csv:4: Prob Started.*'2003-01-02'; expected a date"):
        read_failures(path, system=2, strict=True)
    assert read_failures(path, system="3").cleaning.counts() == {"no_node": 1}
    with pytest.raises(TraceError, match=r"lanl\.csv:5: nodenumz: is empty"):
        read_failures(path, system=3, strict=True)


def test_the_papers_counts(data: Path) -> None:
    read = read_failures(data / LANL, system=19, start="2003-07-18T16:00", days=365, strict=True)
    assert (len(read), read.nodes, read.span) == (1021, 1024, 365 * 86_400)
    assert 0 <= read.time[0] <= read.time[-1] < read.span
    folded = read_failures(data / LANL, system=19, start="2003-07-18T16:00", days=365, fold_nodes=8)
    assert (len(folded), folded.nodes) == (1021, 128)
    assert folded.time.tolist() == read.time.tolist()
    assert sorted(zip(folded.time, folded.node, strict=True)) == sorted(
        zip(read.time, read.node // 8, strict=True)
    )
    read = read_failures(data / LANL, system=20, start="2004-09-01", days=365)
    assert (len(read), len(set(read.node.tolist())), int(read.node.max())) == (307, 159, 255)


def test_every_system_of_lanl(data: Path) -> None:
    counts: dict[str, int] = {}
    total = 0
    for system in range(2, 25):
        read = read_failures(data / LANL, system=system)
        total += len(read)
        for kind, count in read.cleaning.counts().items():
            counts[kind] = counts.get(kind, 0) + count
    assert total == 23_739
    assert counts["duplicate"] == 25
    assert counts["no_cause"] == 453
    assert counts["no_node"] == 126
    assert len(read_failures(data / LANL, system=2)) == 7104


FTA = (
    "# event_id component_id node_id platform_id node_name event_type"
    " event_start_time event_stop_time event_end_reason\n"
)


def test_fta_events(tmp_path: Path) -> None:
    path = tmp_path / "event_trace.tab"
    path.write_text(
        FTA + "0\t0\t 7 3 2.10 1 100 200 1005\n1 0 7 3 2.10 0 200 260 NULL\n"
        "2 0 5 3 19.1 0 150 150 NULL\n3 0 9 3 2.2 1 0 9 NULL\n"
        "4 0 5 3 19.1 0 400 300 NULL\n5 0 5 3 19.1 x 400 300 NULL\n"
    )
    for place in (path, tmp_path):
        read = read_failures(place)
        assert (read.time.tolist(), read.node.tolist()) == ([0, 50], [0, 1])
        assert (read.downtime.tolist(), read.kind, read.nodes) == ([0, 60], ("", "1005"), 3)
        assert read.names == ("19.1", "2.10", "2.2")
    counts = {"malformed": 1, "ends_before_start": 1, "no_length": 1}
    assert read.cleaning.counts() == counts
    with pytest.raises(TraceError, match=r"event_trace\.tab:6: event_stop_time: 300 is before"):
        read_failures(path, strict=True)
    assert len(read_failures(path, system=2)) == 1
    with pytest.raises(ParameterError, match="system: '1' is not allowed; expected one of 19, 2"):
        read_failures(path, system=1)
    path.write_text(FTA)
    with pytest.raises(TraceError, match="has no failures"):
        read_failures(path)
    path.rename(tmp_path / "other")
    with pytest.raises(TraceError, match="is a folder with 0 files"):
        read_failures(tmp_path)


def test_the_archive(data: Path) -> None:
    read = read_failures(data / "fta-grid5000")
    assert (len(read), read.nodes) == (294_145, 1288)
    assert read.downtime.mean() / 3600 == pytest.approx(7.41, abs=0.01)
    assert np.median(read.downtime) == 172
    read = read_failures(data / "fta-lanl/event_trace1.tab.gz")
    assert (len(read), read.nodes) == (23_451, 3577)
    assert read.downtime.mean() / 3600 == pytest.approx(5.88, abs=0.01)
    assert len(read_failures(data / "fta-lanl/event_trace1.tab.gz", system=2)) == 7041
    assert len(read_failures(data / "fta-lanl/event_trace1.tab.gz", system=20)) == 2461


def test_bluegene_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fatal = "2005-06-05-01.55.{}.697467 {}RAS KERNEL FATAL rts panic! - stopping\n"
    path.write_text(fatal.format("08", "R11-M0 ") + fatal.format("06", "R02-M1 ") + "x\n")
    read = read_failures(path)
    assert (read.time.tolist(), read.names) == ([0, 2], ("R02-M1", "R11-M0"))
    assert (read.kind, read.cleaning.counts()) == (("KERNEL FATAL",) * 2, {"malformed": 1})
    with pytest.raises(TraceError, match="log:3: 'x' is not an event of Blue Gene/L's FATAL"):
        read_failures(path, strict=True)
    label = "{} 1117838570 2005.06.03 {} 2005-06-03-15.42.50.6 {} RAS KERNEL INFO text\n"
    path.write_text(label.format("-", "R1", "R1") + label.format("APPSEV", "NULL", "NULL"))
    read = read_failures(path)
    assert (read.kind, read.names, read.nodes) == (("APPSEV",), ("R1", "unknown"), 2)
    assert read.cleaning.counts() == {"no_place": 1}
    path.write_text(label.format("-", "R1", "R1"))
    with pytest.raises(TraceError, match="no failures in it"):
        read_failures(path)


def test_restarts(tmp_path: Path) -> None:
    path = tmp_path / "m100.csv"
    path.write_text(
        "node,day,boot_max\n3,2020-05-02,100.0\n3,2020-05-01,50\n3,2020-05-03,\n"
        "3,2020-05-04,100\n8,2020-05-04,100\n3,2020-05-05,90\n1,x,5\n"
    )
    read = read_failures(path)
    assert (read.time.tolist(), read.node.tolist()) == ([0, 10], [0, 0])
    assert (read.nodes, read.names) == (2, ("3", "8"))
    assert read.cleaning.counts() == {"bad_day": 1, "boot_goes_back": 1}


def test_devices(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"

    def put(text: str) -> Path:
        path.write_bytes(gzip.compress(text.encode()))
        return path

    head = "SN,location,insert,remove,duration,out,event\n"
    read = read_failures(put(head + "1,c2,,2016-01-01 00:00:01,,,DBE\n2,c1,,x,,,\n"))
    assert (read.node.tolist(), read.names, read.kind) == ([1], ("c1", "c2"), ("DBE",))
    head = "date,serial_number,model,failure\n"
    read = read_failures(put(head + "2013-04-10,b,M,0\n2013-04-11,b,M,1\n2013-04-10,a,M,0\n"))
    assert (read.node.tolist(), read.nodes, read.kind) == ([1], 2, ("M",))
    with pytest.raises(TraceError, match="no failures in it"):
        read_failures(put(head + "2013-04-10,b,M,0\n"))
    with pytest.raises(TraceError, match=r":2: failure: '2'; expected 0 or 1"):
        read_failures(put(head + "2013-04-10,b,M,2\n2013-04-10,b,M,1\n"), strict=True)
    head = ",Timestamp,SSC,SSU,Enclosure,Slot,Rack id,Unique enclosure\n"
    zone = "0,2019-01-04T19:00:00-0500,2,g,1,29,8,1\n1,2019-01-05T00:00:01+0000,2,g,1,2,8,1\n"
    read = read_failures(put(head + zone))
    assert (read.time.tolist(), read.names) == ([0, 1], ("008-001-002", "008-001-029"))


REAL = [
    ("bluegene-l-fatal/Best.all-fail.xz", 63_951, 14_210),
    ("bluegene-l-fatal/Best.full-loc.xz", 61_944, 14_210),
    ("bluegene-l-fatal/Best.1st-loc.xz", 27_370, 4_620),
    ("bluegene-l-fatal/Best.any-loc.xz", 1_435, 766),
    ("bluegene-l-fatal/Undet.any-loc.xz", 41_326, 8_204),
    ("bgl-ras/BGL_2k.log", 143, 1_777),
    ("mira-ras/mira_fatal_events_sim0.0.cor.gz", 1_176, 1_000),
    ("titan-gpu/gc_full.csv.gz", 4_826 + 1_541, 18_687),
    ("disk-failures-hpc/alpine_formatted_data.csv", 3_766, 3_279),
    ("disk-failures-hpc/camp_formatted_data.csv", 1_389, 1_112),
    ("backblaze-2013q2/drive_days_2013-04-10_2013-05-19.csv.xz", 120, 22_892),
    ("m100-node-daily/m100_node_daily.csv.xz", 11_646, 990),
]


@pytest.mark.parametrize(("name", "count", "nodes"), REAL)
def test_real_logs(data: Path, name: str, count: int, nodes: int) -> None:
    read = read_failures(data / name, strict=True)
    assert (len(read), read.nodes, int(read.time[0])) == (count, nodes, 0)
    assert read.names is not None
    assert len(read.names) == nodes
    assert list(read.names) == sorted(read.names, key=lambda n: (n.isdigit() and int(n), n))


@pytest.mark.parametrize(
    "name", ["BGL_5000.log", "HPC.HPC_2k.log", "Thunderbird.Thunderbird_2k.log"]
)
def test_real_logs_without_failures(data: Path, name: str) -> None:
    with pytest.raises(TraceError, match="no failures in it"):
        read_failures(data / "bgl-ras" / name)


@pytest.mark.parametrize(
    "name",
    ["titan-gpu/gc_summary_loc.csv.gz", "m100-node-daily/m100_node_daily_os_value.csv.xz"],
)
def test_tables_that_are_no_failure_logs(data: Path, name: str) -> None:
    with pytest.raises(TraceError, match="not a failure log: the file starts with"):
        read_failures(data / name)


def test_a_job_log_is_no_failure_log(tmp_path: Path) -> None:
    path = tmp_path / "jobs.swf"
    path.write_text("1 0 5 1451 128 -1 -1 128 -1 -1 1 1 1 -1 -1 -1 -1 -1\n")
    with pytest.raises(TraceError, match=r"is a job log \(SWF\); expected a failure log"):
        read_failures(path)
