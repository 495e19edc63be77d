"""Output of commands on several clusters: one is read, and its lines keep their numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.slurm.clusters import of_cluster
from forestall.slurm.nodes import read_nodes
from forestall.slurm.queue import read_starts
from forestall.slurm.read import kind_of, read_files

NODES = "NodeName=n1 CPUTot=8 RealMemory=100 State=IDLE Partitions=p\n"
OTHER = "NodeName=m1 CPUTot=4 RealMemory=50 State=IDLE Partitions=p\n"
BEGAN = 1_700_000_000
TABLE = "NODELIST|PARTITION|STATE|CPUS|MEMORY|GRES|REASON\n"


def test_one_cluster_is_read(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text(f"CLUSTER: a\n{NODES}\nCLUSTER: b\n{OTHER}")
    assert kind_of(file) == "nodes"
    assert read_nodes([file], cluster="a").names == ("n1",)
    assert read_nodes([file], cluster="b").names == ("m1",)
    with pytest.raises(ParameterError, match=r"one of a \(1 line\), b \(1 line\)"):
        read_nodes([file])
    with pytest.raises(ParameterError, match="one of a"):
        read_files([file], cluster="c")
    file.write_text(f"CLUSTER: a\n{NODES}CLUSTER: b\n")  # b has none
    assert read_nodes([file]).names == ("n1",)


def test_lines_keep_their_numbers() -> None:
    text = "CLUSTER: a\nfirst\nCLUSTER: b\nsecond\nCLUSTER: a\nthird"
    for cluster, there in (("a", {2: "first", 6: "third"}), ("b", {4: "second"})):
        lines = of_cluster(text, cluster).split("\n")
        assert {k: line for k, line in enumerate(lines, 1) if line} == there
    assert of_cluster("CLUSTERS: a\nx", None) == "CLUSTERS: a\nx"


def test_a_table_of_several(tmp_path: Path) -> None:
    file = tmp_path / "sinfo.txt"
    one = TABLE + "n1|p*|idle|8|100|(null)|none\n"
    file.write_text(f"CLUSTER: a\n{one}CLUSTER: b\n{one.replace('n1', 'm1')}")
    assert kind_of(file) == "nodes"
    assert read_nodes([file], cluster="b").names == ("m1",)


def job(number: int, cluster: str | None) -> dict[str, object]:
    return {"job_id": number, "job_state": ["PENDING"], "cluster": cluster, "submit_time": BEGAN,
            "start_time": BEGAN + 100 + number}  # fmt: skip


def test_jobs_that_wait(tmp_path: Path) -> None:
    file = tmp_path / "squeue.json"
    jobs = [job(1, "a"), job(2, "b"), job(3, None)]
    file.write_text(json.dumps({"last_update": BEGAN, "jobs": jobs}))
    assert read_starts([file], cluster="b").job.tolist() == [2, 3]
    with pytest.raises(ParameterError, match=r"a \(1 job\), b \(1 job\)"):
        read_starts([file])
    file.write_text(json.dumps({"last_update": BEGAN, "jobs": jobs[::2]}))
    assert read_starts([file]).job.tolist() == [1, 3]
    file.write_text("{")
    with pytest.raises(TraceError):
        read_starts([file], cluster="a")
