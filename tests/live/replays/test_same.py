"""A ledger played again: the same decisions; what differs and what is damaged is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forestall.core.model.errors import LedgerError
from forestall.live.ledger.rows import CycleRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.recorded import Recorded
from forestall.live.replays.same import PlayedAgain, play_again
from live.replays.ledgers import spoilt, written
from live.slurm.scenarios import Scenario


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ledger") / "ledger.db"
    written(place)
    return place


def again(path: Path) -> PlayedAgain:
    with LiveLedger(f"sqlite:///{path}", writes=False) as ledger:
        return play_again(Recorded(ledger))


def test_the_same_decisions(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with LiveLedger(f"sqlite:///{path}", writes=False) as ledger:
        found = play_again(Recorded(ledger), lambda done, total: seen.append((done, total)))
        cycles = ledger.count(CycleRow)
        assert found.runs <= ledger.count(RunRow)
        rows = list(ledger.read(CycleRow))
    assert found.first is None
    assert found.different == 0
    assert found.cycles == cycles
    assert seen == [(k, cycles) for k in range(1, cycles + 1)]
    assert sum(found.decisions.values()) == sum(len(row.decisions) for row in rows) > 10
    assert sum(found.events.values()) == sum(len(row.events["events"]) for row in rows)
    assert (found.begin, found.end) == (rows[0].at, rows[-1].at)


def test_another_decision_is_told(path: Path, tmp_path: Path) -> None:
    with LiveLedger(f"sqlite:///{path}", writes=False) as ledger:
        number = next(row.number for row in ledger.read(CycleRow) if len(row.decisions) == 1)
    change = f"UPDATE cycles SET decisions = '[]' WHERE number = {number}"
    found = again(spoilt(path, tmp_path / "other.db", change))
    assert found.different == 1
    assert found.first is not None
    assert (found.first.cycle, found.first.place, found.first.recorded) == (number, 0, None)
    assert '"kind":"reserve"' in str(found.first.replayed)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE cycles SET events = '{' WHERE number = 3", "cycles is damaged: row 3: its text"),
        (
            "UPDATE cycles SET events = '[]' WHERE number = 3",
            "cycles is damaged: row 3: events: 'list of 0' is not allowed; expected named values",
        ),
        ("UPDATE cycles SET decisions = '[7]' WHERE number = 3", "row 3: decisions: 7 is not"),
        ("UPDATE cycles SET decisions = '[{}]' WHERE number = 3", "cycle 3 is damaged: 'kind'"),
        ("UPDATE cycles SET events = '{}' WHERE number = 3", "cycle 3 is damaged: 'arrivals'"),
        ("UPDATE cycles SET run = 99 WHERE number = 3", "cycle 3: there is no run 99"),
        ("DELETE FROM cycles WHERE number = 3", "found cycle 4, expected 3"),
        ("UPDATE runs SET snapshot = '{}'", "run 1 is damaged"),
        ('UPDATE runs SET snapshot = \'{"engine":{},"nodes":[]}\'', "run 1 is damaged"),
        ("DROP TABLE cycles", "cannot be read: no such table: cycles"),
    ],
)
def test_damage_is_one_line(path: Path, tmp_path: Path, statement: str, said: str) -> None:
    with pytest.raises(LedgerError, match=said) as caught:
        again(spoilt(path, tmp_path / "spoilt.db", statement))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_cut_off(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    for size in (0, 50, 3000, len(whole) // 2):
        cut = tmp_path / f"{size}.db"
        cut.write_bytes(whole[:size])
        with pytest.raises(LedgerError):
            again(cut)


def test_while_it_is_written_to(tmp_path: Path) -> None:
    """What came after the beginning of a replay is not part of it."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with LiveLedger(url) as ledger:
        one = Scenario(1, ledger=ledger)
        for _ in range(20):
            one.step()
        with LiveLedger(url, writes=False) as reader:
            recorded = Recorded(reader)
            cycles = recorded.cycles()
            first = [next(cycles) for _ in range(5)]
            for _ in range(20):
                one.step()
            rest = list(cycles)
            assert len(first) + len(rest) == recorded.last < ledger.count(CycleRow)
            assert play_again(recorded).first is None
            assert play_again(Recorded(reader)).cycles == ledger.count(CycleRow)


def test_a_replay_writes_nothing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    before = copy.read_bytes()
    again(copy)
    assert copy.read_bytes() == before
