"""Accounting from sacct's rows: what each column becomes, and what dirty rows become."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.slurm import words
from forestall.slurm.jobs import job_records, looks_like_sacct, read_sacct
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED, Accounting
from forestall.slurm.records.task_lists import task_id
from forestall.slurm.rows import excluded_by, tres_of

ROOT = Path(__file__).resolve().parents[2]
T = 1_700_000_000
USUAL = {
    "JobIDRaw": 1, "User": "ann", "Account": "physics", "Partition": "cpu", "QOS": "normal",
    "State": "COMPLETED", "ExitCode": "0:0", "Submit": T, "Eligible": T, "Start": T + 10,
    "End": T + 110, "ElapsedRaw": 100, "Suspended": "00:00:00", "TimelimitRaw": 60,
    "AllocNodes": 2, "ReqNodes": 2, "AllocCPUS": 8, "AllocTRES": "cpu=8,node=2",
    "NodeList": "n[1-2]", "Reason": "None", "JobName": "run", "SubmitLine": "sbatch run.sh",
}  # fmt: skip
BERLIN = "Europe/Berlin"


def write_rows(path: Path, n: int, **given: Any) -> dict[str, int]:
    """Write rows like those of a busy site and return how many there are of each kind."""
    place = ROOT / "benchmarks" / "given" / "slurm_rows.py"
    spec = importlib.util.spec_from_file_location("slurm_rows", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    counts: dict[str, int] = module.write_rows(path, n, **given)
    return counts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a place for a file."""
    return tmp_path / "sacct.txt"


def put(path: Path, *rows: dict[str, Any], columns: tuple[str, ...] = tuple(USUAL)) -> Path:
    """Write rows that differ from the usual one as said."""
    lines = ["|".join(columns)]
    lines += ["|".join(str((USUAL | row)[name]) for name in columns) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def kinds(accounting: Accounting) -> dict[str, int]:
    """Return remarks by kind."""
    return accounting.cleaning.counts()


def test_every_column(path: Path) -> None:
    read = read_sacct(
        put(path, {
            "Eligible": T + 3, "Suspended": "00:01:00", "End": T + 170, "ExitCode": "2:9",
            "State": "FAILED", "Reason": "Priority",
            "AllocTRES": "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=8G,node=2",
            "SubmitLine": "sbatch --exclude=n[7-9] run.sh",
        })
    )  # fmt: skip
    numbers = {
        "job": 1, "which": 0, "attempt": 0, "submit": T, "eligible": T + 3, "start": T + 10,
        "end": T + 170, "suspended": 60, "limit": 3600, "nodes": 2, "asked": 2, "cpus": 8,
        "gpus": 4, "exit_code": 2, "signal": 9,
    }  # fmt: skip
    assert {name: int(getattr(read, name)[0]) for name in numbers} == numbers
    texts = {
        "state": "FAILED", "reason": "Priority", "user": "ann", "account": "physics",
        "partition": "cpu", "qos": "normal", "name": "run", "nodelist": "n[1-2]",
        "excluded": "n[7-9]", "failed_node": "",
    }  # fmt: skip
    assert {name: getattr(read, name)[0] for name in texts} == texts
    assert (read.begin, read.until, read.dated) == (T, T + 171, True)
    assert read.elapsed.tolist() == [100]
    assert read.source == str(path)
    assert not kinds(read)


def test_the_least_columns(path: Path) -> None:
    """What is not told stays unknown; the nodes of a list are counted."""
    columns = ("JobIDRaw", "State", "Start", "End", "NodeList")
    read = read_sacct(put(path, {}, {"JobIDRaw": 2, "NodeList": "None assigned"}, columns=columns))
    assert read.submit.tolist() == [T + 10] * 2
    assert read.nodes.tolist() == [2, UNKNOWN]
    for name in ("eligible", "limit", "asked", "cpus", "gpus", "exit_code", "signal"):
        assert getattr(read, name).tolist() == [UNKNOWN] * 2
    assert read.suspended.tolist() == [0, 0]
    assert not read.user.told.any()
    with pytest.raises(TraceError, match="has no column Start"):
        read_sacct(put(path, {}, columns=("JobIDRaw", "State", "End")))


def test_jobs_that_never_started(path: Path) -> None:
    """None when cancelled, Unknown while waiting, and Start = End on no node."""
    nowhere = {"NodeList": "None assigned", "AllocNodes": 0, "AllocCPUS": 0, "AllocTRES": "",
               "ElapsedRaw": 0}  # fmt: skip
    read = read_sacct(
        put(
            path,
            nowhere | {"JobIDRaw": 1, "Start": "None", "State": "CANCELLED by 7"},
            nowhere | {"JobIDRaw": 2, "Start": "Unknown", "End": "Unknown", "State": "PENDING"},
            nowhere | {"JobIDRaw": 3, "Start": T + 9, "End": T + 9, "State": "DEADLINE"},
            nowhere | {"JobIDRaw": 4, "Start": T + 9, "End": T + 9, "State": "CANCELLED by 7"},
            {"JobIDRaw": 5, "Start": T + 9, "End": T + 9, "ElapsedRaw": 0},
            {"JobIDRaw": 6, "Start": T + 500, "End": "Unknown", "State": "PENDING"},
        )
    )
    assert read.start.tolist() == [NEVER] * 4 + [T + 9, NEVER]
    assert read.end.tolist() == [T + 110, NEVER, T + 9, T + 9, T + 9, NEVER]
    assert read.nodes.tolist() == [0, 0, 0, 0, 2, 0]
    assert read.asked.tolist() == [2] * 6
    assert read.cpus.tolist() == [0, 0, 0, 0, 8, 0]
    assert read.gpus.tolist() == [0] * 6
    assert read.state[0] == "CANCELLED by 7"
    assert read.ran.tolist() == [False] * 4 + [True, False]
    assert not read.nodelist.told[:4].any()


def test_jobs_that_still_run(path: Path) -> None:
    """Their elapsed time tells when sacct was asked; an end that was cut to the window is none."""
    read = read_sacct(
        put(
            path,
            {"JobIDRaw": 1, "End": "Unknown", "State": "RUNNING", "ElapsedRaw": 5000},
            {"JobIDRaw": 2, "End": T + 400, "State": "RUNNING", "ElapsedRaw": 390},
            {"JobIDRaw": 3, "End": "Unknown", "State": "SUSPENDED", "ElapsedRaw": 10},
        )
    )
    assert read.end.tolist() == [NEVER] * 3
    assert read.running.all()
    assert read.until == T + 10 + 5000 + 1
    assert read_sacct(path, window=(T, T + 60)).until == T + 60


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({"TimelimitRaw": "UNLIMITED"}, UNLIMITED),
        ({"TimelimitRaw": "Partition_Limit"}, UNKNOWN),
        ({"TimelimitRaw": ""}, UNKNOWN),
        ({"Timelimit": "1-00:30:00"}, 88_200),
        ({"Timelimit": "90"}, 5400),
        ({"Timelimit": "UNLIMITED"}, UNLIMITED),
    ],
)
def test_limits(path: Path, columns: dict[str, str], wanted: int) -> None:
    names = tuple(name for name in USUAL if name != "TimelimitRaw") + tuple(columns)
    assert read_sacct(put(path, columns, columns=names)).limit.tolist() == [wanted]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", (-1, -1, -1)),
        ("cpu=4,mem=1G,node=1", (4, 1, -1)),
        ("cpu=4,gres/gpu=8", (4, -1, 8)),
        ("cpu=4,gres/gpu:a100=8", (4, -1, 8)),
        ("gres/gpu:a100=2,gres/gpu:h100=3,node=1", (-1, 1, 5)),
        ("gres/gpu=8,gres/gpu:a100=8", (-1, -1, 8)),
        ("gres/gpumem=80,gres/gpuutil=5,cpu=1", (1, -1, -1)),
        ("cpu=1.5K,node=2K", (1500, 2000, -1)),
    ],
)
def test_resources(text: str, wanted: tuple[int, int, int]) -> None:
    """GPUs named by type as well as in all are counted once."""
    found = tres_of(text)[:3]
    if text and wanted[2] < 0:
        wanted = (*wanted[:2], 0)  # a list without any GPU says that there is none
    assert found == wanted


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("sbatch --exclude=n3 run.sh", "n3"),
        ("sbatch --exclude n[1-3,7] -N 2 run.sh", "n[1-3,7]"),
        ("sbatch -x n3 -x n4 run.sh", "n3,n4"),
        ("srun -xn3 hostname", "n3"),
        ("srun -x=n3 hostname", "n3"),
        ("/usr/bin/salloc -N2 -x n3", "n3"),
        ("sbatch run.sh -x n3", ""),
        ("srun -N 2 hostname -x n3", ""),
        ("sbatch --exclusive -x n3 run.sh", "n3"),
        ("sbatch -o /dev/null -J two nodes steps -N2 --exclude=n3 /srv/run.sh", "n3"),
        ("sbatch --exclude=./hosts.txt run.sh", ""),
        ("sbatch --exclude=n[3-1] run.sh", ""),
        ("sbatch --exclude", ""),
        ("sbatch -x", ""),
        ("sbatch --wrap=it's --exclude=n1", "n1"),
        ("", ""),
    ],
)
def test_hosts_that_users_excluded(line: str, hosts: str) -> None:
    """Options of the job's own script are not options of sbatch."""
    assert excluded_by(line) == hosts


def test_counts_with_suffixes(path: Path) -> None:
    """As without --noconvert."""
    read = read_sacct(put(path, {"AllocNodes": "1.5K", "ReqNodes": "2K", "AllocCPUS": "96K"}))
    assert (read.nodes[0], read.asked[0], read.cpus[0]) == (1500, 2000, 96_000)


def test_ids_without_raw_ones(path: Path) -> None:
    """A task of an array gets a number of its own, one that waits as well."""
    columns = tuple("JobID" if name == "JobIDRaw" else name for name in USUAL)
    ids = ("12", "13_4", "14_[5-9%2]", "15+1", "13_5", "x1", "")
    read = read_sacct(put(path, *({"JobID": one} for one in ids), columns=columns))
    assert set(read.job.tolist()) == {
        12, 16, *(task_id(13, k) for k in (4, 5)), *(task_id(14, k) for k in range(5, 10))
    }  # fmt: skip
    assert kinds(read) == {"no_id": 2}


def test_users_without_a_name(path: Path) -> None:
    columns = (*USUAL, "UID")
    read = read_sacct(put(path, {"User": "", "UID": 1001}, {"JobIDRaw": 2, "UID": 5},
                          columns=columns))  # fmt: skip
    assert read.user.texts() == ["1001", "ann"]


def test_rows_that_cannot_be_used(path: Path) -> None:
    """Left out and named by their lines; with strict they are errors."""
    rows = (
        {"JobIDRaw": 1},
        {"JobIDRaw": 2, "End": T - 50, "ElapsedRaw": 5},
        {"JobIDRaw": 3, "Start": "yesterday"},
        {"JobIDRaw": "none"},
        {"JobIDRaw": 5, "State": "PENDING", "Submit": "", "Eligible": "", "Start": "", "End": ""},
    )
    read = read_sacct(put(path, *rows))
    assert read.job.tolist() == [1, 5]
    assert kinds(read)["no_time"] == 1
    assert read.submit.tolist() == [T, T + 110]
    found = {r.kind: (r.action, r.names) for r in read.cleaning.remarks if r.action != "kept"}
    assert found == {
        "backwards": ("left out", (f"{path} line 3",)),
        "bad_time": ("left out", (f"{path} line 4",)),
        "no_id": ("left out", (f"{path} line 5",)),
    }
    said = ("", "End: expected", "Start: expected", "expected a job id")
    for k in range(1, 4):
        with pytest.raises(TraceError, match=rf"sacct\.txt:2: .*{said[k]}"):
            read_sacct(put(path, rows[k]), strict=True)
    with pytest.raises(TraceError, match="has no usable row"):
        read_sacct(put(path, rows[1]))
    with pytest.raises(TraceError, match="has no usable row"):
        read_sacct(put(path))


def test_several_files_that_overlap(path: Path, tmp_path: Path) -> None:
    """Rows of both count once, the later look at a run wins; files may differ in columns."""
    first = put(path, {"JobIDRaw": 1}, {"JobIDRaw": 2, "State": "RUNNING", "End": "Unknown"})
    columns = tuple(name for name in USUAL if name != "ReqNodes")
    second = put(tmp_path / "b.txt", {"JobIDRaw": 2, "Start": T + 10}, {"JobIDRaw": 1},
                 {"JobIDRaw": 3}, columns=columns)  # fmt: skip
    for files in ([first, second], [second, first]):
        read = read_sacct(files)
        assert read.job.tolist() == [1, 2, 3]
        assert read.base().texts() == ["COMPLETED"] * 3
        assert kinds(read) == {"repeated": 1, "older_reading": 1}
        assert read.source == f"{files[0]}, {files[1]}"
    with pytest.raises(ParameterError, match="paths"):
        read_sacct([])


def test_requeued_runs_and_ids_that_came_again(path: Path) -> None:
    read = read_sacct(
        put(
            path,
            {"JobIDRaw": 8, "Submit": T + 110, "Start": T + 150, "End": T + 250},
            {"JobIDRaw": 8, "State": "NODE_FAIL"},
            {"JobIDRaw": 9, "State": "FAILED"},
            {"JobIDRaw": 9, "Submit": T + 9000, "Start": T + 9010, "End": T + 9110, "User": "bob"},
        )
    )  # fmt: skip
    assert read.job.tolist() == [8, 9, 8, 9]
    assert read.which.tolist() == [0, 1, 0, 2]
    assert read.attempt.tolist() == [0, 0, 1, 0]
    assert [(r.kind, r.names) for r in read.cleaning.remarks] == [("id_again", ("job 9",))]


def test_daylight_saving(path: Path) -> None:
    """Runs over both changes of a year, settled by the elapsed time and counted."""
    rows = (
        {"JobIDRaw": 1, "Submit": "2024-03-31T01:00:00", "Start": "2024-03-31T01:30:00",
         "End": "2024-03-31T03:30:00", "ElapsedRaw": 3600},
        {"JobIDRaw": 2, "Submit": "2024-10-27T02:00:00", "Start": "2024-10-27T02:30:00",
         "End": "2024-10-27T02:10:00", "ElapsedRaw": 2400},
    )  # fmt: skip
    rows = tuple(row | {"Eligible": row["Submit"]} for row in rows)
    read = read_sacct(put(path, *rows), zone=BERLIN)
    assert (read.end - read.start).tolist() == [3600, 2400]
    assert kinds(read) == {"twice": 1, "twice_waiting": 1}
    assert (read.wait >= 0).all()
    # Taken as UTC, the first seems two hours long, and the second ends before it starts.
    read = read_sacct(put(path, *rows))
    assert (read.end - read.start).tolist() == [3600, 2400]
    assert kinds(read) == {"zones_mixed": 2, "zone_assumed": 1}
    with pytest.raises(TraceError, match="moved by whole hours"):
        read_sacct(path, strict=True)
    with pytest.raises(ParameterError, match="Atlantis"):
        read_sacct(path, zone="Atlantis")


def test_too_many_names(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on, and for those before, numbers in names are #."""
    monkeypatch.setattr("forestall.slurm.rows.MOST_NAMES", 5)
    monkeypatch.setattr("forestall.slurm.sacct_text.CHUNK", 500)
    names = ["plain", "a1", "a22", "b-3-4", "x", "y", "a5", "plain", "", "c9"]
    rows = [{"JobIDRaw": k, "JobName": name} for k, name in enumerate(names, 1)]
    read = read_sacct(put(path, *rows))
    wanted = ["plain", "a#", "a#", "b-#-#", "x", "y", "a#", "plain", "", "c#"]
    assert read.name.texts() == wanted
    assert kinds(read) == {"name_families": 1}
    assert len(set(read.name.words)) == len(read.name.words)


def test_the_time_that_records_cover(path: Path) -> None:
    """Records that begin with many long runs under way were cut at the first end."""
    day = 86_400
    cut = [{"JobIDRaw": k, "Submit": T - 30 * day, "Eligible": T, "Start": T - 20 * day,
            "End": T + k, "ElapsedRaw": 20 * day + k} for k in range(1, 31)]  # fmt: skip
    later = [{"JobIDRaw": k, "Submit": T, "Eligible": T, "Start": T + 9, "End": T + 40 * day,
              "ElapsedRaw": 40 * day - 9} for k in (50, 51)]  # fmt: skip
    cut, later = ([row | {"TimelimitRaw": "UNLIMITED"} for row in rows] for rows in (cut, later))
    read = read_sacct(put(path, *cut, *later))
    assert (read.begin, read.until) == (T + 1, T + 40 * day + 1)
    read = read_sacct(put(path, *cut[:5], *later))
    assert read.begin == T - 30 * day


def test_told_from_other_files(path: Path, tmp_path: Path) -> None:
    assert looks_like_sacct(put(path, {}))
    other = tmp_path / "other"
    for text in ("job,start\n1,2\n", "", '{"nodes": []}', "NodeName=n1 State=IDLE\n"):
        other.write_text(text)
        assert not looks_like_sacct(other)
    other.write_text('{"meta": {}, "jobs": []}')
    assert looks_like_sacct(other)


def test_records_of_jobs_with_their_nodes(path: Path) -> None:
    """Nodes by number in order of name; runs without a start come last; a bad list is a remark."""
    read = read_sacct(
        put(
            path,
            {"JobIDRaw": 1, "Start": T + 50},
            {"JobIDRaw": 2, "Start": "None", "State": "CANCELLED", "NodeList": "None assigned"},
            {"JobIDRaw": 3, "NodeList": "n[3,1]"},
            {"JobIDRaw": 4, "Start": T + 60, "NodeList": "n[9-"},
        )
    )
    records = job_records(read)
    assert records.job == ("3", "1", "4", "2")
    assert records.start.tolist() == [T + 10, T + 50, T + 60, NEVER]
    assert records.end.tolist() == [T + 110, T + 110, T + 110, NEVER]
    assert records.node_names == ("n1", "n2", "n3")
    assert [records.nodes_of(k).tolist() for k in range(4)] == [[0, 2], [0, 1], [], []]
    assert records.state == ("COMPLETED", "COMPLETED", "COMPLETED", "CANCELLED")
    assert records.cores.tolist() == [8, 8, 8, 0]
    assert records.origin == 0
    assert records.cleaning.counts()["nodes_unreadable"] == 1


def test_realistic_rows(path: Path) -> None:
    """Of generated rows as many of each kind are read as were written."""
    counts = write_rows(path, 20_000)
    read = read_sacct(path)
    assert len(read) == 20_000
    states = read.state.counts()
    assert states == {s: counts[s] for s in states}
    assert int((read.start == NEVER).sum()) == counts["never"]
    assert int((read.attempt > 0).sum()) == counts["again"]
    assert kinds(read) == {}


def test_realistic_dirt(path: Path) -> None:
    counts = write_rows(path, 60_000, seed=5, dirty=True)
    read = read_sacct(path)
    found = kinds(read)
    assert found["malformed"] == counts["short"]
    assert found["backwards"] == counts["backwards"]
    assert found["step"] == counts["step"]
    assert found["encoding"] == counts["encoding"]
    assert found["nul"] == counts["nul"]
    assert found["repeated"] == counts["repeated"]
    assert found["mended"] == 2 * counts["newline"] + counts["bar"]
    assert len(read) == 60_000 - counts["short"] - counts["backwards"]
    with pytest.raises(TraceError):
        read_sacct(path, strict=True)


def test_words_in_the_making() -> None:
    """Codes of pieces share one dictionary; what says nothing has none."""
    pl = pytest.importorskip("polars")
    column = words.Words(blank=("None",))
    column.add(pl.Series(["a", "None", "b", None, ""]))
    column.none(1)
    column.add(pl.Series(["b", "c", "b"]))
    assert column.column().texts() == ["a", "", "b", "", "", "", "b", "c", "b"]
    growing = words.Growing(np.int64)
    for k in range(5):
        growing.add(np.arange(100_000) + k)
    assert len(growing) == 500_000
    assert growing.values.tolist() == [x + k for k in range(5) for x in range(100_000)]


RUNS = st.lists(
    st.tuples(
        st.integers(0, 10**7),  # submit after T
        st.one_of(st.none(), st.integers(0, 10**6)),  # wait; None: never started
        st.integers(0, 10**6),  # run
        st.integers(0, 10**4),  # suspended
        st.sampled_from(["n1", "n[1-4]", "rack[1-2]n[08-11]"]),
        st.text(st.characters(codec="utf-8", exclude_characters="|\n\r\0\ufeff"), max_size=8),
        st.sampled_from(["COMPLETED", "FAILED", "CANCELLED by 5", "TIMEOUT", "what?"]),
    ),
    min_size=1, max_size=15,
)  # fmt: skip


@given(RUNS, st.booleans())
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[Any, ...]], dates: bool
) -> None:
    """Seconds or dates, in the order of submit."""

    def told(time: int) -> str:
        return str(np.datetime64(time, "s")) if dates else str(time)

    rows, wanted = [], []
    for job, (after, wait, run, suspended, nodes, name, state) in enumerate(runs, 1):
        submit = T + after
        start = None if wait is None else submit + wait
        state = "CANCELLED by 5" if start is None else state
        suspended = suspended if wait is not None else 0
        end = submit + 77 if start is None else start + run + suspended
        rows.append({
            "JobIDRaw": job, "State": state, "Submit": told(submit), "Eligible": told(submit),
            "Start": "None" if start is None else told(start), "End": told(end),
            "ElapsedRaw": run if start is not None else 0,
            "Suspended": f"{suspended // 3600:02}:{suspended // 60 % 60:02}:{suspended % 60:02}",
            "NodeList": "None assigned" if start is None else nodes, "JobName": name,
            "TimelimitRaw": "UNLIMITED",
        })  # fmt: skip
        wanted.append((submit, job, NEVER if start is None else start, end, suspended,
                       "" if start is None else nodes, name, state))  # fmt: skip
    read = read_sacct(put(tmp_path_factory.mktemp("jobs") / "s.txt", *rows), zone="UTC")
    found = zip(
        read.submit.tolist(), read.job.tolist(), read.start.tolist(), read.end.tolist(),
        read.suspended.tolist(), read.nodelist.texts(), read.name.texts(), read.state.texts(),
        strict=True,
    )  # fmt: skip
    assert list(found) == sorted(wanted, key=lambda row: row[:2])
    assert not kinds(read)


RECORDED = Path(__file__).parent / "recorded" / "24.11"
SPOILED = (b"", b"|", b"\n", b"\0", b"\xff", b"-5", b"9" * 20, b"Unknown", b"2024-02-30T00:00:00",
           b"4294967296", b"n[1-", b"99999-00:00:00", b"1e9", b"||||||||||")  # fmt: skip


@given(
    st.sampled_from(["sacct.jobs.txt", "sacct.steps.txt", "sacct.json"]),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(SPOILED)),
        min_size=1, max_size=12,
    ),
)  # fmt: skip
def test_whatever_becomes_of_a_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[float, int, bytes]]
) -> None:
    """It is read, or refused in one line."""
    raw = bytearray((RECORDED / name).read_bytes())
    for share, width, put_in in changes:
        place = int(share * len(raw))
        raw[place : place + width] = put_in
    place = tmp_path_factory.mktemp("spoiled") / name
    place.write_bytes(bytes(raw))
    try:
        read = read_sacct(place, zone=BERLIN)
    except (TraceError, ParameterError) as error:  # a damaged Cluster can be that of another
        said = str(error)
    else:
        said = f"{len(read)} runs"
        assert len(job_records(read)) == len(read) > 0
        assert (read.elapsed >= 0).all()
    assert "\n" not in said
