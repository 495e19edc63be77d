"""What a program of the study can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path


class Program(ABC):
    """A program that works in steps, and can be saved between two of them."""

    @property
    @abstractmethod
    def done(self) -> float:
        """Share of its work that is done."""

    @abstractmethod
    def step(self) -> None:
        """Do some hundredths of a second of work."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all that it needs to go on into a folder that is there."""

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Go on from what was written."""

    @abstractmethod
    def answer(self) -> str:
        """Return what came out, as digits that any mistake changes."""
