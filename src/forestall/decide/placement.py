"""Which node a task gets, asked once: a pure function of what is known of the nodes.

The engine (`forestall.engine.virtual`) keeps the same nodes up to date from event to event, which
is quicker where many tasks are placed; both call the same kernels.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.decide import placement_entry_kernels as entries
from forestall.decide.fleet_kernels import DIRTY, NOBODY, SLOTS, UP, Fleet, new_fleet
from forestall.decide.placement_kernels import BEST_FIT, FIRST_FIT, RANDOM, Choosing
from forestall.model.errors import ParameterError
from forestall.model.virtual import FAR, PROCESSOR, TaskReason

STRATEGIES: Final = {"random": RANDOM, "first-fit": FIRST_FIT, "best-fit": BEST_FIT}


def choose_node(
    free: npt.ArrayLike,
    foreseen: npt.ArrayLike,
    *,
    work: float,
    deadline: int,
    now: int,
    strategy: str = "best-fit",
    alpha: float | str = 0.5,
    task_processors: float = 1.0,
    transfer: int | None = 12,
    draw: float = 0.0,
) -> tuple[int | None, TaskReason]:
    """Return the node for a task and the reason; None where no node has anything to give.

    Parameters
    ----------
    free : float[nodes], processors that each node has to give; 0 where it is down
    foreseen : float[nodes], predicted time of each node's next failure, s; inf where none is, and a
        time of `now` or before where the node counts as failing
    work : processor-seconds left
    deadline, now : s
    strategy : "random", "first-fit" or "best-fit"
    alpha : weight of capacity in best-fit, 0 to 1, or "dynamic"
    task_processors : processors that the task can use at most
    transfer : s that a migration takes, None where tasks cannot migrate
    draw : in [0, 1), which node the strategy "random" takes

    Source: Fu and Xu, ARES 2009, Section 4. Raises ParameterError.

    Examples
    --------
    Node 0 fails before the deadline, node 1 is roomier than needed, node 2 fits:

    >>> node, reason = choose_node([1, 4, 1], [100, 9000, 9000], work=3600, deadline=7200, now=0)
    >>> node, reason.name
    (2, 'QUALIFIED')
    """
    if strategy not in STRATEGIES:
        raise ParameterError("strategy", strategy, ", ".join(STRATEGIES))
    if alpha != "dynamic" and not (isinstance(alpha, int | float) and 0 <= alpha <= 1):
        raise ParameterError("alpha", alpha, "a number from 0 to 1, or dynamic")
    if not work > 0:
        raise ParameterError("work", work, "processor-seconds above 0")
    choosing = Choosing(
        int(STRATEGIES[strategy]),
        -1.0 if isinstance(alpha, str) else float(alpha),
        int(transfer is not None),
        transfer or 0,
    )
    fleet = _fleet(free, foreseen, now, task_processors, choosing)
    thousandths = int(np.ceil(work * PROCESSOR))
    node, reason = entries.choose(fleet, choosing, thousandths, deadline, now, float(draw))
    return None if node == NOBODY else int(node), TaskReason(int(reason))


def _fleet(
    free: npt.ArrayLike,
    foreseen: npt.ArrayLike,
    now: int,
    task_processors: float,
    choosing: Choosing,
) -> Fleet:
    """Return nodes that have this to give and are foreseen to fail then."""
    room = np.round(np.asarray(free, dtype=np.float64) * PROCESSOR).astype(np.int64)
    times = np.asarray(foreseen, dtype=np.float64)
    if room.ndim != 1 or len(room) == 0 or room.shape != times.shape or bool(np.any(room < 0)):
        raise ParameterError("free", free, "processors of each node, as many as in foreseen")
    rate = round(task_processors * PROCESSOR)
    fleet = new_fleet(
        room,
        rate,
        min(rate, PROCESSOR // 10),
        by_level=choosing.strategy == BEST_FIT,
        counted=choosing.strategy == RANDOM,
    )
    nodes = fleet.nodes
    far = ~(times < FAR)
    nodes["foreseen"] = np.where(far, FAR, np.where(far, 0, times)).astype(np.int64)
    nodes["doubtful"] = times <= now
    nodes["up"] = room > 0
    fleet.at[UP], fleet.at[DIRTY] = int((room > 0).sum()), 1
    assert fleet.at[SLOTS] >= 0
    return fleet
