"""Another rule, another predictor: what would have been decided and said, against a plain second
engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import LedgerError, ParameterError
from forestall.live.ledger.rows import CycleRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.forecasts import HindsightForecasts, NoForecasts, outages
from forestall.live.replays.other import EngineChange, OtherPlayed, play_other
from forestall.live.replays.recorded import Recorded
from forestall.live.slurm.mind import played
from forestall.scheduling.engine.engine import Engine
from live.replays.ledgers import spoilt, written


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("ledger") / "ledger.db", seed=8, steps=120)


def other(url: str, change: EngineChange) -> OtherPlayed:
    with LiveLedger(url, writes=False) as ledger:
        return play_other(Recorded(ledger), change)


def test_nothing_else_is_nothing_otherwise(url: str) -> None:
    found = other(url, EngineChange())
    assert found.again.first is None
    assert found.different == 0
    assert found.placed == []
    assert found.jobs > 10
    assert found.said
    assert not any(one.changed for one in found.said)


def test_an_engine_says_again_what_was_said(url: str) -> None:
    """Of offers that an engine made, their probability before correction, at least."""
    found = other(url, EngineChange())
    again = [one for one in found.said if one.promise.offer.held and one.was is not None]
    assert again
    near = [one for one in again if one.was >= one.promise.offer.before - 1e-9]
    assert len(near) >= 0.8 * len(again), "others were asked in the second of a cycle"


def test_another_rule_is_an_engine_with_that_rule(url: str) -> None:
    found = other(url, EngineChange(wanted=0.99))
    different, run, engine = 0, 0, None
    with LiveLedger(url, writes=False) as ledger:
        recorded = Recorded(ledger)
        for row in ledger.read(CycleRow):
            if engine is None or row.run != run:
                engine, run = recorded.engine(row.run), row.run
                engine.want(0.99)
            different += played(engine, row.events) != row.decisions
    assert found.different == different


def test_hindsight_is_never_surprised(url: str) -> None:
    with LiveLedger(url, writes=False) as ledger:
        recorded = Recorded(ledger)
        known = outages(recorded)
        assert known
        assert all(start <= end for _, start, end in known)
        found = play_other(recorded, EngineChange(forecasts=HindsightForecasts(known)))
    assert found.again.first is None
    sure = [one.other for one in found.said if one.other is not None]
    assert set(sure) <= {0.0, 1.0}


def test_nobody_foresees_anything(url: str) -> None:
    """Only what is certain, such as others' reservations, is left."""
    found = other(url, EngineChange(forecasts=NoForecasts()))
    assert {one.other for one in found.said} <= {None, 0.0, 1.0}


def test_hindsight_names_the_next_failure() -> None:
    one = HindsightForecasts([("a", 10, 20), ("a", 50, 60), ("b", 5, 7), ("z", 5, 7)])
    names = ("a", "b", "c")
    assert {k: v.at for k, v in one.foreseen(names, frozenset(), 5).items()} == {"a": 10, "b": 5}
    assert {k: v.at for k, v in one.foreseen(names, frozenset(), 11).items()} == {"a": 50}
    assert one.foreseen(names, frozenset(), 51) == {}


@pytest.mark.parametrize("wanted", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability(url: str, wanted: float) -> None:
    with LiveLedger(url, writes=False) as ledger:
        engine: Engine = Recorded(ledger).engine(1)
    with pytest.raises(ParameterError, match="wanted"):
        engine.want(wanted)


@pytest.mark.parametrize("events", ["{}", '{"arrivals":[]}', '{"arrivals":[[]]}', '{"arrivals":7}'])
def test_damage_is_one_line(url: str, tmp_path: Path, events: str) -> None:
    whole = Path(url.removeprefix("sqlite:///"))
    statement = f"UPDATE cycles SET events = '{events}' WHERE number = 3"
    path = spoilt(whole, tmp_path / "spoilt.db", statement)
    for change in (EngineChange(wanted=0.99), EngineChange(forecasts=NoForecasts())):
        with pytest.raises(LedgerError, match="cycle 3 is damaged: ") as caught:
            other(f"sqlite:///{path}", change)
        assert "\n" not in str(caught.value)
