"""Records cut to a window, a partition and a least size; what falls out is counted in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError

if TYPE_CHECKING:
    from forestall.core.model.coded import Coded
    from forestall.core.model.failures import Failures
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.inventory import Inventory
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.sources.asked import Asked

Mask = npt.NDArray[np.bool_]


def cut_accounting(accounting: Accounting, asked: Asked) -> tuple[Accounting, str]:
    """Return the runs that were asked for, whole, and what fell out.

    Raises ParameterError for a partition that no run was in, and where no run was on enough nodes.
    """
    inside = touching(accounting, asked)
    said = [(int(len(inside) - inside.sum()), "outside the window")]
    if asked.partition is not None:
        there = in_partition(accounting.partition, asked.partition)
        said.append((int((inside & ~there).sum()), f"not in partition {asked.partition}"))
        inside &= there
    if asked.min_nodes > 1:
        had = np.where(accounting.nodes > 0, accounting.nodes, accounting.asked)
        large = had >= asked.min_nodes
        if bool(inside.any()) and not bool((inside & large).any()):
            most = int(had[inside].max())
            allowed = (
                f"at most {most:,}, the nodes of the largest run"
                if most > 0
                else ("1: the records do not say how many nodes runs had")
            )
            raise ParameterError("min_nodes", asked.min_nodes, allowed)
        count = int((inside & ~large).sum())
        said.append((count, f"on fewer than {asked.min_nodes:,} nodes (or an unknown number)"))
        inside &= large
    text = _told(said, len(inside), "runs")
    if not text:
        return accounting, ""
    return accounting.take(np.flatnonzero(inside)), text


def touching(accounting: Accounting, asked: Asked) -> Mask:
    """Return which runs, from submission to end, touch the window, bool[n]."""
    before = accounting.submit < asked.until
    return np.asarray(before & (accounting.end >= asked.begin))


def in_partition(partition: Coded, wanted: str) -> Mask:
    """Return which rows name the partition, alone or in a list; ParameterError where none does."""
    words = [word for word in partition.words if wanted in word.split(",")]
    if not words:
        known = sorted({one for word in partition.words for one in word.split(",")})
        listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        allowed = f"one of {listed}" if known else "none: the records name no partitions"
        raise ParameterError("partition", wanted, allowed)
    return partition.among(words)


def cut_nodes(inventory: Inventory, partition: str) -> tuple[Inventory, frozenset[str] | None, str]:
    """Return the nodes of a partition, their names (None where the partition is not known), and
    what was done."""
    places = [k for k, several in enumerate(inventory.partitions) if partition in several]
    if not places:
        text = (
            "Nodes and outages are those of all partitions: the records assign no node to "
            f"{partition}."
        )
        return inventory, None, text
    if len(places) == len(inventory):
        return inventory, None, ""
    index = np.asarray(places)
    kept = replace(
        inventory,
        names=tuple(inventory.names[k] for k in places),
        cpus=inventory.cpus[index],
        gpus=inventory.gpus[index],
        memory_mb=inventory.memory_mb[index],
        partitions=tuple(inventory.partitions[k] for k in places),
        hardware=tuple(inventory.hardware[k] for k in places),
        state=tuple(inventory.state[k] for k in places),
        reason=tuple(inventory.reason[k] for k in places),
        boot=inventory.boot[index],
    )
    gone = len(inventory) - len(places)
    text = f"Left out: {gone:,} of {len(inventory):,} nodes not in partition {partition}."
    return kept, frozenset(kept.names), text


def cut_events(
    events: NodeEvents, asked: Asked, names: frozenset[str] | None
) -> tuple[NodeEvents, str]:
    """Return the outages that touch the window, whole, on these nodes, and what fell out."""
    inside = (events.begin < asked.until) & (
        (events.end > asked.begin) | (events.begin >= asked.begin)
    )
    said = [(int(len(inside) - inside.sum()), "outside the window")]
    if names is not None:
        there = np.fromiter((name in names for name in events.names), np.bool_, len(events.names))
        mine = there[events.node]
        said.append((int((inside & ~mine).sum()), "of nodes outside the partition"))
        inside &= mine
        events = _on(events, names)
    text = _told(said, len(inside), "outages")
    return (events.take(inside) if text else events), text


def _on(events: NodeEvents, names: frozenset[str]) -> NodeEvents:
    """Return the events with only these nodes among their names; the events of others are given to
    the first, to be left out."""
    kept = tuple(name for name in events.names if name in names)
    place = {name: number for number, name in enumerate(kept)}
    table = np.array([place.get(name, 0) for name in events.names], dtype=np.int64)
    return replace(events, node=table[events.node], names=kept)


def cut_failures(
    failures: Failures, asked: Asked, names: frozenset[str] | None
) -> tuple[Failures, str]:
    """Return the failures of the window on these nodes, times in service cut to it, and what fell
    out."""
    inside = (failures.time >= asked.begin) & (failures.time < asked.until)
    said = [(int(len(inside) - inside.sum()), "outside the window")]
    start, end = failures.service_start, failures.service_end
    assert start is not None
    assert end is not None
    start, end = np.clip(start, asked.begin, asked.until), np.clip(end, asked.begin, asked.until)
    if names is not None and failures.names is not None:
        there = np.fromiter((name in names for name in failures.names), np.bool_, failures.nodes)
        if bool(there.any()):
            mine = there[failures.node]
            said.append((int((inside & ~mine).sum()), "of nodes outside the partition"))
            inside &= mine
            end = np.where(there, end, start)
    assert failures.service_new is not None
    new = failures.service_new & (start == failures.service_start)
    kept = replace(failures.take(inside), service_start=start, service_end=end, service_new=new)
    return kept, _told(said, len(inside), "failures")


def _told(said: list[tuple[int, str]], whole: int, what: str) -> str:
    there = [f"{count:,} {where}" for count, where in said if count]
    return f"Left out: of {whole:,} {what} {', '.join(there)}." if there else ""
