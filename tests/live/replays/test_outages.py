"""Outages, from what engines were told, over runs of a controller."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.forecasts import outages
from forestall.live.replays.history import NodeHistory
from forestall.live.replays.recorded import Recorded
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.mind import Mind
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.simulation.moves import fresh

T0 = 1_800_000_000


def look(at: int, *down: str) -> ClusterSnapshot:
    nodes = {name: fresh(name, T0) for name in ("n1", "n2")}
    nodes |= {name: nodes[name]._replace(state="DOWN") for name in down}
    return ClusterSnapshot({}, MappingProxyType(nodes), {}, (), at, at, None, at)


@pytest.mark.parametrize("forgets", [False, True])
def test_a_run_that_only_forgot_ends_no_outage(tmp_path: Path, forgets: bool) -> None:
    """One with a new engine does, where that is not told that the node is down."""
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        books, mind = LedgerBooks(ledger), Mind(look(T0), T0, 0.5)
        books.begin(mind, {}, T0)
        for k, down in enumerate((("n1",), (), ("n2",), ("n2",), ())):
            now = T0 + 30 * k
            if k == 3:
                if forgets:
                    mind.forget_ended()
                else:
                    mind = Mind(look(now), now, 0.5)
                books.begin(mind, {}, now)
            seen = look(now, *down)
            books.cycle_done(seen, mind.tell(seen, now, (), {}), {}, (), now)
        recorded = Recorded(ledger)
        assert outages(recorded) == [("n1", T0, T0 + 30), ("n2", T0 + 60, T0 + 120)]
        history = NodeHistory(recorded)
        away = []
        for row in recorded.cycles():
            history.take(row)
            away.append(sorted(history.away))
        assert away == [["n1"], [], ["n2"], ["n2"], []]
