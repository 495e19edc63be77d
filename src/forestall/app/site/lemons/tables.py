"""Tables of lemons: the worst nodes against chance, and their seven signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.app.site.nodes.study import LEAST
from forestall.reliability.nodes.signals import SEVEN
from forestall.show.blocks import Table
from forestall.show.clean import clean
from forestall.show.facts import records_of
from forestall.show.quantities import at_level, fixed, percent

if TYPE_CHECKING:
    from forestall.app.site.lemons.study import LemonsStudy
    from forestall.reliability.nodes.lemons import Lemons

Floats = npt.NDArray[np.float64]
SHOWN: Final = 15
"""Nodes of the table, where fewer are lemons."""
ON_RATES: Final = (
    "rate: to expect per 1000 node-days, drawn toward the fleet but where a node is worse even "
    "than its spread."
)
_NUMBERS: Final = frozenset({"failed", "expected", "q", "rate", "job hours", "hours out"})
SHORT: Final = {
    "excl_jobid_count": "excl",
    "xid_cnt": "GPU",
    "tickets": "tick",
    "out_count": "out",
    "multi_node_node_fails": "multi",
    "single_node_node_fails": "single",
    "single_node_node_failure_rate": "rate1",
}
"""Heads of the seven signals."""


def row(found: Lemons, k: int, hours: Floats | None = None) -> dict[str, Any]:
    """Return all that is known of one node as plain values."""
    told: dict[str, Any] = {
        "node": found.name[k],
        "lemon": bool(found.flagged[k]),
        "beyond_fleet": bool(found.beyond[k]),
        "verdict": found.verdict(k),
        "kind": found.kinds[found.kind[k]],
        "failures": int(found.failures[k]),
        "own_failures": int(found.own[k]),
        "in_bursts": int(found.in_bursts[k]),
        "came_again": int(found.again[k]),
        "node_days": float(found.node_days[k]),
        "expected_failures": float(found.expected[k]),
        "average_failures": float(found.usual[k]),
        "excess_failures": float(found.excess[k]),
        "excess_low": float(found.excess_low[k]),
        "excess_high": float(found.excess_high[k]),
        "p": float(found.p_value[k]),
        "q": float(found.q_value[k]),
        "rate_per_1000_node_days": float(found.rate[k]),
        "rate_low": float(found.rate_low[k]),
        "rate_high": float(found.rate_high[k]),
        "rate_shrunk": float(found.shrunk[k]),
        "shrunk_low": float(found.low[k]),
        "shrunk_high": float(found.high[k]),
        "share_of_failures": float(found.share[k]),
        "out_of_service_hours": float(found.down_hours[k]),
        "lost_node_hours": None if found.lost_hours is None else float(found.lost_hours[k]),
        **found.signals.row(int(found.node[k])),
    }
    if hours is not None and found.flagged[k]:
        saved = found.saved(hours, np.array([k]))
        told |= {
            "saved_node_hours": saved.value,
            "saved_low_node_hours": saved.low,
            "saved_high_node_hours": saved.high,
        }
    return told


def shown(found: Lemons) -> list[int]:
    """Return the nodes of the table: all lemons, and the next worst up to `SHOWN`."""
    order = [k for k in found.order.tolist() if found.own[k] or found.flagged[k]]
    return order[: max(SHOWN, len(found.lemons))]


def worst_table(study: LemonsStudy, found: Lemons) -> Table | None:
    """Return the worst nodes, worst first; None where no node failed."""
    at = shown(found)
    if not at:
        return None
    lost = study.hours is not None
    told = study.asked.until - study.asked.begin >= LEAST  # for a rate
    hours = np.full(len(found), np.nan) if study.hours is None else study.hours
    columns = [
        [clean(found.name[k], 24) for k in at],
        [f"{found.own[k]:,}" for k in at],
        fixed(found.expected[at].tolist()),
        [f"{found.q_value[k]:.2g}" if found.q_value[k] >= 1e-99 else "<1e-99" for k in at],
        *([fixed(found.shrunk[at].tolist()), _ends(found.low[at], found.high[at])] if told else []),
        *([fixed(hours[at].tolist())] if lost else []),
        [_verdict(found, k) for k in at],
    ]
    rows = zip(*columns, strict=True)
    what = "job hours" if study.of_jobs else "hours out"
    heads = (
        "node", "failed", "expected", "q", *(("rate", at_level(found.level)) if told else ()),
        *((what,) if lost else ()), "verdict",
    )  # fmt: skip
    note = (
        "failed: a node's own failures, without bursts and troubles that came again within an "
        "hour; expected: of a node of its kind in its time in service; q: share of false alarms "
        "among nodes at least as bad"
    )
    note += f"; {ON_RATES}" if told else "."
    if study.of_jobs:
        note += " job hours: node-hours of jobs lost with it."
    elif lost:
        note += " hours out: out of service after its failures."
    right = tuple(k for k, head in enumerate(heads) if head in _NUMBERS)
    return Table(
        "worst_nodes",
        "The worst nodes",
        heads,
        tuple(rows),
        records_of([row(found, k, study.hours) for k in at]),
        note,
        right,
        ranked=True,
    )


def _ends(low: Floats, high: Floats) -> list[str]:
    """Return a column of intervals."""
    told = fixed([*low.tolist(), *high.tolist()])
    return [f"{a} to {b}" for a, b in zip(told[: len(low)], told[len(low) :], strict=True)]


def _verdict(found: Lemons, k: int) -> str:
    """Return the verdict, with what else was seen of the node."""
    words = found.verdict(k)
    if found.in_bursts[k]:
        words += f"; {found.in_bursts[k]} more in bursts"
    if found.again[k]:
        words += f"; {found.again[k]} came again"
    return words


def signal_table(study: LemonsStudy, found: Lemons) -> Table | None:
    """Return the seven signals of the worst nodes; None where none is told."""
    at = shown(found)
    told = [name for name in SEVEN if name not in found.signals.missing]
    if not at or not told or told == ["out_count"]:
        return None
    rows, records = [], []
    for k in at:
        values = found.signals.row(int(found.node[k]))
        cells = []
        for name in told:
            value = values[name]
            if value is None:
                cells.append("-")
            elif name == "single_node_node_failure_rate":
                cells.append(percent(value))
            else:
                cells.append(f"{value:,}")
        users = values["excl_user_count"]
        rows.append((clean(found.name[k], 24), *cells, "-" if users is None else f"{users:,}"))
        records.append({"node": found.name[k], **values})
    note = (
        "excl: jobs whose users excluded the node (users: how many users); GPU: outages whose "
        "reason names a GPU's error; tick: tickets; out: times out of service; multi, single: "
        "runs on several nodes, and on it alone, that its failure ended; rate1: the latter of all "
        "runs on it alone. Signals of Kokolis et al., arXiv 2410.21680."
    )
    heads = ("node", *(SHORT[name] for name in told), "users")
    return Table(
        "signals", "Seven signals of the worst nodes", heads, tuple(rows), records_of(records),
        note, tuple(range(1, len(heads))), ranked=True,
    )  # fmt: skip
