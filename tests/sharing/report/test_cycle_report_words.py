"""Words of the page of cycle sharing: units of intervals, and what a map shows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from forestall.core.model.cycle import FAR, GuestDecision, GuestDecisionKind, GuestReason
from forestall.core.model.jobs import Jobs
from forestall.core.show.page import page
from forestall.core.show.report import Report, Section
from forestall.sharing.report import counts, words
from forestall.sharing.report import figures as drawing
from forestall.sharing.report.tables import length_table
from forestall.sharing.simulate import simulate_cycle
from sharing.report.cycle_small import idle_hosts

HOUR = 3600


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (7188, 8460, "2.00 to 2.35 h"),  # not 119.8 min to 2.35 h
        (2412, 2526, "40.2 to 42.1 min"),
        (90, 130, "1.5 to 2.2 min"),
        (95 * HOUR, 101 * HOUR, "3.96 to 4.21 d"),
    ],
)
def test_both_ends_have_one_unit(low: float, high: float, said: str) -> None:
    assert words.ends_of((low, high), words.lasted) == said


def test_both_ends_have_as_many_digits() -> None:
    assert words.ends_of((0.08, 0.12), words.plain) == "0.08 to 0.12"
    assert words.ends_of((-0.08, 0.09), words.plain) == "0.000 to 0.090"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (45, "45 s"), (100, "100 s"), (120, "2 min"), (1000, "1,000 s"), (1800, "30 min"),
        (5400, "1.5 h"), (4000, "4,000 s"), (7200, "2 h"), (10_000, "2.778 h"),
    ],
)  # fmt: skip
def test_run_times_are_round(seconds: int, said: str) -> None:
    assert words.round_time(seconds) == said


def jobs(*makespans: int) -> pl.DataFrame:
    """Return completed jobs of one hour that never lost a host."""
    count = len(makespans)
    return pl.DataFrame(
        {
            "submit": [0] * count,
            "runtime": [HOUR] * count,
            "makespan": list(makespans),
            "failures": [0] * count,
            "outcome": ["completed"] * count,
        }
    )


def test_values_that_are_all_alike_tell_no_interval() -> None:
    told = counts.mean_of(jobs(4000, 5000, 6000), pl.col("failures"))
    assert told == counts.Mean(0.0, None, None, "jobs")
    (one,) = counts.by_length(jobs(4000, 5000, 6000))
    assert one.makespan is not None
    assert one.makespan.low is not None
    (table,) = length_table([one])
    assert not any("0.000 to 0.000" in cell for cell in table.texts[0])


def test_an_interval_stays_on_one_line() -> None:
    (table,) = length_table(counts.by_length(jobs(2400, 2500, 2600)))
    shown = page(Report("", "", (Section("lengths", "", body=(table,)),)), drawn={})
    assert "37.5\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}45.8\N{NO-BREAK SPACE}min" in shown


@pytest.mark.parametrize(
    ("ended", "last", "shown"),
    [
        ("away", 10, "ended"),
        ("completed", 10, "began"),
        ("away", 7, "run"),
    ],
)
def test_what_the_map_shows_is_said(ended: str, last: int, shown: str) -> None:
    day = 86_400
    stays = pl.DataFrame({"ended": [ended], "start": [0], "end": [5]})
    assert drawing.part_shown(stays, 0, last * day, drawing.width_of(5)) == shown
    said = words.map_caption(5, 60, shown=shown)
    assert ("hosts ended the most stays" in said) == (shown == "ended")


def test_a_short_run_is_shown_whole_and_used_whole(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = simulate_cycle(
        Jobs.build([0, 60], [1, 1], [100, 200]), idle_hosts(2), scheduler="condor", warm_up=0
    )
    text = (done.save(tmp_path) / "report.html").read_text()
    assert "hosts ended most stays" not in text
    assert "Nothing: everything in the logs was used." in text
    assert "1.667 min" not in text
    assert "100 s" in text


@pytest.mark.parametrize(("jctf", "said"), [(23_359, "in 23359 s"), (FAR, "no host is expected")])
def test_a_host_that_ends_it_at_no_time_is_not_the_first(jctf: int, said: str) -> None:
    why = GuestDecision(
        0, GuestDecisionKind.START, GuestReason.ENDS_FIRST, 0, host=3, jctf=jctf
    ).why
    assert said in why
    assert "host 3" in why
    assert ("expected to end it first" in why) == (jctf < FAR)
