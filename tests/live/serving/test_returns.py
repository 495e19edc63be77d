"""The test job of the settings, and what cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.live.serving.returns import returns_of
from forestall.live.serving.settings import live_settings
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld


def test_the_script_is_read_once(tmp_path: Path) -> None:
    cluster = ModelCluster(SlurmWorld(WorldSettings(nodes=2), 1))
    assert returns_of(live_settings({}).warden, cluster, lambda: 1) is None
    path = tmp_path / "test.sh"
    path.write_text("#!/bin/sh\n")
    told = live_settings({"warden": {"test": str(path), "test_time": "2m"}}).warden
    assert told.test_time == 120
    assert returns_of(told, cluster, lambda: 1) is not None
    path.write_text("echo well\n")
    with pytest.raises(ParameterError, match="script that begins"):
        returns_of(told, cluster, lambda: 1)
    path.unlink()
    with pytest.raises(TraceError, match="cannot be read"):
        returns_of(told, cluster, lambda: 1)
    with pytest.raises(ParameterError, match="test_time"):
        live_settings({"warden": {"test_time": 0}})
