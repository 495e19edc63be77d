"""Estimates of starts: our own lines, tables of squeue, JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.core.model.job_records import NEVER
from forestall.slurm.queue import SNAPSHOT, joined_starts, looks_like_starts, read_starts

RECORDED = Path(__file__).parent / "recorded"
ASKED = 1_795_292_203


def written(folder: Path, *lines: str, name: str = "starts.txt") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("version", ["20.11", "22.05", "24.11", "26.05"])
def test_the_recorded_table_and_the_recorded_json_agree(version: str) -> None:
    folder = RECORDED / version
    table = read_starts([folder / "squeue.start.txt"], zone="Europe/Berlin", asked=ASKED)
    lines = (folder / "squeue.start.format.txt").read_text("utf-8").splitlines()
    assert len(table) == len(lines)
    assert int((table.start < NEVER).sum()) == sum("|N/A|" not in line for line in lines)
    if version != "20.11":
        told = read_starts([folder / "squeue.json"])
        assert told.job.tolist() == table.job.tolist()
        assert told.start.tolist() == table.start.tolist()
        assert (told.submit > 0).all()


def test_appended_snapshots(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"{ASKED}|7|{ASKED + 60}|{ASKED - 9}",
        f"{ASKED}|8|N/A|{ASKED - 8}",
        f"{ASKED + 300}|7|2026-11-21T20:20:00|Unknown",
        f"{ASKED + 300}|18_[1-9]|N/A|",
        f"{ASKED}|7|{ASKED + 60}|{ASKED - 9}",
        "slurm_load_jobs error: Unable to contact slurm controller",
    )
    found = read_starts([path])
    assert found.asked.tolist() == [ASKED, ASKED, ASKED + 300, ASKED + 300]
    assert found.job.tolist() == [7, 8, 7, 18]
    assert found.submit.tolist() == [ASKED - 9, ASKED - 8, -1, -1]
    assert found.start.tolist() == [ASKED + 60, NEVER, 1_795_292_400, NEVER]
    assert found.cleaning.counts() == {"malformed": 1, "repeated": 1}
    with pytest.raises(TraceError, match=r"starts\.txt:6: 'slurm_load_jobs"):
        read_starts([path], strict=True)


def test_tables_with_a_line_that_says_when(tmp_path: Path) -> None:
    head = "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES"
    row = "                26       gpu   N/A no     root PD 2026-11-21T21:17:54      1"
    wide = "  123456789012345678       gpu   a     root PD 2026-11-21T21:17:54      1"
    path = written(tmp_path, "# asked: 2026-11-21T21:00:00", head, row, wide,
                   "# asked: 2026-11-21T21:05:00", head, row)  # fmt: skip
    assert looks_like_starts(path.read_text())
    found = read_starts([path], zone="Europe/Berlin")
    assert (found.asked - found.asked[0]).tolist() == [0, 0, 300]
    assert found.start.tolist() == [1_795_292_274] * 3
    assert found.job.tolist() == [26, 123456789012345678, 26]
    bars = written(tmp_path, "# asked: 1795292203", "START_TIME|JOBID|SUBMIT_TIME", "N/A|4|N/A")
    assert read_starts([bars]).job.tolist() == [4]


def test_files_that_are_none(tmp_path: Path) -> None:
    head = "JOBID START_TIME"
    for lines, said in (
        ([""], "is empty"),
        (["hello"], "starts with 'hello'"),
        ([head, "1 N/A"], "does not say when Slurm was asked"),
        (["{"], "not JSON"),
        (['{"a": 1}'], "without jobs"),
        (['{"jobs": []}'], "does not say when"),
        (["1795292203|x|N/A|N/A"], "expected lines"),
    ):
        with pytest.raises(TraceError, match=said):
            read_starts([written(tmp_path, *lines)])


def test_estimates_of_two_sources_are_joined(tmp_path: Path) -> None:
    one = read_starts([written(tmp_path, f"{ASKED}|7|{ASKED + 60}|1795292000", name="a.txt")])
    later = (f"{ASKED - 60}|7|N/A|1795292000", f"{ASKED}|7|{ASKED + 60}|1795292000")
    both = joined_starts(one, read_starts([written(tmp_path, *later, "x", name="b.txt")]))
    assert both.asked.tolist() == [ASKED - 60, ASKED]
    assert both.start.tolist() == [NEVER, ASKED + 60]
    assert both.source == "a.txt, b.txt"
    assert [one.names for one in both.cleaning.remarks] == [
        ("b.txt line 3",), (f"job 7 at {ASKED}",)
    ]  # fmt: skip


def test_the_line_for_the_shell_writes_what_is_read() -> None:
    assert '"$(date +%s)|%A|%S|%V"' in SNAPSHOT
    assert "--noheader" in SNAPSHOT


ROW = st.tuples(
    st.integers(10**9, 2 * 10**9), st.integers(1, 10**6),
    st.one_of(st.none(), st.integers(10**9, 2 * 10**9)),
    st.one_of(st.none(), st.integers(10**9, 2 * 10**9)),
)  # fmt: skip


@given(st.lists(ROW, min_size=1, max_size=20))
def test_lines_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int | None, int | None]],
) -> None:
    lines = [
        f"{a}|{j}|{'N/A' if s is None else s}|{'N/A' if v is None else v}" for a, j, s, v in rows
    ]
    found = read_starts([written(tmp_path_factory.mktemp("q"), *lines)])
    read = set(zip(found.asked.tolist(), found.job.tolist(), found.submit.tolist(), strict=True))
    assert read == {(a, j, -1 if v is None else v) for a, j, _, v in rows}
    assert len(read) == len(found)
