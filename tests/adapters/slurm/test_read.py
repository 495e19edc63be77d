"""Files told apart by content, records put together, and a Slurm that answers or does not."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forestall.adapters.slurm.read import ask, kind_of, read_files, together
from forestall.adapters.slurm.run import SlurmError
from forestall.model.errors import ParameterError, TraceError
from forestall.model.site_records import SiteRecords
from traces.site_tables import ZERO, inventory, outages, runs

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
NONE = (
    "acts", "commands", "helpformat", "config", "scontrol.job", "reservation", "event.nodes",
    "asked_for_json", "sinfo.R", "sinfo.format", "version", "squeue.txt", "start.format",
    "start.epoch",
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
    assert len(site.sources) == 4
    assert site.events.names == site.inventory.names
    assert site.events.span[1] >= site.accounting.until
    assert site.events.span[0] <= int(site.events.begin.min())
    assert len(said) == 3
    assert "unknown_nodes" not in site.cleanings().counts()


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data, said in (
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x00\x01", "binary"),
        (b"hello\n", "starts 'hello'"),
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
    assert (site.accounting.begin, site.accounting.source) == (BEGIN, "sacct")
    assert site.events is not None
    assert site.events.span[0] == BEGIN
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


def test_what_other_commands_refuse_is_a_remark(slurm: Path) -> None:
    programs(slurm, sacctmgr="echo 'sacctmgr: error: Access/permission denied' >&2; exit 1",
             squeue="echo nonsense")  # fmt: skip
    site = ask(BEGIN, END, timeout=20)
    assert site.events is None
    assert site.estimates is None
    assert site.inventory is not None
    (remark,) = [one for one in site.cleanings().remarks if one.kind == "not_told"]
    assert "nonsense" in remark.names[0]
    assert "this user may not ask for that" in remark.names[1]
    with pytest.raises(TraceError, match="nonsense"):
        ask(BEGIN, END, timeout=20, strict=True)


def test_without_sacct_there_is_nothing(slurm: Path) -> None:
    programs(slurm, sacct="echo 'sacct: error: Slurm accounting storage is disabled' >&2; exit 1")
    with pytest.raises(SlurmError, match="keeps no accounting"):
        ask(BEGIN, END, timeout=20)
    (slurm / "sacct").unlink()
    with pytest.raises(ParameterError, match="since"):
        ask(END, BEGIN)
