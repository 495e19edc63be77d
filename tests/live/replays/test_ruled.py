"""What other rules on nodes would have drained, of worlds in which nobody was drained and in which
some were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.forecasts import HindsightForecasts, NoForecasts, outages
from forestall.live.replays.history import NodeHistory
from forestall.live.replays.recorded import Recorded
from forestall.live.replays.ruled import RuledAgain, rule_again
from forestall.live.rules.settings import RuleSettings
from forestall.live.rules.worth import NodeStakes
from forestall.slurm.simulation.settings import WorldSettings
from live.rules.world import CYCLE, GUARD, WARDEN, Oracle, Ruled

FAILING = WorldSettings(
    nodes=16, load=0.7, run=3600.0, widest=4, failure=6 * 3600.0, repair=3600.0, flap=0.0
)
OFF = replace(GUARD, warden=replace(WARDEN, switch="off"))
RULES = RuleSettings()


def played(path: Path, settings: RuleSettings, *, off: bool) -> Ruled:
    ledger = LiveLedger(f"sqlite:///{path}")
    one = Ruled(2, FAILING, settings, Oracle, guard=OFF if off else GUARD, ledger=ledger)
    one.play(36_000)
    return one


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Ruled:
    """A world in which failures were foreseen and nothing was done."""
    return played(tmp_path_factory.mktemp("ledger") / "off.db", RULES, off=True)


def again(one: Ruled, settings: RuleSettings, **more: object) -> RuledAgain:
    recorded = Recorded(one.ledger)
    forecasts = more.get("forecasts")
    if forecasts == "hindsight":
        forecasts = HindsightForecasts(outages(recorded))
    elif forecasts == "none":
        forecasts = NoForecasts()
    return rule_again(recorded, LedgerFailures(one.ledger), settings, forecasts)  # type: ignore[arg-type]


def test_drains_before_foreseen_failures_are_held_against_what_came(untouched: Ruled) -> None:
    found = again(untouched, RULES)
    assert found.failures > 15
    assert len(found.new) == len(found.drains) > 5
    assert found.came > 0.8 * len(found.drains)  # said 0.9
    state = untouched.world.state
    for one in found.drains:
        assert one.fails_at - 3600 <= one.at <= one.fails_at
        lost = [
            run for run in state.runs
            if run.state == "NODE_FAIL" and one.node in run.nodes and (run.start or 0) > one.at
            and one.fails_at - 2 * CYCLE <= (run.end or 0) <= one.fails_at + 2 * CYCLE
        ]  # fmt: skip
        work = sum(len(run.nodes) * ((run.end or 0) - (run.start or 0)) for run in lost)
        # Starts and ends are seen a cycle late at most.
        assert abs(one.saved - work) <= 16 * 2 * CYCLE * max(len(lost), 1)
        assert one.spent >= 0
    assert sum(one.saved for one in found.drains) > 0


def test_another_threshold_wants_fewer_or_none(untouched: Ruled) -> None:
    found = again(untouched, RULES)
    assert found.proposed.keys() == {"risk"}
    none = again(untouched, replace(RULES, least=0.95))
    assert (none.drains, none.left_out) == ([], none.proposed)
    strict = again(untouched, replace(RULES, worth=3.0))
    assert 0 < len(strict.drains) < len(found.drains)
    assert 0 < strict.left_out["risk"] < strict.proposed["risk"]
    assert again(untouched, replace(RULES, drain=("health",))).drains == []
    assert found.left_out == {}


def test_other_forecasts(untouched: Ruled) -> None:
    assert again(untouched, RULES, forecasts="none").drains == []
    told = again(untouched, RULES, forecasts="hindsight")
    assert told.came == len(told.drains) > 5


def test_drains_that_were_done_are_no_news(tmp_path: Path) -> None:
    one = played(tmp_path / "on.db", RULES, off=False)
    found = again(one, RULES)
    assert sum(drain.also for drain in found.drains) > 0.7 * len(found.drains) > 5
    assert all(drain.saved == 0 for drain in found.drains if drain.also)


def test_a_history_is_what_a_controller_saw(untouched: Ruled) -> None:
    """Held against what the world says at the last look."""
    recorded = Recorded(untouched.ledger)
    history = NodeHistory(recorded)
    for row in recorded.cycles():
        history.take(row)
    untouched.controller.cycle()
    seen = untouched.cluster.look(None)
    ends = {name for run in history.running.values() for name in run.nodes}
    assert ends == NodeStakes.of(seen, untouched.world.state.now).ends.keys()
    last = 0
    for runs in history.runs.values():
        for run in runs:
            assert run.start <= run.end
            last = max(last, run.end)
    history.close(last + 1)
    assert history.running == {}
