"""The certifier on runs whose guests move before their hosts leave: true runs pass and replay,
falsified ones do not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.runs.replay import replay
from forestall.sharing.certify.certifier import certify_cycle
from forestall.sharing.simulate import simulate_cycle

VAULT = "layout=code data=2 parity=1 size=2GB fresh=0.5 full=3 sites=2 far=20MB grace=300"


@pytest.fixture(scope="module", params=[None, VAULT], ids=["plain", "vault"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with moves that were needed, moves that were not, and some that came too late."""
    rng = np.random.default_rng(5)
    hosts, samples = 10, 4 * 24 * 60
    blocks = rng.random((hosts, samples // 20)).repeat(20, axis=1)
    load = np.where(blocks < 0.08, np.nan, np.where(blocks < 0.25, 0.9, 0.1))
    traces = HostTraces(load, None, 60, np.ones(hosts), tuple(f"h{k}" for k in range(hosts)))
    jobs = Jobs.build(np.sort(rng.integers(0, 86_400, 60)), [1] * 60, rng.choice([3600, 9000], 60))
    result = simulate_cycle(
        jobs, traces, warm_up=2 * 86_400, restart="checkpoint", checkpoint_interval=1200,
        checkpoint_overhead=60, restart_overhead=3, log_events=True, vault=request.param,
        move_below=0.5, look_ahead=1800, look_every=300, predict_step=300, horizon=6 * 3600,
    )  # fmt: skip
    told = result.summary["moves"]
    assert min(told[name] for name in ("useful", "needless", "broken")) >= 3, told
    return result.save(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


def failed(folder: Path) -> set[str]:
    return {check.name for check in certify_cycle(folder).checks if not check.passed}


def written(folder: Path, file: str, row: int, column: str, value: Any) -> None:
    """Write a value into a field."""
    table = pl.read_csv(folder / file, infer_schema_length=None)
    values = table[column].to_list()
    values[row] = value(values[row]) if callable(value) else value
    table.with_columns(pl.Series(column, values)).write_csv(folder / file)


def first(folder: Path, file: str, **wanted: Any) -> int:
    """Return the first row with these values; "there" stands for any."""
    table = pl.read_csv(folder / file, infer_schema_length=None)
    among = {n: [v] if isinstance(v, str) else v for n, v in wanted.items() if v != "there"}
    tests = [pl.col(n).is_not_null() for n in wanted]
    tests += [pl.col(n).is_in(values) for n, values in among.items()]
    return int(table.select(pl.all_horizontal(tests).arg_true()).to_series()[0])


def test_a_true_run_passes_and_replays(folder: Path) -> None:
    certificate = certify_cycle(folder)
    assert certificate.passed, str(certificate)
    (check,) = [one for one in certificate.checks if one.name == "moves of guests"]
    assert check.detail.endswith(" made")
    assert replay(folder).same


MOVES, STAYS, DECISIONS, CHOICES = (
    *("moves of guests", "jobs and their stays", "decisions", "choices of the scheduler"),
)


@pytest.mark.parametrize(
    ("file", "row", "column", "value", "check"),
    [
        ("stays", {"ended": "moved"}, "asked", lambda t: t + 1, MOVES),
        ("stays", {"ended": "moved"}, "asked", lambda t: t - 300, MOVES),
        ("stays", {"ended": "completed"}, "asked", 3000, MOVES),
        ("stays", {"ended": ["contention", "away"], "asked": "there"}, "asked", None, MOVES),
        ("decisions", {"decision": "move"}, "host", lambda h: (h + 1) % 10, CHOICES),
        ("decisions", {"decision": "move"}, "jctf", lambda s: s + 1, CHOICES),
        ("events", {"event": "guest_saved"}, "time", lambda t: t + 1, "events"),
    ],
)
def test_a_falsified_move_is_found(
    copy: Path, file: str, row: dict[str, Any], column: str, value: Any, check: str
) -> None:
    written(copy, f"{file}.csv", first(copy, f"{file}.csv", **row), column, value)
    assert check in failed(copy)


def test_a_chance_above_the_limit_is_found(copy: Path) -> None:
    table = pl.read_csv(copy / "candidates.csv", infer_schema_length=None)
    table.with_columns(chance=pl.lit(0.9)).write_csv(copy / "candidates.csv")
    assert CHOICES in failed(copy)


@pytest.mark.parametrize("name", ["made", "useful", "needless", "broken", "seconds"])
def test_other_measures_are_found(copy: Path, name: str) -> None:
    path = copy / "summary.json"
    summary = json.loads(path.read_text())
    summary["moves"][name] += 1
    path.write_text(json.dumps(summary))
    assert failed(copy) == {MOVES}


def test_moves_without_leave_are_found(copy: Path) -> None:
    """Where no guest may move, none did."""
    path = copy / "summary.json"
    summary = json.loads(path.read_text())
    for name in ("move_below", "look_ahead", "look_every"):
        del summary["parameters"][name]
    path.write_text(json.dumps(summary))
    with pytest.raises(Exception, match="ended"):
        certify_cycle(copy)
