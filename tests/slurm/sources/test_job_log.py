"""What sacct wrote as a job log to plan with."""

from __future__ import annotations

from pathlib import Path

import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError, TraceError
from forestall.runs.commands.entry import main
from forestall.slurm.rows import tres_of
from forestall.slurm.sources.job_log import read_job_log, read_slurm_jobs

HEAD = (
    "JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|"
    "AllocNodes|ReqNodes|AllocCPUS|AllocTRES|ReqTRES|NodeList\n"
)
T = 1_700_000_000


def row(job: int, state: str, times: tuple[object, object, object], size: str, **tres: str) -> str:
    submit, start, end = times
    elapsed = end - start if isinstance(start, int) and isinstance(end, int) else 0
    nodes, cpus = size.split("x")
    return (
        f"{job}|ann|p|gpu,cpu|{state}|{submit}|{submit}|{start}|{end}|{elapsed}|120|{nodes}|1|"
        f"{cpus}|{tres.get('had', '')}|{tres.get('asked', '')}|n[1-{nodes}]\n"
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = tmp_path / "sacct.txt"
    place.write_text(
        HEAD
        + row(1, "COMPLETED", (T, T + 10, T + 3610), "1x16",
              had="cpu=16,mem=64G,node=1,gres/gpu:a100=2,gres/gpu=2")
        + row(2, "NODE_FAIL", (T + 20, T + 30, T + 40), "2x10", had="cpu=10,mem=4001M,node=2")
        + row(2, "COMPLETED", (T + 20, T + 50, T + 1050), "2x10", had="cpu=10,mem=4001M,node=2")
        + row(3, "CANCELLED", (T + 30, "Unknown", T + 35), "0x0", asked="cpu=4,mem=1G,node=1")
        + row(4, "RUNNING", (T + 60, T + 70, "Unknown"), "1x4", had="cpu=4,mem=1G,node=1")
        + row(5, "TIMEOUT", (T + 80, T + 90, T + 7290), "3x", had="")
    )  # fmt: skip
    return place


def test_jobs_ask_for_what_they_had_of_each_node(log: Path) -> None:
    jobs = read_slurm_jobs(log)
    assert jobs.job.tolist() == [1, 2, 5]
    assert jobs.submit.tolist() == [0, 20, 80]
    assert (jobs.size.tolist(), jobs.epoch) == ([1, 2, 3], T)
    assert jobs.runtime.tolist() == [3600, 1000, 7200], "the last run of each"
    assert jobs.estimate.tolist() == [7200] * 3
    assert (jobs.user, jobs.queue) == (("ann",) * 3, ("gpu",) * 3)
    asks = jobs.requests
    assert asks is not None
    assert asks.amounts.tolist() == [[16, 65_536, 2], [5, 2001, 0], [0, 0, 0]]
    assert asks.exclusive.tolist() == [False, False, True], "processors are not recorded"
    left = {one.kind: one.names for one in jobs.cleaning.remarks if one.action == "left out"}
    assert left["never_ran"] == ("3", "4")


def test_it_is_read_wherever_jobs_are(log: Path, tmp_path: Path) -> None:
    machine = "nodes=4 cores=32 memory=128G gpus=4"
    result = fs.simulate(log, policy="easy", machine=machine)
    assert result.jobs["job"].to_list() == [1, 2, 5]
    assert result.runs.select("cores", "memory", "gpus").rows()[:2] == [
        (16, 65_536, 2), (10, 4002, 0)
    ]  # fmt: skip
    out = str(tmp_path / "jobs.csv")
    assert main(["traces", "convert", str(log), out]) == 0
    again = fs.read_jobs(out)
    jobs = read_slurm_jobs(log)
    assert again.table().drop("submit").equals(jobs.table().drop("submit"))
    words = ["simulate", "jobs", str(log), "--machine", machine, "--policy", "fcfs"]
    assert main([*words, "--out", str(tmp_path / "run"), "-q"]) == 0
    assert main(["certify", str(tmp_path / "run")]) == 0
    assert len(read_job_log(log, jobs="2:3")) == 2
    assert len(read_job_log(out)) == 3


def test_what_it_cannot_be_read_as_is_refused(log: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="nodes already"):
        read_job_log(log, processors_per_node=4)
    empty = tmp_path / "none.txt"
    empty.write_text(HEAD + row(4, "RUNNING", (T + 60, T + 70, "Unknown"), "1x4"))
    with pytest.raises(TraceError, match="no job that ran to an end"):
        read_slurm_jobs(empty)


def test_what_is_not_told_is_nobody_elses(tmp_path: Path) -> None:
    """A blank user or partition, and a column that is not there."""
    place = tmp_path / "sacct.txt"
    lines = HEAD + "".join(
        row(k, "COMPLETED", (T + k, T + 10, T + 90), "1x4", had="cpu=4,node=1") for k in (1, 2)
    )
    place.write_text(lines.replace("2|ann|p|gpu,cpu|", "2||p||"))
    jobs = read_slurm_jobs(place)
    assert (jobs.user, jobs.queue) == (("ann", ""), ("gpu", ""))
    cut = ["|".join(line.split("|")[:1] + line.split("|")[4:]) for line in lines.splitlines()]
    place.write_text("\n".join(cut) + "\n")
    jobs = read_slurm_jobs(place)
    assert (jobs.user, jobs.queue) == (("", ""), ("", ""))


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("cpu=1,mem=16G", 16_384),
        ("mem=500", 500),
        ("mem=1.5T", 1_572_864),
        ("mem=2048K", 2),
        ("mem=1K", 1),
        ("cpu=3", -1),
        ("mem=many", -1),
    ],
)
def test_memory_of_trackable_resources(text: str, memory: int) -> None:
    assert tres_of(text)[3] == memory
