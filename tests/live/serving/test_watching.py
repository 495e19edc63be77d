"""The table ``watch`` of the settings, as what foresees failures and what rules go by."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.live.desk import Viewer
from forestall.live.serving.service import SimulatedOptions, simulated_service
from forestall.live.serving.settings import live_settings
from forestall.live.serving.watching import Watching, WatchTable, health_of
from forestall.prediction.given.predictor_files import save_predictor
from forestall.prediction.models.registry import new_learner
from forestall.slurm.cluster.nouns import ClusterView
from forestall.slurm.simulation.moves import fresh
from live.web.serving import settings_of
from prediction.watching.test_watch import NAMES, NOW, failures, history

OLGA = Viewer("olga", "operator")


def seen() -> ClusterView:
    return ClusterView({}, MappingProxyType({name: fresh(name, NOW) for name in NAMES}), {})


def test_predictors_maintenance_and_the_check_of_a_file(tmp_path: Path) -> None:
    learner = new_learner("rate")
    learner.fit(failures())
    save_predictor(learner, tmp_path / "rate.predictor")
    (tmp_path / "health").write_text("n1: no fan\n")
    settings = live_settings(
        {
            "watch": {"predictor": str(tmp_path / "rate.predictor"),
                      "check_file": str(tmp_path / "health")},
            "guard": {"maintenance": [
                {"start": "2027-01-15T09:00", "end": "2027-01-15T10:00", "nodes": ["n2"]}
            ]},
        }
    )  # fmt: skip
    watching = Watching.of(settings.watch, settings.guard)
    told = watching.forecasts.foreseen(seen(), NOW)
    assert told["n2"].by == "maintenance"
    assert {told[name].by for name in set(NAMES) - {"n2"}} == {"rate"}
    health = health_of(settings.watch)
    assert health is not None
    assert health.lines(int((tmp_path / "health").stat().st_mtime)) == {"n1": "no fan"}
    assert np.isfinite(told["n1"].probability)


def test_nothing_is_watched_by_default_and_what_cannot_be_is_said() -> None:
    plain = live_settings({})
    assert Watching.of(plain.watch, plain.guard).forecasts.foreseen(seen(), NOW) == {}
    assert health_of(plain.watch) is None
    gone = live_settings({"watch": {"predictor": ["no-such-file"]}})
    with pytest.raises(TraceError, match="no-such-file"):
        Watching.of(gone.watch, gone.guard)
    with pytest.raises(ParameterError, match="watch"):
        live_settings({"watch": {"predictors": ["x"]}})


def test_a_predictor_of_metrics_needs_them(tmp_path: Path) -> None:
    learner = new_learner("outlier")
    learner.fit(history())
    save_predictor(learner, tmp_path / "p")
    settings = live_settings({"watch": {"predictor": [str(tmp_path / "p")]}})
    with pytest.raises(ParameterError, match="a source of metrics, with outlier"):
        Watching.of(settings.watch, settings.guard)


def test_a_simulated_cluster_is_watched_by_the_clock_of_files(tmp_path: Path) -> None:
    """Its own clock runs years ahead; a predictor stands in for what is foreseen of the world."""
    learner = new_learner("rate")
    learner.fit(failures())
    save_predictor(learner, tmp_path / "rate.predictor")
    (tmp_path / "health").write_text("n1: no fan\n")
    table = WatchTable(
        predictor=(str(tmp_path / "rate.predictor"),), check_file=str(tmp_path / "health"),
        horizon=600,
    )  # fmt: skip
    told: list[str] = []
    asked = SimulatedOptions(8, 10_000.0)
    service = simulated_service(replace(settings_of(tmp_path), watch=table), asked, told.append)
    try:
        for _ in range(3):
            assert service.loop.once(), told
            time.sleep(0.3)  # in which the cluster's clock goes on by 50 minutes
        reasons = [one.reason for one in service.desk.proposals(OLGA) if one.action == "drain"]
        assert "health: the site's check: no fan" in reasons
        by = {one.by for one in service.desk.nodes(OLGA)}
        assert "simulated foresight" not in by
    finally:
        service.stop()
