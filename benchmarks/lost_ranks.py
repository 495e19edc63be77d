"""Ranks killed in every collective: one, two and three neighbors at once, recovered from the ring
and from a vault, saved and killed again. `make ranks`; it takes some minutes."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaults.adapters.mpi.lost_ranks import CALLS, Plan, Went, one_by_one, run


def plans() -> list[tuple[bool, int, Plan]]:
    """Return whether there is a vault, how many processes, and what they call and lose."""
    rows: list[tuple[bool, int, Plan]] = []
    for vault in (False, True):
        rows += [(vault, 12, one_by_one(CALLS[first : first + 9], 12, first))
                 for first in range(0, len(CALLS), 9)]  # fmt: skip
        rows += [(vault, 9, _together(CALLS[first : first + 3], 2))
                 for first in range(0, len(CALLS), 3)]  # fmt: skip
    # three in a row are only in the vault
    rows += [(True, 8, _together(CALLS[first : first + 2], 3)) for first in range(0, len(CALLS), 2)]
    return rows


def _together(calls: Sequence[str], count: int) -> Plan:
    """Return a plan in which each call costs so many neighbors, before it and inside it in turn."""
    return [(call, [count * k + j for j in range(count)], ("before", "in")[k % 2])
            for k, call in enumerate(calls)]  # fmt: skip


def main() -> int:
    """Run the whole table."""
    failed = 0
    for vault, size, plan in plans():
        with tempfile.TemporaryDirectory() as there:
            stores = [f"{there}/store{k}" for k in range(3)]
            more: dict[str, Any] = {"stores": stores} if vault else {}
            begun = time.monotonic()
            try:
                went = run(Path(there) / "run", size, plan, 300, **more)
            except Exception as error:  # that it hung, too
                went = Went([str(error)[:300]], Counter(), 0.0, {})
        failed += bool(went.wrong)
        names = " ".join(call for call, *_ in plan)
        how = "vault" if vault else "ring "
        print(f"{how} {len(plan[0][1])} at once of {size}: {names}: {went.wrong or 'well'}; "
              f"{dict(went.errors)}; from {sorted(set(went.sources.values()))}; back in "
              f"{went.slowest:.2f} s at most; {time.monotonic() - begun:.0f} s",
              flush=True)  # fmt: skip
    print(f"{failed} runs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
