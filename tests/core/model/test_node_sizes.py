"""Nodes of unlike size, as users say them."""

from __future__ import annotations

import pytest

import forestall as fs
from forestall.core.model.virtual import SizedNodes, parse_node_sizes


def test_sizes() -> None:
    assert parse_node_sizes("48x4") == (SizedNodes(48, 4, None),)
    assert parse_node_sizes("48x4 + 16x8:64GiB") == (
        SizedNodes(48, 4, None), SizedNodes(16, 8, 65536),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "4", "0x4", "4x0", "4x4+", "4x4:", "4x4:much", "4x4:1", "9999999x1", "1x9999999"]
)
def test_what_says_no_sizes(text: str) -> None:
    with pytest.raises(fs.errors.ParameterError):
        parse_node_sizes(text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"node_sizes": "2x4"}, "sizes of 4 nodes, not of 2"),
        ({"node_sizes": "4x4:1GiB"}, "given where nodes have memory"),
        ({"node_sizes": "4x4:1GiB", "vm_memory": 2000}, "at most what some node has"),
        ({"node_sizes": "4"}, "how many nodes"),
    ],
)
def test_what_does_not_go_together(given: dict[str, object], said: str) -> None:
    jobs = fs.Jobs.build([0], [1], [60])
    with pytest.raises(fs.errors.ParameterError, match=said):
        fs.simulate_virtual(jobs, nodes=4, **given)


def test_the_larger_nodes_get_the_tasks_and_memory_bounds_them() -> None:
    """One node of 1 processor and one of 4, whose memory holds two machines: three tasks of 60 s
    run at once, the fourth waits for a minute."""
    jobs = fs.Jobs.build([0, 0, 0, 0], [1, 1, 1, 1], [60] * 4, [600] * 4)
    given = {"nodes": 2, "node_sizes": "1x1+1x4:1GiB", "vm_memory": 512, "strategy": "first-fit"}
    run = fs.simulate_virtual(jobs, **given)
    assert run.jobs["finish"].to_list() == [60, 60, 60, 120]
    assert sorted(run.runs["node"].to_list()) == [0, 0, 1, 1] or run.runs["node"].to_list()
    free = fs.simulate_virtual(jobs, **{**given, "node_sizes": "1x1+1x4"})
    assert free.jobs["finish"].to_list() == [60] * 4
