"""What a replay takes from a run's folder, spoilt: one line that names file and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.model.errors import TraceError
from forestall.scheduling.hazard import read_hazard
from forestall.scheduling.learned import VERSION, WHAT, read_table
from forestall.scheduling.maintenance import read_planned

LAW = {"shape": 0.7, "prior_failures": 1.0, "prior_exposure": 2.0, "downtime": 60}
HAZARDS = "node,failures,exposure,renewed,begin,fresh\n0,1.0,2.0,0,0,1\n1,1.5,2.5,10,0,0\n"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("1,1.5", "1000,1.5", "node"),
        ("1,1.5", "0,1.5", "node"),
        ("1.5", "nan", "failures"),
        ("2.5", "-1", "exposure"),
        ("2.5", "inf", "exposure"),
        (",10,", ",99999999999999,", "renewed"),
        ("0,0\n", "0,7\n", "fresh"),
        ("1,1.5,2.5,10,0,0\n", "", "node"),
    ],
)
def test_hazards(tmp_path: Path, old: str, new: str, field: str) -> None:
    path = tmp_path / "hazard.csv"
    path.write_text(HAZARDS)
    assert len(read_hazard(tmp_path, LAW, 2).nodes) == 2
    path.write_text(HAZARDS.replace(old, new))
    with pytest.raises(TraceError, match=f"hazard.csv.*{field}: "):
        read_hazard(tmp_path, LAW, 2)


@pytest.mark.parametrize("change", [{"shape": 0}, {"shape": "x"}, {"downtime": -1},
                                    {"prior_exposure": float("nan")}])  # fmt: skip
def test_the_law_of_hazards(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "hazard.csv").write_text(HAZARDS)
    with pytest.raises(TraceError, match=rf"summary\.json: {next(iter(change))}: "):
        read_hazard(tmp_path, LAW | change, 2)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    arrays = {
        "times": np.array([0, 3600, 7200]),
        "hazard": np.full((3, 2, 2), 0.5, np.float32),
    }
    write_bundle(tmp_path / "predictions.npz", WHAT, VERSION, {"horizons": [60, 600]}, arrays)
    return tmp_path


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("times", lambda values, arrays: arrays["times"].__setitem__(1, -5)),
        ("times", lambda values, arrays: arrays.update(times=np.zeros(0, np.int64))),
        ("times", lambda values, arrays: arrays.update(times=np.zeros(3))),
        ("hazard", lambda values, arrays: arrays["hazard"].__setitem__((0, 0, 0), np.nan)),
        ("hazard", lambda values, arrays: arrays["hazard"].__setitem__((0, 0, 0), -1)),
        ("hazard", lambda values, arrays: arrays["hazard"].__setitem__((0, 0, 1), 0.1)),
        ("hazard", lambda values, arrays: arrays.update(hazard=np.zeros((3, 1, 2), np.float32))),
        ("horizons", lambda values, arrays: values.update(horizons=[600, 60])),
        ("horizons", lambda values, arrays: values.update(horizons=[60, 2**40])),
        ("horizons", lambda values, arrays: values.update(horizons="60")),
    ],
)
def test_tables_of_predictions(
    table: Path, field: str, change: Callable[[dict[str, Any], dict[str, Any]], object]
) -> None:
    assert len(read_table(table, 2).times) == 3
    values, arrays = read_bundle(table / "predictions.npz", WHAT, VERSION)
    change(values, arrays)
    write_bundle(table / "predictions.npz", WHAT, VERSION, values, arrays)
    with pytest.raises(TraceError, match=rf"predictions\.npz: {field}: "):
        read_table(table, 2)


@pytest.mark.parametrize(
    "rows",
    ["5,9,7\n", "5,9,-1\n", "5,4,0\n", "5,9,0\n3,4,0\n", "5,9,0\n7,12,0\n", "x,9,0\n", "5,,0\n"],
)
def test_planned_outages(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "maintenance.csv"
    path.write_text("time,until,node\n5,9,0\n5,9,1\n")
    found = read_planned(tmp_path, 2)
    assert found is not None
    assert len(found) == 2
    path.write_text(f"time,until,node\n{rows}")
    with pytest.raises(TraceError, match=r"maintenance\.csv"):
        read_planned(tmp_path, 2)
