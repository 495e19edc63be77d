"""A seeded world in one process: whatever goes wrong, every rule holds after every step."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from forestall.live.ledger.check import check
from forestall.live.ledger.rows import CycleRow, OutcomeRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.slurm.mind import played
from forestall.scheduling.engine.engine import Engine
from live.slurm.scenarios import Scenario, play, play_small

PART = 20


@pytest.mark.parametrize("first", range(0, 200, PART))
def test_every_rule_holds_after_every_step(first: int) -> None:
    """Replies lost, late, cut, doubled, stale; restarts that lose jobs; people who interfere; our
    process killed at actions."""
    kept = 0
    for seed in range(first, first + PART):
        one = play(seed, steps=40)
        kept += sum(row.outcome == "kept" for row in one.ledger.read(OutcomeRow))
    assert kept > PART


@pytest.mark.parametrize("first", range(0, 80, PART))
def test_every_rule_holds_while_rules_drain_reboot_and_bring_back(first: int) -> None:
    """The same, with all rules on: a check that calls nodes ill, nodes that eat jobs, forecasts."""
    done: Counter[str] = Counter()
    for seed in range(first, first + PART):
        one = play(seed, steps=60, ruled=True)
        done.update(type(deed.action).__name__ for deed in one.world.state.deeds)
    assert done["DrainNode"] > PART
    assert done["RebootNode"]
    assert done["ResumeNode"]


ONCE_FAILED = (
    *(26, 48, 366, 698, 20597, 27921, 1120299, 1125938, 1129137),
    *(2035959, 5017239, 5021997, 5054724, 9254213),
)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_small_scenarios_that_failed_once(seed: int) -> None:
    """Books that were not read anew after an error; a stale look that hid what was just done; a job
    without a limit; a node that we drained and the first look after a restart did not have; a job
    that began on a node, drained since, on which another one had ended since the last look; a
    person who took the tag off a job of which a first try was still on its way; a job that had
    timed out, and was done past its limit after the controller had lost its end; an offer whose
    start could be held when it was made, and not when it was taken; a job that a person let go
    before it was kept off the nodes that it was to leave."""
    play_small(seed)


def test_a_refusal_says_nothing_of_the_try_before_it() -> None:
    """Seed 1186: a job arrived late, after another try to submit it had been refused."""
    play(1186)


def test_a_stale_look_does_not_hide_what_was_just_done() -> None:
    """Seed 278: a node that had been drained, and seen to be, stood in service in the next look."""
    play(278)


@pytest.mark.parametrize("seed", [1, 5])
def test_on_a_real_ledger_the_books_add_up_and_replay_the_same(seed: int, tmp_path: Path) -> None:
    with LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        play(seed, steps=40, ledger=ledger)
        assert check(ledger).wrong == ()
        engines = {
            row.number: Engine.restore(row.snapshot["engine"]) for row in ledger.read(RunRow)
        }
        for row in ledger.read(CycleRow):
            assert played(engines[row.run], row.events) == row.decisions


def test_a_broken_rule_tells_the_story() -> None:
    one = Scenario(7)
    for _ in range(5):
        one.step()
    with pytest.raises(AssertionError, match=r"seed 7: no promise lost(.|\n)*people:"):
        one.must(False, "no promise lost")


def test_a_failed_look_changes_nothing_and_what_is_known_grows_old() -> None:
    one = Scenario(0, calm=True)
    one.step()
    mind, age = one.controller._mind, one.controller.age
    assert age == 0
    before = mind.engine.snapshot() if mind else None
    one.world.state.answers = False
    one.world.advance(one.world.state.now + 90)
    assert one.controller.cycle().said == "queue: unable to contact slurm controller"
    assert one.controller.age == 90
    assert one.controller._mind is mind
    assert (mind.engine.snapshot() if mind else None) == before
