"""Small records of nodes for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.node_events import NATURES, NodeEvents

HOUR, DAY = 3600, 86_400
OPEN = NEVER


def outages(
    rows: Sequence[tuple[str, int, int, str]],
    span: tuple[int, int],
    *,
    names: Sequence[str] = (),
    reasons: Sequence[str] | None = None,
    dated: bool = True,
) -> NodeEvents:
    """Return events of (node, begin, end, nature)."""
    every = tuple(dict.fromkeys([*names, *(row[0] for row in rows)]))
    order = sorted(range(len(rows)), key=lambda k: (rows[k][1], every.index(rows[k][0])))
    told = [""] * len(rows) if reasons is None else list(reasons)
    return NodeEvents(
        np.array([every.index(rows[k][0]) for k in order], dtype=np.int64),
        np.array([rows[k][1] for k in order], dtype=np.int64),
        np.array([rows[k][2] for k in order], dtype=np.int64),
        Coded.of(["DOWN*"] * len(rows)),
        Coded.of([told[k] for k in order]),
        Coded.untold(len(rows)),
        np.array([NATURES.index(rows[k][3]) for k in order], dtype=np.int8),
        every,
        span,
        dated,
    )


def runs(
    rows: Sequence[dict[str, object]], span: tuple[int, int], *, dated: bool = True
) -> Accounting:
    """Return runs of dictionaries: start, end, state, nodelist, nodes, excluded, failed_node, user,
    which, partition."""
    rows = sorted(rows, key=lambda row: int(row.get("start", 0)))  # type: ignore[call-overload]
    n = len(rows)

    def whole(name: str, default: int, kind: type = np.int64) -> np.ndarray:
        return np.array([row.get(name, default) for row in rows], dtype=kind)

    def text(name: str) -> Coded:
        return Coded.of([str(row.get(name, "")) for row in rows])

    start = whole("start", 0)
    number = np.array([row.get("which", k) for k, row in enumerate(rows)], dtype=np.int64)
    nodes = whole("nodes", 1, np.int32)
    zero, unknown = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int32)
    return Accounting(
        number + 1, number, np.zeros(n, dtype=np.int32), start, start, start,
        whole("end", NEVER), zero, zero + DAY, nodes, nodes, nodes, unknown, unknown, unknown,
        text("state"), text("reason"), text("user"), text("account"), text("partition"),
        text("qos"), text("name"), text("nodelist"), text("excluded"), text("failed_node"),
        span[0], span[1], dated,
    )  # fmt: skip
