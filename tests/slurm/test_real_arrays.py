"""Arrays and heterogeneous jobs on a real Slurm: every reader tells of the tasks that wait and run
as many as the controller shows one by one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.core.model.job_records import NEVER
from forestall.slurm import commands
from forestall.slurm.cluster.nouns import ClusterJob, waiting_jobs
from forestall.slurm.control import documents, lines
from forestall.slurm.control.by_commands import SlurmCommands, SlurmLimits
from forestall.slurm.control.by_rest import SlurmRest
from forestall.slurm.control.http import Server
from forestall.slurm.jobs import read_sacct
from forestall.slurm.present import read_present
from forestall.slurm.queue import read_starts
from forestall.slurm.read import ask
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.run import ENVIRONMENT
from slurm_cluster.cluster import Cluster, why_not

pytestmark = pytest.mark.slow

LISTED = "1,3,5,8,13-15,21,34-40,55,60,65,71,83,95,99,103,107,110,115,119,123,125,127,140,150,161%7"
ARRAYS = {"limited": "1-901%2", "stepped": "1-99:2", "listed": LISTED}
LATER = ("--begin=now+2hour",)


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """Return a cluster with a limited array that runs, others that wait, and two het jobs."""
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=3, with_gpus=1) as running:
        for name, listed in ARRAYS.items():
            later = () if name == "limited" else LATER
            running.submit("-a", listed, "-J", name, "-t", "30", *later)
        for name, later in (("het", LATER), ("hetrun", ())):
            running.command("sbatch", "--parsable", "-J", name, "-t", "10", "-n", "1", *later,
                            "--wrap", "sleep 600", ":", "-n", "1")  # fmt: skip
        running.until("tasks run", lambda: tasks(running)["limited", "RUNNING"] == 2)
        running.until("accounting has them", lambda: len(running.recorded(1, "JobID")) == 3)
        running.until("all are recorded", lambda: len(running.book("JobIDRaw")) >= 8)
        yield running


@pytest.fixture(autouse=True)
def _here(slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.folder / "slurm.conf"))


def tasks(slurm: Cluster) -> Counter[tuple[str, str]]:
    """Return the tasks by name and state as the controller shows them, a line each."""
    told = slurm.command("squeue", "--all", "--array", "-h", "-o", "%j %T").stdout
    found = Counter[tuple[str, str]]()
    for line in told.splitlines():
        name, state = line.split()
        found[name, state] += 1
    # Of a list with a step squeue --array (22.05) leaves out the last; none of these ever starts.
    found["stepped", "PENDING"] = len(range(1, 100, 2))
    return found


def of(runs: Accounting) -> Counter[tuple[str, str]]:
    return Counter(zip(runs.name.texts(), runs.state.texts(), strict=True))


def seen(jobs: list[ClusterJob]) -> Counter[tuple[str, str]]:
    found = Counter[tuple[str, str]]()
    for job in jobs:
        found[job.name, job.state] += job.tasks
    return found


@contextmanager
def answered(slurm: Cluster, folder: Path, *call: str, **variables: str) -> Iterator[Path]:
    path = folder / "answer"
    path.write_text(slurm.command(*call, env={"TZ": "UTC"} | variables).stdout)
    yield path


SACCT = ("sacct", "--allusers", "--duplicates", "--allocations", "-S", "2020-01-01")
FIELDS = "JobIDRaw,JobID,Cluster,JobName,State,Submit,Eligible,Start,End,NNodes,NodeList"


def test_accounting_as_text_and_as_json(slurm: Cluster, tmp_path: Path) -> None:
    """By number sacct shows what it hides in a window: tasks beyond the array's limit."""
    every = ",".join(str(k) for k in range(1, 20))
    truth = tasks(slurm)
    text = (*SACCT, "-P", "-o", FIELDS, "-j", every)
    with answered(slurm, tmp_path, *text, SLURM_BITSTR_LEN="0") as path:
        runs = read_sacct(path)
        assert of(runs) == truth
        assert runs.cleaning.counts().get("array_cut") is None
        limited = (runs.start == NEVER) & (runs.at_once == 2)
        assert int(limited.sum()) == truth["limited", "PENDING"] == 899
        assert int((runs.het > 0).sum()) == 4
    with answered(slurm, tmp_path, *text) as path:
        runs = read_sacct(path)
        assert runs.cleaning.counts()["array_cut"] == 1
        cut = of(runs)
        assert 0 < cut["listed", "PENDING"] < truth["listed", "PENDING"]
        assert {**cut, ("listed", "PENDING"): 0} == {**truth, ("listed", "PENDING"): 0}
    with answered(slurm, tmp_path, *SACCT, "--json", "-j", every) as path:
        assert of(read_sacct(path)) == truth


@pytest.mark.parametrize("length", ["0", "64"])
def test_the_queue_as_json_and_in_lines(slurm: Cluster, tmp_path: Path, length: str) -> None:
    truth = tasks(slurm)
    told = json.loads(slurm.command("squeue", "--all", "--json",
                                    env={"SLURM_BITSTR_LEN": length}).stdout)  # fmt: skip
    wanted = ",".join(f"{name}:\t" for name in lines.JOB_FIELDS)
    text = slurm.command("squeue", "--all", "-h", f"--Format={wanted}",
                         env={"SLURM_BITSTR_LEN": length}).stdout  # fmt: skip
    rows = lines.jobs_of_rows("".join(text.splitlines()), "\t")
    waiting = sum(count for (_, state), count in truth.items() if state == "PENDING")
    for jobs in (documents.jobs_of(told), rows):
        jobs = [job for job in jobs if job.state in ("PENDING", "RUNNING")]
        count, more = waiting_jobs(jobs)
        assert more == (length == "64")
        assert {job.at_once for job in jobs if job.name == "limited" and job.waits} == {2}
        assert {job.het for job in jobs if job.name.startswith("het")} - {0}
        if length == "0":
            assert seen(jobs) == truth
            assert count == waiting - 1  # two components are one job
        else:
            assert count < waiting - 1


def test_looks_by_commands_and_by_slurmrestd(slurm: Cluster) -> None:
    """What a live cluster shows; slurmrestd cuts lists unless its environment says not to."""
    truth = tasks(slurm)
    limits = SlurmLimits(read=20, write=20)
    looks = [SlurmCommands(limits).look(None)]
    if program := shutil.which("slurmrestd", path="/usr/sbin:/usr/local/sbin"):
        path = slurm.folder / "slurmrestd.socket"
        with subprocess.Popen(
            (program, "-a", "rest_auth/local", f"unix:{path}"),
            env=slurm.environment | {"SLURMRESTD_SECURITY": "disable_user_check",
                                     "SLURM_BITSTR_LEN": "0"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                slurm.until("slurmrestd listens", path.exists)
                looks.append(SlurmRest(Server(f"unix:{path}"), limits).look(None))
            finally:
                process.kill()
    for look in looks:
        assert seen(list(look.jobs.values())) == truth
        waiting = sum(count for (_, state), count in truth.items() if state == "PENDING")
        assert waiting_jobs(look.jobs.values()) == (waiting - 1, False)


def test_estimates_and_priorities(slurm: Cluster, tmp_path: Path) -> None:
    """The same array by every spelling of squeue."""

    def ids(path: Path) -> set[int]:
        return set(read_starts([path], asked=1_800_000_000).job.tolist())

    with answered(slurm, tmp_path, "squeue", "--all", "--start", SLURM_TIME_FORMAT="%s") as path:
        table = ids(path)
    with answered(slurm, tmp_path, "squeue", "--all", "--json") as path:
        assert ids(path) == table
    assert {1, 2, 3} <= table
    present = read_present(slurm.command(*commands.queue(), env=ENVIRONMENT).stdout, "", 0)
    counted = dict(zip(present.job.tolist(), present.tasks.tolist(), strict=True))
    truth = tasks(slurm)
    assert [counted[k] for k in (1, 2, 3)] == [truth[name, "PENDING"] for name in ARRAYS]


def test_a_live_slurm_and_its_futures(slurm: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """All that wait, those beyond the array's limit as well, no more than two of which run."""
    truth = tasks(slurm)
    runs = ask(1_600_000_000).accounting
    assert runs is not None
    assert of(runs) == truth
    assert "array_cut" not in runs.cleaning.counts()
    done = call(capsys, "futures", "--slurm", "--json", "--futures", "10", "--holds", "none")
    told = json.loads(done.out)
    waiting = sum(count for (_, state), count in truth.items() if state == "PENDING")
    assert (told["waiting_jobs"], told["waiting_jobs_at_least"]) == (waiting - 1, False)
    limited = [job for job in told["jobs"] if str(job["job"]).startswith("1_")]
    assert len(limited) == truth["limited", "PENDING"]
    soon = sorted(job["start_50"] for job in limited)
    assert soon[20] - soon[0] > 7500  # ten waves of two, of up to 30 minutes each
