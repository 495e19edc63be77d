"""The numbers behind the figures, against plain reckoning second by second."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.figures import series
from scheduling.report.synthetic import FAILURE_TYPES, RUN_TYPES, Made

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=12
)


@given(SPANS, st.integers(-10, 30), st.integers(1, 80), st.integers(1, 17))
def test_time_weighted_means_are_exact(
    spans: list[tuple[int, int, int]], start: int, length: int, bins: int
) -> None:
    edges = series.edges_of(start, start + length, bins)
    starts, lengths, weights = (np.array(c, dtype=np.int64) for c in zip(*spans, strict=True))
    got = series.time_weighted(starts, starts + lengths, weights, edges)
    plain = [
        sum(w * max(min(s + n, b) - max(s, a), 0) for s, n, w in spans) / (b - a)
        for a, b in pairwise(edges)
    ]
    assert got == pytest.approx(plain, abs=1e-9)


def test_no_more_bins_than_seconds_or_than_allowed() -> None:
    assert len(series.edges_of(0, 10)) == 11
    assert len(series.edges_of(0, 10**9)) == series.BINS + 1
    assert series.edges_of(5, 5).tolist() == [5, 6]


def test_busy_nodes_add_up_to_the_work_of_the_runs() -> None:
    made = Made(80, 20)
    first, last = int(made.jobs["submit"].min()), int(made.runs["end"].max())
    edges = series.edges_of(first, last)
    area = float(np.sum(series.busy_nodes(made.jobs, made.runs, edges) * np.diff(edges)))
    sized = made.runs.join(made.jobs.select("job", "size"), on="job")
    work = int((sized["size"] * (sized["end"] - sized["start"])).sum())
    assert area == pytest.approx(work, rel=1e-9)


def test_a_job_waits_before_each_of_its_runs() -> None:
    jobs = pl.DataFrame({"job": [1, 2, 3], "submit": [0, 5, 8], "size": [4, 2, 1]})
    runs = pl.DataFrame(
        [(2, 5, 9, "finished", 0, 0, "0-1"), (1, 3, 10, "failed", 0, 0, "0-3"),
         (1, 12, 20, "finished", 0, 0, "0-3")],
        schema=RUN_TYPES, orient="row",
    )  # fmt: skip
    waited = {tuple(int(x) for x in row) for row in zip(*series.waits(jobs, runs), strict=True)}
    assert waited == {(0, 3, 4), (10, 12, 4), (5, 5, 2), (8, 20, 1)}


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2), st.integers(0, 9)), max_size=15))
def test_outages_are_the_union_of_downtimes(raw: list[tuple[int, int, int]]) -> None:
    rows = [(t, n, d, 0.5, "k", None, 0) for t, n, d in sorted(raw)]
    table = pl.DataFrame(rows, schema=FAILURE_TYPES, orient="row")
    plain = {(n, s) for t, n, d in raw for s in range(t, t + d)}
    found = [(n, s) for n, a, b in zip(*series.outages(table), strict=True) for s in range(a, b)]
    assert len(found) == len(set(found)), "a second counted twice"
    assert set(found) == plain


def test_deciles_leave_out_no_promise() -> None:
    made = Made(200, 40)
    found = series.deciles(made.jobs)
    assert sum(d.count for d in found) == 200
    assert all(d.low - 1e-9 <= d.promised_mean <= d.high + 1e-9 for d in found)
    kept = sum(d.count * d.kept_share for d in found)
    assert kept == pytest.approx(made.jobs["kept"].sum())


@pytest.mark.parametrize(("promise", "low"), [(0.0, 0.0), (0.3, 0.3), (0.7, 0.7), (1.0, 0.9)])
def test_deciles_at_their_borders(promise: float, low: float) -> None:
    jobs = pl.DataFrame({"promise": [promise], "kept": [True]})
    assert [d.low for d in series.deciles(jobs)] == [low]


def test_window_is_where_failures_hit_jobs() -> None:
    runs = pl.DataFrame({"start": [0, 500, 900], "end": [100, 600, 1000]})
    failures = pl.DataFrame({"time": [50, 520, 530, 700], "job": [1, 2, 2, None]})
    start, end = series.busiest_window(runs, failures, 100)
    assert end - start == 100
    assert start <= 520
    assert end > 530
    assert series.busiest_window(runs, failures, 5000) == (0, 1000)
    assert series.busiest_window(runs.head(0), failures, 7) == (0, 7)
