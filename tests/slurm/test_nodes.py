"""Nodes as scontrol and sinfo describe them, in every form that was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import TraceError
from forestall.core.model.job_records import NEVER
from forestall.slurm.nodes import gpus_of, hardware_of, number, read_nodes

RECORDED = Path(__file__).parent / "recorded"
NAMES = ("n1", "n2", "n3", "n4", "n5", "n6")


@pytest.mark.parametrize(
    "file",
    [
        *(f"{v}/scontrol.node.{end}" for v in ("20.11", "22.05", "24.11", "26.05")
          for end in ("txt", "epoch.txt", "oneline.txt")),
        "24.11/scontrol.node.json", "26.05/scontrol.node.json", "22.05/sinfo.json",
        "24.11/sinfo.json", "26.05/sinfo.json",
    ],
)  # fmt: skip
def test_recorded_nodes(file: str) -> None:
    nodes = read_nodes([RECORDED / file], zone="Europe/Berlin")
    assert nodes.names == NAMES
    assert nodes.cpus.tolist() == [4] * 6
    assert nodes.gpus.tolist() == [0, 0, 0, 0, 4, 4]
    assert nodes.memory_mb.tolist() == [1000] * 6
    assert [set(some) for some in nodes.partitions] == [{"main", "spare"}] * 4 + [{"gpu"}] * 2
    assert nodes.hardware[0] == "4 CPUs, 0.98 GB"
    assert nodes.hardware[5] == "4 x GPU, 4 CPUs, 0.98 GB"
    assert "DOWN" in nodes.state[5]
    assert nodes.reason[5].startswith("Not responding")
    assert "Comment" not in nodes.reason[5]
    assert nodes.reason[0] == ""
    if "sinfo" not in file or "22.05" in file:
        assert nodes.boot.tolist() == [1795258459] * 6


@pytest.mark.parametrize("version", ["20.11", "22.05", "24.11", "26.05"])
def test_recorded_tables_and_partitions(version: str) -> None:
    folder = RECORDED / version
    nodes = read_nodes([folder / "sinfo.N.txt", folder / "scontrol.partition.txt"])
    assert nodes.names == NAMES
    assert nodes.partition_limits == {"main": NEVER, "spare": NEVER, "gpu": NEVER}
    assert nodes.partitions[4] == ("gpu",)
    assert nodes.cpus.tolist() == [4] * 6


def written(folder: Path, text: str) -> Path:
    path = folder / "nodes.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_reasons_with_spaces_and_equals_signs(tmp_path: Path) -> None:
    text = (
        "NodeName=a1 CPUTot=64 RealMemory=515000 Gres=gpu:a100:4(S:0-1),nvme:1 "
        "ActiveFeatures=icelake,ib State=IDLE+DRAIN Partitions=p1,p2 BootTime=1700000000 "
        "Reason=load=99, ask ann State=odd [ann@1700000000] Comment=x Reason\n"
        "NodeName=b[1-2] CPUTot=2 RealMemory=2000 Gres=(null) CfgTRES=cpu=2,gres/gpu:v100=2 "
        "State=IDLE Partitions=(null)\n"
    )
    nodes = read_nodes([written(tmp_path, text)], seen=7)
    assert nodes.names == ("a1", "b1", "b2")
    assert nodes.reason[0] == "load=99, ask ann State=odd [ann@1700000000]"
    assert nodes.state[0] == "IDLE+DRAIN"
    assert nodes.hardware == (
        "4 x a100, 64 CPUs, 500 GB, ib+icelake", "2 x v100, 2 CPUs, 2 GB", "2 x v100, 2 CPUs, 2 GB",
    )  # fmt: skip
    assert nodes.partitions == (("p1", "p2"), (), ())
    assert nodes.boot.tolist() == [1_700_000_000, -1, -1]
    assert nodes.seen == 7


def test_limits_of_partitions(tmp_path: Path) -> None:
    text = (
        "PartitionName=a MaxTime=2-00:00:00 Nodes=n[1-2]\nPartitionName=b MaxTime=30 Nodes=(null)\n"
        "PartitionName=c MaxTime=UNLIMITED Nodes=n1\nPartitionName=d MaxTime=soon Nodes=n1\n"
    )
    nodes = read_nodes([written(tmp_path, text)])
    assert nodes.partition_limits == {"a": 172_800, "b": 1800, "c": NEVER}
    assert nodes.cleaning.counts() == {"bad_node": 1}


def test_a_table_of_sinfo_with_bars(tmp_path: Path) -> None:
    text = "NODELIST|PARTITION|STATE|CPUS|MEMORY|GRES|REASON\nn1|a*|idle|8|4096+|(null)|none\n"
    text += "n1|b|idle|8|4096+|(null)|none\nn2|a*|drain|8|4096|gpu:1|bad | fan\nbroken\n"
    nodes = read_nodes([written(tmp_path, text)])
    assert nodes.partitions == (("a", "b"), ("a",))
    assert nodes.memory_mb.tolist() == [4096, 4096]
    assert nodes.reason == ("", "bad | fan")
    assert nodes.cleaning.counts() == {"bad_node": 1}


def test_files_that_are_none(tmp_path: Path) -> None:
    cases = {"": "is empty", "hello": "with 'hello'", "{": "not JSON", '{"a": 1}': "without nodes"}
    for text, said in cases.items():
        with pytest.raises(TraceError, match=said):
            read_nodes([written(tmp_path, text)])


def test_broken_objects_are_named(tmp_path: Path) -> None:
    nodes = read_nodes([written(tmp_path, '{"nodes": [{"name": "n1"}, 7, {"name": ""}]}')])
    assert nodes.names == ("n1",)
    assert nodes.cleaning.counts() == {"bad_node": 2}
    assert nodes.cpus.tolist() == [-1]


def test_gpus() -> None:
    assert gpus_of("gpu:a100:4(S:0-1),gpu:v100:2") == (6, "a100+v100")
    assert gpus_of("gpu:3") == (3, "")
    assert gpus_of("gpu") == (1, "")
    assert gpus_of("mps:100,nvme:2") == (0, "")
    assert hardware_of(-1, -1, "", "") == ""
    assert hardware_of(1, 2_000_000, "", "") == "1 CPU, 2,000 GB"
    # 256,000 MB were once shown as 2.500 GB.
    for megabytes, said in ((256_000, "250"), (515_000, "500"), (10_240, "10"), (1_500, "1.5")):
        assert hardware_of(2, megabytes, "", "") == f"2 CPUs, {said} GB"


def test_numbers_of_json() -> None:
    assert number({"set": True, "infinite": False, "number": 7}) == 7
    assert number({"set": False, "infinite": False, "number": 7}) is None
    assert number({"set": True, "infinite": True, "number": 0}) is None
    assert [number(value) for value in (3, 2.0, True, "x", None)] == [3, 2, None, None, None]


SINFO = "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK REASON\n"
WHOLE = "n1             1     main*     planned 64      8:8:1   257000        0 none\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1     main*", "1main*"), ("main*     planned", "main*planned"),
        ("planned 64", "planned64"), ("64      8", "648"), ("8:8:1   257000", "8:8:1257000"),
        ("64      8:8:1   257000  ", "648:8:1257000"), ("257000        0", "2570000"),
        ("planned", "planned idle"), ("main*", "a b c"), (" 64 ", " 640000 "), (" 1 ", " 2 "),
    ],
)  # fmt: skip
def test_columns_of_sinfo_that_ran_together(tmp_path: Path, old: str, new: str) -> None:
    """The line is left out and named: its numbers would be those of other columns."""
    assert old in WHOLE
    line = WHOLE.replace("n1", "n7").replace(old.replace("n1", "n7"), new.replace("n1", "n7"), 1)
    nodes = read_nodes([written(tmp_path, SINFO + WHOLE + line)])
    if "n7" in nodes.names:  # what ran together is in no column that counts
        at = nodes.names.index("n7")
        assert (nodes.cpus[at], nodes.memory_mb[at]) == (64, 257000)
        assert nodes.partitions[at] == ("main",)
    else:
        assert nodes.cleaning.remarks[0].kind == "bad_node"
        assert "n7" in nodes.cleaning.remarks[0].names[0]
    assert nodes.memory_mb[nodes.names.index("n1")] == 257000
    with pytest.raises(TraceError, match=r"no line whose columns hold .*n7.* expected sinfo -N -o"):
        read_nodes([written(tmp_path, SINFO + line.replace("257000", "257000x"))])
