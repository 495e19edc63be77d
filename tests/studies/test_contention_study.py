"""The contention study: sessions of owners, medians against plain references, policies, claims that
can hold and fail, and a real case, small."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forestall.core.model.errors import ParameterError
from scheduling.report.test_report import needs_matplotlib
from studies.contention import STUDY, claims
from studies.contention import found as finding
from studies.contention import policies as choosing
from studies.contention.claims import FAILS, HOLDS, UNCLEAR
from studies.contention.found import Found, median_of
from studies.contention.measured import Given, order, play_batch, think_times
from studies.contention.policies import (
    ALWAYS,
    FINER,
    KEPT,
    LOW,
    SLIDES,
    STOPPED,
    finer,
    gain,
    outcome,
    policies,
)
from studies.contention.programs import PROGRAMS, installed, make_files
from studies.contention.study import (
    AGAIN,
    GUESTS,
    LOADS,
    LOWEST,
    MEMORY,
    NONE,
    NORMAL,
    QUICK,
    Case,
    Plan,
    batches,
)


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Fewer draws: no test is about how fine intervals are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "DRAWS", 60)
        patch.setattr(choosing, "DRAWS", 60)
        yield


NAMES = ("gzip", "spin", "xz")
COSTS = {NONE: 0.0, AGAIN: 0.0, NORMAL: 0.45, "nice 5": 0.2, "nice 10": 0.06, "nice 15": 0.02}


def rows_of(costs: dict[str, float], others: float = 0.0, repeats: int = 4) -> list[dict[str, Any]]:
    """Turns in which the owner loses `costs` times its load, and a guest gets what is left."""
    found = []
    for name in NAMES:
        for load in LOADS:
            for repeat in range(repeats):
                for guest in (NONE, AGAIN, *GUESTS):
                    wobble = 1 + 0.001 * ((repeat * 7 + len(name) * 3) % 5)
                    left = load * (1 - costs.get(guest, 0.0) * load) * wobble
                    found.append({
                        "program": name, "load": load, "repeat": repeat, "guest": guest,
                        "commands": 4, "seconds": 1.0, "owner": left,
                        "response": 0.1 * (1 + costs.get(guest, 0.0)),
                        "guest_cpu": 0.0 if guest in (NONE, AGAIN) else 1.0 - left,
                        "others": others,
                    })  # fmt: skip
    return found


def memory_of(short: float, enough: float) -> list[dict[str, Any]]:
    """Phases in which the owner loses these shares of its speed, without and with enough memory."""
    found = []
    for repeat in range(3):
        for guest in (NONE, NORMAL, LOWEST):
            for free in (16, -8):
                lost = 0.0 if guest == NONE else enough if free > 0 else short
                found.append({
                    "program": MEMORY, "load": 0.0, "repeat": repeat, "guest": guest,
                    "size": (20 - free) * 2**20, "free": float(free * 2**20),
                    "pages": int(1000 * (1 - lost)), "seconds": 1.0, "faults": 0,
                })  # fmt: skip
    return found


def found_of(*rows: dict[str, Any]) -> Found:
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    return Found.of(Plan(programs=(*NAMES, "7zz")), table, "6.1")


@pytest.fixture(scope="module")
def usual() -> Found:
    return found_of(*rows_of(COSTS), *memory_of(0.8, 0.01))


class TestPlan:
    def test_every_case_once_a_repeat_of_programs_that_are_there(self) -> None:
        plan = Plan(repeats=2, programs=("spin", "xz"), memory=1)
        cases = [case for batch in batches(plan, ("spin",)) for case in batch]
        assert len(cases) == len(set(cases)) == 2 * len(LOADS) + 1
        assert {case.program for case in cases} == {"spin", MEMORY}
        assert cases[len(LOADS)].program == MEMORY
        more = batches(Plan(repeats=3, programs=("spin", "xz"), memory=1), ("spin",))
        assert [case for batch in more for case in batch][: len(cases)] == cases

    def test_think_times_make_the_load(self) -> None:
        case = Case("spin", 0.2, 0)
        thinks = think_times(case, Plan(seconds=2.0), 0.04)
        assert len(thinks) == 10
        assert 10 * 0.04 / (10 * 0.04 + sum(thinks)) == pytest.approx(0.2)
        assert thinks == think_times(case, Plan(seconds=2.0), 0.04)
        assert thinks != think_times(case, Plan(seconds=2.0, seed=2), 0.04)
        assert len(set(thinks)) == 10
        assert sum(think_times(Case("spin", 1.0, 0), Plan(), 0.04)) == 0.0

    def test_all_guests_take_turns(self) -> None:
        turns = [list(order(Case("spin", 0.5, k), Plan())) for k in range(5)]
        assert all(sorted(one) == sorted((NONE, AGAIN, *GUESTS)) for one in turns)
        assert len({tuple(one) for one in turns}) > 1

    def test_programs_read_the_same_files_from_a_seed(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        make_files(tmp_path / "a", 3)
        make_files(tmp_path / "b", 3)
        names = sorted(one.name for one in (tmp_path / "a").iterdir())
        assert names == ["blob", "code.c", "queries.sql", "script.sh", "text"]
        for name in names:
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_a_program_that_is_not_there_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert installed(tuple(PROGRAMS)) == ("spin",)


class TestFound:
    def test_pairs_against_a_plain_reference(self, usual: Found) -> None:
        table = rows_of(COSTS)
        for guest in GUESTS:
            lost, got = [], []
            for one in table:
                if one["guest"] != guest or one["load"] != 0.5:
                    continue
                alone = next(
                    two["owner"] for two in table
                    if two["guest"] == NONE
                    and all(two[k] == one[k] for k in ("program", "load", "repeat"))
                )  # fmt: skip
                lost.append(1 - one["owner"] / alone)
                got.append(one["guest_cpu"])
            at = (0.5, 0.5)
            assert usual.middle("lost", guest, at).middle == pytest.approx(statistics.median(lost))
            assert usual.middle("got", guest, at).middle == pytest.approx(statistics.median(got))
        assert usual.middle("slower", NORMAL).middle == pytest.approx(0.45)
        assert usual.left_out == 0

    def test_turns_in_which_others_used_the_core_do_not_count(self) -> None:
        found = found_of(*rows_of(COSTS, others=0.2))
        assert set(found.pairs["guest"]) == {AGAIN}
        assert found.left_out == len(GUESTS) * len(NAMES) * len(LOADS) * 4

    def test_medians(self) -> None:
        one = median_of([1.0, 2.0, 9.0, 2.0, 2.5])
        assert one.middle == 2.0
        assert 1.0 <= one.low <= 2.0 <= one.high <= 9.0
        assert median_of([1.0, 2.0]).low == float("-inf")
        assert median_of([]).number == 0
        assert not median_of([-1.0, 1.0, 0.5, -0.5]).told


class TestPolicies:
    def test_what_each_chooses(self, usual: Found) -> None:
        chosen = policies(usual)
        assert [chosen[ALWAYS](load, "xz") for load in (0.1, 1.0)] == [NORMAL, NORMAL]
        assert [chosen[LOW](load, "xz") for load in (0.1, 1.0)] == [LOWEST, LOWEST]
        loads = (0.2, 0.3, 0.6, 0.8)
        assert [chosen[SLIDES](load, "xz") for load in loads] == [NORMAL, LOWEST, LOWEST, STOPPED]
        assert [chosen[KEPT](load, "xz") for load in loads] == [NORMAL, *[LOWEST] * 3]
        fine = [chosen[FINER](load, "xz") for load in (0.1, 0.2, 0.5, 1.0)]
        assert fine == [NORMAL, "nice 5", "nice 10", "nice 15"]

    def test_what_is_learned_from_an_owner_does_not_decide_for_it(self) -> None:
        rows = rows_of(COSTS)
        for one in rows:
            if one["program"] == "xz" and one["guest"] != NONE:
                one["owner"] = 0.0
        found = found_of(*rows)
        assert finer(found, "lost")["xz", 1.0] == "nice 15"
        for one in rows:
            if one["guest"] != NONE:
                one["owner"] = 0.0
        assert finer(found_of(*rows), "lost")["xz", 1.0] == STOPPED

    def test_outcomes_against_a_plain_reference(self, usual: Found) -> None:
        chosen = policies(usual)
        for name, choice in chosen.items():
            lost = []
            for load in LOADS:
                values = [
                    0.0 if choice(load, one["program"]) == STOPPED else one["lost"]
                    for one in usual.pairs.iter_rows(named=True)
                    if one["load"] == load
                    and one["guest"] == (
                        NORMAL if choice(load, one["program"]) == STOPPED
                        else choice(load, one["program"])
                    )
                ]  # fmt: skip
                lost.append(statistics.median(values))
            told = outcome(usual, choice)
            assert told.lost.mean == pytest.approx(statistics.fmean(lost)), name
            assert told.beyond == sum(one > 0.05 for one in lost)
            assert told.lost.low <= told.lost.mean <= told.lost.high
        more = gain(usual, chosen[FINER], chosen[LOW])
        assert more.low > 0
        assert gain(usual, chosen[LOW], chosen[LOW]) == (0.0, 0.0, 0.0)


class TestClaims:
    def verdicts(self, found: Found) -> dict[str, str]:
        return {one.name: one.verdict for one in claims.evaluate(found)}

    def test_some_hold_and_some_fail(self, usual: Found) -> None:
        told = self.verdicts(usual)
        assert told["between"] == told["default harms"] == told["thrashing"] == HOLDS
        assert told["sufficient"] == told["ours"] == HOLDS
        assert told["above Th2"] == told["finer"] == told["slowdown"] == FAILS

    def test_on_another_host_they_come_out_otherwise(self) -> None:
        alike = dict.fromkeys(("nice 5", "nice 10", "nice 15", LOWEST), 0.2)
        told = self.verdicts(found_of(*rows_of({NORMAL: 0.2, **alike}), *memory_of(0.01, 0.3)))
        assert told["finer"] == told["above Th2"] == told["slowdown"] == HOLDS
        assert told["below Th1"] == HOLDS
        assert told["thrashing"] == told["sufficient"] == FAILS
        rows = rows_of(COSTS)
        for one in rows:
            one["guest_cpu"] *= 0.5 if one["guest"] == LOWEST else 1.0
        assert self.verdicts(found_of(*rows))["conservative"] == HOLDS

    def test_without_measurements_nothing_is_told(self) -> None:
        rows = [one for one in rows_of(COSTS) if one["guest"] in (NONE, AGAIN)]
        assert set(self.verdicts(found_of(*rows)).values()) == {UNCLEAR}


@needs_matplotlib
def test_files_of_a_study(usual: Found, tmp_path: Path) -> None:
    made = STUDY.write(tmp_path, usual)
    assert {one.name for one in made.files} == {
        "priorities.png", "policies.png", "memory.png", "turns.csv", "medians.csv", "memory.csv",
        "claims.csv", "claims.json", "verdict.md",
    }  # fmt: skip
    told = (tmp_path / "verdict.md").read_text(encoding="utf-8")
    assert "Programs that are not installed: 7zz." in told
    assert "nan" not in told


def test_a_core_that_may_not_be_used() -> None:
    with pytest.raises(ParameterError, match="--core"):
        STUDY.asked["core"](100_000, False, lambda *_: None)
    assert STUDY.asked["core"](None, False, lambda *_: None) == max(os.sched_getaffinity(0))


def test_a_real_owner_and_its_guests() -> None:
    core = max(os.sched_getaffinity(0))
    plan = Plan(seconds=0.05)
    for program in (name for name in QUICK.programs if name in installed(QUICK.programs)):
        rows = play_batch((Case(program, 0.5, 0),), Given(plan, core))
        assert {one["guest"] for one in rows} == {NONE, AGAIN, *GUESTS}
        for one in rows:
            assert one["commands"] >= 2
            assert 0 < one["owner"] <= one["seconds"] + 0.05
            assert (one["guest_cpu"] > 0) <= (one["guest"] in GUESTS)
            assert 0 <= one["others"] <= 1
