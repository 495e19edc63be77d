"""Small accounts for tests of the books: rows as people would write them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from forestall.model.site.accounting import UNKNOWN, Accounting
from forestall.model.site.coded import Coded
from forestall.model.site.job_records import NEVER
from forestall.model.site.node_events import NATURES, NodeEvents

Row = Mapping[str, Any]

LONG: Final = {
    "job": 0, "which": 0, "submit": 0, "eligible": UNKNOWN, "start": NEVER, "end": NEVER,
    "suspended": 0, "limit": UNKNOWN,
}  # fmt: skip
SHORT: Final = {
    "attempt": 0, "nodes": 1, "asked": UNKNOWN, "cpus": UNKNOWN, "gpus": UNKNOWN,
    "exit_code": UNKNOWN, "signal": UNKNOWN,
}  # fmt: skip
WORDS: Final = (
    "state", "reason", "user", "account", "partition", "qos", "name", "nodelist", "excluded",
    "failed_node",
)  # fmt: skip


def accounts(rows: Sequence[Row], **whole: Any) -> Accounting:
    """Return the account of these runs; columns that a row leaves out have the defaults above.

    `job` defaults to 1, 2, ... by row; rows of one id are runs of one job, numbered in order of
    submit, start; `begin` and `until` default to what the rows cover.
    """
    filled = [{"job": place + 1} | dict(row) for place, row in enumerate(rows)]
    filled.sort(key=lambda row: (row.get("submit", 0), row["job"], row.get("start", NEVER)))
    which: dict[int, int] = {}
    runs: dict[int, int] = {}
    for row in filled:
        row.setdefault("which", which.setdefault(row["job"], len(which)))
        runs[row["which"]] = runs.get(row["which"], -1) + 1
        row.setdefault("attempt", runs[row["which"]])
    columns: dict[str, Any] = {
        name: np.array([row.get(name, default) for row in filled], dtype=kind)
        for kind, defaults in ((np.int64, LONG), (np.int32, SHORT))
        for name, default in defaults.items()
    }
    columns |= {word: Coded.of([row.get(word, "") for row in filled]) for word in WORDS}
    times = [time for name in ("submit", "start", "end") for time in columns[name].tolist()]
    seen = [time for time in times if time < NEVER] or [0]
    span = {"begin": min(seen), "until": max([*seen, min(seen) + 1])}
    return Accounting(**columns, **(span | whole))


def outages(rows: Sequence[Row], span: tuple[int, int], names: Sequence[str] = ()) -> NodeEvents:
    """Return outages; a row has node (a name), begin, end (default: open), nature (default: fault),
    state, reason and user. `names` are the nodes in order, those of the rows where left out."""
    filled = sorted(rows, key=lambda row: (row["begin"], row["node"]))
    known = list(dict.fromkeys([*names, *(row["node"] for row in filled)]))
    return NodeEvents(
        np.array([known.index(row["node"]) for row in filled], dtype=np.int64),
        np.array([row["begin"] for row in filled], dtype=np.int64),
        np.array([row.get("end", NEVER) for row in filled], dtype=np.int64),
        *(Coded.of([row.get(word, "") for row in filled]) for word in ("state", "reason", "user")),
        np.array([NATURES.index(row.get("nature", "fault")) for row in filled], dtype=np.int8),
        tuple(known),
        span,
    )
