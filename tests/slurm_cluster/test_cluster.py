"""The cluster for tests itself: it runs jobs, loses nodes, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slurm_cluster.cluster import Cluster, processes_of, why_not

pytestmark = pytest.mark.slow

_HOLD = """\
import sys, time
from slurm_cluster.cluster import Cluster
with Cluster(plain=1, with_gpus=1) as slurm:
    slurm.wait(slurm.submit("-N1"), "RUNNING")
    print(slurm.folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := why_not():
        pytest.skip(reason)


def gone(folder: Path) -> bool:
    """Return whether all processes of a cluster end within a few seconds."""
    for _ in range(50):
        if not processes_of(folder):
            return True
        time.sleep(0.1)
    return False


def test_jobs_run_and_all_is_gone_afterwards() -> None:
    with Cluster(plain=1, with_gpus=1) as slurm:
        folder = slurm.folder
        assert slurm.node_states() == {"n1": "idle", "n2": "idle"}
        job = slurm.submit("-p", "gpu", "--gres=gpu:3", run="exit 3")
        assert slurm.wait(job, {"COMPLETED", "FAILED"}) == "FAILED"
        slurm.until("it is in the books", lambda: slurm.recorded(job) == ["FAILED"])
        assert "gres/gpu=3" in slurm.recorded(job, "AllocTRES")[0]
        assert processes_of(folder)
    assert gone(folder)
    assert not folder.exists()


def test_a_failing_test_leaves_nothing_behind() -> None:
    slurm = Cluster(plain=1, with_gpus=1)
    with pytest.raises(TimeoutError, match="job 1 is COMPLETED"), slurm:
        slurm.wait(slurm.submit(), "COMPLETED", timeout=2)
    assert gone(slurm.folder)


def test_a_killed_test_run_leaves_nothing_running() -> None:
    here = Path(__file__).parents[1]
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        env=os.environ | {"PYTHONPATH": str(here)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    assert len(processes_of(folder)) > 6
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert gone(folder)
    Cluster.sweep(folder)
    assert not folder.exists()
