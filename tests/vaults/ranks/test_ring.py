"""The ring with members that do as they are told: what a save may write into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from forestall.vaults.ranks.members import Alone, Links, Members, RankLostError
from forestall.vaults.ranks.ring import Ring, StepStore
from forestall.vaults.ranks.states import Buffer, packed


class Single(Members):
    """One process; its messages fail where that is wanted."""

    def __init__(self) -> None:
        self.rank, self.size, self.links = 0, 1, Alone()
        self.fails = False

    def swap(self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]) -> None:
        if self.fails:
            raise RankLostError("a rank was lost")

    pass_on = swap

    def agree(self, well: bool) -> bool:
        return well

    finish = agree_all = agree

    def regroup(self) -> None:
        self.fails = False

    def gather(self, told: Any) -> list[Any]:
        return [told]

    @property
    def place(self) -> int:
        return 0

    def settle(self, ranks: Sequence[int | None]) -> None:
        pass

    def leave(self) -> None:
        raise AssertionError

    def wait(self) -> bool:
        raise AssertionError

    def release(self) -> None:
        pass

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, RankLostError)

    @property
    def comm(self) -> Any:
        return None


class OneStep(StepStore):
    """A vault that has step 7, in memory that cannot be written to."""

    def __init__(self) -> None:
        self.saved: list[int] = []

    def save(self, links: Links, step: int, data: Buffer) -> None:
        self.saved.append(step)

    def newest(self) -> tuple[str, int, int]:
        return "made", 7, 1

    def read(self, name: str, part: int) -> Buffer:
        return np.frombuffer(packed(np.full(5, 7.0)).tobytes(), np.uint8)


def test_saves_after_a_recovery_from_the_vault() -> None:
    store = OneStep()
    ring = Ring(Single(), store, every=1)
    found = ring.restore()
    assert (found.step, found.source) == (7, "vault")
    for step in (8, 9, 10):
        ring.save(np.full(5, float(step)), step)
    assert store.saved == [8, 9, 10]
    found = ring.restore()
    assert (found.step, found.source) == (10, "ring")
    assert np.array_equal(found.state, np.full(5, 10.0))


@pytest.mark.parametrize("restores", [1, 2, 3])
def test_a_save_after_a_recovery_leaves_the_last_step_alone(restores: int) -> None:
    members = Single()
    ring = Ring(members)
    ring.save(np.full(5, 1.0), 1)
    ring.save(np.full(5, 2.0), 2)
    for _ in range(restores):
        assert ring.restore().step == 2
    last = ring._last
    assert last is not None
    members.fails = True
    with pytest.raises(RankLostError):
        ring.save(np.full(5, 3.0), 3)
    assert last.data[0].tobytes() == packed(np.full(5, 2.0)).tobytes()
    assert last.held().held == {0}


def test_work_that_meets_a_loss_goes_on_from_the_last_step() -> None:
    members, steps = Single(), []

    def work(ring: Ring, found: Any) -> str:
        steps.append(found.step)
        if found.step is None:
            ring.save(np.zeros(2), 1)
            raise RankLostError("a rank was lost")
        return "made"

    assert Ring(members).run(work) == "made"
    assert steps == [None, 1]
