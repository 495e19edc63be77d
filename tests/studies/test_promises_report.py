"""Everything that is written: whole, the same bytes again, and readable."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from studies.kit.claims import claims_table
from studies.kit.study import Reproduction
from studies.promises import STUDY, Found, report
from studies.promises.calibration import calibration
from studies.promises.inputs import NASA, REBUILT, SDSC, Inputs
from studies.promises.runs import Played, play_all, promises_table, runs_table
from studies.promises.study import Plan, cases
from study_calls import told_by
from synthetic_promises import small_inputs

pytest.importorskip("matplotlib")
PLAYED = (NASA, SDSC, REBUILT)
"""The logs of these tests; those of the paper's moments are one more of the same."""


@pytest.fixture(scope="module")
def small() -> Inputs:
    whole = small_inputs()
    return replace(whole, jobs={log: whole.jobs[log] for log in PLAYED})


@pytest.fixture(scope="module")
def played(small: Inputs) -> list[Played]:
    return play_all(cases(Plan(seeds=(1, 2), logs=PLAYED)), small, workers=1)


@pytest.fixture(scope="module")
def found(
    small: Inputs, played: list[Played], tmp_path_factory: pytest.TempPathFactory
) -> Reproduction[Found]:
    folder = tmp_path_factory.mktemp("promises")
    return STUDY.write(folder, Found(small, runs_table(played), promises_table(played)))


def test_all_files_are_there(found: Reproduction[Found]) -> None:
    names = {path.name for path in found.files}
    assert names >= {f"figure-{k:02}.png" for k in range(1, 13)}
    assert names >= {"runs.csv", "promises.csv", "claims.json", "claims.md", "verdict.md"}
    assert names == {path.name for path in found.folder.iterdir()}


def test_the_same_bytes_again(
    small: Inputs, played: list[Played], found: Reproduction, tmp_path: Path
) -> None:
    again = STUDY.write(tmp_path, Found(small, runs_table(played), promises_table(played)))
    for one, two in zip(found.files, again.files, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_what_is_told_is_what_was_told_before(found: Reproduction[Found]) -> None:
    """Hashes of the texts."""
    assert told_by(found.folder, "claims.json", "claims.md", "verdict.md") == [
        "60999a6d44e4c3f3", "3a5300e706e183a3", "670f50ba93b23998",
    ]  # fmt: skip


def test_figures_are_small(found: Reproduction[Found]) -> None:
    for path in found.files:
        if path.suffix == ".png":
            assert path.stat().st_size < 120_000, path.name


def test_claims_as_json_and_as_a_table(found: Reproduction[Found]) -> None:
    value = json.loads((found.folder / "claims.json").read_text(encoding="utf-8"))
    tests = [(one["claim"], log, finding["measured"], finding["verdict"])
             for one in value["claims"] for log, finding in one["findings"].items()]  # fmt: skip
    table = claims_table(found.claims, ("claim", "where", "measured", "verdict"))
    assert table.rows() == tests
    assert len(value["bursts"]) > 10


def test_tables_are_rectangular(found: Reproduction[Found]) -> None:
    text = (found.folder / "verdict.md").read_text(encoding="utf-8")
    tables = [part for part in re.split(r"\n\n+", text) if part.startswith("|")]
    assert len(tables) == 8
    for rows in tables:
        assert len({line.count(" | ") for line in rows.strip().splitlines()}) == 1, rows[:200]


def test_runs_are_tidy(found: Reproduction[Found]) -> None:
    again = pl.read_csv(found.folder / "runs.csv")
    assert len(again) == len(found.tables["runs"])
    assert again["qos"].is_between(0, 1).all()


def test_repeat_note_counts_what_is_alike(found: Reproduction[Found]) -> None:
    pattern = r"--repeat-failures (\d+) of (\d+) runs"
    alike, both = re.search(pattern, report.repeat_note(found.tables["runs"])).groups()
    assert alike == both
    changed = found.tables["runs"].with_columns(
        qos=pl.when(pl.col("study") == "repeated").then(0.5).otherwise(pl.col("qos"))
    )
    assert re.search(pattern, report.repeat_note(changed)).group(1) == "0"


def test_broken_certainties_stand_beside_what_was_to_be_expected(
    small: Inputs, found: Reproduction
) -> None:
    lines = report.unforeseen_words(small, found.tables["promises"])
    assert len(lines) == 4
    assert all(line.count(" %") == 4 and "unforeseen" in line for line in lines)


def test_calibration_pools_the_seeds() -> None:
    row = {
        "log": "NASA", "accuracy": 0.7, "risk": 0.9, "low": 0.9, "high": 0.92, "promises": 4,
        "promised": 3.64, "kept": 1, "struck": 4, "struck_and_kept": 1, "work": 10, "work_kept": 5,
    }  # fmt: skip
    sure = row | {"low": 1.0, "high": 1.0, "promised": 4, "kept": 4, "struck": 0}
    sure["struck_and_kept"] = 0
    risky, safe = calibration(pl.DataFrame([row, row, sure]), "NASA", 0.7, 0.9)
    assert (risky.promises, risky.promised, risky.kept, risky.saved) == (8, 0.91, 0.25, 0.25)
    assert (risky.name, safe.name) == ("0.9 to 0.92", "exactly 1")
    assert (safe.kept, safe.struck, safe.saved) == (1, 0, None)


def test_spread_tells_the_range_only_where_there_is_one() -> None:
    assert report.spread(pl.Series([1.0, 1.0]), 2) == "1.00"
    assert report.spread(pl.Series([1, 3]), 1, 1000) == "2,000.0 (1,000.0 to 3,000.0)"


@pytest.mark.slow
def test_from_the_real_logs(data: Path, tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    found = STUDY.reproduce(
        tmp_path / "new" / "out", data=data, plan=Plan(seeds=(1,), logs=PLAYED), workers=1,
        progress=lambda k, n: done.append((k, n)),
    )  # fmt: skip
    verdicts: dict[str, set[str]] = {}
    for claim in found.claims:
        verdicts.setdefault(claim.name, set()).add(claim.verdict)
    assert verdicts["perfect"] == verdicts["insensitive_equation"] == {"follows from the input"}
    assert verdicts["insensitive_words"] == {"does not hold"}
    assert done[-1] == (len(found.tables["runs"]),) * 2
    assert "1,021 failures on 128 nodes" in (found.folder / "verdict.md").read_text("utf-8")
