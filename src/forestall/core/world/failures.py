"""Failures as a run meets them: on the nodes that there are, with a downtime each."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.units import MAX_SECONDS
from forestall.core.streams import draw_detectability
from forestall.core.world.jobs import check_times

Int = npt.NDArray[np.int64]
DEFAULT_DOWNTIME = 120


class FailureParameters(Protocol):
    """What failures are prepared by: parameters of any model."""

    @property
    def nodes(self) -> int: ...
    @property
    def downtime(self) -> int | Literal["log"] | None: ...
    @property
    def repeat_failures(self) -> bool: ...
    @property
    def seed(self) -> int: ...


def prepare_failures(failures: Failures, parameters: FailureParameters) -> Failures:
    """Return the failures of the first N nodes with every downtime and detectability known.

    Downtimes: the parameter where it is a number; the log's own where it is "log", or None and the
    log's are no repair times; 120 s for the rest.
    """
    check_times("a failure's time", failures.time, 1 - MAX_SECONDS)
    drawn = draw_detectability(failures, parameters.seed)
    inside = drawn.node < parameters.nodes
    outside = np.unique(drawn.node[~inside])
    cleaning = drawn.cleaning.plus(
        "nodes_beyond_machine",
        f"nodes of the failure log beyond the first {parameters.nodes} "
        f"({int((~inside).sum())} failures)",
        "left out",
        outside.tolist(),
    )
    kept = drawn.take(inside)
    asked = parameters.downtime
    if isinstance(asked, int):
        downtime = np.full(len(kept), asked, dtype=np.int64)
    elif asked == "log" or not kept.repairs:
        downtime = np.where(kept.downtime > 0, kept.downtime, DEFAULT_DOWNTIME)
    else:
        downtime = np.full(len(kept), DEFAULT_DOWNTIME, dtype=np.int64)
    if parameters.repeat_failures and len(kept) and kept.span <= 0:
        raise ParameterError("repeat_failures", True, "a failure log that spans some time")
    return replace(kept, downtime=downtime, cleaning=cleaning)


def expected_downtime(parameters: FailureParameters) -> int:
    """Return the one downtime, s, that stands for all foreseen failures where a predictor does not
    know how long each outage lasts."""
    asked = parameters.downtime
    return asked if isinstance(asked, int) else DEFAULT_DOWNTIME


def outage_seconds(node: Int, time: Int, downtime: Int, start: int, end: int) -> int:
    """Return the node-seconds within [start, end) in which nodes were down after these failures.

    A failure while the node is down prolongs that to the later of the two recoveries.
    """
    if not len(node):
        return 0
    order = np.lexsort((time, node))
    since = np.clip(time[order], start, end) - start
    until = np.clip(time[order] + downtime[order], start, end) - start
    # On one axis, node after node, outages are counted from where the last one ended.
    offset = node[order] * (end - start)
    reached = np.maximum.accumulate(offset + until)
    floor = np.concatenate(([0], reached[:-1]))
    return int(np.maximum(offset + until - np.maximum(offset + since, floor), 0).sum())
