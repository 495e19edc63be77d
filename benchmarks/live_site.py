"""A busy cluster as Slurm's own commands tell it: programs in a folder, each prints a file.

The entries are those of real clusters of Slurm 26.05 (`tests/slurm/recorded`) under other
names. What a controller asks is answered in no time, and each question leaves a line; `told` writes
what the cluster is like at a moment. Of the nodes each answers again (load, free memory) about
every 100 s, as `SlurmdTimeout` has it; priorities of jobs that wait change every 5 minutes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from benchmarks.common import ROOT
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode

RECORDED: Final = ROOT / "tests/slurm/recorded/26.05"
PINGED: Final = 100
"""s between two answers of a node's daemon."""
RANKED: Final = 300
"""s between two reckonings of all priorities."""
QUESTIONS: Final = ("sinfo", "squeue", "scontrol", "sacct")
_PROGRAM: Final = """#!/bin/sh
echo "$*" >> {folder}/asked.{name}
case "$*" in
*--version*) echo "slurm 26.05.5" ;;
*reservation*) echo "No reservations in the system" ;;
*partition*) printf 'PartitionName=main Default=YES\nPartitionName=gpu Default=NO\n' ;;
*"--json show node"*) cat {folder}/nodes.json ;;
*--json*) cat {folder}/jobs.json ;;
esac
"""


class AnsweredSite:
    """Programs that answer as Slurm's do, in a folder.

    folder : in memory (`/dev/shm`), as Slurm's answers come from memory
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in QUESTIONS:
            path = self.programs / name
            path.write_text(_PROGRAM.format(folder=folder, name=name))
            os.chmod(path, 0o755)
        self._nodes, self._node_ends = _templates("scontrol.node.json", "nodes")
        self._jobs, self._job_ends = _templates("squeue.json", "jobs")
        self._known: dict[Any, bytes] = {}

    def asked(self, name: str) -> int:
        """Return how often a program was asked."""
        path = self.folder / f"asked.{name}"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def told(self, nodes: Iterable[ClusterNode], jobs: Iterable[ClusterJob], now: int) -> None:
        """Write what the cluster is like now."""
        known, self._known = self._known, {}
        found = []
        for k, node in enumerate(nodes):
            answered = (now + k * PINGED // 97) // PINGED
            key = (node, answered)
            found.append(self._keep(key, known.get(key) or self._node(k, node, answered)))
        self._write("nodes.json", self._node_ends, found, now)
        found = []
        for job in jobs:
            ranked = now // RANKED if job.waits else 0
            found.append(
                self._keep((job, ranked), known.get((job, ranked)) or self._job(job, ranked))
            )
        self._write("jobs.json", self._job_ends, found, now)

    def _keep(self, key: Any, entry: bytes) -> bytes:
        self._known[key] = entry
        return entry

    def _write(self, name: str, ends: tuple[bytes, bytes], found: list[bytes], now: int) -> None:
        first, last = ends
        path, new = self.folder / name, self.folder / f"{name}.new"
        last = last.replace(b'"@now@"', str(now).encode())
        new.write_bytes(first + b",\n".join(found) + last)
        new.rename(path)

    def _node(self, k: int, node: ClusterNode, answered: int) -> bytes:
        chance = (hash((k, answered)) & 0xFFFF) + 1
        entry = self._nodes[k % len(self._nodes)] | {
            "name": node.name, "state": [node.state, *node.flags], "reason": node.reason,
            "partitions": list(node.partitions), "features": list(node.features),
            "active_features": list(node.features), "cpu_load": chance,
        }  # fmt: skip
        entry["free_mem"] = {"set": True, "infinite": False, "number": chance}
        return _text(entry)

    def _job(self, job: ClusterJob, ranked: int) -> bytes:
        entry = self._jobs[job.id % len(self._jobs)] | {
            "job_id": job.id, "job_state": [job.state, *job.flags], "user_name": job.user,
            "name": job.name, "partition": job.partition, "state_reason": job.reason,
            "submit_time": _number(job.submit), "eligible_time": _number(job.eligible),
            "start_time": _number(job.start), "end_time": _number(job.end),
            "time_limit": _number((job.limit or 0) // 60), "node_count": _number(job.node_count),
            "nodes": ",".join(job.nodes), "excluded_nodes": "", "comment": "", "hold": False,
            "admin_comment": "", "array_job_id": _number(0), "features": "", "resv_name": "",
            "priority": _number(1000 + (job.id * 7 + ranked) % 5000), "restart_cnt": 0,
        }  # fmt: skip
        return _text(entry)


def _number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _text(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, indent=2).encode()


def _templates(name: str, entries: str) -> tuple[list[dict[str, Any]], tuple[bytes, bytes]]:
    """Return entries of a recorded answer, and what stands before and after them."""
    whole = json.loads((RECORDED / name).read_bytes())
    found = list(islice(cycle(whole[entries]), len(whole[entries])))
    whole[entries] = ["@entries@"]
    whole["last_update"] = {"set": True, "infinite": False, "number": "@now@"}
    first, last = json.dumps(whole, indent=2).encode().split(b'"@entries@"')
    return found, (first, last)
