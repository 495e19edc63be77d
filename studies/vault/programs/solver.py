"""Heat in a plate: Jacobi's method on a square grid, whose temperatures are the checkpoint."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import numpy as np

from studies.vault.programs.program import Program

SWEEPS: Final = 2
"""Sweeps of a step."""


class Solver(Program):
    """A plate of size x size points, whose edges are held at drawn temperatures.

    Parameters
    ----------
    size : points of an edge; a checkpoint has 8 size^2 bytes
    steps : of the whole run
    seed : of the temperatures
    """

    def __init__(self, size: int, steps: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.grid = rng.normal(20.0, 5.0, (size, size))
        self.steps, self.at = steps, 0

    @property
    def done(self) -> float:
        """See `Program`."""
        return self.at / self.steps

    def step(self) -> None:
        """See `Program`."""
        grid = self.grid
        for _ in range(SWEEPS):
            inner = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
            grid[1:-1, 1:-1] = 0.25 * inner
        self.at += 1

    def save(self, folder: Path) -> None:
        """See `Program`."""
        np.save(folder / "grid.npy", self.grid)
        (folder / "at").write_text(str(self.at))

    def load(self, folder: Path) -> None:
        """See `Program`."""
        self.grid = np.load(folder / "grid.npy")
        self.at = int((folder / "at").read_text())

    def answer(self) -> str:
        """See `Program`."""
        return hashlib.sha256(self.grid.tobytes()).hexdigest()[:16]
