"""Some damaged files of every format, each read by a command; `make fuzz` goes on from there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forestall.core._compile import INTERPRETED
from fuzz.every import FORMATS
from fuzz.play import Server, Stage

COUNT = 6
"""Of each format; which of them change nothing is no matter."""

pytestmark = pytest.mark.skipif(INTERPRETED, reason="a child forks from what is compiled")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("fuzz")
    with Server(home) as server:
        yield Stage(home, server)


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if one.commands])
def test_damaged_files(stage: Stage, name: str, tmp_path: Path) -> None:
    for seed in range(1, COUNT + 1):
        played = stage.play(FORMATS[name], seed, slow=False)
        if played.found is not None:
            kept = tmp_path / f"{name}-{seed}"
            os.rename(stage.home / "case", kept)
            pytest.fail(f"{played.found}: in {kept}: forestall {' '.join(played.arguments)}")
