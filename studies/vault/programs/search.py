"""A search of protein sequences: each query against each sequence of a drawn data base, by the best
local alignment without gaps; the scores so far, and where it stands, are the checkpoint."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import numpy as np

from studies.vault.programs.program import Program

LETTERS: Final = 20
LENGTH: Final = 256
"""Letters of each sequence."""


class Search(Program):
    """A search for several queries in a data base.

    Parameters
    ----------
    size : sequences in the data base; a checkpoint has about 260 size bytes, since the data base's
        present order and all best scores and places are in it
    steps : of the whole run, each one query
    seed : of all that is drawn
    """

    def __init__(self, size: int, steps: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.base = rng.integers(0, LETTERS, (size, LENGTH), dtype=np.int8)
        self.table = rng.integers(-4, 9, (LETTERS, LETTERS), dtype=np.int32)
        self.best = np.zeros(size, dtype=np.int32)
        self.place = np.zeros(size, dtype=np.int32)
        self.steps, self.at, self.seed = steps, 0, seed

    @property
    def done(self) -> float:
        """See `Program`."""
        return self.at / self.steps

    def step(self) -> None:
        """See `Program`."""
        query = np.random.default_rng([self.seed, self.at]).integers(0, LETTERS, LENGTH)
        run = np.zeros(len(self.base), dtype=np.int32)
        top = np.zeros(len(self.base), dtype=np.int32)
        # Along the diagonal: the best sum of a stretch (Kadane's algorithm).
        for k in range(LENGTH):
            run = np.maximum(run + self.table[query[k], self.base[:, k]], 0)
            np.maximum(top, run, out=top)
        better = top > self.best
        self.best[better], self.place[better] = top[better], self.at
        self.at += 1

    def save(self, folder: Path) -> None:
        """See `Program`."""
        np.savez(folder / "search.npz", base=self.base, best=self.best, place=self.place)
        (folder / "at").write_text(str(self.at))

    def load(self, folder: Path) -> None:
        """See `Program`."""
        held = np.load(folder / "search.npz")
        self.base, self.best, self.place = (held[name] for name in ("base", "best", "place"))
        self.at = int((folder / "at").read_text())

    def answer(self) -> str:
        """See `Program`."""
        return hashlib.sha256(self.best.tobytes() + self.place.tobytes()).hexdigest()[:16]
