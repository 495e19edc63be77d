"""The report of virtual machines: counts by hand, words, and a page that is whole and truthful."""

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

from forestall.core.figures import series as series_
from forestall.core.kit import shares as shares_
from forestall.core.model.errors import TraceError
from forestall.core.model.virtual import FAR
from forestall.core.proportions import wilson
from forestall.core.show.as_json import as_json
from forestall.core.show.openmetrics import openmetrics
from forestall.core.show.text import fact_rows, text_of
from forestall.machines.report import counts, digest, words
from forestall.machines.report.report import report
from forestall.machines.report.tables import quarters, seen
from forestall.machines.report.told import ToldRun
from machines.report.virtual_synthetic import FAILURE_TYPES, RUN_TYPES, MadeVirtual
from scheduling.report.test_report import HOSTILE, Page, needs_matplotlib, saved

DAY = 86_400


def runs_of(*rows: dict[str, Any]) -> pl.DataFrame:
    """Stays with what matters given, and the rest plain."""
    plain = {"job": 1, "task": 0, "node": 0, "start": 0, "runs_from": 0, "end": 10, "rate": 1.0,
             "work": 0.0, "begun": "placed", "outcome": "completed", "lost": 0.0,
             "checkpoints": 0}  # fmt: skip
    return pl.DataFrame([plain | row for row in rows], schema=RUN_TYPES)


def failures_of(*rows: tuple[int, int, int | None]) -> pl.DataFrame:
    """Failures of (time, node, predicted)."""
    full = [(t, n, 60, p, "x", 0, 0.0) for t, n, p in rows]
    return pl.DataFrame(full, schema=FAILURE_TYPES, orient="row")


# Counts ------------------------------------------------------------------------------------------

STAYS = st.lists(
    st.tuples(
        st.integers(0, 6), st.integers(-20, 60), st.integers(0, 40), st.sampled_from([0.1, 0.5, 1])
    ),
    max_size=12,
)


@given(STAYS, st.integers(1, 7), st.integers(1, 20))
def test_what_is_held_on_rows_of_nodes_is_exact(
    stays: list[tuple[int, int, int, float]], rows: int, bins: int
) -> None:
    """Second by second, each stay by itself."""
    table = runs_of(
        *({"node": n, "start": s, "end": s + length, "rate": r} for n, s, length, r in stays)
    )
    edges = np.linspace(0, 40, bins + 1)
    plain = np.zeros((rows, bins))
    for node, start, length, rate in stays:
        for k in range(bins):
            low, high = max(start, edges[k]), min(start + length, edges[k + 1])
            plain[node * rows // 7, k] += rate * max(high - low, 0.0)
    got = series_.held_by_row(table, 7, rows, edges)
    assert got == pytest.approx(plain / (40 / bins), abs=1e-9)


def test_days_that_share_their_fate_count_as_few() -> None:
    submit = [d * DAY + 60 * k for d in range(30) for k in range(10)]
    by_day = pl.DataFrame(
        {"submit": submit, "completed": [d % 2 for d in range(30) for _ in "x" * 10]}
    )
    # Days differ by 5 of 10 from the mean: 30 * 25 * 30/29 / 300^2 over 0.25 / 300.
    assert shares_.shared_fate(by_day, "completed") == pytest.approx(10 * 30 / 29)
    alike = pl.DataFrame(
        {"submit": submit, "completed": [k % 2 for _ in range(30) for k in range(10)]}
    )
    assert shares_.shared_fate(alike, "completed") == 1.0
    assert shares_.shared_fate(by_day.head(190), "completed") is None  # 19 days
    assert shares_.shared_fate(by_day.with_columns(completed=pl.lit(1)), "completed") is None
    assert shares_.shared_fate(by_day.head(0), "completed") is None


def test_tasks_of_a_job_share_its_fate() -> None:
    jobs = pl.DataFrame({"submit": [0] * 40, "size": [8] * 40, "tasks_completed": [0, 8] * 20})
    effect = shares_.shared_fate(jobs, "tasks_completed", "size", by_job=True)
    assert effect == pytest.approx(8 * 40 / 39)


def test_the_interval_to_trust_counts_days_or_jobs() -> None:
    days = pl.DataFrame(
        {
            "submit": [d * DAY + k for d in range(30) for k in range(10)],
            "completed": [d % 2 for d in range(30) for _ in range(10)],
            "size": [2] * 300,
            "tasks_completed": [2 * (d % 2) for d in range(30) for _ in range(10)],
        }
    )
    # Days are all or nothing: 10 jobs (20 tasks) of one are worth 29/30 of one.
    assert counts.job_interval(days) == pytest.approx(wilson(150, 300, shared=10 * 30 / 29))
    assert counts.task_interval(days) == pytest.approx(wilson(300, 600, shared=20 * 30 / 29))
    short = days.with_columns(submit=pl.lit(0))
    assert counts.job_interval(short) == wilson(150, 300)
    assert counts.task_interval(short) == pytest.approx(wilson(300, 600, shared=2 * 300 / 299))
    assert counts.job_interval(days.head(0)) is counts.task_interval(days.head(0)) is None


WAITS = st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 12), st.integers(1, 5)), max_size=9)


@given(WAITS, st.integers(1, 20))
def test_most_that_wait_at_once(waits: list[tuple[int, int, int]], bins: int) -> None:
    """Second by second."""
    columns = np.array(waits, dtype=np.int64).reshape(-1, 3).T
    edges = np.linspace(0, 20, bins + 1)
    got = counts.most_waiting(columns[0], columns[0] + columns[1], columns[2], edges)
    for k in range(bins):
        moments = [edges[k], *(s for s in range(20) if edges[k] <= s < edges[k + 1])]
        most = max(sum(n for s, w, n in waits if s <= t < s + w) for t in moments)
        assert got[k] == most


def test_jobs_end_in_one_of_five_ways() -> None:
    jobs = pl.DataFrame(
        {"job": [1, 2, 3, 4, 5],
         "outcome": ["completed", "uncompleted", "uncompleted", "dropped", "late"]}
    )  # fmt: skip
    runs = runs_of({"job": 2, "outcome": "aborted"}, {"job": 2, "task": 1, "outcome": "aborted"},
                   {"job": 3, "outcome": "stopped"}, {"job": 5, "outcome": "aborted"})  # fmt: skip
    told = counts.with_fates(jobs, runs)["fate"].to_list()
    assert told == ["completed", "failure", "deadline", "dropped", "late"]
    assert set(told) == set(counts.FATES)


def test_sizes_are_binned_up_to_powers_of_two() -> None:
    jobs = pl.DataFrame({"size": [1, 2, 3, 4, 5, 8, 9], "completed": [1, 0, 1, 0, 1, 0, 1]})
    found = [(b.low, b.high, b.count, b.completed) for b in counts.by_size(jobs)]
    assert found == [(1, 1, 1, 1), (2, 2, 1, 0), (3, 4, 2, 1), (5, 8, 2, 1), (9, 16, 1, 1)]
    assert counts.by_size(jobs.head(0)) == []


def test_a_job_that_is_dropped_waits_until_its_deadline() -> None:
    jobs = pl.DataFrame(
        {"submit": [5, 10], "start": [7, None], "deadline": [90, 60], "size": [3, 2]}
    )
    waited = [column.tolist() for column in counts.tasks_waiting(jobs)]
    assert waited == [[5, 10], [7, 60], [3, 2]]


def test_foresight_by_hand() -> None:
    # Node 0 fails at 100 (foreseen for 80) and 300 (for 320: too late); node 1 at 200, unforeseen.
    failures = failures_of((100, 0, 80), (200, 1, None), (250, 2, FAR), (300, 0, 320))
    told = counts.foresight(failures, 0, 1000, 4)
    assert (told.failures, told.early, told.late) == (4, 1, 1)
    assert told.gap == 20
    assert told.accuracy == pytest.approx(1 - (20 / 100 + 20 / 200) / 2)
    assert told.doubtful == pytest.approx(20 / 4000)
    none = counts.foresight(failures_of((10, 0, None)), 0, 100, 1)
    assert (none.early, none.late, none.gap, none.accuracy, none.doubtful) == (0, 0, None, None, 0)


def test_the_first_gap_begins_with_the_run() -> None:
    told = counts.foresight(failures_of((50, 0, 40)), 100, 200, 1)
    assert told.accuracy is None  # the run begins with this failure: there is no gap before it
    assert counts.foresight(failures_of((150, 0, 140)), 100, 200, 1).accuracy == 0.8


def test_why_tasks_were_on_a_node_as_it_failed() -> None:
    failures = failures_of((100, 0, 80), (100, 1, None), (100, 2, 120))
    aborted = {"end": 100, "outcome": "aborted", "lost": 2.0}
    runs = runs_of(
        aborted | {"node": 0, "start": 80}, aborted | {"node": 0, "start": 90},
        aborted | {"node": 0, "start": 79}, aborted | {"node": 1, "start": 99},
        aborted | {"node": 2, "start": 0}, {"node": 0, "start": 85, "end": 100},
    )  # fmt: skip
    assert counts.why_aborted(runs, failures).rows() == [
        ("placed", 2, 4.0), ("stayed", 1, 2.0), ("unforeseen", 2, 4.0)
    ]  # fmt: skip


def test_quarters_of_nodes_by_hand() -> None:
    # Node 3 fails twice, node 1 once; ties go to the lower number: 3, 1, 0, 2 and 4.
    failures = failures_of((10, 3, None), (20, 3, None), (30, 1, None))
    runs = runs_of(
        {"node": 3, "work": 7.0, "outcome": "moved"},
        {"node": 1, "work": 5.0, "begun": "migrated"},
        {"node": 3, "task": 1, "work": 4.0, "lost": 4.0, "outcome": "aborted"},
        {"node": 2, "job": 2, "work": 9.0, "outcome": "late"},
    )
    tasks = pl.DataFrame(
        {"job": [1, 1, 2], "task": [0, 1, 0], "outcome": ["completed", "aborted", "late"]}
    )
    found = counts.quarters(runs, tasks, failures, 5)
    assert [(q.nodes, q.failures) for q in found] == [(2, 3), (1, 0), (1, 0), (1, 0)]
    assert [q.useful for q in found] == [12.0, 0.0, 9.0, 0.0]
    first = found[0]
    assert (first.left, first.aborted, first.lost) == (1, 1, 4.0)
    assert len(counts.quarters(runs.filter(pl.col("node") < 2), tasks, failures_of(), 2)) == 2


def test_tables_without_rows_get_their_types_back() -> None:
    read = pl.read_csv(pl.DataFrame(schema=FAILURE_TYPES).write_csv().encode())
    assert counts.typed(read).schema["time"] == pl.Int64
    assert counts.typed(read).schema["kind"] == pl.String
    full = failures_of((1, 2, 3))
    assert counts.typed(full) is full


# Words -------------------------------------------------------------------------------------------


def test_the_head_line_has_counts_and_uncertainty() -> None:
    summary = {"jobs_count": 200, "jobs_completed": 150}
    ends = {"failure": 30, "deadline": 1, "dropped": 19}
    assert words.on_completion(summary, None, ends) == (
        "150 of 200 jobs (75.0 %) had all their tasks done by their deadlines; the 95 % interval "
        "is 68.6 to 80.5 %. Of the others, 30 lost tasks to failures, 1 reached its deadline and "
        "19 waited until their deadlines and were dropped."
    )
    shared = words.on_completion(summary, 4.0, ends)
    low, high = wilson(150, 200, shared=4.0)
    assert f"or {100 * low:.1f} to {100 * high:.1f} % if jobs of one day" in shared
    assert high - low > 0.2
    assert "jobs of one day" not in words.on_completion(summary, 1.0, ends)  # the same: said once
    assert words.on_completion({"jobs_count": 0}, None, {}) == "There were no jobs."


def test_what_failures_took() -> None:
    summary = {
        "jobs_count": 100, "failures_played": 12, "failures_hit": 3, "lost_work": 36_000.0,
        "processor_seconds": {"useful": 360_000.0}, "restarts": 0,
    }  # fmt: skip
    said = words.on_failures(summary, None, {"failure": 4})
    assert said.startswith("Nodes failed 12 times during the run; 3 of these failures hit")
    assert "10.0 processor-hours of work, 10.0 % of the useful work" in said
    assert "4 jobs lost tasks to them and stayed uncompleted: 4.0 % of all, 95 % interval" in said
    none = words.on_failures(summary, None, {"failure": 0})
    assert none.endswith("They left no job uncompleted.")
    assert "no task was hit" in words.on_failures(summary | {"failures_hit": 0}, None, {})
    assert words.on_failures({}, None, {}) == "No node failed during the run."
    again = words.on_failures(summary | {"restarts": 7}, None, {})
    assert again.endswith("Tasks restarted from checkpoints 7 times.")


def test_what_migrations_bought() -> None:
    summary = {
        "migrations": 10, "tasks_saved": 1, "moves_in_vain": 4, "migrations_failed": 0,
        "migration_time": 120,
    }  # fmt: skip
    said = words.on_moves(summary)
    assert "10 times. 1 task was saved: completed after leaving a node that then failed." in said
    assert "4 moves were in vain: the node did not fail" in said
    assert "No move was broken by a failure." in said
    assert "No move was in vain. 1 move was broken" in words.on_moves(
        summary | {"moves_in_vain": 0, "migrations_failed": 1}
    )
    assert said.endswith("stood still for 2 min in all.")
    assert words.on_moves({"parameters": {"migration": "none"}}) == "Migration was off."
    assert words.on_moves({}) == "No task was moved before a failure."


def test_how_failures_were_foreseen_in_words() -> None:
    assert seen(100, None) == "no"
    assert seen(7300, 100) == "2.0 h before"
    assert seen(100, 160) == "60 s too late"


def rows_of(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    return fact_rows(digest.measures(summary))


def test_rows_have_units_and_fit_the_terminal() -> None:
    made = MadeVirtual(200, 60)
    rows = rows_of(made.summary())
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    assert sum(widths) + 4 <= 100
    told = {row[0]: row[1:] for row in rows}
    done = int(made.jobs["completed"].sum())
    low, high = wilson(done, 200)
    assert told["Jobs completed"] == (
        f"{done / 2:.1f} %",
        f"{done} of 200 by their deadlines; 95 %: {100 * low:.1f} to {100 * high:.1f} %",
    )
    assert told["Lost work"][0].endswith(" processor-hours")
    assert "Restarts" not in told
    checkpointing = made.summary(parameters={"checkpoint": "periodic"}, restarts=5, checkpoints=80)
    paused = checkpointing | {"processor_seconds": {"paused": 17.0, "total": 1000.0}}
    row = ("Restarts", "5", "80 checkpoints made; 1.7 % of processor time paused")
    assert row in rows_of(paused)
    bare = checkpointing | {"checkpoints": 1, "processor_seconds": {}}
    assert ("Restarts", "5", "1 checkpoint made") in rows_of(bare)


def test_rows_have_the_interval_of_the_summary() -> None:
    summary = {
        "jobs_count": 100, "jobs_completed": 75, "tasks_count": 400, "tasks_completed": 380,
        "tasks_aborted": 15, "tasks_dropped": 5, "task_completion_rate": 0.95,
        "job_completion_interval": [0.61, 0.85], "task_completion_interval": [0.9, 0.975],
    }  # fmt: skip
    told = {row[0]: row[1:] for row in rows_of(summary)}
    assert told["Jobs completed"][1] == "75 of 100 by their deadlines; 95 %: 61.0 to 85.0 %"
    assert told["Tasks completed"] == (
        "95.0 %", "380 of 400 by their deadlines; 95 %: 90.0 to 97.5 %"
    )  # fmt: skip
    assert told["Other tasks"] == ("20", "15 aborted, 5 dropped")


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.966, 0.971), "96.6 to 97.1 %"),
        ((0.0, 0.012), "0 to 1.2 %"),
        ((0.00004, 0.002), "0.004 to 0.200 %"),
        ((0.9998, 0.99996), "99.980 to 99.996 %"),
        ((0.997, 1.0), "99.7 to 100 %"),
        ((0.0028, 0.0033), "0.28 to 0.33 %"),
        ((0.5, 0.5), "50.000 to 50.000 %"),
    ],
)
def test_intervals_have_digits_enough(ends: tuple[float, float], said: str) -> None:
    assert shares_.between(ends) == said


def test_rows_of_a_run_without_anything() -> None:
    told = {row[0]: row[1:] for row in rows_of({"jobs_count": 0})}
    assert told["Jobs completed"][1] == "no jobs"
    assert told["Migrations"] == ("0", "no task was moved")
    assert all(len(row) == 3 for row in rows_of({}))


def test_the_headline_names_what_decided() -> None:
    summary = MadeVirtual(20, 5).summary()
    said = ", ".join(digest.headline(summary, 5))
    assert "32 nodes of 4 processors, 5 failures, strategy best-fit, alpha 0.5" in said
    assert "migration by stop-and-copy" in said
    stays = {"strategy": "random", "random_stays": True}
    blind = summary | {"parameters": summary["parameters"] | stays}
    assert "predictions" not in ", ".join(digest.headline(blind))
    assert "no failures, strategy random, no migration" in ", ".join(digest.headline(blind))
    true = summary | {"predictor": {"name": "true failure times"}}
    assert "true failure times" in digest.headline(true)


# The page ----------------------------------------------------------------------------------------


def written(made: MadeVirtual, folder: Path, **summary: Any) -> tuple[str, Page]:
    text = saved(report(ToldRun(made.summary(**summary), **made.tables())), folder)
    return text, Page(text)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without figures: quick to write."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@needs_matplotlib
def test_the_page_is_whole_and_needs_nothing_else(tmp_path: Path) -> None:
    text, page = written(MadeVirtual(120, 40), tmp_path)
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
    assert "prefers-color-scheme:dark" in text
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.usefixtures("plain")
def test_without_matplotlib_the_page_says_what_is_missing(tmp_path: Path) -> None:
    made = MadeVirtual(120, 40)
    text, page = written(made, tmp_path)
    assert "forestall[plot]" in page.said
    assert not page.images
    done = int(made.jobs["completed"].sum())
    assert f"{done} of 120 jobs" in page.said
    for title in ("How jobs and tasks ended", "Where the processor time went",
                  "Were failures foreseen?", "What migrations gained", "Jobs that lost most",
                  "Failures that cost most", "How to read this page", "Parameters"):  # fmt: skip
        assert re.search(f'<h2 id="[a-z_]+">{re.escape(title)}</h2>', text)
    assert "larger than machine" in page.said


@pytest.mark.usefixtures("plain")
def test_tables_on_the_page_add_up(tmp_path: Path) -> None:
    made = MadeVirtual(150, 50)
    _, page = written(made, tmp_path)
    fates = counts.with_fates(made.jobs, made.runs)["fate"]
    for fate, name in (("failure", "lost tasks to failures"), ("deadline", "reached the deadline"),
                       ("dropped", "waited until the deadline")):  # fmt: skip
        count = int((fates == fate).sum())
        assert f"{name} {count} {100 * count / 150:.1f} %" in page.said
    worst = made.jobs.sort("lost", "job", descending=[True, False]).row(0, named=True)
    assert f"{worst['job']} " in page.said.split("The job")[1][:12]
    aborted = made.runs.filter(pl.col("outcome") == "aborted")
    assert counts.why_aborted(made.runs, made.failures)["tasks"].sum() == len(aborted)


@pytest.mark.usefixtures("plain")
def test_long_logs_have_intervals_over_days(tmp_path: Path) -> None:
    made = MadeVirtual(500, 60, busy=0.2)
    assert len(set((made.submit // DAY).tolist())) >= 20
    _, page = written(made, tmp_path)
    assert "if jobs of one day share their fate" in page.said
    assert "(over days)" in page.said
    short = written(MadeVirtual(60, 20), tmp_path)[1]
    assert "over days" not in short.said.split("How to read")[0]
    assert "(over jobs)" in short.said


@pytest.mark.usefixtures("plain")
def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    made = MadeVirtual(60, 30)
    made.failures = made.failures.with_columns(kind=pl.lit(HOSTILE))
    text, page = written(
        made, tmp_path, seed=HOSTILE, parameters={HOSTILE: HOSTILE, "nodes": 32},
        predictor={"name": HOSTILE}, skipped={HOSTILE: 3}, versions={HOSTILE: HOSTILE},
    )  # fmt: skip
    assert "<script" not in text
    assert "script" not in page.tags
    assert HOSTILE in page.said


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (MadeVirtual(40, 0), "No node failed during the run."),
        (MadeVirtual(1, 0), "1 job of"),
        (MadeVirtual(0, 0), "There were no jobs."),
        (MadeVirtual(60, 40, missed=1.0), "No task was moved before a failure."),
    ],
    ids=["no failures", "one job", "nothing", "no predictions"],
)
def test_odd_runs(made: MadeVirtual, said: str, tmp_path: Path) -> None:
    text, page = written(made, tmp_path)
    assert said in page.said
    assert "nan" not in page.said.lower().split()
    assert "None" not in page.said
    assert text.endswith("</html>\n")


@pytest.mark.usefixtures("plain")
def test_a_sparse_summary_and_tables_of_csv_files_are_enough(tmp_path: Path) -> None:
    made = MadeVirtual(10, 0)
    read = {
        name: pl.read_csv(table.write_csv().encode(), infer_schema_length=None)
        for name, table in made.tables().items()
    }
    assert read["migrations"].schema["time"] == pl.String  # what Polars makes of no rows
    assert "What was left out" in Page(saved(report(ToldRun({}, **read)), tmp_path)).said


@needs_matplotlib
def test_a_chosen_span_is_drawn(tmp_path: Path) -> None:
    made = MadeVirtual(60, 20)
    summary = made.summary()
    texts = [
        saved(report(ToldRun(summary, **made.tables(), gantt_span=span)), tmp_path)
        for span in (None, (10_000, 20_000))
    ]
    assert "most departures" in texts[0]
    assert "most departures" not in texts[1]


@pytest.mark.usefixtures("plain")
def test_nothing_is_written_where_it_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        written(MadeVirtual(5, 0), tmp_path / "missing")
    assert not list(tmp_path.iterdir())


def test_no_quarters_without_failures() -> None:
    made = MadeVirtual(20, 0)
    assert quarters(ToldRun(made.summary(), **made.tables())) == ()


def test_sections_stand_in_every_form() -> None:
    made = MadeVirtual(120, 40)
    found = report(ToldRun(made.summary(), **made.tables()))
    told = json.loads(json.dumps(as_json(found), allow_nan=False))["sections"]
    assert list(told) == [
        "measures", "ends", "processor_time", "capacity", "foresight", "migrations", "quarters",
        "lost_most", "cost_most", "waiting",
    ]  # fmt: skip
    fates = told["ends"]["tables"]["fates"]["rows"]
    assert sum(row["count"] for row in fates) == 120
    assert all(row["low"] <= row["share"] <= row["high"] for row in fates)
    spent = told["processor_time"]["tables"]["processor_time"]["rows"]
    assert spent[-1]["what"] == "total"
    lost = [row["lost_processor_s"] for row in told["lost_most"]["tables"]["lost_most"]["rows"]]
    assert lost == sorted(lost, reverse=True)
    assert max(map(len, text_of(found, full=True).splitlines())) <= 100
    assert "forestall_lost_work_processor_seconds" in openmetrics(found)
