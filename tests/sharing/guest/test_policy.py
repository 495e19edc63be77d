"""What a guest may do, sample by sample, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.sharing.guest.policy import Allowed, Judge, Sight
from forestall.sharing.guest.settings import GuestSettings

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
        assert (verdict.state, verdict.why) == ("S2", "owner's load 34 % > 20 %")

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


class TestSteps:
    def test_a_step_is_taken_when_the_load_has_been_below_it_for_long_enough(self) -> None:
        judge = Judge(GuestSettings(calm=2.0, hold=3.0, steps="0.3:5,0.45:10"), MEMORY)
        loads = [0.4, 0.4, 0.4, 0.25, 0.25, 0.25, 0.31, 0.5, 0.4, 0.1, 0.1, 0.1]
        seen = [judge.see(Sight(float(k), x, 0.0, 0.9), 0.0) for k, x in enumerate(loads)]
        assert [one.level for one in seen] == [19, 19, 10, 10, 10, 5, 10, 19, 19, 19, 10, 0]
        assert {one.allowed for one in seen[:-1]} == {CRAWL}
        assert seen[-1].allowed is RUN
        assert seen[5].why == "owner's load 25 % <= 30 % for 2 s, nice 5"

    @pytest.mark.parametrize(
        "steps", ["0.3", "0.1:5", "0.7:5", "0.3:0", "0.3:19", "0.3:5,0.25:10", "0.3:5,0.4:5", "x:5"]
    )
    def test_steps_lie_between_the_thresholds_and_rise(self, steps: str) -> None:
        with pytest.raises(ParameterError, match="steps"):
            GuestSettings(steps=steps)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
    def test_no_step_is_above_its_load(self, loads: list[float]) -> None:
        judge = Judge(GuestSettings(calm=2.0, hold=3.0, steps="0.3:5,0.45:10"), MEMORY)
        for k, load in enumerate(loads):
            level = judge.see(Sight(float(k), load, 0.0, 0.9), 0.0).level
            assert level >= (0 if load <= 0.2 else 5 if load <= 0.3 else 10 if load <= 0.45 else 19)


class TestOwnMemory:
    def test_what_a_guest_held_is_what_it_needs_and_a_tenth_more(self) -> None:
        judge = Judge(GuestSettings(calm=0.0), MEMORY)
        assert judge.see(Sight(0.0, 0.1, 0.0, 0.05), 0.0).allowed is RUN  # nothing is known of it
        assert judge.see(Sight(1.0, 0.1, 0.0, 0.05), 0.4).allowed is RUN
        assert judge.need == pytest.approx(0.44)
        gone = judge.see(Sight(2.0, 0.1, 0.0, 0.03), 0.4)  # a tenth of it is not to be had
        assert (gone.allowed, gone.state) == (N, "S4")
        assert judge.see(Sight(3.0, 0.1, 0.0, 0.43), 0.0).state == "S4"  # nor is it started again
        assert judge.see(Sight(4.0, 0.1, 0.0, 0.45), 0.0).state == "S1"

    def test_what_it_held_before_counts_on_a_new_start(self) -> None:
        assert Judge(GuestSettings(), MEMORY, held=50.0).need == pytest.approx(0.55)
        assert Judge(GuestSettings(guest_memory=0.2), MEMORY, held=50.0).need == 0.2
        assert Judge(GuestSettings(guest_memory=0.0), MEMORY, held=50.0).need == 0.0
