"""What a script's lines ask for, by us and by the `sbatch` of a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forestall.core.model.errors import InputError
from forestall.live.slurm.scripts import check_script
from live.slurm.test_scripts import LINES
from slurm_cluster.cluster import Cluster, why_not

pytestmark = pytest.mark.slow
QUOTED = {"nodes": 1, "time": 600, "partition": "", "features": ""}
CHANGED = ("ArrayTaskId=", "Reason=JobHeldUser", "Reason=BeginTime", "HetJobId=")
"""What `scontrol` shows of a job that no promise stands for."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=2) as running:
        yield running


@pytest.mark.parametrize("lines", [line for line, _ in LINES if "nodes" not in line])
def test_sbatch_makes_no_other_job_than_we_read(slurm: Cluster, lines: str) -> None:
    text = f"#!/bin/sh\n{lines}\ntrue\n"
    script = slurm.folder / "jobs" / "lines.sh"
    script.write_text(text)
    done = slurm.command("sbatch", "--parsable", "-o", "/dev/null", str(script), check=False)
    shown = ""
    if done.returncode == 0:
        shown = slurm.command("scontrol", "show", "job", done.stdout.strip()).stdout
        slurm.command("scancel", done.stdout.strip())
    try:
        check_script(text, QUOTED)
    except InputError:
        return
    assert done.returncode == 0, done.stderr
    assert not any(mark in shown for mark in CHANGED), shown
