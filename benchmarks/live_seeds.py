"""Scenarios of the live controller by the hundred thousand: `make live-seeds`.

    python -m benchmarks.live_seeds [--first N] [--count N] [--workers N] [--until HH:MM]

plays seeds on a modelled cluster where everything goes wrong: short scenarios with few nodes and a
ledger that fails (`small`), and of every hundredth seed also a long one. A seed that breaks a rule
prints its story, and belongs into `tests/live/slurm/test_scenarios.py`. What is done stands in the
file `--kept` names (`live-seeds.jsonl`): called again it goes on from there.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

from forestall.live.ledger.rows import OutcomeRow
from live.slurm.scenarios import Scenario, play, play_small

PART = 200
FORGET = 20
"""Scenarios after which what holds itself is let go."""
LONG = 100
"""Of so many seeds one is also played at length."""


def run_part(first: int, count: int) -> dict[str, Any]:
    """Play seeds; return how often what happened, and what went wrong."""
    begun, seen, wrong = time.process_time(), Counter[str](), list[str]()
    if gc.isenabled():  # most goes by counts of references
        play_small(first)  # loads what stays: nobody need look through it again
        gc.collect()
        gc.freeze()
        gc.disable()
    for seed in range(first, first + count):
        if seed % FORGET == 0:
            gc.collect()  # the rest goes here
        for kind in (play_small, play) if seed % LONG == 0 else (play_small,):
            try:
                seen.update(_happened(kind(seed)))
            except AssertionError as error:
                wrong.append(f"{kind.__name__}: {error}")
            seen[kind.__name__] += 1
    taken = time.process_time() - begun
    return {"first": first, "count": count, "seen": seen, "wrong": wrong, "seconds": taken}


def _happened(one: Scenario) -> Iterator[str]:
    yield from (row.outcome for row in one.ledger.read(OutcomeRow))
    yield from (type(deed.action).__name__ for deed in one.world.state.deeds)
    yield from (fate.rpartition(" ")[0] for fate in one.mortal.met)
    yield from ["died"] * one.deaths


def read_kept(path: Path) -> dict[int, dict[str, Any]]:
    """Return the parts that were played before, by their first seeds; a last line that was cut off
    counts for nothing."""
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            part = json.loads(line)
        except ValueError:
            continue
        found[part["first"]] = part
    return found


def told(parts: dict[int, dict[str, Any]]) -> str:
    """Return what the parts came to, in a line."""
    seen = sum((Counter(part["seen"]) for part in parts.values()), Counter[str]())
    seeds = sum(part["count"] for part in parts.values())
    wrong = sum(len(part["wrong"]) for part in parts.values())
    hours = sum(part["seconds"] for part in parts.values()) / 3600
    return f"{seeds:,} seeds, {wrong} broke a rule, {hours:.2f} core-hours: {dict(seen)}"


def main(arguments: list[str]) -> int:
    """Play the seeds that were not played yet; return 1 where one broke a rule."""
    asked = _asked(arguments)
    parts = read_kept(asked.kept)
    starts = range(asked.first, asked.first + asked.count, PART)
    left = iter([one for one in starts if one not in parts])
    last = time.perf_counter()
    with ProcessPoolExecutor(asked.workers) as pool, asked.kept.open("a") as kept:
        going = {pool.submit(run_part, one, PART) for one in islice(left, asked.workers)}
        while going:
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for one in done:
                part = one.result()
                parts[part["first"]] = part
                kept.write(json.dumps(part) + "\n")
                kept.flush()
                for story in part["wrong"]:
                    print(story, flush=True)
            if not asked.until or time.strftime("%H:%M") < asked.until:
                going |= {pool.submit(run_part, one, PART) for one in islice(left, len(done))}
            if time.perf_counter() - last > 60 or not going:
                last = time.perf_counter()
                print(told(parts), flush=True)
    return int(any(part["wrong"] for part in parts.values()))


def _asked(arguments: list[str]) -> argparse.Namespace:
    known = argparse.ArgumentParser(description=__doc__)
    known.add_argument("--first", type=int, default=0)
    known.add_argument("--count", type=int, default=1_000_000)
    known.add_argument("--workers", type=int, default=2)
    known.add_argument("--until", default="", help="HH:MM of today after which no part is begun")
    known.add_argument("--kept", type=Path, default=Path("live-seeds.jsonl"))
    return known.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
