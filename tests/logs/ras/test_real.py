"""Real event logs by their figures, and what filtering makes of Blue Gene/L's failures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forestall.core.model.ras import RasLog, Severity
from forestall.logs import read_failures
from forestall.logs.ras import FilterSettings, mine_rules, pipeline, read_ras

BEST = "bluegene-l-fatal/Best"


def severities(log: RasLog) -> dict[str, int]:
    return {one.name: int(np.sum(log.severity == one)) for one in Severity if one in log.severity}


def test_the_labelled_sample_of_blue_gene(data: Path) -> None:
    log = read_ras(data / "bgl-ras/BGL_2k.log", strict=True)
    assert len(log) == 2000
    assert log.alert is not None
    assert int(log.alert.sum()) == 143
    counts = {"INFO": 1597, "WARNING": 8, "ERROR": 41, "SEVERE": 7, "FATAL": 347}
    assert severities(log) == counts
    failures = read_failures(data / "bgl-ras/BGL_2k.log")
    alerts = log.take(log.alert)
    assert ((log.origin or 0) + alerts.time).tolist() == (
        (failures.origin or 0) + failures.time
    ).tolist()
    # loghub tells 120 templates of these lines (by hand, and not of the facility).
    assert 110 <= len(log.kinds) <= 140


@pytest.mark.parametrize(("templates", "least"), [("masked", 0.96), ("drain", 0.92)])
def test_kinds_group_lines_as_people_did(data: Path, templates: str, least: float) -> None:
    """Grouping accuracy: lines whose whole group is the one that loghub's people gave it."""
    if templates == "drain":
        pytest.importorskip("drain3")
    table = data / "bgl-ras/BGL_2k.log_structured.csv"
    theirs = pl.read_csv(table)["EventId"].to_list()
    log = read_ras(data / "bgl-ras/BGL_2k.log", templates=templates)  # type: ignore[arg-type]
    ours = log.kind.tolist()
    groups: dict[tuple[str, object], set[int]] = {}
    for line, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        groups.setdefault(("ours", mine), set()).add(line)
        groups.setdefault(("theirs", other), set()).add(line)
    pairs = zip(ours, theirs, strict=True)
    same = [groups["ours", mine] == groups["theirs", other] for mine, other in pairs]
    assert np.mean(same) > least


def test_the_first_lines_of_blue_gene(data: Path) -> None:
    log = read_ras(data / "bgl-ras/BGL_5000.log", strict=True)
    assert severities(log) == {"INFO": 4987, "FATAL": 14}
    assert log.span == 2091
    assert log.alert is not None
    assert not log.alert.any()


def test_samples_of_other_machines(data: Path) -> None:
    log = read_ras(data / "bgl-ras/HPC.HPC_2k.log")
    assert (len(log), len(log.places)) == (2000, 298)
    assert log.cleaning.counts() == {"unsorted": 1113}
    log = read_ras(data / "bgl-ras/Thunderbird.Thunderbird_2k.log", strict=True)
    assert len(log) == 2000
    assert log.alert is not None
    assert not log.alert.any()


def test_mira(data: Path) -> None:
    log = read_ras(data / "mira-ras/mira_fatal_events_sim0.0.cor.gz", strict=True)
    assert severities(log) == {"FATAL": 1176}
    by_category = [kind.split()[0] for kind in np.array(log.kinds)[log.kind]]
    assert by_category.count("BQC") == 586
    assert by_category.count("BQL") == 252
    # They were filtered already: five minutes find next to nothing more.
    assert len(pipeline(log).log) >= 1170


def test_filtering_of_blue_gene_beside_the_published_stages(data: Path) -> None:
    log = read_ras(data / f"{BEST}.all-fail.xz", strict=True)
    assert severities(log) == {"FATAL": 62_320, "FAILURE": 1631}
    done = pipeline(log)
    after = {step.name: step.after for step in done.steps}
    # The published stages hold 61,944 (same place), 27,370 (same part) and 1,435 (any place).
    assert after["severity"] == 63_951
    assert after["temporal"] == 62_916
    assert after["spatial"] == 691
    assert after["causal"] == 664
    kept = pipeline(log, FilterSettings(("temporal", "spatial"), rule="kept"))
    assert after["spatial"] < len(kept.log) < 1435
    cards = pipeline(log, FilterSettings(("spatial",), within="nodecard"))
    assert len(cards.log) == 27_838


def test_rules_of_blue_gene(data: Path) -> None:
    log = read_ras(data / f"{BEST}.all-fail.xz")
    left = pipeline(log, FilterSettings(("temporal", "spatial"))).log
    rules = mine_rules(left)
    named = {
        (log.kinds[a], log.kinds[b])
        for a, b in zip(rules.cause.tolist(), rules.effect.tolist(), strict=True)
    }
    panic = ("KERNEL rts internal error", "KERNEL rts panic! - stopping execution")
    assert panic in named
