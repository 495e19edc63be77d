"""A real MPI program of which ranks are killed: it goes on, and comes to the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed: extra `mpi`")

from vaults.adapters.mpi.starting import WHY_NOT, start

PROGRAM = Path(__file__).with_name("heat_program.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]


class Ran:
    """A run of the program: what each process made, and what it said it goes on from."""

    def __init__(self, folder: Path) -> None:
        self.made = {int(one.stem[5:]): np.load(one) for one in folder.glob("made-*.npy")}
        self.unused = {int(one.stem[7:]) for one in folder.glob("unused-*.npy")}
        self.lost = {int(one.name[5:]): one.read_text() for one in folder.glob("lost-*")}
        self.logs = {
            int(one.name[4:]): [json.loads(line) for line in one.read_text().splitlines()]
            for one in folder.glob("log-*")
        }


def run(folder: Path, count: int, **told: Any) -> Ran:
    folder.mkdir(exist_ok=True)
    done = start(PROGRAM, count, {"folder": str(folder), **told})
    ran = Ran(folder)
    assert ran.made or ran.lost, done.stdout + done.stderr
    return ran


def check(ran: Ran, ranks: set[int]) -> None:
    """All that were left made what one process makes that never fails, to the last bit."""
    from vaults.adapters.mpi.heat_program import alone

    assert set(ran.made) == ranks
    for made in ran.made.values():
        assert made.tobytes() == alone().tobytes()


def test_a_spare_takes_the_place_of_a_rank(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 5, spares=1, kills={"7": [2]})
    check(ran, {0, 1, 3, 4})
    assert ran.logs[4] == [[2, 4, 6, "ring", [2]]]
    assert ran.logs[1] == [[1, 4, None, "none", []], [1, 4, 6, "ring", [1]]]


def test_without_spares_a_neighbour_takes_over(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 4, kills={"7": [2]})
    check(ran, {0, 1, 3})
    assert ran.logs[3][-1] == [2, 3, 6, "ring", [2, 3]]


def test_one_after_the_other_until_one_is_left(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 4, kills={"3": [1], "8": [0], "15": [3]})
    check(ran, {2})
    assert [line[1] for line in ran.logs[2]] == [4, 3, 2, 1]


def test_two_neighbours_at_once_and_a_spare_too_few(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 6, spares=1, kills={"5": [1, 2]})
    check(ran, {0, 3, 4, 5})
    assert ran.logs[5] == [[1, 4, 4, "ring", [1, 2]]] or ran.logs[5][0][3] == "ring"


def test_neighbours_that_die_together_are_told(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 5, kills={"5": [1, 2, 3]})
    assert not ran.made
    assert set(ran.lost) == {0, 4}
    assert "2" in ran.lost[0]
    assert "both their neighbors" in ran.lost[0]


def test_the_vault_has_what_neighbours_lost_and_a_whole_program_too(tmp_path: Path) -> None:
    stores = [str(tmp_path / f"store{k}") for k in range(3)]
    ran = run(tmp_path / "run", 5, kills={"8": [1, 2, 3]}, stores=stores, every=3)
    check(ran, {0, 4})
    assert ran.logs[0][1][1:4] == [2, 6, "vault"]
    # Begun anew, with another number of ranks: from the last step there, of a host less.
    for path in (tmp_path / "store1").rglob("*"):
        if path.is_file():
            path.unlink()
    again = run(tmp_path / "again", 3, stores=stores, every=3)
    check(again, {0, 1, 2})
    assert again.logs[0][0][3] == "vault"
    assert again.logs[0][0][2] >= 18


def test_spares_go_where_nothing_is_lost(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", 3, spares=1)
    check(ran, {0, 1})
    assert ran.unused == {2}


def test_a_spare_saves_into_the_vault_when_the_others_do(tmp_path: Path) -> None:
    """Killed at any moment, between saves of which every third goes into the vault."""
    stores = [str(tmp_path / f"store{k}") for k in range(2)]
    ran = run(tmp_path / "run", 5, spares=1, moments={"2": 0.15}, stores=stores, every=3)
    check(ran, {0, 1, 3, 4} if 2 not in ran.made else {0, 1, 2, 3})
