"""Small tables that no command makes: scores, alarms, gaps, and predictions beside failures.

Python's own generator draws the same numbers on every machine; they are written with few digits.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random

DAY = 86_400


def _scores(rng: Random) -> Iterator[str]:
    yield "score,failed,other,node"
    for _ in range(400):
        chance = rng.random() ** 2
        failed = int(rng.random() < chance)
        yield f"{chance:.6f},{failed},{rng.random():.4f},{rng.randrange(20)}"


def _alarms(rng: Random) -> Iterator[str]:
    yield "time,node,score"
    for moment in sorted(rng.randrange(120 * DAY) for _ in range(300)):
        yield f"{moment},{rng.randrange(16)},{rng.random():.3f}"


def _gaps(rng: Random) -> Iterator[str]:
    yield "gap,censored"
    for k in range(200):
        yield f"{rng.weibullvariate(100, 0.7):.3f},{int(k % 9 == 0)}"


def _predicted(rng: Random, log: str) -> Iterator[str]:
    """Tell of two failures in three when they are to come: a little early, as a monitor would."""
    lines = Path(log).read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    yield "time,node,downtime,predicted"
    for row in rows:
        time = int(row["time"])
        told = str(max(time - rng.randrange(3600), 0)) if rng.random() < 2 / 3 else ""
        yield f"{time},{row['node']},{row['downtime']},{told}"


DRAWN = {"scores": _scores, "alarms": _alarms, "gaps": _gaps, "predicted": _predicted}


def draw(kind: str, file: str, *given: str) -> None:
    """Write a table of a kind."""
    lines = DRAWN[kind](Random(kind), *given)
    Path(file).write_text("\n".join(lines) + "\n")
