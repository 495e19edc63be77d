"""A program in a real Slurm job: saved by the signal before the time limit, requeued, gone on
with."""

from __future__ import annotations

import os
import shlex
import sys
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
export PYTHONPATH={path}
cd {folder}
exec {python} -m forestall run --name count --signal USR2 --files state --store a --store b \
--data 1 --parity 1 --folder runs --checkpoint-every none -- {python} count.py
"""


def test_a_job_is_saved_requeued_and_goes_on() -> None:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=1, with_gpus=1) as slurm:
        folder = slurm.folder / "jobs"
        (folder / "count.py").write_text(COUNT)
        script = folder / "job.sh"
        path = os.environ.get("PYTHONPATH") or str(Path(sys.modules["forestall"].__path__[0]).parent)  # fmt: skip
        script.write_text(SCRIPT.format(
            path=shlex.quote(path), folder=folder, python=sys.executable))  # fmt: skip
        done = slurm.command("sbatch", "--parsable", "-o", str(folder / "out"), str(script))
        job = int(done.stdout)
        out = folder / "out"
        slurm.until("it runs", lambda: out.exists() and "its beginning" in out.read_text())
        # as Slurm does 120 s before the time limit
        slurm.command("scancel", "--batch", "--signal=USR1", str(job))
        slurm.wait(job, {"PENDING", "COMPLETED", "FAILED"})
        assert "saved: the same command goes on with it" in out.read_text()
        slurm.until("it waits to begin again", lambda: not slurm.command(
            "scontrol", "update", f"JobId={job}", "StartTime=now", check=False).returncode)  # fmt: skip
        slurm.wait(job, {"COMPLETED", "FAILED"})
        assert slurm.state(job) == "COMPLETED", out.read_text()
        assert "went on from checkpoint" in out.read_text()
        assert "in start 1" in out.read_text()
