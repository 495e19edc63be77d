"""Nodes that no job gets: down, drained, in maintenance, reserved. By name, then as counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from forestall.core.model.arrays import Ints
from forestall.core.model.hostlist import Hostlist
from forestall.core.show.quantities import counted
from forestall.scheduling.futures.snapshot import NEVER, Drain
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.present import Reservation

DAY: Final = 86_400
UNUSABLE: Final = ("DOWN", "DRAIN", "FAIL", "POWERED_DOWN", "FUTURE", "UNKNOWN")
"""Words in the state of a node that no job gets."""
MAINTAINED: Final = "MAINT"

Window = tuple[int, int]


def drains_of(
    inventory: Inventory | None,
    reservations: Sequence[Reservation],
    pools: Sequence[str],
    now: int,
    held: Mapping[str, int],
    remarks: list[str],
) -> tuple[Drain, ...]:
    """Return the nodes that are taken from `now` on, as many of each pool as have the same window.

    Nodes that are down or drained are taken for a day, reserved ones for their reservations. A node
    on which a job runs, `held` up to when it is planned to, is taken from then on: it counts once.
    """
    if inventory is None:
        return ()
    place = {part: k for k, one in enumerate(pools) for part in one.split(", ") if part}
    windows: dict[str, list[Window]] = {name: [] for name in inventory.names}
    for one in reservations:
        for name in one.nodes:
            if name in windows and one.end > now:
                windows[name].append((max(one.start, now), one.end))
    down = 0
    for name, state in zip(inventory.names, inventory.state, strict=True):
        maintained = MAINTAINED in state.upper() and not windows[name]
        if maintained or any(word in state.upper() for word in UNUSABLE):
            windows[name].append((now, now + DAY))
            down += 1
    if down:
        remarks.append(f"{counted(down, 'nodes')} down or drained are assumed to be back in a day.")
    if reservations:
        named = ", ".join(one.name for one in reservations)
        last = "it lasts" if len(reservations) == 1 else "they last"
        remarks.append(
            f"The nodes of {counted(len(reservations), 'reservations')} are unavailable while "
            f"{last}: {named}."
        )
    taken: Counter[tuple[int, int, int]] = Counter()
    for name, parts in zip(inventory.names, inventory.partitions, strict=True):
        pool = place.get(parts[0], 0) if parts else 0
        for start, end in merged(windows[name]):
            begin = max(start, held.get(name, start)) if start <= now else start
            if begin < end:
                taken[begin, end, pool] += 1
    return tuple(
        Drain(start, end, count, pool) for (start, end, pool), count in sorted(taken.items())
    )


def merged(windows: Iterable[Window]) -> list[Window]:
    """Return windows in order, those that touch as one."""
    found: list[Window] = []
    for start, end in sorted(windows):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def held_until(records: Accounting, rows: Ints, limit: Ints) -> dict[str, int]:
    """Return up to when the nodes of running jobs are planned to be held."""
    held: dict[str, int] = {}
    for row in rows.tolist():
        end = min(int(records.start[row]) + int(limit[row]), NEVER)
        for name in Hostlist.parse(records.nodelist[row]):
            held[name] = max(end, held.get(name, 0))
    return held
