"""Failure logs as Parquet: what comes back, what is told apart, what is refused."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.logs.info import is_failure_log
from forestall.logs.read import read_failures
from forestall.logs.write import write_failures
from forestall.logs.written import write_log
from forestall.runs.logs import kind_of, read_log

ZERO = 1_767_225_600


@st.composite
def logs(draw: st.DrawFn) -> Failures:
    count = draw(st.integers(1, 8))
    nodes = draw(st.integers(1, 4))
    time = sorted(draw(st.lists(st.integers(0, 500), min_size=count, max_size=count)))
    log = Failures.build(
        time,
        draw(st.lists(st.integers(0, nodes - 1), min_size=count, max_size=count)),
        draw(st.lists(st.integers(-1, 99), min_size=count, max_size=count)),
        draw(st.lists(st.sampled_from([0.25, 1.0, np.nan]), min_size=count, max_size=count)),
    )
    told = {
        "kind": draw(st.sampled_from([None, tuple("ab\n"[k % 3].strip() for k in range(count))])),
        "names": draw(st.sampled_from([None, tuple(f"n,{k}" for k in range(nodes))])),
        "origin": draw(st.sampled_from([None, ZERO])),
        "span": 501 + draw(st.integers(0, 99)),
        "nodes": nodes,
        "repairs": draw(st.booleans()),
    }
    if draw(st.booleans()):
        told |= {
            "service_start": np.arange(nodes) - 2,
            "service_end": np.arange(nodes) + 300,
            "service_new": np.arange(nodes) % 2 == 0,
        }
    from dataclasses import replace

    return replace(log, **told)


@given(logs())
def test_all_but_the_remarks_comes_back(
    tmp_path_factory: pytest.TempPathFactory, log: Failures
) -> None:
    path = tmp_path_factory.mktemp("log") / "failures.parquet"
    write_failures(log, path)
    found = read_failures(path)
    for name in ("time", "node", "downtime"):
        assert getattr(found, name).tolist() == getattr(log, name).tolist()
    np.testing.assert_array_equal(found.detectability, log.detectability)
    for name in ("names", "origin", "span", "nodes", "repairs"):
        assert getattr(found, name) == getattr(log, name), name
    assert found.kind == log.kind
    for name in ("service_start", "service_end", "service_new"):
        np.testing.assert_array_equal(getattr(found, name), getattr(log, name))


def test_a_table_without_metadata(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    pl.DataFrame({"time": [5, 3], "node": [1, 0], "downtime": [None, 7]}).write_parquet(path)
    log = read_failures(path)
    assert (log.time.tolist(), log.node.tolist()) == ([3, 5], [0, 1])
    assert log.downtime.tolist() == [7, -1]
    assert log.origin is None
    pl.DataFrame(
        {"node": ["b", "a"], "time": [datetime(2026, 1, 1, 0, 0, 5), datetime(2026, 1, 1)]}
    ).write_parquet(path)
    log = read_failures(path)
    assert (log.origin, log.time.tolist(), log.names) == (ZERO, [0, 5], ("a", "b"))
    assert read_failures(path, start="2026-01-01T00:00:04").time.tolist() == [1]


def test_rows_that_cannot_be_are_named(tmp_path: Path) -> None:
    path = tmp_path / "dirty.parquet"
    pl.DataFrame({"time": [1.0, 2.5, -1.0], "node": [0, 1, 2]}).write_parquet(path)
    log = read_failures(path)
    assert log.cleaning.counts() == {"bad_time": 2}
    with pytest.raises(TraceError, match=r"dirty\.parquet:2: time"):
        read_failures(path, strict=True)


def test_other_tables_are_told_apart(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.parquet"
    pl.DataFrame({"time": [1], "node": [0], "load": [1.0]}).write_parquet(metrics)
    assert not is_failure_log(metrics)
    assert kind_of(metrics) == "metrics"
    with pytest.raises(TraceError, match="Parquet, but not a failure log"):
        read_failures(metrics)
    assert len(read_failures(metrics, format="csv")) == 1
    log = tmp_path / "log.parquet"
    pl.DataFrame({"time": [1], "node": [0], "kind": ["x"]}).write_parquet(log)
    assert is_failure_log(log)
    assert kind_of(log) == "log"
    (tmp_path / "cut.parquet").write_bytes(log.read_bytes()[:60])
    with pytest.raises(TraceError):
        read_failures(tmp_path / "cut.parquet")
    empty = tmp_path / "empty.parquet"
    pl.DataFrame({"time": [1], "node": [0]}).clear().write_parquet(empty)
    with pytest.raises(TraceError, match="no failures"):
        read_failures(empty)


def test_metadata_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table = pl.DataFrame({"time": [1], "node": ["a"]})
    table.write_parquet(path, metadata={"forestall": '{"kind": "failures", "origin": "soon"}'})
    with pytest.raises(TraceError, match="metadata that forestall did not write"):
        read_failures(path)
    table.write_parquet(path, metadata={"forestall": "not json"})
    assert read_failures(path).names == ("a",)


def test_logs_are_converted_by_name(tmp_path: Path) -> None:
    source = tmp_path / "log.csv"
    source.write_text("time,node\n2026-01-01T00:00:00,a\n2026-01-01T00:01:00,b\n")
    said = write_log(read_log(source, {}), tmp_path / "log.parquet").text
    assert said.startswith("2 failures in")
    back = read_failures(tmp_path / "log.parquet")
    assert (back.origin, back.time.tolist(), back.names) == (ZERO, [0, 60], ("a", "b"))
