"""Ranks killed in collectives: the others meet, have every state, save again, and lose the next."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed: extra `mpi`")

from vaults.adapters.mpi.lost_ranks import CALLS, one_by_one, run
from vaults.adapters.mpi.starting import WHY_NOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]


@pytest.mark.parametrize("part", range(2))
def test_one_rank_in_each_collective(tmp_path: Path, part: int) -> None:
    calls = CALLS[part::2]
    went = run(tmp_path / "run", len(calls) + 2, one_by_one(calls, len(calls) + 2))
    assert not went.wrong
    assert set(went.sources.values()) == {"ring"}


def test_neighbours_at_once_and_ranks_in_the_rings_own_calls(tmp_path: Path) -> None:
    plan = [("Barrier", [0, 1], "before"), ("save", [4], "in"), ("exscan", [6, 7], "in"),
            ("restore", [3, 8], "in"), ("rubbish", [5], "in"),
            ("agree", [2], "before")]  # fmt: skip
    went = run(tmp_path / "run", 10, plan, spares=1)
    assert not went.wrong


def test_a_rank_that_does_not_come_back_counts_as_lost(tmp_path: Path) -> None:
    """It waits for a message over a communicator that is not the ring's."""
    went = run(tmp_path / "run", 5, [("stuck", [1, 3], "before"), ("bcast", [0], "in")], patience=2)
    assert not went.wrong


def test_recovered_from_the_vault_then_saved_and_killed_again(tmp_path: Path) -> None:
    """Three in a row: their states are in the vault only; the next losses find new ones around."""
    plan = [("Barrier", [1, 2, 3], "before"), ("Allreduce", [5], "in"), ("scan", [0], "before")]
    stores = [str(tmp_path / f"store{k}") for k in range(3)]
    went = run(tmp_path / "run", 7, plan, stores=stores)
    assert not went.wrong
    assert went.sources == {"Barrier": "vault", "Allreduce": "ring", "scan": "ring"}
