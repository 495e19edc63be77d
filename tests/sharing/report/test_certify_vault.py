"""The certifier on runs whose checkpoints a vault keeps: true runs pass, falsified ones do not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import TraceError
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.runs.replay import replay
from forestall.sharing.certify.certifier import IN_VAULT, certify_cycle
from forestall.sharing.simulate import simulate_cycle

Act = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with restores, last checkpoints, versions that lean on others, and broken saves."""
    rng = np.random.default_rng(5)
    hosts, samples = 10, 3 * 24 * 60
    blocks = rng.random((hosts, samples // 20)).repeat(20, axis=1)
    load = np.where(blocks < 0.08, np.nan, np.where(blocks < 0.25, 0.9, 0.1))
    traces = HostTraces(load, None, 60, np.ones(hosts), tuple(f"h{k}" for k in range(hosts)))
    jobs = Jobs.build(np.sort(rng.integers(0, 86_400, 60)), [1] * 60, rng.choice([3600, 9000], 60))
    result = simulate_cycle(
        jobs, traces, scheduler="condor", warm_up=86_400, restart="checkpoint",
        checkpoint_interval=600, checkpoint_overhead=60, restart_overhead=3, log_events=True,
        vault="layout=code data=2 parity=1 size=2GB fresh=0.5 full=3 sites=2 far=20MB grace=300",
    )  # fmt: skip
    told = result.summary["vault"]
    assert min(told[name] for name in ("saves", "last_saves", "restores", "broken_saves")) > 3
    assert told["behind"] > 3
    return result.save(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


def failed(folder: Path) -> set[str]:
    return {check.name for check in certify_cycle(folder).checks if not check.passed}


def changed(folder: Path, act: Act, file: str = "checkpoints.csv") -> None:
    path = folder / file
    act(pl.read_csv(path, infer_schema_length=None)).write_csv(path)


def at(row: int, column: str, value: Any) -> Act:
    """Return what writes a value into a field."""

    def act(table: pl.DataFrame) -> pl.DataFrame:
        values = table[column].to_list()
        values[row] = value(values[row]) if callable(value) else value
        return table.with_columns(pl.Series(column, values, dtype=table[column].dtype))

    return act


def first(folder: Path, **named: Any) -> int:
    """Return the first row of checkpoints.csv with these values."""
    table = pl.read_csv(folder / "checkpoints.csv").with_row_index()
    return int(table.filter(**named)["index"][0])


def test_a_true_run_passes_and_replays(folder: Path) -> None:
    certificate = certify_cycle(folder)
    assert certificate.passed, certificate
    assert {rule.name for rule in IN_VAULT} <= {check.name for check in certificate.checks}
    assert replay(folder).same


def more(value: Any) -> Any:
    return value + 1


@pytest.mark.parametrize(
    ("kind", "column", "value", "found"),
    [
        ("save", "until", more, "transfers of checkpoints"),
        ("restore", "until", more, "transfers of checkpoints"),
        ("save", "bytes", more, "transfers of checkpoints"),
        ("save", "work", lambda work: work + 600.0, "what stays go on from"),
        ("save", "version", more, "what stays go on from"),
        ("save", "complete", "false", "work saved and lost"),
        ("restore", "version", more, "what stays go on from"),
        ("restore", "work", lambda work: work - 1.0, "what stays go on from"),
        ("save", "stores", "0 1", "where pieces are"),
        ("save", "stores", "1 1 1", "where pieces are"),
        ("save", "stores", "server", "where pieces are"),
        ("save", "start", lambda start: start - 1, "what stays go on from"),
    ],
)
def test_a_falsified_transfer_is_found(
    copy: Path, kind: str, column: str, value: Any, found: str
) -> None:
    row = first(copy, kind=kind, complete=True)
    if column == "complete":
        value = False
    changed(copy, at(row, column, value))
    assert found in failed(copy)


def test_restores_that_are_left_out_are_found(copy: Path) -> None:
    changed(copy, lambda table: table.filter(pl.col("kind") != "restore"))
    assert "what stays go on from" in failed(copy)


def test_work_out_of_nothing_is_found(copy: Path) -> None:
    stays = pl.read_csv(copy / "stays.csv").with_row_index()
    row = int(stays.filter(pl.col("resumed") > 0)["index"][0])
    changed(copy, at(row, "resumed", lambda work: work + 60.0), "stays.csv")
    assert "what stays go on from" in failed(copy)


def test_a_save_that_is_left_out_is_found(copy: Path) -> None:
    row = first(copy, kind="save", complete=True)
    changed(copy, lambda table: pl.concat([table[:row], table[row + 1 :]]))
    assert "what stays go on from" in failed(copy)


def test_other_paths_are_found(copy: Path) -> None:
    path = copy / "summary.json"
    told = json.loads(path.read_text())
    told["parameters"]["vault"] = told["parameters"]["vault"].replace("far=20", "far=30")
    path.write_text(json.dumps(told))
    assert "transfers of checkpoints" in failed(copy)


def test_other_measures_are_found(copy: Path) -> None:
    path = copy / "summary.json"
    told = json.loads(path.read_text())
    told["vault"]["bytes_between_sites"] += 1
    path.write_text(json.dumps(told))
    assert failed(copy) == {"measures of the vault"}


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("stores", "one two three", "'one' is not a store"),
        ("kind", "copy", "one of save, last, restore"),
        ("until", "soon", "a whole number"),
        ("stores", "77 1 2", "'77' is not a store"),
    ],
)
def test_what_cannot_be_read_is_said(copy: Path, column: str, value: str, said: str) -> None:
    path = copy / "checkpoints.csv"
    table = pl.read_csv(path, infer_schema_length=0)
    values = table[column].to_list()
    values[0] = value
    table.with_columns(pl.Series(column, values)).write_csv(path)
    with pytest.raises(TraceError, match=r"checkpoints\.csv") as caught:
        certify_cycle(copy)
    assert said in str(caught.value)


def test_a_run_without_its_transfers_cannot_be_certified(copy: Path) -> None:
    (copy / "checkpoints.csv").unlink()
    with pytest.raises(TraceError, match=r"checkpoints\.csv"):
        certify_cycle(copy)
