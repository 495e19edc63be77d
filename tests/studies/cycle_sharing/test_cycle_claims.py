"""Claims that can hold and can fail, on runs made for that; contention; the whole study, small."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forestall.core.model.errors import TraceError
from forestall.logs.generate.guests import LENGTHS
from forestall.sharing.contention.points import Point
from scheduling.report.test_report import needs_matplotlib
from studies.cycle_sharing import STUDY, Plan, claims, contend
from studies.cycle_sharing import contention as contending
from studies.cycle_sharing.cells import GuestRuns
from studies.cycle_sharing.claims import FAILS, HOLDS, PARTLY, UNCLEAR, Found
from studies.cycle_sharing.contention import Contention, left_out
from studies.cycle_sharing.runs import ALL
from studies.cycle_sharing.statistics import SCHEMA, summary
from studies.cycle_sharing.study import FALCON, LOAD, SCHEDULERS, SEEN, SLIDES
from study_calls import told_by

NAME = "own hours"
Shape = Callable[[str, int, int], dict[str, float]]


def found_of(shape: Shape, seeds: int = 5) -> Found:
    """Runs of one set; `shape` gives measures of (scheduler, hours, seed)."""
    rows = []
    for scheduler in SCHEDULERS:
        for seed in range(seeds):
            for length in (ALL, *LENGTHS):
                row: dict[str, Any] = {
                    "hosts_of": NAME, "seed": seed, "scheduler": scheduler, "restart": "scratch",
                    "load": LOAD, "hosts": 20, "learning": SEEN, "length": length,
                    "makespan": 10.0, "failures": 0.0, "unscheduled": 0.0, "said": 0.9,
                    "foreseen": 0.8, "kept": 0.9, "brier": 0.01,
                }  # fmt: skip
                rows.append(row | shape(scheduler, (length or 3 * 3600) / 3600, seed))
    states = pl.DataFrame(schema=SCHEMA)
    plan = Plan(loads=(LOAD,))
    return Found(plan, GuestRuns(pl.DataFrame(rows)), states, pl.DataFrame(), left_out("not now"))


def spans(**of: float) -> Shape:
    """Makespans as multiples of run time, which differ a little by seed."""
    return lambda scheduler, hours, seed: {
        "makespan": hours
        * of[scheduler.partition("-")[0]]
        * (1 + 0.001 * (seed * len(scheduler[1:]) * ord(scheduler[0]) % 7))
    }


@pytest.mark.parametrize(
    ("falcon", "verdict"),
    [(1.1, HOLDS), (1.2001, UNCLEAR), (1.3, FAILS), (0.9, FAILS), (1.0, UNCLEAR)],
)
def test_between(falcon: float, verdict: str) -> None:
    found = found_of(spans(condor=1.2, falcon=falcon, omniscient=1.0))
    told = claims.between(found, NAME, "scratch", SLIDES)
    assert told.verdict == verdict
    if falcon == 1.1:
        assert told.measured.startswith("makespan +8.")


@pytest.mark.parametrize(("falcon", "verdict"), [(1.1, HOLDS), (1.18, FAILS), (1.3, FAILS)])
def test_improved(falcon: float, verdict: str) -> None:
    told = claims.improved(
        found_of(spans(condor=1.2, falcon=falcon, omniscient=1.0)), NAME, "scratch", SLIDES
    )
    assert told.verdict == verdict
    assert told.measured.count(" h ") == told.brief.count(" h ") == 7


def test_improved_in_part() -> None:
    def shape(scheduler: str, hours: float, _: int) -> dict[str, float]:
        good = scheduler == SLIDES and hours >= 2
        return {"makespan": hours * (0.9 if good else 1.0)}

    told = claims.improved(found_of(shape), NAME, "scratch", SLIDES)
    assert told.verdict == PARTLY


def test_grows() -> None:
    alike = found_of(spans(condor=1.2, falcon=1.1, omniscient=1.0))  # a tenth at each length
    assert claims.grows(alike, NAME, "scratch", SLIDES).verdict == PARTLY
    grows = found_of(
        lambda who, hours, seed: {
            "makespan": hours * (1 + (0.01 * hours + 0.001 * seed) * (who == SLIDES))
        }
    )
    assert claims.grows(grows, NAME, "scratch", SLIDES).verdict == HOLDS
    shrinks = found_of(
        lambda who, hours, _: {"makespan": hours * (0.9 if who == SLIDES else 1.0) + 1}
    )
    assert claims.grows(shrinks, NAME, "scratch", SLIDES).verdict == FAILS
    level = found_of(
        lambda who, hours, seed: {
            "makespan": hours * (1 + (0.01 * (seed - 2) if who == SLIDES else 0))
        }
    )
    assert claims.grows(level, NAME, "scratch", SLIDES).verdict == UNCLEAR


def test_unscheduled() -> None:
    def shape(more: float) -> Shape:
        return lambda who, _, seed: {
            "unscheduled": 0.1 + (more if who == SLIDES else 0) + 0.0001 * seed
        }

    assert claims.unscheduled(found_of(shape(0.001)), NAME, "scratch", SLIDES).verdict == HOLDS
    assert claims.unscheduled(found_of(shape(0.05)), NAME, "scratch", SLIDES).verdict == FAILS
    noisy = found_of(
        lambda who, _, seed: {"unscheduled": 0.1 + (0.05 * (seed - 1.9) if who == SLIDES else 0)}
    )
    assert (
        claims.unscheduled(noisy, NAME, "scratch", SLIDES).verdict == HOLDS
    )  # not told apart from 0


@pytest.mark.parametrize(("more", "verdict"), [(-0.2, HOLDS), (0.2, FAILS), (0.0, UNCLEAR)])
def test_fewer_failures_of_long_jobs(more: float, verdict: str) -> None:
    def shape(who: str, hours: float, seed: int) -> dict[str, float]:
        own = more * (hours >= 4) if who == SLIDES else 0
        return {"failures": 0.5 + own + 0.01 * (seed - 2) * (who == SLIDES)}

    told = claims.fewer_failures(found_of(shape), NAME, "scratch", SLIDES)
    assert told.verdict == verdict
    assert "6 h 0.500" in told.measured


@pytest.mark.parametrize(
    ("by_hours", "verdict"),
    [((0.2, 0.3, 0.25), HOLDS), ((0.3, 0.2, 0.25), HOLDS), ((0.2, 0.3, 0.4), FAILS),
     ((0.2, 0.2, 0.2), UNCLEAR), ((0.3, 0.2, 0.1), UNCLEAR)],
)  # fmt: skip
def test_kink(by_hours: tuple[float, ...], verdict: str) -> None:
    def shape(_: str, hours: float, seed: int) -> dict[str, float]:
        given = dict(zip((2.0, 3.0, 4.0), by_hours, strict=True))
        return {"failures": given.get(hours, 0.0) + 0.002 * ((seed * hours) % 3)}

    told = claims.kink(found_of(shape), NAME, "scratch", SLIDES)
    assert told.verdict == verdict
    assert "Falcon" in told.brief


@pytest.mark.parametrize(("ours", "verdict"), [(0.9, HOLDS), (1.1, FAILS), (1.0, UNCLEAR)])
def test_what_is_added(ours: float, verdict: str) -> None:
    def shape(who: str, hours: float, seed: int) -> dict[str, float]:
        return {"makespan": hours * (ours + 0.001 * (seed - 2) if who == FALCON else 1.0)}

    assert claims.added(found_of(shape), NAME, "scratch", FALCON).verdict == verdict


def test_promises() -> None:
    good = claims.promises(found_of(lambda *_: {}), NAME, "scratch", FALCON)
    assert good.verdict == HOLDS
    assert "promised 90.0 % on average (raw probability 80.0 %), 90.0 % of stays" in good.measured
    assert "would score 0.0900" in good.measured
    bold = found_of(lambda _, __, seed: {"kept": 0.8 + 0.001 * seed})
    assert claims.promises(bold, NAME, "scratch", FALCON).verdict == FAILS


def state_row(name: str, total: int, s3: int, s4: int, days: float = 91.0) -> tuple[Any, ...]:
    return (name, 1, "h", days, total, s3, s4, total - s3 - s4, 0.7, 0.2, 0.05, 0.03, 0.02)


def test_state_statistics() -> None:
    rows = [state_row(NAME, 405, 300, 100), state_row(NAME, 453, 340, 110),
            state_row("LANL", 0, 0, 0), state_row("LANL", 3, 0, 0),
            state_row("short", 10, 10, 0, 4.0)]  # fmt: skip
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    told = {row["hosts_of"]: row for row in summary(table).iter_rows(named=True)}
    assert (told[NAME]["least"], told[NAME]["most"]) == (405, 453)
    assert told[NAME]["s3_all"] == pytest.approx(640 / 858)
    assert told["LANL"]["s5_low"] == 1.0  # of hosts that have any
    assert told["short"]["least"] == pytest.approx(10 * 91 / 4)
    assert told[NAME]["available"] == pytest.approx(0.9)
    verdicts = {one.where.split(",")[0]: one.verdict for one in claims.statistics(table)}
    assert verdicts == {NAME: HOLDS, "LANL": FAILS, "short": FAILS}
    few = pl.DataFrame([state_row(NAME, 404, 300, 100)], schema=SCHEMA, orient="row")
    assert next(claims.statistics(few)).verdict == FAILS


def telling(predicted: list[float], observed: list[float]) -> pl.DataFrame:
    count = len(predicted)
    return pl.DataFrame(
        {"set": [NAME] * count, "model": ["m"] * count, "host": list(range(count)),
         "weekend": [False] * count, "hour": [9] * count, "length_h": [1.0] * count,
         "training": [0.5] * count, "windows": [4] * count, "predicted": predicted,
         "observed": observed, "drawn": predicted}
    )  # fmt: skip


def test_accuracy() -> None:
    (good,) = claims.accuracy(telling([0.9, 0.8], [1.0, 0.8]))
    assert good.verdict == HOLDS
    assert good.measured.startswith("95.0 % per host and hour, windows of 1 to 10 h; 94.4 % for")
    (part,) = claims.accuracy(telling([0.5, 0.8, 0.3], [0.2, 1.0, 0.0]))
    # Per host and hour: errors of 150 and 20 %; together: 1.3 / 1.2; a cell that never stays does
    # not count.
    assert "15.0 % per host and hour" in part.measured
    assert "91.7 % for all hosts together" in part.measured
    assert "80.0 % without the 1 of 2 cells" in part.measured
    assert part.measured.endswith("(-50.0 %)")
    assert part.verdict == PARTLY
    (bad,) = claims.accuracy(telling([0.5], [1.0]))
    assert bad.verdict == FAILS


def test_reasons_are_those_of_claims_and_sets() -> None:
    from studies.cycle_sharing.inputs import SHAPES
    from studies.cycle_sharing.reasons import WHY
    from studies.cycle_sharing.study import RESTARTS

    for key in WHY:
        claim, *rest = key.split(", ")
        if rest:
            assert claim in {one.name.removesuffix(" here") for one in claims.SCHEDULING}
            assert rest[0] in SHAPES
            assert rest[1:] == [] or rest[1] in RESTARTS
    behind = found_of(spans(condor=1.2, falcon=1.3, omniscient=1.0))
    rows = behind.runs.table.with_columns(hosts_of=pl.lit("alike"))
    alike = replace(behind, runs=GuestRuns(rows))
    told = claims.scheduled(claims.SCHEDULING[0], alike, "alike", "scratch")
    assert told.why == WHY["between, alike, scratch"]
    ahead = found_of(spans(condor=1.2, falcon=1.1, omniscient=1.0))
    assert claims.scheduled(claims.SCHEDULING[0], ahead, NAME, "scratch").why == ""


# Contention --------------------------------------------------------------------------------------


def points(second: float) -> tuple[Point, ...]:
    """An owner that loses to a normal guest from 20 % on, and to a lowered one from `second` on."""
    found = []
    for repeat in range(2):
        for load in (0.1, 0.3, 0.5, 0.7, 0.9):
            lost = {"none": 0.0, "normal": 0.5 * max(load - 0.1, 0),
                    "lowest": 0.5 * max(load - second, 0)}  # fmt: skip
            for guest, share in lost.items():
                found.append(
                    Point(repeat, 1, load, guest, 0.0, 1.0, load * (1 - share), 0.1, 1, 0.0)  # type: ignore[arg-type]
                )
    return tuple(found)


def test_thresholds_of_contention(tmp_path: Path) -> None:
    study = Contention(points(0.5), "here")
    (told,) = claims.contention(study)
    assert told.verdict == HOLDS
    assert told.measured.startswith("Th1 20.0 %")
    assert "Th2 60.0 %" in told.measured
    (none,) = claims.contention(left_out("the host is busy"))
    assert none.verdict == UNCLEAR
    assert "the host is busy" in none.measured
    (low,) = claims.contention(Contention(points(0.5)[3:15] + points(0.5)[18:], "here"))
    assert "Th1 below all loads" in low.measured
    assert low.verdict == PARTLY
    assert low.why
    (same,) = claims.contention(Contention(points(0.1), "here"))
    assert same.verdict == FAILS
    (tmp_path / "points.csv").write_text(study.table().write_csv(), encoding="utf-8")
    again = contend(tmp_path)
    for one, two in zip(again.points, study.points, strict=True):
        assert one[3] == two[3]
        assert one[:3] + one[4:] == pytest.approx(two[:3] + two[4:])
    assert contend("none").points == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [("a,b\n1,2\n", "line 2: expected the columns repeat"), ("repeat,group\n", "has no rows"),
     ("repeat,group,asked,guest,began,seconds,owner,guest_cpu,cores,background\n"
      "0,1,0.1,strange,0,1,0.1,0,1,0\n", "line 2")],
)  # fmt: skip
def test_tables_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text(text, encoding="utf-8")
    with pytest.raises(TraceError, match=said):
        contend(tmp_path)


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        contend(tmp_path / "none")


def test_a_busy_host_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from forestall import contention

    monkeypatch.setattr(contention, "background", lambda cpus, seconds: 0.9)
    study = contending.measured()
    assert study.points == ()
    assert "others use 90 %" in study.why


# The whole ---------------------------------------------------------------------------------------

TINY = Plan(seeds=2, few=1, loads=(LOAD,), counts=(), days=21, hosts=3, why=False)


@needs_matplotlib
def test_the_whole_study_small(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    made = STUDY.reproduce(
        tmp_path / "one", plan=TINY, contention=Contention(points(0.5), "made up"), workers=1,
        progress=lambda *at: told.append(at),
    )  # fmt: skip
    names = {path.name for path in made.files}
    assert names == {
        "contention.png", "by-length-own-hours.png", "by-length-alike.png", "gains.png",
        "runs.csv", "states.csv", "accuracy.csv", "contention.csv", "claims.csv", "claims.json",
        "verdict.md",
    }  # fmt: skip
    assert told[-1] == (48, 48)
    text = (tmp_path / "one" / "verdict.md").read_text(encoding="utf-8")
    for name in names:
        assert not name.endswith(".png") or f"![{name}]({name})" in text
    assert "nan" not in text
    value = json.loads((tmp_path / "one" / "claims.json").read_text(encoding="utf-8"))
    assert len(value["claims"]) == len(made.claims) == 1 + 2 + 2 + 5 * 6 + 4 * 2
    table = pl.read_csv(tmp_path / "one" / "runs.csv")
    assert len(table) == 48 * 8
    assert told_by(tmp_path / "one", "claims.json", "verdict.md") == [
        "6e3df46a5eea1ad6", "9781859fb4116de1",
    ]  # fmt: skip


@needs_matplotlib
@pytest.mark.slow
def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = (
        STUDY.reproduce(tmp_path / name, plan=TINY, contention=Contention(points(0.5), "made up"),
                  workers=workers)
        for name, workers in (("one", 1), ("two", 2))
    )  # fmt: skip
    for first, second in zip(one.files, two.files, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
