"""A real process with a real ledger, killed with SIGKILL at random moments, again and again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from forestall.live.ledger.check import check
from forestall.live.ledger.rows import CycleRow, OutcomeRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.recorded import Recorded
from forestall.live.replays.same import play_again
from live.slurm.remote import RemoteController
from live.slurm.scenarios import Scenario

LONGEST = 1.1
"""Of the usual time of a call, at which it is killed at the latest."""


class RemoteScenario(Scenario):
    """A scenario whose controller is a process of its own; its world and rules are here."""

    def __init__(self, seed: int, url: str, share: float) -> None:
        self._url, self._share = url, share
        self._moments, self._usual = random.Random(f"{seed} moments"), dict[str, float]()
        LiveLedger(url).close()
        with LiveLedger(url, writes=False) as ledger:
            super().__init__(seed, calm=seed % 5 == 0, nodes=6, asks=0.5, ledger=ledger)

    def _born(self) -> Any:
        return RemoteController(
            self.cluster, lambda: self.cluster.clock, self._url, self.forecasts, self._moment,
            self._usual,
        )  # fmt: skip

    def _moment(self) -> float | None:
        """Draw when a call is killed, if it is."""
        killed = self._moments.random() < self._share
        return self._moments.random() * LONGEST if killed else None

    def settle(self) -> None:
        self._share = 0.0
        super().settle()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments(seed: int, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    one = RemoteScenario(seed, url, 0.4)
    try:
        with one.told():
            for _ in range(20):
                one.step()
            one.settle()
            one.stale()
        assert one.deaths >= 1
        assert one.accepted
        assert check(one.ledger).wrong == ()
        assert one.ledger.count(OutcomeRow) == len(one.accepted)
        again = play_again(Recorded(one.ledger))
        assert again.first is None
        assert again.cycles == one.ledger.count(CycleRow)
    finally:
        one.controller.kill()
        one.ledger.close()
