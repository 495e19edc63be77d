"""Logs whose every name plays tricks: on terminals, in spreadsheets, in pages, as paths."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Final

DAY: Final = 86_400
T0: Final = 1_700_000_000
TRICK: Final = "\x1b[31m\u202e\u2066\u200b\x9b\x7f<script>alert('x')</script>`id`$\\bad$"
NODES: Final = (
    f"{TRICK}1", "=cmd|' /C calc'!A0", "../../x", "-2+3", "@SUM(1)", "n\udce96", "/etc/x7",
    "'=8", "+n9", "n\u00a010",
)  # fmt: skip
"""Names of nodes; one holds a byte that is no UTF-8."""
WORDS: Final = (f"{TRICK}u", '=HYPERLINK("x")', "../../u", "u\udce9r", "-u", "`u`")
"""Names of whatever else there is."""


def failures(path: Path, count: int = 300, span: int = 60 * DAY) -> Path:
    """Write our own failure log with names of nodes and causes, most failures in one node."""
    rng = random.Random(5)
    rows = sorted(
        (rng.randrange(span), NODES[min(rng.randrange(20), 9)], rng.choice(WORDS))
        for _ in range(count)
    )
    told = [(f"{1000 + at}", node, "600", kind) for at, node, kind in rows]
    return _table(path, ("time", "node", "downtime", "kind"), told)


def jobs(path: Path, count: int = 60) -> Path:
    """Write a job table with users and queues."""
    rng, rows, submit = random.Random(6), [], 0
    for k in range(count):
        submit += rng.randrange(6000)
        run = rng.randrange(60, 20_000)
        rows.append((k + 1, submit, rng.randrange(1, 9), run, 2 * run, *rng.choices(WORDS, k=2)))
    return _table(path, ("job", "submit", "size", "runtime", "estimate", "user", "queue"), rows)


def records(path: Path, count: int = 200) -> Path:
    """Write what became of jobs, with their nodes."""
    rng, rows = random.Random(7), []
    for k in range(count):
        start = 1000 + rng.randrange(50 * DAY)
        state = rng.choice(("COMPLETED", "NODE_FAIL", "FAILED"))
        nodes = ",".join(rng.sample([n for n in NODES if "," not in n and "[" not in n], 2))
        rows.append((f"{rng.choice(WORDS)}{k}", start, start + 30_000, state, nodes))
    return _table(path, ("job", "start", "end", "state", "nodes"), rows)


def metrics(path: Path, hours: int = 24 * 60) -> Path:
    """Write metrics, whose names are columns."""
    rng = random.Random(8)
    rows = [
        (1000 + 7200 * k, node, rng.random(), rng.random())
        for k in range(hours // 2)
        for node in NODES
    ]
    return _table(path, ("time", "node", "=load()", f"{TRICK}m"), rows)


def ras(path: Path, count: int = 400) -> Path:
    """Write events of nodes."""
    rng = random.Random(9)
    rows = sorted(
        (1000 + rng.randrange(50 * DAY), rng.choice(NODES), "FATAL", rng.choice(WORDS))
        for _ in range(count)
    )
    return _table(path, ("time", "place", "severity", "kind"), rows)


def alarms(path: Path, count: int = 120) -> Path:
    """Write alarms of a predictor of somebody else's."""
    rng = random.Random(10)
    rows = sorted(
        (1000 + rng.randrange(60 * DAY), rng.choice(NODES), round(rng.random(), 2))
        for _ in range(count)
    )
    return _table(path, ("time", "node", "score"), rows)


def scores(path: Path, count: int = 200) -> Path:
    """Write scores by node."""
    rng = random.Random(11)
    rows = [
        (round(rng.random(), 3), int(rng.random() < 0.3), rng.choice(NODES)) for _ in range(count)
    ]
    return _table(path, ("score", "failed", "node"), rows)


def slurm(folder: Path, count: int = 120) -> tuple[Path, Path]:
    """Write what sacct and sacctmgr print, in UTF-8: runs of jobs, and outages."""
    rng = random.Random(12)
    rows = []
    for k in range(count):
        state = "NODE_FAIL" if k % 5 == 0 else rng.choice(("COMPLETED", "FAILED", "TIMEOUT"))
        start = T0 + k * 3600
        user, account, name, part = (rng.choice(WORDS) for _ in range(4))
        rows.append(
            f"{k + 1}|{name}|{user}|{account}|{part}|{state}|{start - 60}|{start}|"
            f"{start + 7200}|2|{','.join(rng.sample(_listed(), 2))}|{TRICK}reason"
        )
    head = "JobIDRaw|JobName|User|Account|Partition|State|Submit|Start|End|NNodes|NodeList|Reason"
    places = [
        f"{TRICK}c|{node}|{T0 + k * DAY}|{T0 + k * DAY + 3600}|DOWN|{rng.choice(WORDS)}|"
        f"{rng.choice(WORDS)} not responding"
        for k in range(5)
        for node in _listed()
    ]
    return (
        _lines(folder / "jobs.txt", [head, *rows]),
        _lines(
            folder / "events.txt",
            ["Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason", *places],
        ),
    )


def _listed() -> list[str]:
    return [name for name in NODES if not set(name) & set(",|[")]


def _lines(path: Path, lines: list[str]) -> Path:
    text = "".join(f"{line}\n" for line in lines)
    path.write_text(text.replace("\udce9", "\u00e9"), encoding="utf-8", newline="")
    return path


def _table(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
    return path
