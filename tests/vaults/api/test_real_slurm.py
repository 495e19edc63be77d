"""A program in a real Slurm job: saved by the signal before the time limit, requeued, gone on
with."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from slurm_cluster.cluster import Cluster, why_not

pytestmark = pytest.mark.slow

COUNT = """\
import os, signal, sys, time
asked = []
signal.signal(signal.SIGUSR2, lambda *_: asked.append(1))
done = int(open("state").read()) if os.path.exists("state") else 0
while not (done >= 20 and "FORESTALL_CHECKPOINT" in os.environ):
    done += 1
    time.sleep(0.05)
    if asked:
        asked.clear()
        with open("new", "w") as file:
            file.write(str(done))
        os.replace("new", "state")
print("counted to", done, "in start", os.environ["SLURM_RESTART_COUNT"])
"""
SCRIPT = """\
#!/bin/sh
#SBATCH --signal=B:USR1@120 --requeue --open-mode=append --time=10
export PYTHONPATH={path} XDG_STATE_HOME={folder}/home
cd {folder}
exec {python} -m forestall run --name count --signal USR2 --files state --store a --store b \
--init --data 1 --parity 1 --folder runs --checkpoint-every none -- {python} count.py
"""


def test_a_job_is_saved_requeued_and_goes_on() -> None:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=1, with_gpus=1) as slurm:
        folder = slurm.folder / "jobs"
        (folder / "count.py").write_text(COUNT)
        script = folder / "job.sh"
        path = str(Path(sys.modules["forestall"].__path__[0]).parent)
        script.write_text(SCRIPT.format(
            path=shlex.quote(path), folder=folder, python=sys.executable))  # fmt: skip
        done = slurm.command("sbatch", "--parsable", "-o", str(folder / "out"), str(script))
        job = int(done.stdout)
        out = folder / "out"
        slurm.until("it runs", lambda: out.exists() and "its beginning" in out.read_text())
        # as Slurm does 120 s before the time limit
        slurm.command("scancel", "--batch", "--signal=USR1", str(job))
        slurm.wait(job, {"PENDING", "COMPLETED", "FAILED"})
        assert "saved: the same command continues it" in out.read_text()
        now = ("scontrol", "update", f"JobId={job}", "StartTime=now")
        time.sleep(3)  # a node refuses a run that begins in the second in which it ended the last

        def goes_on() -> bool:
            slurm.command(*now, check=False)  # again, once its first run is over
            return "continued from" in out.read_text()

        slurm.until("it goes on", goes_on, 60)
        slurm.wait(job, {"COMPLETED", "FAILED"})
        assert slurm.state(job) == "COMPLETED", out.read_text()
        assert "in start 1" in out.read_text()
