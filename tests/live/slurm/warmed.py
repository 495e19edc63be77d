"""Loaded once by the server that forks controllers: their kernels are loaded then."""

from __future__ import annotations

from live.slurm.scenarios import play

play(1, steps=10)
