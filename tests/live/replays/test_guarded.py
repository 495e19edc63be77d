"""Other limits: each rule that a replay can ask again, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.live.intents import Action, Intent
from forestall.live.guard.settings import GuardSettings, RoleSettings, quiet_hours
from forestall.live.ledger.rows import IntentRow, RunRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.guarded import OF_LIMITS, GuardedAgain, GuardWord, judge_again
from forestall.live.replays.recorded import Recorded
from live.replays.ledgers import written
from live.slurm.scenarios import GUARD

AT = 1_800_000_000
WARDEN = RoleSettings(
    "on", nodes=3, percent=100.0, partition_nodes=3, partition_percent=100.0, per_hour=10,
    cool_down=600,
)  # fmt: skip
OPEN = GuardSettings(floor_percent=0.0, settle=1, warden=WARDEN)
UP = "up by= boot=0"


def drain(name: str, after: int) -> Intent:
    return Intent(Action.DRAIN, name, AT + after, AT + after + 300, UP, "risk")


def booked(path: Path, *told: tuple[Intent, str, str]) -> str:
    """Write intents and what became of each."""
    url = f"sqlite:///{path}/ledger.db"
    with LiveLedger(url) as ledger:
        ledger.add(RunRow(1, AT, "1", {}, {"nodes": [f"n{k}" for k in range(10)], "engine": {}}))
        for intent, state, why in told:
            ledger.add(IntentRow.of(intent), StateRow(intent.id, "proposed", intent.decided, ""))
            ledger.add(StateRow(intent.id, state, intent.decided, why))
    return url


def judged(url: str, settings: GuardSettings) -> GuardedAgain:
    with LiveLedger(url, writes=False) as ledger:
        return judge_again(Recorded(ledger), settings)


PASSED = [(drain(f"n{k}", 100 * k), "written", "risk") for k in range(4)]


@pytest.mark.parametrize(
    ("change", "others"),
    [
        ({}, "passed passed passed refused"),
        ({"nodes": 2}, "passed passed refused refused"),
        ({"nodes": 9}, "passed passed passed passed"),
        ({"percent": 10.0}, "passed refused refused refused"),
        ({"per_hour": 1}, "passed refused refused refused"),
        ({"switch": "off"}, "refused refused refused refused"),
        ({"switch": "approve"}, " ".join(["waits for a person"] * 4)),
    ],
)
def test_limits_of_a_role(tmp_path: Path, change: dict[str, Any], others: str) -> None:
    found = judged(booked(tmp_path, *PASSED), replace(OPEN, warden=replace(WARDEN, **change)))
    assert [one.was for one in found.judged] == [GuardWord.PASSED] * 4
    assert " ".join(one.other for one in found.judged) == others
    assert all(one.why for one in found.changed)


def test_hours_and_cool_down(tmp_path: Path) -> None:
    url = booked(tmp_path, PASSED[0], (drain("n0", 900), "written", "risk"))
    assert not judged(url, OPEN).changed
    longer = judged(url, replace(OPEN, warden=replace(WARDEN, cool_down=3600)))
    assert [one.other for one in longer.judged] == [GuardWord.PASSED, GuardWord.REFUSED]
    assert "1 h must pass" in longer.changed[0].why
    quiet = judged(url, replace(OPEN, quiet=(quiet_hours("00:00-24:00"),)))
    assert [one.other for one in quiet.judged] == [GuardWord.REFUSED] * 2


def test_what_was_refused_by_a_limit_would_pass(tmp_path: Path) -> None:
    told = (
        (drain("n1", 0), "refused", "the warden is switched off: a proposal only"),
        (drain("n2", 1), "refused", "2 nodes of the cluster at once; at most 1 allowed (1 nodes)"),
        (drain("n3", 2), "refused", "a person took the node out of service: disk"),
        (drain("n4", 3), "dropped", "decided on 'a', now 'b'"),
        (drain("n5", 4), "refused", "by ann: not today"),
    )
    found = judged(booked(tmp_path, *told), OPEN)
    assert [one.other for one in found.judged] == [
        GuardWord.PASSED, GuardWord.PASSED, GuardWord.REFUSED, GuardWord.LEFT, GuardWord.REFUSED,
    ]  # fmt: skip
    assert found.unknown == 2


def test_the_words_of_limits_are_known() -> None:
    """The guard's own source has the words that a replay knows limits by."""
    source = Path(GuardSettings.__module__.replace(".", "/")).with_name("guard.py")
    root = Path(__file__).parents[3] / "src"
    text = (root / source).read_text()
    for word in OF_LIMITS.pattern.split("|"):
        assert word in text, word


def test_the_limits_that_were_change_little(tmp_path: Path) -> None:
    """With the same limits nearly all is as it was; what differs rests on what a look showed."""
    count = changed = 0
    for seed in (7, 12):
        found = judged(written(tmp_path / f"{seed}.db", seed=seed, steps=80), GUARD)
        count, changed = count + len(found.judged), changed + len(found.changed)
    assert count > 20
    assert changed <= 0.1 * count
