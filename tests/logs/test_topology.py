"""Slurm's topology.conf and topology.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.topology import Topology
from forestall.logs.topology import read_topology

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
    with pytest.raises(TraceError, match="is a folder"):
        read_topology(tmp_path)
    (tmp_path / "topology.conf").write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match=r"has no line SwitchName"):
        read_topology(tmp_path / "topology.conf")
    with pytest.raises(ParameterError, match="a text or the name of a file"):
        read_topology(3)  # type: ignore[arg-type]


SEVERAL = """\
---
# a fabric, racks of GPUs, and the rest
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[1-2]
      - switch: s2
        nodes: n[3-4]
- topology: racks
  cluster_default: false
  block:
    block_sizes:
      - 4
      - 16
    blocks:
      - block: b1
        nodes: n[5-6]
      - block: 2
        nodes: n7,n10
- topology: login
  flat: true
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "s1=0-1 s2=2-3; root=0-3"),
        (":fabric", "s1=0-1 s2=2-3; root=0-3"),
        (":racks", "b1=4-5 2=6-7"),  # numbered over the whole file
        (":login", "contiguous"),
    ],
)
def test_several_topologies_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(SEVERAL)
    assert read_topology(f"{path}{name}").text == text


ONE = "- topology: t\n"
SWITCH = f"{ONE}  tree:\n    switches:\n"


@pytest.mark.parametrize(
    ("yaml", "text"),
    [
        (f"{ONE}  flat: true\n", "contiguous"),
        (f"{ONE}  flat:\n    alpha_step_rank: true\n", "contiguous"),  # 26.05
        (f"{SWITCH}      - switch: a\n        nodes: n[1-3]\n", "a=0-2"),
        ('[{"topology": "t", "block": {"blocks": [{"block": "b", "nodes": "n1"}]}}]', "b=0"),
        (SEVERAL.replace("true", "yes", 1), "s1=0-1 s2=2-3; root=0-3"),
    ],
)
def test_topologies_in_yaml(tmp_path: Path, yaml: str, text: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(yaml)
    assert read_topology(path).text == text


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(12)
)


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("", "it is not a list of named values"),
        ("[]", "has no topologies"),
        ("- 1", "it is not a list of named values"),
        ("- topology: [", "topology.yaml:2: not YAML "),
        ("- topology: a\n\tflat: true", "topology.yaml:2: not YAML "),
        (BOMB, "it is not a list of named values"),
        ("- flat: true", "topology 1 has 'flat'; expected topology .its name."),
        (f"{ONE}  flat: false", "topology 1 has 'topology', 'flat'; expected"),
        (f"{ONE}  torus3d: 1", "expected topology .* and one of tree, block, flat"),
        (f"{ONE}  flat: true\n  tree: 1", "topology 1 has 'topology', 'flat', 'tree'; expected"),
        (f"{ONE}  tree: 1", "topology t: tree has no switches"),
        (f"{SWITCH}      - nodes: n1", "topology t, switch 1: has no name"),
        (f"{SWITCH}      - switch: a\n        nodes: [n1]", "switch 1: nodes is not a text"),
        (f"{SWITCH}      - switch: a\n        nodes: n[1", "switch 1: .*a list of hosts"),
        (f"{SWITCH}      - switch: a\n        children: b", "switch 1: switch b is not there"),
        (f"{SWITCH}      - switch: a\n      - switch: a", "switch 2: switch a appears twice"),
        (f"{ONE}  flat: true\n{ONE}  flat: true", "topology t appears twice"),
        (
            SEVERAL.replace("true", "false", 1),
            "several topologies .fabric, racks, login., and none",
        ),
    ],
)
def test_yaml_that_cannot_be_used(tmp_path: Path, yaml: str, told: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(yaml)
    with pytest.raises(TraceError, match=told) as caught:
        read_topology(path)
    assert len(str(caught.value)) < 400


def test_a_name_that_no_topology_has(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(SEVERAL)
    with pytest.raises(ParameterError, match=r"'rack' is not allowed; .* fabric, racks, login"):
        read_topology(f"{path}:rack")
    written(tmp_path, TREE)
    with pytest.raises(ParameterError, match=r"only of topology\.yaml"):
        read_topology(str(tmp_path / "topology.conf:top"))
