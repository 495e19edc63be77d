"""Lines that are added to a script are read by a real sbatch as they were meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forestall.live.client.script import order_of, read_script
from slurm_cluster.cluster import Cluster, why_not

SCRIPT = """#!/bin/sh
#SBATCH --nodes=2 -t 10
#SBATCH --comment 'a # b'

# a comment
sleep 1
#SBATCH --nodes=6
"""


@pytest.mark.slow
def test_added_lines_win_and_keep_spaces(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    (tmp_path / "job.sh").write_text(SCRIPT)
    with Cluster() as slurm:
        folder = slurm.folder / "a folder #1"
        folder.mkdir()
        words = ("-J", "other name", "--mem=50", "-t", "12")
        read = read_script(tmp_path / "job.sh")
        quoted = {"nodes": 2, "time": 720}
        order = order_of(read, words, folder, consents=("requeue",), quoted=quoted)
        done = subprocess.run(
            ["sbatch", "--parsable", "--hold"], input=order["script"], capture_output=True,
            text=True, check=True, timeout=60, env=slurm.environment,
        )  # fmt: skip
        told = slurm.command("scontrol", "--oneliner", "show", "job", done.stdout.strip()).stdout
    assert f"WorkDir={folder} " in told
    assert "JobName=other name " in told
    assert "NumNodes=2" in told
    assert "TimeLimit=00:12:00" in told
    assert "MinMemoryNode=50M" in told
    assert "Comment=a # b" in told
    assert order["words"] == "a # b"
