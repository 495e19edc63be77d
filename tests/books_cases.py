"""Small accounts for tests of the books: rows as people would write them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import UNKNOWN, Accounting
from forestall.slurm.records.node_events import NATURES, NodeEvents
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.records.start_estimates import StartEstimates

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


DAY: Final = 86_400


def site(**changed: Any) -> SiteRecords:
    """Return a site of ten weeks: jobs of 1 to 64 nodes, some lost, with outages and estimates."""
    rng = np.random.default_rng(3)
    states = ["COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED by 7", "OUT_OF_MEMORY"]
    rows: list[dict[str, Any]] = []
    for k in range(400):
        submit = k * 14_000
        start = submit + int(rng.integers(0, 20_000))
        row = {
            "job": k + 1, "submit": submit, "start": start, "nodes": int(2 ** rng.integers(0, 7)),
            "end": start + int(rng.integers(100, 2 * DAY)), "user": "ann", "name": f"j{k % 5}",
            "partition": "p", "state": str(rng.choice(states, p=[.5, .1, .1, .1, .1, .1])),
        }  # fmt: skip
        row["gpus"] = 4 * row["nodes"]
        rows.append(row)
        if row["state"] == "NODE_FAIL":
            back = row["end"] + 600
            rows.append(row | {"submit": row["end"], "start": back, "end": back + 9000,
                               "state": "COMPLETED"})  # fmt: skip
    down = [{"node": f"n{k}", "begin": k * DAY, "end": k * DAY + 5000} for k in range(60)]
    events = outages(down, (0, 70 * DAY), [f"n{k}" for k in range(400)])
    asked = np.arange(400) * 14_000
    estimates = StartEstimates(
        asked, np.arange(400) + 1, np.arange(400) * 14_000, asked + rng.integers(0, 15_000, 400)
    )
    whole = {"accounting": accounts(rows, begin=0, until=70 * DAY), "events": events,
             "estimates": estimates}  # fmt: skip
    return SiteRecords(**(whole | changed))
