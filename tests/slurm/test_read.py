"""Files told apart by content, records put together, and a Slurm that answers or does not."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.slurm.read import ask, kind_of, read_files, together
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.run import SlurmError
from forestall.slurm.sources.sources import GivenRecords, gather
from slurm.files.site_tables import ZERO, inventory, outages, runs

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
HEADLESS = "event.nodes"
NONE = (
    "acts", "commands", "helpformat", "config", "scontrol.job", "reservation",
    "asked_for_json", "sinfo.R", "sinfo.format", "version", "squeue.txt",
)  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_file_is_told_apart(version: str) -> None:
    for path in sorted((RECORDED / version).iterdir()):
        if any(part in path.name for part in NONE):
            with pytest.raises(TraceError, match="expected the output of sacct"):
                kind_of(path)
            continue
        program = path.name.split(".")[0]
        kind = {"sacct": "jobs", "sacctmgr": "events", "squeue": "starts"}.get(program, "nodes")
        assert kind_of(path) == kind, path.name
        if HEADLESS in path.name:
            with pytest.raises(TraceError, match="show event without its header"):
                read_files([path])


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_files_are_read_together(version: str) -> None:
    folder = RECORDED / version
    names = ("scontrol.node.txt", "sacctmgr.event.txt", "sacct.jobs.txt", "scontrol.partition.txt")
    said: list[str] = []
    site = read_files([folder / name for name in names], zone="Europe/Berlin", tell=said.append)
    assert site.accounting is not None
    assert site.events is not None
    assert site.inventory is not None
    assert site.estimates is None
    assert site.sources == (
        f"sacct.jobs.txt: {len(site.accounting)} runs (sacct)",
        "sacctmgr.event.txt: 7 outages (sacctmgr show event)",
        "scontrol.node.txt, scontrol.partition.txt: 6 nodes and the limits of 3 partitions "
        "(scontrol or sinfo)",
    )
    assert site.events.names == site.inventory.names
    assert site.events.span[1] >= site.accounting.until
    assert site.events.span[0] <= int(site.events.begin.min())
    assert len(said) == 3
    assert "unknown_nodes" not in site.cleanings().counts()


@pytest.mark.parametrize("name", ["squeue.start.epoch.txt", "squeue.start.format.txt"])
def test_rows_of_squeue_without_a_header_say_what_is_missing(name: str) -> None:
    with pytest.raises(TraceError, match=r"without its header.*# asked: .*forestall report"):
        read_files([RECORDED / "22.05" / name])


def test_rows_of_other_commands_are_not_taken_for_those_of_squeue(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for text in (
        "7|main|ann|RUNNING|1795292000\n",
        "7|PENDING|x\n8|COMPLETED|y\n",
        "# PENDING |\n",
    ):
        path.write_text(text)
        with pytest.raises(TraceError, match="expected the output of sacct"):
            kind_of(path)


def test_remarks_name_file_and_line_without_folders(tmp_path: Path) -> None:
    """Two files of one name are told apart by their folders."""
    head = "JobIDRaw|State|Submit|Start|End|NNodes|JobName"
    for name in ("a", "b"):
        folder = tmp_path / ("long" * 30) / name
        folder.mkdir(parents=True)
        row = f"{len(name)}|COMPLETED|1700000000|1700000001|1700000009|1|"
        (folder / "jobs.txt").write_text(f"{head}\n{row}x\n{row}|{name}\n{row[:9]}\n")
        events = f"c|n1|{ZERO}|{ZERO + 9}|DOWN|r|x\nc|n2\n"
        (folder / f"{name}.txt").write_text(
            f"Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason\n{events}"
        )
    site = read_files([*tmp_path.rglob("jobs.txt"), *tmp_path.rglob("[ab].txt")])
    remarks = {one.kind: one.names for one in site.cleanings().remarks}
    assert set(remarks["mended"]) == {"a/jobs.txt line 3", "b/jobs.txt line 3"}
    malformed = [name for one in site.cleanings().remarks if one.kind == "malformed"
                 for name in one.names]  # fmt: skip
    assert set(malformed) == {
        "a/jobs.txt line 4", "b/jobs.txt line 4", "a.txt line 3", "b.txt line 3"
    }  # fmt: skip
    assert not any("long" in name for names in remarks.values() for name in names)
    assert not any("long" in source for source in site.sources)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data, said in (
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x00\x01", "binary"),
        (b"hello\n", "starts with 'hello'"),
        (b'{"a": 1}', "JSON of something else"),
    ):
        path.write_bytes(data)
        with pytest.raises(TraceError, match=said):
            kind_of(path)
    with pytest.raises(TraceError, match="cannot be read"):
        kind_of(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="files"):
        read_files([])


def test_nodes_that_were_renamed_are_named() -> None:
    events = outages(("old1", ZERO, ZERO + 5, "fault"), ("n2", ZERO + 9, None, "fault"))
    site = together(SiteRecords(runs({}), events, inventory(["n10", "n2"])))
    assert site.events is not None
    assert site.events.names == ("n2", "n10", "old1")
    assert [site.events.names[k] for k in site.events.node] == ["old1", "n2"]
    assert site.cleanings().remarks[0].names == ("old1",)


def test_outages_cover_the_time_of_the_jobs() -> None:
    events = outages(("a", ZERO - 100, ZERO + 5, "fault"), ("a", ZERO + 9, None, "fault"))
    jobs = runs({}, begin=ZERO, until=ZERO + 500)
    site = together(SiteRecords(jobs, events))
    assert site.events is not None
    assert site.events.span == (ZERO, ZERO + 500)  # the first outage touches the begin only
    before = outages(("a", ZERO - 100, ZERO - 50, "fault"))
    site = together(SiteRecords(jobs, before))
    assert site.events is not None
    assert site.events.span == (ZERO - 50, ZERO + 500)
    site = together(SiteRecords(jobs, events), (ZERO + 1, ZERO + 2))
    assert site.events is not None
    assert site.events.span == (ZERO + 1, ZERO + 2)
    assert together(SiteRecords(jobs, outages())).events.span == (ZERO, ZERO + 500)  # type: ignore[union-attr]
    assert together(SiteRecords(events=events)).events.span == events.span  # type: ignore[union-attr]


def programs(folder: Path, version: str = "22.05", **instead: str) -> None:
    """Write programs that answer as a recorded Slurm did."""
    recorded = RECORDED / version
    answers = {
        "sacct": f'case "$1" in --helpformat) cat {recorded}/sacct.helpformat.txt;; '
        f"*) cat {recorded}/sacct.jobs.epoch.txt;; esac",
        "sacctmgr": f"cat {recorded}/sacctmgr.event.epoch.txt",
        "scontrol": f'case "$*" in *node*) cat {recorded}/scontrol.node.epoch.txt;; '
        f"*) cat {recorded}/scontrol.partition.txt;; esac",
        "squeue": "echo 'JOBID|PARTITION|USER|STATE|SUBMIT_TIME|START_TIME'; "
        "echo '7|main|ann|PENDING|1795292000|1795299999'; echo '8|main|ann|PENDING|1795292000|N/A'",
    }
    for name, script in {**answers, **instead}.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of programs that stand for Slurm's."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    programs(tmp_path)
    return tmp_path


BEGIN, END = 1_795_292_000, 1_795_292_300


def test_a_live_slurm_is_asked_for_all(slurm: Path) -> None:
    said: list[str] = []
    site = ask(BEGIN, END, timeout=20, tell=said.append)
    assert site.accounting is not None
    assert (site.accounting.begin, site.accounting.source) == (BEGIN + 94, "sacct")
    assert site.events is not None
    assert site.events.span == (BEGIN + 94, END)  # the first submission
    assert site.inventory is not None
    assert set(site.inventory.partition_limits) == {"main", "spare", "gpu"}
    assert site.inventory.seen is not None
    assert site.estimates is not None
    assert site.estimates.job.tolist() == [7, 8]
    assert int(site.estimates.asked[0]) == site.inventory.seen
    assert "not_told" not in site.cleanings().counts()
    assert [text.split()[1] for text in said] == [
        "squeue", "sacct", "sacctmgr", "scontrol", "scontrol",
    ]  # fmt: skip


def test_a_young_database_is_not_asked_for_more_than_it_holds(slurm: Path) -> None:
    """The window begins with the first submission or outage, the same for all."""
    site = ask(BEGIN - 90 * 86_400, timeout=20)
    assert site.accounting is not None
    assert site.events is not None
    first = min(int(site.accounting.submit[0]), int(site.events.begin[0]))
    assert first > BEGIN - 86_400
    assert site.accounting.begin == site.events.span[0] == first
    assert site.accounting.until == site.events.span[1]


def test_an_end_is_asked_for_only_where_it_is_past(slurm: Path) -> None:
    """Up to now sacct leaves out jobs that may start later only."""
    said = slurm / "said"
    jobs = RECORDED / "22.05" / "sacct.jobs.epoch.txt"
    helped = RECORDED / "22.05" / "sacct.helpformat.txt"
    programs(slurm, sacct=f'echo "$@" >> {said}; case "$1" in --helpformat) cat {helped};; '
             f"*) cat {jobs};; esac")  # fmt: skip
    now = int(time.time())
    for until, end in ((None, "2037-01-01"), (now + 9999, "2037-01-01"), (END, "2026-11-21T20:18")):
        site = ask(0, until, timeout=20)
        assert site.accounting is not None
        assert site.accounting.until <= int(time.time()) + 1
        asked = said.read_text().splitlines()[-1]
        assert f"--endtime={end}" in asked
        assert "--starttime=2000-01-01T00:00:00" in asked  # 0 would mean today


def test_examples_of_a_live_slurm_name_its_commands(slurm: Path) -> None:
    jobs, events = (
        RECORDED / "22.05" / f"{name}.epoch.txt" for name in ("sacct.jobs", "sacctmgr.event")
    )
    helped = RECORDED / "22.05" / "sacct.helpformat.txt"
    programs(
        slurm,
        sacct=f'case "$1" in --helpformat) cat {helped};; *) cat {jobs}; echo "9|broken";; esac',
        sacctmgr=f"cat {events}; echo 'c|n1'",
        squeue="echo '1795292203|7|N/A|N/A'; echo nonsense",
    )
    site = ask(BEGIN, timeout=20)
    named = [name for one in site.cleanings().remarks for name in one.names]
    assert any(name.startswith("sacct line ") for name in named)
    assert any(name.startswith("sacctmgr line ") for name in named)
    assert "squeue line 2" in named
    assert not any("/" in name for name in named)
    assert all(source.startswith("Slurm itself: ") for source in site.sources)


def test_what_other_commands_refuse_is_a_remark(slurm: Path) -> None:
    programs(slurm, sacctmgr="echo 'sacctmgr: error: Access/permission denied' >&2; exit 1",
             squeue="echo nonsense")  # fmt: skip
    site = ask(BEGIN, END, timeout=20)
    assert site.events is None
    assert site.estimates is None
    assert site.inventory is not None
    (remark,) = [one for one in site.cleanings().remarks if one.kind == "not_told"]
    assert remark.names[0].startswith("starts: squeue line 1: the file starts with 'nonsense'")
    assert "this user may not query that" in remark.names[1]
    with pytest.raises(TraceError, match="nonsense"):
        ask(BEGIN, END, timeout=20, strict=True)


def test_without_sacct_there_is_nothing(slurm: Path) -> None:
    programs(slurm, sacct="echo 'sacct: error: Slurm accounting storage is disabled' >&2; exit 1")
    with pytest.raises(SlurmError, match="keeps no accounting"):
        ask(BEGIN, END, timeout=20)
    (slurm / "sacct").unlink()
    with pytest.raises(ParameterError, match="since"):
        ask(END, BEGIN)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode", "without times"),
        (
            "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
            "reading",
        ),
    ],
)
def test_what_sacct_prints_by_default_is_told_from_nothing(
    tmp_path: Path, first: str, said: str
) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(f"{first}\n1|a|main|root|2|COMPLETED|0:0\n", encoding="utf-8")
    with pytest.raises(TraceError, match=f"{said}; expected sacct --parsable2 --format="):
        kind_of(path)
    with pytest.raises(TraceError, match=said):
        gather(GivenRecords(paths=(path,)))
