"""With whose rights Slurm's commands run, as the settings name it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.faults import LookError
from forestall.live.serving.real import cluster_of, keeper_of, submits_for
from forestall.live.serving.settings import SlurmTable
from forestall.slurm.cluster.cluster import LiveCluster


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A token, and a Slurm that answers to whoever has it."""
    path, program = tmp_path / "token", tmp_path / "sinfo"
    path.write_text("keepers\n")
    program.write_text(f'#!/bin/sh\ntest "$SLURM_JWT" = "$(cat {path})" && echo slurm 22.05.8\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


def answers(cluster: LiveCluster) -> bool:
    try:
        cluster.look()
    except LookError as error:
        return error.what != "version"
    return True


def test_the_keeper_s_token_goes_with_its_commands_alone(token: Path) -> None:
    table = SlurmTable(keeper_token=str(token))
    keeper = keeper_of(table)
    token.write_text("renewed\n")  # it is read anew for each command
    assert answers(keeper)
    assert not answers(cluster_of(table))


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"keeper_user": "nobody"}, "slurm.keeper_user"),
        ({"user": "nobody"}, "slurm.keeper_user"),
        ({"keeper_user": "no-such-user"}, "slurm.keeper_user"),
    ],
)
def test_only_root_runs_commands_as_another_user(
    table: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ParameterError, match=key):
        keeper_of(SlurmTable(**table))


def test_what_does_not_go_together(token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ParameterError, match=r"slurm\.token"):
        cluster_of(SlurmTable(token=str(token)))
    with pytest.raises(ParameterError, match="submit_as_owner"):
        submits_for(SlurmTable(user="nobody", submit_as_owner=True))
    assert submits_for(SlurmTable(user="nobody"))("nobody")
    assert not submits_for(SlurmTable(user="nobody"))("root")
