"""Arrays of the engine for tasks in virtual machines that become too short."""

from __future__ import annotations

import numpy as np

from forestall.decide.virtual.placement_kernels import RANDOM
from forestall.engine.growth import longer
from forestall.engine.virtual import state as states
from forestall.engine.virtual.state import Books, TaskState


def grown(state: TaskState, generator: np.random.Generator | None) -> TaskState:
    """Return the state with more room where room is short; further draws come from `generator`,
    which random-select needs."""
    at, books, slots = state.at, state.books, len(state.vms)
    waits = longer(state.waits, int(at[states.WAITS]) + slots)
    more = state.more
    short = int(at[states.MORE]) + slots + 1 > len(more)
    if state.choosing.strategy == RANDOM and short:
        assert generator is not None, "nodes are drawn by chance"
        more = np.concatenate((more, generator.random(len(more) + 4 * slots + 64)))
    return state._replace(
        books=Books(
            longer(books.runs, int(at[states.RUNS]) + 2 * slots + 2),
            longer(books.moves, int(at[states.MOVES]) + slots + 1),
            longer(books.struck, int(at[states.STRIKES]) + 1),
        ),
        waits=waits,
        more=more,
        out=longer(state.out, 2 * slots + len(waits) + 64),
    )
