"""Small tables of a site's records, drawn or by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED, Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.node_events import NATURES, NodeEvents
from forestall.slurm.records.start_estimates import StartEstimates

ZERO = 1_767_225_600  # 2026-01-01T00:00:00Z
COLUMNS: dict[str, Any] = {
    "job": 1, "attempt": 0, "submit": ZERO, "eligible": UNKNOWN, "start": NEVER, "end": NEVER,
    "suspended": 0, "limit": UNKNOWN, "nodes": 1, "asked": 1, "cpus": UNKNOWN, "gpus": UNKNOWN,
    "exit_code": UNKNOWN, "signal": UNKNOWN, "state": "COMPLETED", "reason": "", "user": "",
    "account": "", "partition": "", "qos": "", "name": "", "nodelist": "", "excluded": "",
    "failed_node": "",
}  # fmt: skip
SHORT = {"attempt", "nodes", "asked", "cpus", "gpus", "exit_code", "signal"}


def runs(*rows: dict[str, Any], begin: int = ZERO, until: int = ZERO + 10**6) -> Accounting:
    """Return accounting of rows in any order; runs of one id are of one job."""
    whole = [{**COLUMNS, **row} for row in rows]
    whole.sort(key=lambda row: (row["submit"], row["job"], row["attempt"]))
    which: dict[int, int] = {}
    numbers = [which.setdefault(row["job"], len(which)) for row in whole]
    columns: dict[str, Any] = {"which": np.array(numbers, dtype=np.int64)}
    for name, usual in COLUMNS.items():
        values = [row[name] for row in whole]
        if isinstance(usual, str):
            columns[name] = Coded.of(values)
        else:
            columns[name] = np.array(values, dtype=np.int32 if name in SHORT else np.int64)
    return Accounting(**columns, begin=begin, until=until, source="here")


def outages(
    *rows: tuple[str, int, int | None, str], span: tuple[int, int] | None = None, **more: Any
) -> NodeEvents:
    """Return outages of (node, begin, end or None, nature), reasons being the natures."""
    names = tuple(dict.fromkeys([*more.pop("names", ()), *(row[0] for row in rows)]))
    order = sorted(rows, key=lambda row: (row[1], names.index(row[0])))
    ends = [NEVER if row[2] is None else row[2] for row in order]
    last = max([row[1] + 1 for row in rows] + [end for end in ends if end < NEVER], default=0)
    return NodeEvents(
        np.array([names.index(row[0]) for row in order], dtype=np.int64),
        np.array([row[1] for row in order], dtype=np.int64),
        np.array(ends, dtype=np.int64),
        Coded.of(["DOWN"] * len(rows)),
        Coded.of([row[3] for row in order]),
        Coded.of(["root(0)"] * len(rows)),
        np.array([NATURES.index(row[3]) for row in order], dtype=np.int8),
        names,
        span or (0, last),
        **more,
    )


def inventory(names: Sequence[str], **more: Any) -> Inventory:
    """Return nodes of one kind."""
    count = len(names)
    told: dict[str, Any] = {
        "names": tuple(names), "cpus": np.full(count, 64), "gpus": np.full(count, 4),
        "memory_mb": np.full(count, -1), "partitions": (("main", "gpu"),) * count,
        "hardware": ("4 x a100, 64 CPUs, secretfeature",) * count, "state": ("IDLE",) * count,
        "reason": ("",) * count, "boot": np.full(count, ZERO),
        "partition_limits": {"main": 3600, "gpu": NEVER},
    }  # fmt: skip
    return Inventory(**{**told, **more})


TIMES = st.integers(ZERO, ZERO + 10**6)
WORDS = st.sampled_from(["", "a", "größe", "x|y", "a b", "n[1-3,7]", "NaN", "0", "'", '"', "é\n"])


@st.composite
def some_runs(draw: st.DrawFn) -> Accounting:
    """Draw accounting with unknown and unlimited values."""
    rows = []
    for job in draw(st.lists(st.integers(1, 9), max_size=12)):
        start = draw(st.one_of(st.just(NEVER), TIMES))
        end = draw(st.one_of(st.just(NEVER), st.integers(0, 1000).map(lambda d, s=start: s + d)))
        row: dict[str, Any] = {
            "job": job,
            "attempt": sum(other["job"] == job for other in rows),
            "submit": draw(TIMES),
            "start": start,
            "end": end if start < NEVER else NEVER,
            "limit": draw(st.sampled_from([UNKNOWN, UNLIMITED, 0, 60])),
        }
        row |= {name: draw(st.integers(-1, 5)) for name in sorted(SHORT - {"attempt"})}
        row |= {name: draw(WORDS) for name, usual in COLUMNS.items() if isinstance(usual, str)}
        rows.append(row)
    return runs(*rows)


@st.composite
def some_outages(draw: st.DrawFn) -> NodeEvents:
    """Draw outages on a small clock, so that they touch and overlap."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"), st.integers(0, 30),
                st.one_of(st.none(), st.integers(0, 10)), st.sampled_from(NATURES),
            ),
            max_size=12,
        )
    )  # fmt: skip
    begin = draw(st.integers(0, 15))
    return outages(
        *((n, b, None if d is None else b + d, k) for n, b, d, k in rows),
        span=(begin, begin + 30), names=("d",),
    )  # fmt: skip


def estimates(*rows: tuple[int, int, int, int]) -> StartEstimates:
    """Return estimates of (asked, job, submit, start)."""
    columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T
    return StartEstimates(*(column.copy() for column in columns), source="here")
