"""Which node a task gets, asked once: a pure function of what is known of the nodes.

The engine (`forestall.machines.engine.engine`) keeps the same nodes up to date from event to
event, which
is quicker where many tasks are placed; both call the same kernels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS, MOST_PROCESSORS
from forestall.core.model.virtual import FAR, PROCESSOR, TaskReason
from forestall.machines.rules import placement_entry_kernels as entries
from forestall.machines.rules.entries import LIVE_STRATEGIES
from forestall.machines.rules.fleet_kernels import DIRTY, NOBODY, SLOTS, UP, Fleet, new_fleet
from forestall.machines.rules.placement_kernels import BEST_FIT, RANDOM, Choosing

MOST_WORK = 2**50
"""Processor-seconds of a task, at most: what is compared with them stays within 64 bits."""


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
    """Return the node for a task and the reason; None if no node has free capacity.

    Parameters
    ----------
    free : float[nodes], free processors of each node; 0 if it is down
    foreseen : float[nodes], predicted time of each node's next failure, s; inf for none, and
        `now` or earlier if the node counts as failing
    work : processor-seconds left
    deadline, now : s
    strategy : a name of `LIVE_STRATEGIES`, such as "random", "first-fit" or "best-fit"
    alpha : weight of capacity in best-fit, 0 to 1, or "dynamic"
    task_processors : maximum number of processors that the task can use
    transfer : duration of a migration, s; None if tasks cannot migrate
    draw : in [0, 1), which node the strategy "random" takes

    Source: Fu and Xu, ARES 2009, Section 4. Raises ParameterError.

    Examples
    --------
    Node 0 fails before the deadline, node 1 is roomier than needed, node 2 fits:

    >>> node, reason = choose_node([1, 4, 1], [100, 9000, 9000], work=3600, deadline=7200, now=0)
    >>> node, reason.name
    (2, 'QUALIFIED')
    """
    if strategy not in LIVE_STRATEGIES:
        raise ParameterError("strategy", strategy, ", ".join(LIVE_STRATEGIES))
    if alpha != "dynamic" and (isinstance(alpha, str | bool) or not 0 <= alpha <= 1):
        raise ParameterError("alpha", alpha, "a number from 0 to 1, or dynamic")
    for name, value, least, most in (
        ("work", work, 1 / PROCESSOR, MOST_WORK),
        ("task_processors", task_processors, 1 / PROCESSOR, MOST_PROCESSORS),
        ("transfer", 0 if transfer is None else transfer, 0, MAX_SECONDS - 1),
        ("draw", draw, 0, 1 - 2**-53),
    ):
        if not least <= value <= most:
            raise ParameterError(name, value, f"a number from {least:g} to {most:g}")
    choosing = Choosing(
        LIVE_STRATEGIES[strategy].number,
        -1.0 if isinstance(alpha, str) else float(alpha),
        int(transfer is not None),
        transfer or 0,
    )
    fleet = _fleet(free, foreseen, now, task_processors, choosing)
    thousandths = int(np.ceil(work * PROCESSOR))
    node, reason = entries.choose(fleet, choosing, thousandths, deadline, now, float(draw))
    return None if node == NOBODY else int(node), TaskReason(int(reason))


def _numbers(name: str, given: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, given, "a number for each node") from None


def _fleet(
    free: npt.ArrayLike,
    foreseen: npt.ArrayLike,
    now: int,
    task_processors: float,
    choosing: Choosing,
) -> Fleet:
    """Return nodes that have this to give and are foreseen to fail then."""
    given, times = _numbers("free", free), _numbers("foreseen", foreseen)
    if given.ndim != 1 or len(given) == 0 or given.shape != times.shape:
        raise ParameterError("free", free, "processors of each node, as many as in foreseen")
    if not bool(np.all((given >= 0) & (given <= MOST_PROCESSORS))):
        allowed = f"processors from 0 to {MOST_PROCESSORS:,} of each node"
        raise ParameterError("free", free, allowed)
    if bool(np.any(np.isnan(times))):
        raise ParameterError(
            "foreseen", foreseen, "a time for each node, inf where none is foreseen"
        )
    room = np.round(given * PROCESSOR).astype(np.int64)
    rate = round(task_processors * PROCESSOR)
    fleet = new_fleet(
        room,
        rate,
        min(rate, PROCESSOR // 10),
        by_level=choosing.strategy == BEST_FIT,
        counted=choosing.strategy == RANDOM,
    )
    nodes = fleet.nodes
    nodes["foreseen"] = np.where(times < FAR, np.clip(times, -FAR, FAR), FAR).astype(np.int64)
    nodes["doubtful"] = times <= now
    nodes["up"] = room > 0
    fleet.at[UP], fleet.at[DIRTY] = int((room > 0).sum()), 1
    assert fleet.at[SLOTS] >= 0
    return fleet
