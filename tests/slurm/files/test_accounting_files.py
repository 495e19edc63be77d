"""Records of a site as Parquet: all comes back, other commands can read it, damage is named."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from forestall.core.files.parquet import coded, text_column, told_by
from forestall.core.model.coded import Coded
from forestall.core.model.errors import TraceError
from forestall.core.model.job_records import NEVER
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.read import read_jobs
from forestall.slurm.files import accounting as files
from forestall.slurm.records.accounting import UNLIMITED, Accounting
from forestall.slurm.records.node_events import NodeEvents
from slurm.files.site_tables import (
    ZERO,
    estimates,
    inventory,
    outages,
    runs,
    some_outages,
    some_runs,
)


def same(one: Any, other: Any) -> None:
    """Assert that two nouns are the same but for the numbers of their words."""
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, Coded):
            assert mine.texts() == theirs.texts(), field.name
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            np.testing.assert_array_equal(mine, theirs, err_msg=field.name)
        elif field.name != "cleaning":
            assert mine == theirs, field.name


@given(some_runs())
def test_runs_come_back(tmp_path_factory: pytest.TempPathFactory, found: Accounting) -> None:
    path = tmp_path_factory.mktemp("runs") / "runs.parquet"
    files.write_accounting(found, path)
    same(found, files.read_accounting(path))


@given(some_outages())
def test_outages_come_back(tmp_path_factory: pytest.TempPathFactory, found: NodeEvents) -> None:
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    files.write_events(found, path)
    same(found, files.read_events(path))


def test_nodes_and_estimates_come_back(tmp_path: Path) -> None:
    nodes = inventory(["n1", "n2"], reason=("", "bad fan"), seen=ZERO)
    files.write_inventory(nodes, tmp_path / "nodes.parquet")
    same(nodes, files.read_inventory(tmp_path / "nodes.parquet"))
    for found in (estimates((5, 1, -1, NEVER), (5, 2, 3, 9)), estimates()):
        files.write_estimates(found, tmp_path / "starts.parquet")
        same(found, files.read_estimates(tmp_path / "starts.parquet"))
    none = inventory([])
    files.write_inventory(none, tmp_path / "nodes.parquet")
    same(none, files.read_inventory(tmp_path / "nodes.parquet"))


SITE = (
    {"job": 7, "submit": ZERO, "start": ZERO + 10, "end": ZERO + 40, "nodes": 2, "cpus": 8,
     "nodelist": "n[1-2]", "state": "NODE_FAIL", "limit": 3600, "user": "ann", "partition": "main"},
    {"job": 7, "attempt": 1, "submit": ZERO + 40, "start": ZERO + 60, "end": ZERO + 160,
     "nodes": 3, "nodelist": "n[1-3]", "limit": 3600, "user": "ann", "partition": "main"},
    {"job": 8, "submit": ZERO - 50, "start": ZERO + 5, "nodes": 1, "nodelist": "n4", "asked": 1,
     "state": "RUNNING", "limit": UNLIMITED, "user": "bob"},
    {"job": 9, "submit": ZERO + 20, "nodes": 0, "asked": 4, "state": "CANCELLED by 7"},
    {"job": 10, "submit": ZERO + 30, "start": ZERO + 31, "end": ZERO + 31, "nodelist": "n1"},
)  # fmt: skip


def test_runs_are_job_records(tmp_path: Path) -> None:
    files.write_accounting(runs(*SITE), tmp_path / "runs.parquet")
    records = read_job_records(tmp_path / "runs.parquet")
    assert records.job == ("8", "7", "10", "7", "9")
    assert records.state == ("RUNNING", "NODE_FAIL", "COMPLETED", "COMPLETED", "CANCELLED by 7")
    assert records.size.tolist() == [1, 2, 1, 3, 0]
    assert records.node_names == ("n1", "n2", "n3", "n4")
    assert records.cores.tolist() == [-1, 8, -1, -1, -1]
    assert records.origin == ZERO + 5


def test_jobs_are_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    assert files.write_jobs(runs(*SITE), path, ZERO) == 1
    jobs = read_jobs(path)
    assert jobs.job.tolist() == [8, 7, 9, 10]
    assert jobs.submit.tolist() == [0, 0, 20, 30]
    assert jobs.size.tolist() == [1, 3, 4, 1]
    assert jobs.runtime.tolist() == [-1, 100, -1, 0]
    assert jobs.estimate.tolist() == [-1, 3600, -1, -1]
    assert jobs.user == ("bob", "ann", "", "")
    assert jobs.queue == ("", "main", "", "")
    assert told_by(path) == {"kind": "jobs", "origin": ZERO}


def test_no_runs_at_all(tmp_path: Path) -> None:
    files.write_accounting(runs(), tmp_path / "runs.parquet")
    assert len(files.read_accounting(tmp_path / "runs.parquet")) == 0
    assert files.write_jobs(runs(), tmp_path / "jobs.parquet", 0) == 0


def test_words_that_no_row_has_are_not_written(tmp_path: Path) -> None:
    found = runs({"user": "ann"}, {"job": 2, "user": "secret"})
    files.write_accounting(found.take(np.array([True, False])), tmp_path / "runs.parquet")
    table = pl.read_parquet(tmp_path / "runs.parquet")
    table.write_parquet(tmp_path / "bare.parquet", compression="uncompressed")
    for path in tmp_path.iterdir():
        assert b"secret" not in path.read_bytes()
    assert coded(table["user"]).words == ("ann",)


def test_columns_of_text_from_elsewhere() -> None:
    column = pl.Series("user", ["b", None, "a", "b", ""])
    assert coded(column).words == ("b", "a")
    assert coded(column).texts() == ["b", "", "a", "b", ""]
    assert coded(pl.Series("user", [None, None], dtype=pl.Categorical)).texts() == ["", ""]
    assert text_column("x", Coded.untold(2)).to_list() == [None, None]


READERS = {
    "runs": files.read_accounting,
    "events": files.read_events,
    "nodes": files.read_inventory,
    "estimates": files.read_estimates,
}


@pytest.mark.parametrize("kind", READERS)
def test_files_that_are_none(tmp_path: Path, kind: str) -> None:
    read, path = READERS[kind], tmp_path / f"{kind}.parquet"
    with pytest.raises(TraceError, match="cannot be read"):
        read(path)
    path.write_text("hello")
    with pytest.raises(TraceError, match="damaged"):
        read(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(TraceError, match=f"not a table of {kind}"):
        read(path)
    pl.DataFrame({"a": [1]}).write_parquet(path, metadata={"forestall": f'{{"kind": "{kind}"}}'})
    with pytest.raises(TraceError, match="has no column"):
        read(path)


def test_tables_that_were_changed_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    files.write_accounting(runs(*SITE), path)
    table, told = pl.read_parquet(path), pl.read_parquet_metadata(path)
    kept = {"forestall": told["forestall"]}
    table.sort("submit", descending=True).write_parquet(path, metadata=kept)
    with pytest.raises(TraceError, match="not as forestall import wrote it"):
        files.read_accounting(path)
    table.with_columns(pl.lit("x").alias("job")).write_parquet(path, metadata=kept)
    with pytest.raises(TraceError, match="job: holds String; expected whole numbers"):
        files.read_accounting(path)
    path = tmp_path / "events.parquet"
    files.write_events(outages(("a", 1, 2, "fault")), path)
    told = pl.read_parquet_metadata(path)
    changed = pl.read_parquet(path).with_columns(pl.lit("huh").cast(pl.Categorical).alias("nature"))
    changed.write_parquet(path, metadata={"forestall": told["forestall"]})
    with pytest.raises(TraceError, match="not as forestall import wrote it"):
        files.read_events(path)
