"""GPUs that a job asks for, and that a node has."""

from __future__ import annotations

import pytest

from forestall.core.model.errors import InputError
from forestall.live.slurm.gpus import Gpus, gpus_asked, gpus_on


@pytest.mark.parametrize(
    ("asked", "each"),
    [
        ({}, []), ({"gres": "gpu"}, [("", 1)]), ({"gres": "gpu:2"}, [("", 2)]),
        ({"gres": "gres/gpu:a100:4,lustre:1"}, [("a100", 4)]), ({"gres": "gpu=3"}, [("", 3)]),
        ({"gres": "gpus_of_old:3"}, []), ({"gres": "gpu:0"}, []), ({"gres": "none"}, []),
        ({"gpus": "7"}, [("", 2)]), ({"gpus": "a100:4,v100:8"}, [("a100", 1), ("v100", 2)]),
        ({"gpus-per-node": "h100:8"}, [("h100", 8)]),
        ({"gpus-per-task": "1"}, [("", 1)]), ({"gpus-per-task": "1", "ntasks": "9"}, [("", 3)]),
        ({"gpus-per-task": "2", "ntasks-per-node": "4"}, [("", 8)]),
    ],
)  # fmt: skip
def test_what_a_job_on_four_nodes_needs_of_each(
    asked: dict[str, str], each: list[tuple[str, int]]
) -> None:
    assert gpus_asked(asked, 4) == [Gpus(*one) for one in each]


@pytest.mark.parametrize("asked", [{"gres": "gpu:many:few"}, {"gpus": "two"}, {"gpus": "-1"}])
def test_what_is_no_number_of_gpus(asked: dict[str, str]) -> None:
    with pytest.raises(InputError, match="is not a number of GPUs"):
        gpus_asked(asked, 4)


@pytest.mark.parametrize(
    ("gres", "kind", "count"),
    [
        ("gpu:4", "", 4), ("gpu:4", "a100", 0), ("gpu:a100:4(S:0-1)", "a100", 4),
        ("gpu:a100:4(S:0,1),gpu:v100:2(S:1),nic:2", "", 6), ("", "", 0), ("nic:2", "", 0),
    ],
)  # fmt: skip
def test_what_a_node_has(gres: str, kind: str, count: int) -> None:
    assert gpus_on(gres, kind) == count
