"""When nodes were in service: what a log states, what is made of it, windows and folded nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.logs import read_failures
from forestall.logs.failures.lanl import PRODUCTION, RETIREMENT, STARTED
from forestall.logs.failures.raw import RawFailures, Service
from forestall.logs.failures.service import day_before, month, stated_service
from forestall.logs.failures.window import choose
from logs.failures.test_failure_logs import FTA, LANL, lanl_rows, record

DAY = 86_400


def at(date: str) -> int:
    return int(np.datetime64(date, "s").astype(np.int64))


def service_of(read: Failures) -> list[tuple[str, str, bool]]:
    assert read.origin is not None
    assert read.service_start is not None
    assert read.service_end is not None
    assert read.service_new is not None
    dates = [
        np.datetime_as_string((ends + read.origin).astype("datetime64[s]"), unit="D").tolist()
        for ends in (read.service_start, read.service_end)
    ]
    return list(zip(*dates, read.service_new.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "first", "past"),
    [
        ("Jan-97", "1997-01-01", "1997-02-01"),
        ("Dec-99", "1999-12-01", "2000-01-01"),
        ("5-Jun", "2005-06-01", "2005-07-01"),
        ("2-Dec", "2002-12-01", "2003-01-01"),
        ("Mar-04", "2004-03-01", "2004-04-01"),
        ("12-feb", "2012-02-01", "2012-03-01"),
    ],
)
def test_months(text: str, first: str, past: str) -> None:
    assert month(text) == (at(first), at(past))


@pytest.mark.parametrize("text", ["", "current", "before tracking", "Jan-1997", "97-Foo", "5/2005"])
def test_no_months(text: str) -> None:
    assert month(text) is None


def test_the_other_reading_of_a_damaged_month() -> None:
    limit = at("2005-09-09")
    assert day_before("5-Nov", limit) == (at("2004-11-05"), at("2004-11-06"))
    assert day_before("8-Sep", limit) == (at("2005-09-08"), at("2005-09-09"))
    assert day_before("9-Sep", limit) == (at("2004-09-09"), at("2004-09-10"))
    assert day_before("29-Feb", limit) == (at("2004-02-29"), at("2004-03-01"))
    assert day_before("31-Jun", limit) is None
    assert day_before("Nov-05", limit) is None


def stated(
    rows: list[tuple[int, str, str, str]], nodes: tuple[int, int], log: tuple[str, str]
) -> tuple[list[tuple[str, str, bool]], dict[str, int]]:
    node, when, production, retirement = zip(*rows, strict=True)
    time = np.array([at(text) for text in when])
    service = stated_service(
        production, retirement, time, np.array(node), nodes, (at(log[0]), at(log[1]))
    )
    assert service is not None
    spans = [
        (str(np.datetime64(a, "s"))[:10], str(np.datetime64(b, "s"))[:10], new)
        for a, b, new in zip(
            service.start.tolist(), service.end.tolist(), service.new.tolist(), strict=True
        )
    ]
    return spans, service.cleaning.counts()


LOG = ("1996-05-01", "2005-09-09")


def test_nodes_take_what_their_records_state() -> None:
    rows = [
        (0, "1999-01-05", "Jan-97", "current"),
        (1, "1996-12-01", "Jan-97", "2-Sep"),
        (2, "2003-01-01", "before tracking", "2-Sep"),
        (3, "2004-02-01", "Jan-97", "5-Nov"),
        (4, "2004-02-01", "Jan-97", ""),
    ]
    spans, counts = stated(rows, (5, 5), LOG)
    assert spans == [
        ("1997-01-01", "2005-09-09", True),
        ("1996-12-01", "2002-10-01", False),
        ("1996-05-01", "2003-01-01", False),
        ("1997-01-01", "2004-11-06", True),
        ("1997-01-01", "2005-09-09", True),
    ]
    assert counts == {
        "failed_before_service": 1,
        "service_start_unknown": 1,
        "failed_after_service": 1,
        "retired_after_log": 1,
        "service_end_unknown": 1,
    }


def test_nodes_without_failures_are_like_their_nearest() -> None:
    rows = [(1, "2003-01-01", "1-Apr", "current"), (6, "2003-01-01", "2-Dec", "current")]
    spans, counts = stated(rows, (8, 0), LOG)
    assert [start for start, _, _ in spans] == ["2001-04-01"] * 4 + ["2002-12-01"] * 4
    assert counts == {"service_inferred": 6}
    # of two as near, the lower
    spans, _ = stated([rows[0], (3, *rows[1][1:])], (4, 4), LOG)
    assert [start for start, _, _ in spans] == ["2001-04-01"] * 3 + ["2002-12-01"]


def test_numbers_beyond_the_count_of_nodes_are_in_no_service() -> None:
    rows = [(n, "2003-01-01", "1-Apr", "current") for n in (3, 5, 6, 40)]
    spans, counts = stated(rows, (41, 6), LOG)
    there = [n for n, (start, end, _) in enumerate(spans) if end > start]
    assert there == [3, 4, 5, 6, 7, 40]
    assert counts == {"service_of_no_node": 35, "service_inferred": 2}
    assert not any(new for start, end, new in spans if start == end)


def test_several_statements_of_one_node() -> None:
    rows = [(0, "2003-01-01", "1-Apr", "current"), (0, "2003-02-01", "1-May", "current")]
    spans, counts = stated(rows, (1, 1), LOG)
    assert (spans[0][0], counts) == ("2001-04-01", {"service_contradicts": 1})


def test_nothing_stated_is_nothing_known() -> None:
    one = np.array([5])
    assert stated_service([""], [""], one, np.array([0]), (1, 1), (0, 9)) is None


def test_windows_and_folds_of_lanl_rows(tmp_path: Path) -> None:
    path = tmp_path / "lanl.csv"
    stated = {PRODUCTION: "Feb-03", RETIREMENT: "current"}
    early = {PRODUCTION: "Jan-03", RETIREMENT: "3-Apr"}
    rows = [
        record(nodenumz=0) | {STARTED: "2/3/2003 0:00"} | stated,
        record(nodenumz=1) | {STARTED: "1/5/2003 0:00"} | early,
        record(nodenumz=3) | {STARTED: "3/1/2003 0:00"} | stated,
        record(System=9) | {STARTED: "6/1/2003 0:00"} | stated,
    ]
    path.write_text(lanl_rows(*rows))
    whole = read_failures(path, system=2)
    assert whole.origin == at("2003-01-05")
    spans = [
        ("2003-02-01", "2003-06-01", True),
        ("2003-01-01", "2003-05-01", True),
        ("2003-01-01", "2003-05-01", True),
        ("2003-02-01", "2003-06-01", True),
    ]
    assert service_of(whole) == spans
    assert whole.aside.counts() == {"unsorted": 1, "service_inferred": 1}
    assert set(whole.cleaning.counts()) == {"downtime_differs"}
    cut = read_failures(path, system=2, start="2003-01-20", days=20)
    assert (cut.origin, cut.span) == (at("2003-01-20"), 20 * DAY)
    spans = [("2003-02-01", "2003-02-09", True), ("2003-01-20", "2003-02-09", False)]
    assert service_of(cut) == [*spans, spans[1], spans[0]]
    folded = read_failures(path, system=2, fold_nodes=3)
    assert service_of(folded)[0] == ("2003-01-01", "2003-06-01", True)
    assert service_of(folded)[1] == ("2003-02-01", "2003-06-01", True)
    folded = read_failures(path, system=2, start="2003-01-20", days=20, fold_nodes=2)
    assert service_of(folded) == [("2003-01-20", "2003-02-09", False)] * 2


def test_a_down_time_left_blank_is_the_time_to_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "lanl.csv"
    never = {"Prob Fixed (mm/dd/yy hh:mm)": "", "Down Time": ""}
    before = {"Prob Fixed (mm/dd/yy hh:mm)": "1/1/2003 0:00", "Down Time": ""}
    rows = [record(Down_Time=""), record(nodenumz=2) | never, record(nodenumz=3) | before]
    path.write_text(lanl_rows(*rows))
    read = read_failures(path)
    assert read.downtime.tolist() == [600, -1, -1]
    assert read.cleaning.counts() == {"downtime_from_fix": 1, "no_downtime": 2}


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 60), st.booleans()), min_size=1),
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(-20, 80)),
    st.one_of(st.none(), st.integers(1, 99)),
)
def test_windows_and_folds_are_those_of_a_plain_loop(
    spans: list[tuple[int, int, bool]], fold: int, start: int | None, length: int | None
) -> None:
    """Every node's service cut, then of each group the earliest and latest that is any."""
    first, long, new = (np.array(column) for column in zip(*spans, strict=True))
    time = np.array([50 if start is None else start])
    service = Service(first, first + long, new & (long > 0))
    raw = RawFailures(time, np.array([0]), len(spans), service=service, calendar=start is None)
    days = None if length is None else length / 86_400
    read = choose(raw, "log", start=start, days=days, fold_nodes=fold)
    zero = int(time[0])
    cut = []
    for a, size, fresh in spans:
        low = a - zero if start is None else max(0, a - zero)
        high = a + size - zero
        high = high if length is None else min(high, length)
        cut.append((low, high, fresh and low == a - zero))
    assert read.service_start is not None
    assert read.service_end is not None
    assert read.service_new is not None
    for k in range(read.nodes):
        some = [one for one in cut[k * fold : (k + 1) * fold] if one[1] > one[0]]
        got = (int(read.service_start[k]), int(read.service_end[k]), bool(read.service_new[k]))
        if not some:
            assert got[0] >= got[1]
            assert not got[2] or fold == 1
            continue
        low = min(one[0] for one in some)
        fresh = all(one[2] for one in some if one[0] == low)
        assert got == (low, max(one[1] for one in some), fresh)


def test_logs_that_tell_nothing_of_service(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("time,node\n5,0\n9,1\n")
    read = read_failures(path)
    assert (read.origin, read.service_start, read.service_end) == (None, None, None)
    path.write_text("time,node\n2003-01-01,0\n")
    assert read_failures(path).origin == at("2003-01-01")


def test_service_of_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "event_trace.tab"
    path.write_text(
        FTA + "0 0 7 3 2.10 1 100 200 1005\n1 0 7 3 2.10 0 200 260 NULL\n"
        "2 0 5 3 19.1 0 150 150 NULL\n3 0 9 3 2.2 1 0 9 NULL\n4 0 8 3 2.3 0 9 3 NULL\n"
    )
    read = read_failures(path)
    assert read.service_start is not None
    assert read.service_end is not None
    spans = list(zip(read.service_start.tolist(), read.service_end.tolist(), strict=True))
    assert spans == [(0, 1), (-50, 110), (-150, -150), (-150, -141)]
    assert read.service_new is not None
    assert not read.service_new.any()


def test_service_of_drives_and_restarts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["2013-04-10,b,M,0", "2013-04-11,b,M,1", "2013-04-11,a,M,0", "2013-04-12,a,M,0"]
    path.write_text("date,serial_number,model,failure\n" + "\n".join(rows) + "\n")
    spans = [("2013-04-11", "2013-04-13", True), ("2013-04-10", "2013-04-12", False)]
    assert service_of(read_failures(path)) == spans
    day = at("2020-05-02")
    path.write_text(f"node,day,boot_max\n3,2020-05-01,5\n3,2020-05-02,{day}\n4,2020-05-02,\n")
    read = read_failures(path)
    spans = [("2020-05-01", "2020-05-03", False), ("2020-05-02", "2020-05-03", False)]
    assert service_of(read) == spans
    path.write_text(
        "SN,location,insert,remove,duration,out,event\n"
        "1,c1,2015-01-01 00:00:00,2015-03-01 00:00:00,,,\n"
        "2,c1,,2015-04-01 00:00:00,,,DBE\n"
    )
    assert service_of(read_failures(path)) == [("2015-01-01", "2015-04-01", False)]


def test_service_of_the_release(data: Path) -> None:
    read = read_failures(data / LANL, system=2)
    spans = service_of(read)
    assert spans[0] == ("2005-06-01", "2005-09-09", True)
    assert spans.count(("1997-01-01", "2004-11-06", True)) == 45
    assert spans.count(("1997-01-01", "2005-09-09", True)) == 3
    assert read.aside.counts() == {"unsorted": 48, "retired_after_log": 45}
    assert "retired_after_log" not in read.cleaning.counts()
    read = read_failures(data / LANL, system=19)
    assert set(service_of(read)) == {("2002-10-01", "2005-09-09", True)}
    assert read.aside.counts()["service_inferred"] == 1024 - 928
    read = read_failures(data / LANL, system=20, start="2004-09-01", days=365)
    assert set(service_of(read)) == {("2004-09-01", "2005-09-01", False)}
    assert read_failures(data / LANL, system=17).service_start is None


@pytest.mark.parametrize(("system", "nodes"), [(2, 49), (8, 164), (11, 256), (12, 512), (14, 128)])
def test_as_many_nodes_in_service_as_the_release_states(
    data: Path, system: int, nodes: int
) -> None:
    read = read_failures(data / LANL, system=system)
    assert read.service_start is not None
    assert read.service_end is not None
    assert int(np.count_nonzero(read.service_end > read.service_start)) == nodes
    inside = read.service_start[read.node] <= read.time
    assert np.all(inside & (read.time < read.service_end[read.node]))
