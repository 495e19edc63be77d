"""Two real programs, small: a numerical solver and a sequence search. Each can be saved between two
steps, into files of their true size, and goes on from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from studies.vault.programs.program import Program
from studies.vault.programs.search import Search
from studies.vault.programs.solver import Solver

PROGRAMS: Final[Mapping[str, Callable[[int, int], Program]]] = {"solver": Solver, "search": Search}
"""Each is made of its size and its steps."""
