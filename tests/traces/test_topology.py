"""Slurm's topology.conf."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.model.cluster.topology import Topology
from forestall.model.errors import ParameterError, TraceError
from forestall.traces.topology import read_topology

TREE = """\
# two racks and a spine
SwitchName=top Switches=s[0-1] LinkSpeed=100
switchname=s0 Nodes=n[1-2],n10   # n10 is far off
SwitchName=s1 \\
  nodes=n[3-9]
"""
BLOCKS = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\nBlockSizes=4,8\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "topology.conf"
    path.write_text(text)
    return path


def test_switches_of_switches(tmp_path: Path) -> None:
    found = read_topology(written(tmp_path, TREE))
    assert found.text == "s0=0-1,9 s1=2-8; top=0-9"
    assert read_topology(str(tmp_path / "topology.conf")) == found
    assert read_topology(found.text) == read_topology(found) == found


def test_blocks(tmp_path: Path) -> None:
    assert read_topology(written(tmp_path, BLOCKS)).text == "b1=0-3 b2=4-7"


def test_a_switch_above_one_that_has_nodes_too(tmp_path: Path) -> None:
    text = "SwitchName=a Nodes=n1\nSwitchName=b Switches=a Nodes=n2\nSwitchName=c Switches=b"
    assert read_topology(written(tmp_path, text)).text == "a=0; b=0-1; c=0-1"


def test_words(tmp_path: Path) -> None:
    assert read_topology("contiguous") == Topology()
    assert read_topology("16") == Topology(every=16)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no line SwitchName="),
        ("# nothing", "has no line SwitchName="),
        ("Nodes=n1", "line 1: 'Nodes=n1'; expected SwitchName="),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "line 2: switch a appears twice"),
        ("SwitchName=a Switches=b", "line 1: switch b is not there"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "line 2: switch a is above itself"),
        ("SwitchName=a Nodes=n[1", "line 1: .*a list of hosts"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "cannot be used: .*each node once"),
        ("SwitchName=a LinkSpeed=3", "has no nodes at its switches"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(TraceError, match=told):
        read_topology(written(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"'contiguos' .* a file that is there, or contiguous"):
        read_topology("contiguos")
    with pytest.raises(TraceError, match="cannot be read"):
        read_topology(tmp_path)
    (tmp_path / "topology.conf").write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match="not text"):
        read_topology(tmp_path / "topology.conf")
    with pytest.raises(ParameterError, match="a text or the name of a file"):
        read_topology(3)  # type: ignore[arg-type]
