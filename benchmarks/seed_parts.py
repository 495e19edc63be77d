"""Seeds of scenarios, played in parts by several processes, for `make live-seeds` and `make
vault-seeds`: what is done stands in a file, and a call that names it again goes on from there."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

PART = 200


def read_kept(path: Path) -> dict[int, dict[str, Any]]:
    """Return the parts that were played before, by their first seeds; a last line that was cut off
    counts for nothing."""
    parts: dict[int, dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            part = json.loads(line)
        except ValueError:
            continue
        parts[part["first"]] = part
    return parts


def summary(parts: dict[int, dict[str, Any]]) -> str:
    """Return what the parts came to, in a line."""
    seen = sum((Counter(part["seen"]) for part in parts.values()), Counter[str]())
    seeds = sum(part["count"] for part in parts.values())
    wrong = sum(len(part["wrong"]) for part in parts.values())
    hours = sum(part["seconds"] for part in parts.values()) / 3600
    return f"{seeds:,} seeds, {wrong} broke a rule, {hours:.2f} core-hours: {dict(seen)}"


def play_parts(
    arguments: list[str],
    run_part: Callable[[int, int], dict[str, Any]],
    description: str | None,
    kept_in: str,
) -> int:
    """Play the seeds that were not played yet; return 1 where one broke a rule."""
    options = _options(arguments, description, kept_in)
    parts = read_kept(options.kept)
    starts = range(options.first, options.first + options.count, PART)
    left = iter([first for first in starts if first not in parts])
    last = time.perf_counter()
    with ProcessPoolExecutor(options.workers) as pool, options.kept.open("a") as kept:
        going = {pool.submit(run_part, first, PART) for first in islice(left, options.workers)}
        while going:
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                parts[part["first"]] = part
                kept.write(json.dumps(part) + "\n")
                kept.flush()
                for story in part["wrong"]:
                    print(story, flush=True)
            if not options.until or time.strftime("%H:%M") < options.until:
                going |= {pool.submit(run_part, first, PART) for first in islice(left, len(done))}
            if time.perf_counter() - last > 60 or not going:
                last = time.perf_counter()
                print(summary(parts), flush=True)
    return int(any(part["wrong"] for part in parts.values()))


def _options(arguments: list[str], description: str | None, kept_in: str) -> argparse.Namespace:
    known = argparse.ArgumentParser(description=description)
    known.add_argument("--first", type=int, default=0)
    known.add_argument("--count", type=int, default=1_000_000)
    known.add_argument("--workers", type=int, default=2)
    known.add_argument("--until", default="", help="HH:MM of today after which no part is begun")
    known.add_argument("--kept", type=Path, default=Path(kept_in))
    return known.parse_args(arguments)
