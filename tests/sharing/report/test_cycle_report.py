"""The report of cycle sharing: counts by hand, words, and a page that is whole and truthful."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.figures import series
from forestall.core.model.errors import TraceError
from forestall.core.model.hosts import HostTraces
from forestall.core.proportions import wilson
from forestall.core.show.page import page as page_of
from forestall.core.show.report import Report, Section
from forestall.core.show.text import fact_rows
from forestall.logs.generate.guests import LENGTHS, generate_guests
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.sharing.report import counts, digest, words
from forestall.sharing.report.report import report
from forestall.sharing.report.result import CycleResult
from forestall.sharing.report.tables import host_table, length_name, with_left
from forestall.sharing.report.told import ToldRun
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from scheduling.report.test_report import HOSTILE, Page, needs_matplotlib, saved

HOUR, DAY = 3600, 86_400


def hosts_of(count: int, days: int, period: int = 300, seed: int = 1) -> HostTraces:
    """Hosts whose owners come for an hour at some hour of every day; some go away."""
    rng = np.random.default_rng(seed)
    load = np.full((count, days * DAY // period), 0.05)
    for host in range(count):
        for day in range(days):
            begin = (day * DAY + int(rng.integers(8, 20)) * HOUR) // period
            load[host, begin : begin + HOUR // period] = rng.choice([0.4, 0.9, np.nan])
    names = tuple(f"lab{k}" for k in range(count))
    return HostTraces(load, None, period, np.linspace(0.8, 1.2, count), names, source="made up")


def played(count: int = 5, days: int = 30, jobs: int = 200, **parameters: Any) -> CycleResult:
    """A run on such hosts."""
    given = {"scheduler": "condor", "warm_up": DAY} | parameters
    settings = CycleParameters(**given)
    hosts = hosts_of(count, days)
    lengths = given.get("lengths", LENGTHS)
    workload = prepare_guests(
        generate_guests(jobs, 1, days=days - 2, lengths=lengths), hosts, settings
    )
    return CycleResult(play_cycle(workload, hosts, settings), {}, workload.cleaning)


@pytest.fixture(scope="module")
def run() -> CycleResult:
    return played()


def tables(result: CycleResult) -> dict[str, pl.DataFrame]:
    names = ("jobs", "stays", "hosts", "availability")
    return {name: getattr(result, name) for name in names}


def availability(*rows: tuple[int, int, int, str]) -> pl.DataFrame:
    schema = {"host": pl.Int64, "start": pl.Int64, "end": pl.Int64, "state": pl.String}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def stays(*rows: tuple[int, int, int, str]) -> pl.DataFrame:
    """Stays of (host, start, end, ended)."""
    full = [(k + 1, *row, 1.0, 0.0, 2.0, 0) for k, row in enumerate(rows)]
    names = ["job", "host", "start", "end", "ended", "work", "saved", "lost", "checkpoints"]
    types = [pl.Int64] * 4 + [pl.String] + [pl.Float64] * 3 + [pl.Int64]
    return pl.DataFrame(full, schema=dict(zip(names, types, strict=True)), orient="row")


# Counts ------------------------------------------------------------------------------------------

CUTS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4)), min_size=1, max_size=8)


def laid_out(hosts: list[list[tuple[int, int]]]) -> tuple[pl.DataFrame, np.ndarray]:
    """A table of states and, as its plain twin, the state of each second of 240; -1 for none."""
    rows, grid = [], np.full((len(hosts), 240), -1)
    for host, runs in enumerate(hosts):
        now = 0
        for length, state in runs:
            rows.append((host, now, now + length, f"S{state + 1}"))
            grid[host, now : now + length] = state
            now += length
    return availability(*rows), grid


@given(st.lists(CUTS, min_size=1, max_size=4), st.integers(1, 40))
def test_levels_are_exact_second_by_second(hosts: list[Any], bins: int) -> None:
    table, grid = laid_out(hosts)
    edges = np.linspace(0, 240, bins + 1)
    got = counts.levels(table, edges)
    fine = np.stack([(grid == k).sum(axis=0) for k in range(5)]).astype(float)
    total = np.concatenate((np.zeros((5, 1)), np.cumsum(fine, axis=1)), axis=1)
    for k in range(5):
        area = np.interp(edges, np.arange(241), total[k])
        assert got[k] == pytest.approx(np.diff(area) / np.diff(edges), abs=1e-9)


@given(st.lists(CUTS, min_size=1, max_size=4), st.integers(1, 60))
def test_how_long_hosts_stay_is_a_count_of_moments(hosts: list[Any], wide: int) -> None:
    """Second by second: of the moments at which a host is available and `wide` seconds are left of
    the run, those at which it stays so."""
    table, grid = laid_out(hosts)
    last = int(series.column(table, "end").max())
    asked = kept = 0
    for row in grid:
        free = (row >= 0) & (row <= 1)
        for second in range(last - wide):
            asked += bool(free[second])
            kept += bool(free[second : second + wide].all() and free[second])
    found = counts.lasting(table, (wide / HOUR,))
    if not asked:
        assert found == []
        return
    # A span of n seconds has n - wide moments of a continuous clock, one more of a discrete one.
    runs = len(counts.available_spans(table)[0])
    assert found[0].share * asked == pytest.approx(kept, abs=runs)


def test_how_long_hosts_stay_by_hand() -> None:
    table = availability(
        (0, 0, 7200, "S1"), (0, 7200, 10_800, "S2"), (0, 10_800, 14_400, "S3"),
        (1, 0, 3600, "S5"), (1, 3600, 14_400, "S1"), (2, 0, 14_400, "S4"),
    )  # fmt: skip
    assert [list(map(int, x)) for x in counts.available_spans(table)] == [
        [0, 1], [0, 3600], [10_800, 14_400]
    ]  # fmt: skip
    hour, three = counts.lasting(table, (1.0, 3.0))
    # Moments before 10,800: host 0 has 10,800 of which 7,200 stay; host 1 has 7,200, all stay.
    assert hour.share == pytest.approx(14_400 / 18_000)
    assert hour.low is hour.high is None  # two hosts
    assert three.share == 0.0  # before 3,600 only host 0 is available
    assert counts.lasting(table, (5.0,)) == []


def test_hours_of_the_day_by_hand() -> None:
    """From Friday 22:00 to Saturday 2:00; half an hour before and after does not count."""
    origin = MONDAY + 4 * DAY + 22 * HOUR  # Friday 22:00 is time 0
    table = availability(
        (0, -1800, 5400, "S1"), (0, 5400, 16_200, "S3"),
        (1, -1800, 9000, "S2"), (1, 9000, 16_200, "S5"),
    )  # fmt: skip
    guests = stays((1, 0, 1800, "completed"))
    work, free = counts.by_hour(table, guests, 2, origin)
    assert (work.days, free.days) == (1, 1)
    assert work.share[:, 22].tolist() == pytest.approx([0.5, 0.5, 0, 0, 0])
    assert work.share[:, 23].tolist() == pytest.approx([0.25, 0.5, 0.25, 0, 0])
    assert free.share[:, 0].tolist() == pytest.approx([0, 0.25, 0.5, 0, 0.25])
    assert free.share[:, 1].tolist() == pytest.approx([0, 0, 0.5, 0, 0.5])
    assert np.isnan(work.share[:, :22]).all()
    assert np.isnan(free.low).all()  # one day tells nothing of another
    assert work.guests[22] == pytest.approx(0.25)
    assert counts.by_hour(table.head(0), guests.head(0), 2, origin)[0].days == 0


def test_the_interval_of_an_hour_is_over_days() -> None:
    """On 4 workdays the only host is available for 1, 1, 1/2 and 1/2 of the hour from 9:00."""
    rows = []
    for day, free in enumerate((3600, 3600, 1800, 1800)):
        begin = day * DAY + 9 * HOUR
        rows += [(0, begin, begin + free, "S1"), (0, begin + free, begin + 3600, "S3")]
    work, _ = counts.by_hour(availability(*rows), stays(), 1, MONDAY)
    half = 3.182446 * 0.2886751 / 2  # Student's t with 3 degrees; deviation of the four
    assert work.low[9] == pytest.approx(0.75 - half, abs=1e-6)
    assert work.high[9] == pytest.approx(1.0)
    assert work.share[0, 9] == pytest.approx(0.75)


def test_time_zero_has_a_date() -> None:
    assert counts.origin_of({"origin": 1234}) == 1234
    assert counts.origin_of({"parameters": {"warm_up": 60}}) == MONDAY + 60
    assert counts.origin_of({}) == MONDAY


def jobs_of(*rows: tuple[int, int, int | None, str, int]) -> pl.DataFrame:
    """Jobs of (submit, runtime, makespan, outcome, failures)."""
    names = ["submit", "runtime", "makespan", "outcome", "failures"]
    return pl.DataFrame(list(rows), schema=names, orient="row").with_columns(
        pl.col("makespan").cast(pl.Int64)
    )


def test_means_have_intervals_over_days_where_there_are_enough() -> None:
    few = jobs_of((0, 60, 100, "completed", 0), (1, 60, 300, "completed", 0))
    mean = counts.mean_of(few, pl.col("makespan"))
    assert mean is not None
    half = 12.7062047 * 100  # t with 1 degree; deviation 141.42 / sqrt(2)
    assert (mean.value, mean.over) == (200.0, "jobs")
    assert mean.low == pytest.approx(200 - half, rel=1e-6)
    days = jobs_of(*((d * DAY + k, 60, 100 * (d % 2), "completed", 0) for d in range(20)
                     for k in range(5)))  # fmt: skip
    over = counts.mean_of(days, pl.col("makespan"))
    assert over is not None
    # 20 days of 0 or 100: their deviation is 51.3, over sqrt(20), times t with 19 degrees.
    assert (over.value, over.over) == (50.0, "days")
    assert over.high == pytest.approx(50 + 2.0930241 * 51.2989 / 20**0.5, rel=1e-5)
    one = counts.mean_of(few.head(1), pl.col("makespan"))
    assert one is not None
    assert (one.value, one.low) == (100.0, None)
    assert counts.mean_of(few.head(0), pl.col("makespan")) is None


def test_jobs_are_told_by_run_time() -> None:
    table = jobs_of((0, 1800, 2000, "completed", 1), (1, 1800, None, "unscheduled", 0),
                    (2, 3600, 4000, "completed", 0), (3, 1800, 4000, "completed", 0))  # fmt: skip
    short, long = counts.by_length(table)
    assert (short.low, short.high, short.count, short.completed) == (1800, 1800, 3, 2)
    assert short.makespan is not None
    assert short.makespan.value == 3000
    assert short.stretch is not None
    assert short.stretch.value == pytest.approx(3000 / 1800)
    assert short.failures is not None
    assert short.failures.value == pytest.approx(1 / 3)
    assert short.unscheduled == 1
    assert short.quantiles == pytest.approx((2100, 2500, 3000, 3500, 3900))
    assert (long.count, long.quantiles[2]) == (1, 4000)
    assert counts.by_length(table.head(0)) == []


def test_many_run_times_are_put_in_classes_that_double() -> None:
    times = [60, 900, 1800, 1801, 3600, 3601, 7200, 7300, 9000, 9001, 9002, 9003, 9004, 14_401]
    table = jobs_of(*((k, t, t, "completed", 0) for k, t in enumerate(times)))
    found = counts.by_length(table)
    assert sum(one.count for one in found) == len(times)
    for one in found:
        assert one.count == sum(one.low < t <= one.high for t in times)
    assert [length_name(one) for one in found][-4:] == [
        "30 min to 1 h", "1 to 2 h", "2 to 4 h", "4 to 8 h"
    ]  # fmt: skip


def test_jobs_end_in_one_of_four_ways() -> None:
    table = jobs_of((0, 1, 1, "completed", 0), (0, 1, 1, "completed", 2),
                    (0, 1, None, "unscheduled", 0), (0, 1, None, "unfinished", 1))  # fmt: skip
    assert counts.with_fates(table)["fate"].to_list() == list(counts.FATES)


def test_host_time_adds_up_by_hand() -> None:
    table = availability((0, 0, 60, "S1"), (0, 60, 100, "S2"), (1, 0, 90, "S3"), (1, 90, 100, "S5"))
    told = counts.host_hours(table, stays((0, 0, 50, "completed")), 0, 100)
    assert told == pytest.approx(
        {"guest": 50, "S1": 30, "S2": 20, "S3": 90, "S4": 0, "S5": 10}
    )  # what has no guest is shared out as S1 and S2 are
    assert sum(told.values()) == pytest.approx(200)


def test_tables_without_rows_get_their_types_back(run: CycleResult) -> None:
    for table in tables(run).values():
        empty = pl.read_csv(table.head(0).write_csv().encode())
        kinds = counts.typed(empty).schema
        assert {n: k for n, k in kinds.items() if n in table.schema} == dict(table.schema)
        assert counts.typed(table) is table


def test_what_was_said_and_what_came_by_hand() -> None:
    ends = ["completed", "away", "completed", "completed", "unfinished", "completed"]
    table = stays(*((0, 0, 1, end) for end in ends)).with_columns(
        chance=pl.Series([0.1, 0.19, 0.3, 1.0, 0.5, None], dtype=pl.Float64)
    )
    found = counts.promised(table, "chance")
    assert [(one.low, one.stays, one.kept) for one in found] == [(0.1, 2, 0.5), (0.3, 1, 1.0),
                                                                (0.9, 1, 1.0)]  # fmt: skip
    assert [one.said for one in found] == pytest.approx([0.145, 0.3, 1.0])
    assert (found[0].kept_low, found[0].kept_high) == wilson(1, 2)
    squares = (0.9**2 + 0.19**2 + 0.7**2 + 0) / 4
    assert counts.brier(table, "chance") == pytest.approx(squares)
    assert counts.promised(table, "promise") == []
    assert counts.brier(table, "promise") is None
    assert counts.brier(table.with_columns(chance=pl.lit(None)), "chance") is None


# Words -------------------------------------------------------------------------------------------


def test_completion_in_words() -> None:
    makespan = counts.Mean(9000.0, 8000.0, 10_000.0, "days")
    stretch = counts.Mean(1.25, None, None, "jobs")
    ends = {"straight": 150, "after": 30, "unscheduled": 1, "unfinished": 19}
    assert words.on_completion(ends, (None, None), makespan, stretch) == (
        "180 of 200 jobs (90.0 %) were completed; 95 % interval 85.1 to 93.4 %. From submission to "
        "completion they took 2.50 h (95 % interval 2.22 to 2.78 h, over days) on average, 1.25 "
        "times their run times. 1 job found no free host when it asked, and was given up as "
        "unscheduled: 0.5 %, 95 % interval 0.1 to 2.8 %. 19 jobs were not done when the traces "
        "ended."
    )
    assert words.on_completion({}, (None, None), None, None) == "There were no jobs."
    assert words.on_completion({"unfinished": 3}, (None, None), None, None).startswith(
        "0 of 3 jobs"
    )
    days = words.on_completion({"straight": 50, "unscheduled": 50}, (4.0, 9.0), None, None)
    assert "interval 31.8 to 68.2 % (over days)" in days  # 25 jobs' worth
    assert days.endswith("interval 24.7 to 75.3 % (over days).")  # 11 jobs' worth


def test_failures_in_words() -> None:
    ends = {"completed": 9, "contention": 6, "thrashing": 2}
    mean = counts.Mean(0.8, 0.5, 1.1, "jobs")
    said = words.on_failures(4, 10, None, mean, ends, 3600.0, 36_000.0)
    assert said == (
        "A job lost a host with probability 40.0 %, 95 % interval 16.8 to 68.7 %; on average it "
        "lost 0.80 (95 % interval 0.50 to 1.10, over jobs). Hosts ended 8 stays because of the "
        "owner's load (S3, 75.0 %) and too little free memory (S4, 25.0 %). This destroyed 1.0 "
        "host-hours of work, 10.0 % of the useful work."
    )
    none = words.on_failures(0, 10, None, mean, {"completed": 9}, 0.0, 0.0)
    assert none == "No host left its guest: no job had to be restarted."
    assert words.on_failures(0, 0, None, None, {}, 0.0, 0.0) == ""


def test_promises_in_words() -> None:
    found = [counts.Promised(0.5, 0.6, 40, 0.55, 0.5, 0.3, 0.7),
             counts.Promised(0.9, 1.0, 60, 0.95, 1.0, 0.9, 1.0)]  # fmt: skip
    assert words.on_promises(found, 0.1, None, "promised") == (
        "When a stay began, Falcon promised the probability that the job would finish on that "
        "host: 79.0 % on average. 80.0 % did, 95 % interval 71.1 to 86.7 %. The Brier "
        "score is 0.1000 (0 is perfect; stating 80.0 % for every stay would have scored "
        "0.1600)."
    )
    assert words.on_promises([], None, None, "promised") == ""


def test_hosts_in_words() -> None:
    time = {"guest": 20.0, "S1": 50.0, "S2": 10.0, "S3": 15.0, "S4": 0.0, "S5": 5.0}
    found = [counts.Lasting(1.0, 0.9, 0.85, 0.95), counts.Lasting(4.0, 0.5, None, None)]
    assert words.on_hosts(time, found, 0.25) == (
        "Hosts were available 80.0 % of the time and had a guest 20.0 % of it. A host that is "
        "available at some moment stays so for 1 hour more with probability 90.0 % (95 % interval "
        "85.0 to 95.0 %, over hosts) and for 4 hours more with probability 50.0 %. 25.0 % of what "
        "hosts could have done became useful work."
    )
    assert words.on_hosts(dict.fromkeys(time, 0.0), [], None) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(45, "45.0 s"), (1800, "30.0 min"), (7199, "120.0 min"), (9000, "2.50 h"),
     (400_000, "4.63 d"), (None, "\N{EN DASH}")],
)  # fmt: skip
def test_makespans_have_digits_that_suit(seconds: float | None, said: str) -> None:
    assert words.lasted(seconds) == said


def test_rows_of_the_terminal(run: CycleResult) -> None:
    told = {row[0]: row[1:] for row in fact_rows(digest.measures(run.summary))}
    done = run.measures["jobs_completed"]
    assert told["Jobs completed"][1].startswith(f"{done:,} of {run.measures['jobs_simulated']:,}; ")
    assert told["Makespan"][0] == words.words.duration(run.makespan)
    assert told["Harvested"][0].endswith(" %")
    assert "5 hosts" in digest.headline(run.summary)
    assert "scheduler Condor-style" in digest.headline(run.summary)
    assert "restart from scratch" in digest.headline(run.summary)
    assert all(len(row) == 3 for row in fact_rows(digest.measures({})))


# The page ----------------------------------------------------------------------------------------


def written(result: CycleResult, folder: Path, **changed: Any) -> tuple[str, Page]:
    summary = json.loads(json.dumps(result.summary)) | changed
    text = saved(report(ToldRun(summary, **tables(result))), folder)
    return text, Page(text)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without figures: quick to write."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@needs_matplotlib
def test_the_page_is_whole_and_needs_nothing_else(run: CycleResult, tmp_path: Path) -> None:
    text, page = written(run, tmp_path)
    assert "http://" not in text
    assert "https://" not in text
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert len(page.images) == 4
    for image in page.images:
        assert len(str(image["aria-label"])) > 20
    loaded = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', text)
    assert loaded
    for one, other in loaded:
        assert (one or other).startswith(("#", "data:image/png;base64,"))
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert text == written(run, tmp_path)[0]  # the same bytes


@pytest.mark.usefixtures("plain")
def test_without_matplotlib_the_page_says_what_is_missing(run: CycleResult, tmp_path: Path) -> None:
    text, page = written(run, tmp_path)
    assert "forestall[plot]" in page.said
    assert not page.images
    for title in ("How jobs ended", "Makespan", "Why stays ended", "Hosts over time",
                  "Best and worst hosts", "Jobs that lost most", "Waiting", "What was left out",
                  "How to read this page", "Parameters", "Made with"):  # fmt: skip
        assert re.search(f'<h2 id="[a-z_]+">{re.escape(title)}</h2>', text)
    assert "200 jobs · 5 hosts" in page.said
    assert "promised" not in page.said.split("How to read")[0]  # nothing was, by this scheduler


@pytest.mark.usefixtures("plain")
def test_the_page_tells_what_the_tables_hold(run: CycleResult, tmp_path: Path) -> None:
    _, page = written(run, tmp_path)
    for slug, name in (("contention", "The owner's load: S3"), ("away", "The host went away: S5")):
        count = int((run.stays["ended"] == slug).sum())
        assert count > 0
        assert f"{name} {count} " in page.said
    hit = int((run.jobs["failures"] > 0).sum())
    assert f"Completed after losing hosts {hit} " in page.said
    assert f"probability {hit / 2:.1f} %" in page.said
    assert f"{words.plain(run.failures_per_job)} (95 % interval" in page.said
    assert words.lasted(run.makespan) in page.said
    for one in run.summary["by_length"]:
        assert words.lasted(one["makespan"]) in page.said
    worst = run.jobs.sort("lost", "job", descending=[True, False]).row(0, named=True)
    assert f"The job {worst['job']} " in page.said
    free = run.hosts["share_s1"] + run.hosts["share_s2"]
    first = run.hosts.with_columns(free=free).sort("free", "host", descending=[True, False])["name"]
    assert page.said.index(first[0]) < page.said.index(first[-1])


@pytest.mark.usefixtures("plain")
def test_what_falcon_said_is_told(tmp_path: Path) -> None:
    result = played(scheduler="falcon", days=12, jobs=60, predict_step=300, horizon=6 * HOUR)
    text, page = written(result, tmp_path)
    assert '<h2 id="promises">Stated and observed probabilities</h2>' in text
    assert "Promises kept" in page.said
    kept = int((result.stays["ended"] == "completed").sum())
    count = int((result.stays["ended"] != "unfinished").sum())
    assert f"average. {100 * kept / count:.1f} % did" in page.said


@pytest.mark.usefixtures("plain")
def test_hostile_text_is_escaped(run: CycleResult, tmp_path: Path) -> None:
    made = CycleResult(run.outcome)
    hosts = made.hosts.with_columns(name=pl.lit(HOSTILE))
    summary = made.summary | {
        "seed": HOSTILE, "scheduler": HOSTILE, "parameters": {HOSTILE: HOSTILE},
        "skipped": {HOSTILE: 3}, "versions": {HOSTILE: HOSTILE},
    }  # fmt: skip
    held = tables(made) | {"hosts": hosts}
    text = saved(report(ToldRun(summary, **held)), tmp_path)
    page = Page(text)
    assert "<script" not in text
    assert "script" not in page.tags
    assert page.said.count(HOSTILE) >= 8


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jobs": 1, "days": 4}, "1 job ·"),
        ({"count": 1, "jobs": 60}, "1 host ·"),
        ({"count": 1, "jobs": 300, "days": 6}, "as unscheduled"),
        ({"restart": "checkpoint", "days": 5, "jobs": 60}, "restart from checkpoints"),
    ],
    ids=["one job", "one host", "far too many jobs", "checkpoints"],
)
def test_odd_runs(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    text, page = written(played(**given), tmp_path)
    assert said in page.said
    assert "nan" not in page.said.lower().split()
    assert "None" not in page.said
    assert text.endswith("</html>\n")


def test_a_sparse_summary_and_empty_csv_files_are_enough(run: CycleResult, tmp_path: Path) -> None:
    read = {
        name: pl.read_csv(table.head(0).write_csv().encode()) for name, table in tables(run).items()
    }
    assert "There were no jobs." in Page(saved(report(ToldRun({}, **read)), tmp_path)).said


@needs_matplotlib
def test_tables_of_csv_files_give_the_same_page(run: CycleResult, tmp_path: Path) -> None:
    read = {
        name: pl.read_csv(table.write_csv().encode(), infer_schema_length=None)
        for name, table in tables(run).items()
    }
    told = ToldRun(json.loads(json.dumps(run.summary)), **read)
    assert saved(report(told), tmp_path) == written(run, tmp_path)[0]


def test_many_hosts_are_told_by_best_and_worst() -> None:
    count = 50
    hosts = pl.DataFrame(
        {"host": range(count), "name": [f"h{k}" for k in range(count)], "speed": [1.0] * count,
         "share_s1": [k / count for k in range(count)], "share_s2": [0.0] * count,
         "unavailable": [1] * count, "s3": [1] * count, "s4": [0] * count, "s5": [0] * count,
         "guests": [2] * count, "guest_seconds": [7200] * count, "useful": [3600.0] * count,
         "lost": [0.0] * count}
    )  # fmt: skip
    left = with_left(hosts, stays((49, 0, 5, "away"), (49, 6, 9, "completed")))
    assert left["left"].to_list() == [0] * 49 + [1]
    shown = Report("", "", (Section("hosts", "", body=host_table(left)),))
    page = Page(page_of(shown, drawn={}))
    assert "Most available: 10 of 50 hosts." in page.said
    assert "h49 1.00 98.0 %" in page.said
    assert "h25 " not in page.said
    assert "h0 1.00 0.0 %" in page.said
    assert host_table(left.head(0)) == ()


def test_sections_stand_in_every_form(run: CycleResult) -> None:
    told = json.loads(json.dumps(run.report.json, allow_nan=False))["sections"]
    assert list(told) == [
        "measures", "ends", "makespan", "stays", "promises", "hosts", "hours", "extremes",
        "lost_most", "waiting",
    ]  # fmt: skip
    fates = told["ends"]["tables"]["fates"]["rows"]
    assert sum(row["count"] for row in fates) == 200
    lengths = told["makespan"]["tables"]["lengths"]["rows"]
    assert sum(row["jobs"] for row in lengths) == 200
    for row, one in zip(lengths, run.summary["by_length"], strict=True):
        assert row["makespan_mean_s"] == pytest.approx(one["makespan"])
    spent = told["hosts"]["tables"]["host_time"]["rows"]
    assert sum(row["host_s"] for row in spent[:-1]) == pytest.approx(spent[-1]["host_s"])
    assert max(map(len, run.report.text(full=True).splitlines())) <= 100
    assert "forestall_lost_work_host_seconds" in run.report.openmetrics


def test_a_page_that_cannot_be_written_is_one_error(run: CycleResult, tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        written(run, tmp_path / "no" / "such")
