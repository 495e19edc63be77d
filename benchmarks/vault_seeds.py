"""Scenarios of vaults by the hundred thousand: `make vault-seeds`.

    python -m benchmarks.vault_seeds [--first N] [--count N] [--workers N] [--until HH:MM]

plays seeds in which several processes save, collect, forget and repair on machines whose clocks
differ, are stopped, continued and killed at any request, while hosts are lost and come back. A seed
that breaks a rule prints its story, and belongs into `tests/vaults/test_scenarios.py`. What is done
stands in the file that `--kept` names (`vault-seeds.jsonl`): called again it goes on from there.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from typing import Any

from benchmarks.seed_parts import play_parts
from vaults.scenarios import ScenarioError, play

FORGET = 50
"""Scenarios after which what holds itself is let go."""


def run_part(first: int, count: int) -> dict[str, Any]:
    """Play seeds; return how often what happened, and what went wrong."""
    begun, seen, wrong = time.process_time(), Counter[str](), list[str]()
    gc.disable()
    for seed in range(first, first + count):
        if seed % FORGET == 0:
            gc.collect()
        try:
            seen.update(play(seed).events)
        except ScenarioError as error:
            wrong.append(str(error))
    return {"first": first, "count": count, "seen": seen, "wrong": wrong,
            "seconds": time.process_time() - begun}  # fmt: skip


if __name__ == "__main__":
    sys.exit(play_parts(sys.argv[1:], run_part, __doc__, "vault-seeds.jsonl"))
