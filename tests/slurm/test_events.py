"""Outages as `sacctmgr show event` tells them: recorded, odd, damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import in_order
from forestall.core.model.job_records import NEVER
from forestall.slurm.events import is_header, labels, read_events, slurm_failures
from forestall.slurm.records.node_events import NATURES, NodeEvents

RECORDED = Path(__file__).parent / "recorded"
HEAD = "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"
T = 1_767_225_600  # 2026-01-01T00:00:00Z


def written(folder: Path, *lines: str, name: str = "events.txt") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(folder: Path, *rows: str, head: str = HEAD, strict: bool = False) -> NodeEvents:
    return read_events([written(folder, head, *rows)], strict=strict)


def kinds(events: NodeEvents) -> dict[str, int]:
    return events.cleaning.counts()


def test_the_recorded_outages_are_those_that_happened() -> None:
    events = read_events([RECORDED / "22.05" / "sacctmgr.event.txt"], zone="Europe/Berlin")
    zero = 1795292094
    rows = [
        (events.names[n], b - zero, e - zero if e < NEVER else None, NATURES[k])
        for n, b, e, k in zip(
            events.node.tolist(), events.begin.tolist(), events.end.tolist(),
            events.nature.tolist(), strict=True,
        )
    ]  # fmt: skip
    assert rows == [
        ("n5", 6, 11, "administrative"),
        ("n3", 16, 16, "fault"),
        ("n2", 52, 55, "administrative"),
        ("n3", 66, 69, "fault"),
        ("n6", 66, None, "fault"),
        ("n1", 90, 94, "fault"),
        ("n4", 95, None, "fault"),
    ]
    assert events.reason[5] == "ticket 4711: fan | rattles"
    assert labels(events)[1:4] == ("not_responding", "drained", "memory")
    assert kinds(events) == {"cluster_events": 1}


@pytest.mark.parametrize("version", ["20.11", "22.05", "24.11", "26.05"])
def test_every_form_of_a_version_tells_the_same(version: str) -> None:
    folder = RECORDED / version
    names = ("sacctmgr.event.txt", "sacctmgr.event.default.txt", "sacctmgr.event.all_time.txt")
    found = [read_events([folder / name], zone="Europe/Berlin") for name in names]
    found.append(read_events([folder / "sacctmgr.event.epoch.txt"]))
    for one in found:
        assert one.names == ("n1", "n2", "n3", "n4", "n5", "n6")
        assert one.begin.tolist() == found[0].begin.tolist()
        assert one.end.tolist() == found[0].end.tolist()
        assert one.reason.texts() == found[0].reason.texts()
    assert int((found[0].end == NEVER).sum()) == 2


def test_columns_in_any_order_and_a_separator_in_the_reason(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        "bad | very bad|n1|DOWN|2026-01-01T00:00:00|2026-01-01T01:00:00",
        head="Reason|NodeName|State|Start|End",
    )
    assert (events.reason[0], events.state[0]) == ("bad | very bad", "DOWN")
    assert (int(events.begin[0]), int(events.end[0])) == (T, T + 3600)


def test_a_reason_over_two_lines_is_put_together(tmp_path: Path) -> None:
    head = "NodeName|Reason|TimeStart|TimeEnd|State"
    events = read(tmp_path, "n1|first", f"second|{T}|{T + 5}|DOWN", f"n2|x|{T}|{T}|DOWN", head=head)
    assert events.reason.texts() == ["first second", "x"]
    assert kinds(events) == {"joined": 1}


def test_a_duration_stands_for_an_end(tmp_path: Path) -> None:
    head = "NodeName|TimeStart|Duration|State|Reason"
    events = read(tmp_path, f"n1|{T}|1-02:03:04|DOWN|x", f"n2|{T}|00:00:07|DOWN|x", head=head)
    assert (events.end - events.begin).tolist() == [93784, 7]


def test_oddities_are_counted_and_named(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        f"c||{T}|Unknown|||Cluster Registered TRES",
        f"c|n1|{T + 10}|{T + 20}|DOWN|root(0)|Not responding",
        f"c|n1|{T + 10}|{T + 20}|DOWN|root(0)|Not responding",
        f"c|n1|{T + 15}|{T + 30}|DRAIN|root(0)|fan",
        f"c|n2|{T + 50}|{T + 40}|DOWN|root(0)|backwards",
        f"c|n2|yesterday|{T + 40}|DOWN|root(0)|no date",
        f"c|n2|{T + 50}|soon|DOWN|root(0)|no date",
        f"c|n3|{T + 60}|Unknown|DOWN|root(0)|lost",
        f"c|n3|{T + 90}|Unknown|DOWN|root(0)|still open",
        f"c|n4|{T}|{T + 9}|IDLE+POWERED_DOWN||",
        "c|n5",
    )
    assert kinds(events) == {
        "cluster_events": 1, "repeated": 1, "overlapping": 1, "ends_before_start": 1,
        "bad_begin": 1, "bad_end": 1, "end_lost": 1, "power_saving": 1, "malformed": 1,
    }  # fmt: skip
    assert events.names == ("n1", "n3")
    assert events.begin.tolist() == [T + 10, T + 15, T + 60, T + 90]
    assert events.end.tolist() == [T + 20, T + 30, T + 90, NEVER]
    assert events.span == (T + 10, T + 91)


def test_events_of_several_clusters_are_refused_or_one_is_chosen(tmp_path: Path) -> None:
    rows = (f"c|n1|{T}|{T + 9}|DOWN||x", f"d|n1|{T}|{T + 60}|DOWN||x", f"d|n2|{T}|{T}|DOWN||x")
    with pytest.raises(ParameterError, match=r"one of c \(1 event\), d \(2 events\)"):
        read(tmp_path, *rows)
    path = tmp_path / "events.txt"
    events = read_events([path], cluster="d")
    assert (events.names, events.end.tolist()) == (("n1", "n2"), [T + 60, T])
    with pytest.raises(ParameterError, match="one of c"):
        read_events([path], cluster="e")


def test_strict_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"events.txt:3: TimeEnd: ends 10 s before it starts"):
        read(tmp_path, f"c|n1|{T}|{T}|DOWN||x", f"c|n1|{T + 10}|{T}|DOWN||x", strict=True)


def test_an_event_of_two_exports_is_taken_once_with_its_end(tmp_path: Path) -> None:
    early = written(tmp_path, HEAD, f"c|n1|{T}|Unknown|DOWN||x", name="a.txt")
    late = written(tmp_path, HEAD, f"c|n1|{T}|{T + 60}|DOWN||x", HEAD, f"c|n2|{T}|{T}|DOWN||x")
    for paths in ([early, late], [late, early]):
        events = read_events(paths)
        assert events.end.tolist() == [T + 60, T]
        assert kinds(events) == {"repeated": 1}


def test_files_that_are_none(tmp_path: Path) -> None:
    for text, said in (("", "is empty"), ("hello", "with 'hello'"), ("n1|2026|x", "with 'n1")):
        path = tmp_path / "x.txt"
        path.write_text(text)
        with pytest.raises(TraceError, match=said):
            read_events([path])
    with pytest.raises(TraceError, match="expected a date"):
        read(tmp_path, "c|n1|x|y|DOWN||z")


def test_nothing_that_happened_is_no_error(tmp_path: Path) -> None:
    events = read(tmp_path)
    assert len(events) == 0
    assert events.names == ()
    assert len(slurm_failures(events, names=["n1"])) == 0


def test_clocks_set_back_are_settled_by_the_duration(tmp_path: Path) -> None:
    # 2:30 came twice on 2025-10-26 in Berlin; the event took two hours, so it began the first time.
    head = "NodeName|TimeStart|TimeEnd|Duration|State|Reason"
    path = written(
        tmp_path, head,
        "n1|2025-10-26T02:30:00|2025-10-26T03:30:00|02:00:00|DOWN|x",
        "n2|2025-10-26T02:30:00|2025-10-26T03:30:00|01:00:00|DOWN|x",
    )  # fmt: skip
    events = read_events([path], zone="Europe/Berlin")
    assert (events.end - events.begin).tolist() == [7200, 3600]


def test_failures_carry_labels(tmp_path: Path) -> None:
    events = read(
        tmp_path, f"c|n1|{T}|{T + 60}|DOWN||Not responding", f"c|n2|{T + 5}|Unknown|DRAIN||update"
    )
    failures = slurm_failures(events, names=["n1", "n9"])
    assert failures.kind == ("not_responding",)
    assert failures.names == ("n1", "n2", "n9")
    assert failures.downtime.tolist() == [60]


def test_headers_are_told_from_rows() -> None:
    assert is_header("Cluster|Node Name|Time Start|Time End|State")
    assert not is_header("c|n1|2026-01-01T00:00:00|Unknown|DOWN")
    assert not is_header("JobID|State|Start|End")


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=20))
def test_names_come_in_the_order_of_their_numbers(numbers: list[int]) -> None:
    names = in_order([f"n{number}" for number in numbers])
    assert names == tuple(f"n{number}" for number in sorted(numbers))


TIMES = st.integers(T, T + 500)
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), TIMES, st.one_of(st.none(), TIMES), st.sampled_from(
        ["Not responding", "update", "who knows", "a|b"])), max_size=12,
)  # fmt: skip


@given(ROWS)
def test_any_rows_give_outages_in_order(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, int | None, str]]
) -> None:
    folder = tmp_path_factory.mktemp("events")
    lines = [f"c|{n}|{b}|{'Unknown' if e is None else e}|DOWN||{r}" for n, b, e, r in rows]
    usable = [row for row in rows if row[2] is None or row[2] >= row[1]]
    if rows and not usable:
        with pytest.raises(TraceError):
            read(folder, *lines)
        return
    events = read(folder, *lines)
    assert len(events) == len({row[:2] for row in usable})
    assert np.all(events.end >= events.begin)
    for node in range(len(events.names)):  # at most the last event of a node is open
        assert not events.open[events.node == node][:-1].any()
