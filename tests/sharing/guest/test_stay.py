"""Keepers that do not come up: told in one line, and the guest can be gone on with."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from forestall.core.processes.files import GuestState
from forestall.sharing.guest import stay
from forestall.sharing.guest.manager import LOST_AT_MOST
from forestall.sharing.guest.plan import StayPlan
from sharing.guest.managed import SAVE, counted, counter, managed, wait_for


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("/bin/false", "g: the keeper did not come up: it said nothing"),
        ("/no/python", "g: no keeper can be started: No such file or directory"),
    ],
)
def test_it_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, told: str
) -> None:
    much = {"MUCH": "x" * 1_000_000}  # more than a pipe holds: it breaks while this is written
    plan = StayPlan(str(tmp_path), "g", "g-1", ["true"], "/", environment=much)
    plan.files.make()
    monkeypatch.setattr(stay.sys, "executable", program)
    with pytest.raises(stay.KeeperError) as caught:
        stay.Stay.begin(plan)
    assert str(caught.value) == told


def test_a_guest_whose_keeper_does_not_come_up_keeps_its_checkpoint(tmp_path: Path) -> None:
    with managed(tmp_path, checkpoint=SAVE, wait=False) as one:
        command = counter(tmp_path, 200)
        one.start(*command)
        wait_for(lambda: len(counted(tmp_path)) > 10)
        one.host.set(0.9)
        assert one.end()[0] == 75
        assert one.record().checkpoint
        log = one.files.place / "keeper.err"
        log.unlink()
        log.mkdir()
        one.host.set(0.1)
        one.start(*command)
        code, out = one.end()
        assert (code, one.state()) == (2, GuestState.ENDED)
        assert f"{log}: cannot be written: Is a directory; `forestall guest resume g`" in out
        log.rmdir()
        one.start(*command)
        code, out = one.end()
        assert code == 0, out
        assert "resumed from its checkpoint" in out
        assert counted(tmp_path) == list(range(1, 201))


def test_keepers_that_are_killed_count_in_a_row_only(tmp_path: Path) -> None:
    """A guest that runs for weeks may lose more of them than are too many at once."""
    with managed(tmp_path, hold=0.0) as one:
        one.start("/bin/sh", "-c", "while [ ! -e enough ]; do sleep 0.01; done")
        for _ in range(LOST_AT_MOST + 1):
            record = one.wait_state(GuestState.LOWERED, GuestState.NORMAL)
            os.kill(record.keeper, signal.SIGKILL)
            wait_for(lambda at=record.attempts: one.record().attempts > at)
            one.wait_state(GuestState.LOWERED, GuestState.NORMAL)
            one.host.set(0.9)
            one.wait_state(GuestState.WAITING)
            one.host.set(0.1)
        (tmp_path / "enough").touch()
        code, out = one.end()
        assert code == 0, out
