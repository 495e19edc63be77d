"""What a guest may do, sample by sample, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.live.guest.policy import Allowed, Judge, Sight
from forestall.live.guest.settings import GuestSettings
from forestall.model.errors import ParameterError

MEMORY = 100.0
N, STAND, CRAWL, RUN = Allowed.NOTHING, Allowed.STAND, Allowed.CRAWL, Allowed.RUN


def verdicts(
    loads: list[float], free: float = 0.9, resident: float = 0.0, **settings: float
) -> list[Allowed]:
    judge = Judge(GuestSettings(**({"calm": 2.0, "hold": 3.0} | settings)), MEMORY)  # type: ignore[arg-type]
    return [
        judge.see(Sight(float(k), load, 0.0, free), resident).allowed
        for k, load in enumerate(loads)
    ]


class TestLoad:
    def test_lowered_at_once_raised_after_calm(self) -> None:
        loads = [0.1, 0.1, 0.1, 0.21, 0.2, 0.2, 0.2]
        assert verdicts(loads) == [CRAWL, CRAWL, RUN, CRAWL, CRAWL, CRAWL, RUN]

    def test_spike_stands_long_load_ends(self) -> None:
        loads = [0.6, 0.61, 0.9, 0.9, 0.9, 0.9, 0.6]
        assert verdicts(loads) == [CRAWL, STAND, STAND, STAND, N, N, CRAWL]

    def test_thresholds_are_strict(self) -> None:
        assert verdicts([0.2, 0.6], calm=0.0) == [RUN, CRAWL]

    def test_unknown_load_is_no_leave(self) -> None:
        assert verdicts([0.1, math.nan]) == [CRAWL, STAND]

    def test_words_have_figures(self) -> None:
        judge = Judge(GuestSettings(), MEMORY)
        verdict = judge.see(Sight(0.0, 0.345, 0.1, 0.9), 0.0)
        assert (verdict.state, verdict.why) == ("S2", "owner's load 34% > 20%")

    def test_calm_counts_from_the_last_bad_sample(self) -> None:
        judge = Judge(GuestSettings(hold=0.0, calm=2.0), MEMORY)
        assert judge.calm(0.0)
        for time, load in enumerate((0.5, 0.9, 0.5)):
            judge.see(Sight(float(time), load, 0.0, 0.9), 0.0)
        assert [judge.calm(time) for time in (2.0, 2.9, 3.0)] == [False, False, True]

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
    def test_never_runs_beside_a_load(self, loads: list[float]) -> None:
        for load, allowed in zip(loads, verdicts(loads), strict=True):
            assert allowed <= STAND or load <= 0.6
            assert allowed < RUN or load <= 0.2


class TestMemory:
    @pytest.mark.parametrize(
        ("free", "resident", "allowed"),
        [
            (0.30, 0.0, CRAWL),
            (0.29, 0.0, N),
            (0.10, 0.2, CRAWL),
            (0.09, 0.2, N),
            (0.02, 0.5, CRAWL),  # more than it said: it has all it needs
            (0.009, 0.5, N),  # but the owner is short of it
        ],
    )
    def test_need_less_what_it_has(self, free: float, resident: float, allowed: Allowed) -> None:
        assert verdicts([0.1], free, resident, guest_memory=0.3) == [allowed]
        assert verdicts([0.1], free, resident, guest_memory=30.0) == [allowed]  # bytes


class TestSettings:
    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ({"th1": -0.1}, "th1"),
            ({"th2": 0.1}, "th2"),
            ({"th2": 1.1}, "th2"),
            ({"every": 0}, "every"),
            ({"hold": -1}, "hold"),
            ({"calm": math.nan}, "calm"),
            ({"grace": math.inf}, "grace"),
            ({"checkpoint_timeout": 0}, "checkpoint_timeout"),
            ({"resume": "x"}, "resume"),
            ({"checkpoint_every": 5}, "checkpoint_every"),
            ({"tell": "unix:"}, "tell"),
        ],
    )
    def test_refuses(self, given: dict[str, float], name: str) -> None:
        with pytest.raises(ParameterError, match=f"^{name}: "):
            GuestSettings(**given)  # type: ignore[arg-type]

    def test_comes_back_from_json(self) -> None:
        settings = GuestSettings(checkpoint="c", guest_memory=5e8, wait=False)
        assert GuestSettings.from_json(settings.to_json()) == settings

    @pytest.mark.parametrize("told", [{"th3": 1}, {"hold": "x"}, {"wait": 1}, {"hold": True}])
    def test_refuses_json(self, told: dict[str, object]) -> None:
        with pytest.raises(ParameterError, match="settings of a guest"):
            GuestSettings.from_json(told)
