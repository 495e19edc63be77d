"""Event logs: made-up lines of each form, damaged ones, and our own table there and back."""

from __future__ import annotations

import gzip
import sys
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import MissingExtraError, ParameterError, TraceError
from forestall.core.model.ras import RasLog, Severity
from forestall.logs import read_failures
from forestall.logs.ras import lines as reading
from forestall.logs.ras import read_ras, records, write_ras
from forestall.logs.ras.lines import years_in_a_row
from forestall.logs.ras.read import FORMATS, ras_format

BGL = """\
- 1117838570 2005.06.03 R02-M1-N0-C:J12-U11 2005-06-03-15.42.50.675872 R02-M1-N0-C:J12-U11 RAS \
KERNEL INFO instruction cache parity error corrected
KERNDTLB 1117838573 2005.06.03 R30-M0-N9-C:J16-U01 2005-06-03-15.42.53.276129 \
R30-M0-N9-C:J16-U01 RAS KERNEL FATAL data TLB error interrupt
- 1117838573 2005.06.03 NULL 2005-06-03-15.42.53.9 NULL RAS MMCS ERROR line=1043 of x.cpp
"""
PLAIN = """\
2005-06-05-01.55.06.697467 R11-M0-NB-C:J07-U11 RAS KERNEL FATAL rts panic! - stopping execution
2005-06-05-01.55.07.697467 R61-M0 NULL MONITOR FAILURE Temperature Over Limit on link card
2005-06-05-01.55.08.697467 NULL RAS BGLMASTER FAILURE ciodb exited
2005-06-05-01.55.09.697467 RAS KERNEL FATAL nowhere
"""
MIRA = """\
#count=2
event 22194 00062001 13217458 FATAL Block MMCS 2013-04-02;22:40:36.223930 \
2013-04-02;22:40:53.867908 4 QIJ Q0H-I1-J05 0
\t0.19491628 22108 000A000F 13217702 FATAL Infiniband LINUX 2013-04-02;22:42:07.730121 \
2013-04-02;22:42:07.732928 2 QIJ Q0G-I4-J04 0
event 22554 00040093 13609238 FATAL ELF_Image MC 2013-04-09;22:25:13.321991 \
2013-04-09;22:25:13.321991 1 NULL  0
"""
THUNDERBIRD = """\
- 1131566461 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 crond[2915]: session closed for user root
VAPI 1131566463 2005.11.09 dn731 Nov 9 12:01:03 dn731/dn731 kernel: fatal at /usr/lib/a.c:12
"""
HPC = """\
134681 node-246 unix.hw state_change.unavailable 1077804742 1 Component 042alt0 (HWID=1973)
350766 gige7 gige temperature 1077804741 -1 warning
"""
RFC3164 = """\
Dec 31 23:59:58 n1 kernel: [1.5] out of memory: kill 4711
<3>Jan  1 00:00:03 n2 sshd[12]: error from 10.1.2.3 port 22
"""
RFC5424 = """\
<130>1 2024-03-01T01:00:00.5+01:00 n1 app 12 ID47 [a b="c\\]" d="1"][e] boot 7
<12>1 2024-03-01T00:00:02Z n2 app - - - plain
"""
ISO = "2024-03-01T01:00:00.123456-02:30 n1 kernel: one\n<0>2024-03-01 03:30:05 n2 kernel: two\n"


def words(log: RasLog) -> list[tuple[int, str, str, str]]:
    return [
        (int(t), log.places[p], Severity(s).name, log.kinds[k])
        for t, p, s, k in zip(log.time, log.place, log.severity, log.kind, strict=True)
    ]


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str, name: str = "log") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_labelled_blue_gene(write) -> None:
    path = write(BGL)
    log = read_ras(path, strict=True)
    assert ras_format(path) == "bluegene"
    assert words(log) == [
        (0, "R02-M1-N0-C:J12-U11", "INFO", "KERNEL instruction cache parity error corrected"),
        (3, "R30-M0-N9-C:J16-U01", "FATAL", "KERNEL data TLB error interrupt"),
        (3, "unknown", "ERROR", "MMCS line=<*> of x.cpp"),
    ]
    assert log.alert is not None
    assert log.alert.tolist() == [False, True, False]
    assert log.cleaning.counts() == {"no_place": 1}
    assert log.cleaning.remarks[0].names == ("line 3",)
    failures = read_failures(path)  # one clock with the reader of failures
    assert (log.origin, log.span) == (int(failures.origin or 0) - 3, 4)


def test_plain_blue_gene_with_and_without_places(write) -> None:
    log = read_ras(write(PLAIN), strict=True)
    assert words(log) == [
        (0, "R11-M0-NB-C:J07-U11", "FATAL", "KERNEL rts panic! - stopping execution"),
        (1, "R61-M0", "FAILURE", "MONITOR Temperature Over Limit on link card"),
        (2, "unknown", "FAILURE", "BGLMASTER ciodb exited"),
        (3, "unknown", "FATAL", "KERNEL nowhere"),
    ]
    assert log.alert is None


def test_both_readers_agree_on_kinds_and_places(write) -> None:
    path = write(PLAIN)
    failures = read_failures(path)
    assert failures.kind == (
        "KERNEL FATAL", "MONITOR FAILURE", "BGLMASTER FAILURE", "KERNEL FATAL",
    )  # fmt: skip
    assert set(failures.names or ()) == set(read_ras(path).places)


def test_mira_counts_its_events_only(write) -> None:
    log = read_ras(write(MIRA), strict=True)
    assert words(log) == [
        (0, "Q0H-I1-J05", "FATAL", "Block MMCS 00062001"),
        (603_877, "unknown", "FATAL", "ELF_Image MC 00040093"),
    ]


def test_thunderbird_and_hpc(write) -> None:
    log = read_ras(write(THUNDERBIRD), strict=True)
    assert words(log) == [
        (0, "dn228", "UNKNOWN", "crond[<*>]: session closed for user root"),
        (2, "dn731", "UNKNOWN", "kernel: fatal at <*>:<*>"),
    ]
    assert log.alert is not None
    assert log.alert.tolist() == [False, True]
    log = read_ras(write(HPC))
    assert words(log) == [
        (0, "gige7", "UNKNOWN", "gige temperature warning"),
        (1, "node-246", "UNKNOWN", "unix.hw state_change.unavailable Component <*>alt<*> "
         "(HWID=<*>)"),
    ]  # fmt: skip
    assert log.cleaning.counts() == {"unsorted": 1}


def test_syslog_without_years(write) -> None:
    path = write(RFC3164)
    log = read_ras(path, strict=True)
    assert words(log) == [
        (0, "n1", "UNKNOWN", "kernel: [<*>.<*>] out of memory: kill <*>"),
        (5, "n2", "ERROR", "sshd[<*>]: error from <*> port <*>"),
    ] or log.kinds[0].startswith("kernel: [<*>] out")
    assert log.origin is None
    dated = read_ras(path, year=2023)
    assert np.datetime64(dated.origin, "s") == np.datetime64("2023-12-31T23:59:58")
    assert dated.time.tolist() == [0, 5]
    assert len(read_ras(path, year=2023, start="2024-01-01", days=1)) == 1
    with pytest.raises(ParameterError, match="year: 1066"):
        read_ras(path, year=1066)


def test_years_over_chunks_and_back(write, monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = ["Nov 30", "Dec 31", "Jan  1", "Dec 31", "Jan  1", "Feb 29", "Jul  4", "Dec  1",
              "Jan  2"]  # fmt: skip
    path = write("".join(f"{day} 12:00:00 n1 m: text\n" for day in stamps))
    whole = read_ras(path, year=2023)
    dates = (whole.origin or 0) + whole.time
    assert np.array(dates, dtype="datetime64[s]").astype("datetime64[D]").astype(str).tolist() == [
        "2023-11-30", "2023-12-31", "2023-12-31", "2024-01-01", "2024-01-01", "2024-02-29",
        "2024-07-04", "2024-12-01", "2025-01-02",
    ]  # fmt: skip
    chunked = reading.chunks_of_lines
    monkeypatch.setattr(
        reading, "chunks_of_lines", lambda place, **told: chunked(place, 40, **told)
    )
    assert read_ras(path, year=2023).time.tolist() == whole.time.tolist()


@pytest.mark.parametrize(
    ("stamps", "days"),
    [
        (("Feb 28", "Feb 29", "Mar  1"), (0, 1, 2)),
        (("Dec 31", "Jan  1", "Feb 28", "Feb 29", "Mar  1"), (0, 1, 59, 60, 61)),
        (("Feb 28", "Mar  1"), (0, 1)),  # no day is missing between them
        (("Mar  1", "Dec 31", "Jan  1", "Feb 29"), (0, 305, 306, 365)),
        (("Jan 31", "Mar  1", "Dec  1", "Feb 28", "Mar  1", "Nov 30", "Feb 29", "Mar  1"),
         (0, 29, 304, 393, 394, 668, 759, 760)),
        (("Dec  1", "Feb 29", "Dec  1", "Feb 28", "Mar  1"), (0, 90, 366, 455, 456)),
    ],
)  # fmt: skip
def test_29_february_without_a_year(write, stamps: tuple[str, ...], days: tuple[int, ...]) -> None:
    """The year of the first line is one in which the days of the log exist."""
    path = write("".join(f"{day} 12:00:00 n1 m: text\n" for day in stamps))
    read = read_ras(path, strict=True)
    assert ((read.time - read.time[0]) // 86_400).tolist() == list(days)
    assert not read.cleaning.remarks
    assert read.origin is None


def test_29_february_in_a_year_without_it(write) -> None:
    path = write("".join(f"Feb {day} 12:00:00 n1 m: text\n" for day in (28, 29)))
    assert len(read_ras(path, year=2024, strict=True)) == 2
    read = read_ras(path, year=2023)
    assert len(read) == 1
    assert read.cleaning.counts()["leap_day"] == 1
    with pytest.raises(TraceError, match=r":2: time: 'Feb 29 12:00:00' is in a year without that"):
        read_ras(path, year=2023, strict=True)


@given(
    first=st.dates(date(1999, 1, 1), date(2030, 12, 31)),
    gaps=st.lists(st.integers(0, 150), min_size=1, max_size=20),
)
def test_days_without_years_are_as_far_apart_as_they_were(first: date, gaps: list[int]) -> None:
    """Where each year has a line of each day around the end of February, nothing is left open."""
    days = sorted({*np.cumsum([0, *gaps]).tolist()})
    every = [first + timedelta(day) for day in range(days[-1] + 1)]
    kept = [day for day in every if (day - first).days in days or day.month in (2, 3)]
    leap = [day.replace(year=2000 + 4 * (day.year - first.year)) for day in kept]
    seconds = np.array(leap, dtype="datetime64[s]").astype(np.int64)
    made = years_in_a_row(seconds)
    assert np.diff(made).tolist() == [86_400 * (b - a).days for a, b in pairwise(kept)]


def test_syslog_with_years(write) -> None:
    path = write(RFC5424)
    assert ras_format(path) == "syslog-5424"
    log = read_ras(path, strict=True)
    assert log.origin == int(np.datetime64("2024-03-01T00:00:00", "s").astype(int))
    assert [word[:3] for word in words(log)] == [(0, "n1", "SEVERE"), (2, "n2", "WARNING")]
    assert log.kinds[1] == "app plain"
    log = read_ras(write(ISO), strict=True)
    assert log.time.tolist() == [0, 5]
    assert [Severity(s).name for s in log.severity] == ["UNKNOWN", "FAILURE"]


MIRA_TABLE = '''\
RECID,MSG_ID,CATEGORY,COMPONENT,SEVERITY,EVENT_TIME,JOBID,BLOCK,LOCATION,MESSAGE
1,00062001,Block,MMCS,FATAL,2013-04-09 00:00:01.250000,7,B,R00-M0-N00-J01,"a, quoted ""text"""
2,00062001,Block,MMCS,WARN,2013-04-09-00.00.03.250000,7,B,R00-M0-N00-J02,text
3,00062001,Block,MMCS,INFO,yesterday,7,B,R00-M0-N00-J02,text
4,00062001,Block,MMCS,INFO,2013-04-09 00:00:09,7,B,,text
5,short
'''
INTREPID = """\
"RECID","MSG_ID","COMPONENT","SUBCOMPONENT","ERRCODE","SEVERITY","EVENT_TIME","LOCATION","MESSAGE"
"1","KERN_0802","KERNEL","_bgp_unit_ddr","_bgp_err_ddr","FATAL","2009-01-05-00.00.03.145389",\
"R10-M0-N08-J12","ECC-correctable"
"""


def test_tables_of_the_control_system(write) -> None:
    path = write(MIRA_TABLE)
    log = read_ras(path)
    assert words(log) == [
        (0, "R00-M0-N00-J01", "FATAL", "Block MMCS 00062001"),
        (2, "R00-M0-N00-J02", "WARNING", "Block MMCS 00062001"),
        (8, "unknown", "INFO", "Block MMCS 00062001"),
    ]
    assert log.cleaning.counts() == {"malformed": 1, "bad_time": 1, "no_place": 1}
    with pytest.raises(TraceError, match=r"log:4: EVENT_TIME: 'yesterday' is not a date and time"):
        read_ras(path, strict=True)
    log = read_ras(write(INTREPID), strict=True)
    assert ras_format(path) == "bluegene-ras"
    kind = "KERNEL _bgp_unit_ddr _bgp_err_ddr KERN_0802"
    assert words(log) == [(0, "R10-M0-N08-J12", "FATAL", kind)]


OWN = """\
time,place,severity,kind,alert
7,n2,fatal,"disk, lost",1

9,n1,info,all well,0
8,n1,strange,all well,no
-1,n1,info,all well,0
x,n1,info,all well,0
9,n1,info,one,two,three
"""


def test_our_own_table(write) -> None:
    path = write(OWN)
    log = read_ras(path)
    assert words(log) == [
        (7, "n2", "FATAL", "disk, lost"),
        (8, "n1", "UNKNOWN", "all well"),
        (9, "n1", "INFO", "all well"),
    ]
    assert log.alert is not None
    assert log.alert.tolist() == [True, False, False]
    assert (log.origin, log.span) == (None, 3)
    counts = {"no_severity": 1, "unsorted": 1, "bad_time": 2, "malformed": 1}
    assert log.cleaning.counts() == counts
    with pytest.raises(TraceError, match=r"log:6: time: '-1' is not a whole number"):
        read_ras(path, strict=True)


def test_our_own_table_with_dates_or_messages(write) -> None:
    log = read_ras(write("time,place,message\n2005-06-03T15:42,a,job 7\n2005-06-03 15:43:01,b,\n"))
    assert log.time.tolist() == [0, 61]
    assert log.kinds == ("job <*>", "")
    assert np.datetime64(log.origin, "s") == np.datetime64("2005-06-03T15:42")
    assert read_ras(write("time,place,message\n1,a,job 7\n"), templates="none").kinds == ("",)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_there_and_back(name: str, write, tmp_path: Path) -> None:
    log = read_ras(write(BGL))
    write_ras(log, tmp_path / name)
    again = read_ras(tmp_path / name, strict=True)
    assert words(again) == words(log)
    assert again.alert is not None
    assert again.alert.tolist() == [False, True, False]


def test_chunks_packing_and_line_ends_change_nothing(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BGL * 40
    whole = read_ras(write(text))
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
    chunked = reading.chunks_of_lines
    monkeypatch.setattr(
        reading, "chunks_of_lines", lambda place, **told: chunked(place, 777, **told)
    )
    seen: list[tuple[int, int]] = []
    path = write(text)
    for part in (
        read_ras(path, progress=lambda done, total: seen.append((done, total))),
        read_ras(packed),
    ):
        assert words(part) == words(whole)
        assert part.kinds == whole.kinds
        assert part.cleaning.remarks == whole.cleaning.remarks
    assert seen[-1][1] == 1


def test_damaged_lines_are_named(write) -> None:
    text = BGL + "- 1117838573 2005.06.03 cut\n\n" + BGL.replace("-03-15", "-33-15")
    log = read_ras(write(text))
    assert len(log) == 3
    assert log.cleaning.counts() == {"malformed": 1, "bad_time": 3, "no_place": 1}
    assert log.cleaning.remarks[0].names == ("line 4",)
    said = r"log:4: '- 1117838573 .*' is not a record of Blue Gene/L"
    with pytest.raises(TraceError, match=said):
        read_ras(write(text), strict=True)


def test_dirt_without_end_is_counted(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_NAMED", 5)
    chunked = reading.chunks_of_lines
    monkeypatch.setattr(
        reading, "chunks_of_lines", lambda place, **told: chunked(place, 200, **told)
    )
    text = "time,place,severity,kind\n" + "".join(f"{99 - k},,x,a\n" for k in range(12))
    log = read_ras(write(text + "x,a,b,c\n" * 7))
    assert len(log) == 12
    named = {"no_place": 5, "no_severity": 5, "unsorted": 5, "bad_time": 5}
    counts = log.cleaning.counts()
    assert {kind: counts[kind] for kind in named} == named
    more = {one.kind: one.names for one in log.cleaning.remarks if one.kind not in named}
    assert more == {
        "more_no_place": ("7 more lines that are not named",),
        "more_no_severity": ("7 more lines that are not named",),
        "more_unsorted": ("6 more lines that are not named",),
        "more_bad_time": ("2 more lines that are not named",),
    }


def test_bytes_that_are_no_text(write, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(BGL.encode().replace(b"data TLB", b"\xff\xfe"))
    read = read_ras(path, strict=True)
    assert len(read) == 3
    assert read.cleaning.counts()["encoding"] == 1
    path.write_bytes(b"- 1117838570 \0\1\2\0")
    with pytest.raises(TraceError, match="binary file"):
        read_ras(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("job,submit,size\n1,2,3\n", "not an event log: the file starts with"),
        ("1 0 0 3600 16\n", "not an event log: the file starts with"),
        ("time,place,severity,kind\n", "has no records: the log is empty"),
        ("time,place,severity,kind\nx,a,b,c\n", "'x' is not a whole number"),
    ],
)
def test_what_is_no_event_log(text: str, said: str, write) -> None:
    with pytest.raises(TraceError, match=said):
        read_ras(write(text))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_ras(tmp_path / "none")
    with pytest.raises(TraceError, match="is a folder"):
        read_ras(tmp_path)
    assert ras_format(tmp_path / "none") is None


def test_bad_parameters(write) -> None:
    path = write(BGL)
    for wrong, name in (
        ({"format": "xml"}, "format"),
        ({"severity": "awful"}, "severity"),
        ({"templates": "all"}, "templates"),
        ({"system": 3}, "system"),
        ({"days": 0}, "days"),
        ({"start": "soon"}, "from"),
    ):
        with pytest.raises(ParameterError, match=f"^{name}: "):
            read_ras(path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="has no column severity, kind"):
        read_ras(write("time,place\n1,a\n"), format="csv")


def test_windows_and_severity(write) -> None:
    path = write(PLAIN)
    log = read_ras(path, start="2005-06-05T01:55:07", days=2 / 86_400)
    assert (log.time.tolist(), log.span) == ([0, 1], 2)
    assert log.origin == int(np.datetime64("2005-06-05T01:55:07", "s").astype(int))
    with pytest.raises(TraceError, match="no records in that window; it has them from 2005-06-05"):
        read_ras(path, start="2006-06-05")
    log = read_ras(path, severity="failure")
    assert len(log) == 2
    assert len(log.places) == 3  # those of records that were not kept too
    log = read_ras(write(BGL), severity=Severity.FAILURE)
    assert (len(log), len(log.places)) == (0, 3)


def test_kinds_without_messages_and_by_drain(write) -> None:
    lines = [
        f"2024-03-01T00:00:{k:02d} n{k} kernel: {word} failed on device sd{word} of disk {k}\n"
        for k, word in enumerate(("read", "write", "seek"))
    ]
    path = write("".join(lines))
    assert len(read_ras(path).kinds) == 3
    assert read_ras(path, templates="none").kinds == ("",)
    assert read_ras(write(BGL), templates="none").kinds == ("KERNEL", "MMCS")
    pytest.importorskip("drain3")
    log = read_ras(write("".join(lines)), templates="drain")
    assert log.kinds == ("kernel: <*> failed on device <*> of disk <*>",)
    assert log.kind.tolist() == [0, 0, 0]


def test_drain_is_an_extra(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "drain3", None)
    with pytest.raises(MissingExtraError, match=r"forestall\[templates\]"):
        read_ras(write(BGL), templates="drain")


def test_forms_have_names_and_words() -> None:
    assert all(FORMATS.values())
    assert {"csv", "bluegene", "mira", "hpc", "thunderbird", "syslog"} <= FORMATS.keys()


def test_a_last_piece_without_records(write, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a log of several pieces is cut in the middle of its last line."""
    chunked = reading.chunks_of_lines
    monkeypatch.setattr(
        reading, "chunks_of_lines", lambda place, **told: chunked(place, 40, **told)
    )
    text = BGL.rstrip("\n")
    whole = read_ras(write(text + "\n" + text[:40]))
    assert (len(whole), whole.severity.dtype) == (3, np.int8)
