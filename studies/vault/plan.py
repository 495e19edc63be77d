"""What is simulated: the same hosts and jobs with checkpoints in each layout, of several sizes, and
with single parts of the vault left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from studies.cycle_sharing.inputs import GRID_SET, OWN_SET, PLANETLAB_SET

GIB: Final = 2**30
VAULT, SERVER, REMOTE, SUBMITTER, LOCAL, FREE = (
    *("vault", "server", "remote", "submitter", "local", "free"),
)
LAYOUTS: Final = (VAULT, SERVER, REMOTE, SUBMITTER, LOCAL)
SETS: Final = (OWN_SET, GRID_SET, PLANETLAB_SET)
"""Hosts of people with hours of their own; nodes that go up and down; slices with a load."""

PATHS: Final = "near=50MB far=5MB host=50MB server=100MB line=1MB disk=200MB sites=4 grace=60"
"""A network of labs: 50 MB/s within one, 5 MB/s between two, a server of 100 MB/s, and a line of
1 MB/s to the submitting machine."""
SMALLER: Final = "ratio=2 fresh=0.4"
"""What the vault makes of a checkpoint: half as large, and of a next version 40 % are new."""
CODE: Final = "layout=code data=3 parity=2"
KINDS: Final = {
    VAULT: f"{CODE} {SMALLER}",
    SERVER: "layout=server ratio=1",
    REMOTE: "layout=remote ratio=1",
    SUBMITTER: "layout=submitter ratio=1",
    LOCAL: "layout=local ratio=1",
    "vault, not compressed": f"{CODE} ratio=1 fresh=0.4",
    "vault, each version whole": f"{CODE} ratio=2",
    "vault, neither": f"{CODE} ratio=1",
    "vault, one copy on a shared host": f"layout=code data=1 parity=0 {SMALLER}",
    "vault, three copies": f"layout=code data=1 parity=2 {SMALLER}",
    "vault, hosts by number": f"{CODE} {SMALLER} choice=next",
    "remote, compressed and shared": f"layout=remote {SMALLER}",
}
PARTS: Final = tuple(name for name in KINDS if name not in LAYOUTS)
INTERVAL: Final = 1800


@dataclass(frozen=True)
class Case:
    """One run: the set of hosts, the seed of hosts and jobs, the layout, bytes of a checkpoint."""

    hosts_of: str
    seed: int
    layout: str
    size: int = GIB


@dataclass(frozen=True)
class Plan:
    """How much is played.

    Attributes
    ----------
    seeds : of hosts and jobs; `few` : of them for sizes
    sizes : of checkpoints, bytes, the first of which all sets are played with
    days, hosts : of the traces; how many hosts
    parts : whether the runs without single parts are played
    """

    seeds: int = 5
    few: int = 3
    sizes: tuple[int, ...] = (GIB, GIB // 4, 4 * GIB)
    days: int = 49
    hosts: int = 20
    parts: bool = True


QUICK: Final = Plan(seeds=2, few=1, sizes=(GIB, GIB // 4), days=35, hosts=8, parts=False)

Batch = tuple[Case, ...]


def batches(plan: Plan, real: tuple[str, ...]) -> list[Batch]:
    """Return all runs; those of a batch have the same hosts and jobs."""
    found = []
    for name in SETS:
        if name != OWN_SET and name not in real:
            continue
        for seed in range(1, plan.seeds + 1):
            cases = [Case(name, seed, one, plan.sizes[0]) for one in (*LAYOUTS, FREE)]
            if name == OWN_SET:
                if plan.parts:
                    cases += [Case(name, seed, one, plan.sizes[0]) for one in PARTS]
                if seed <= plan.few:
                    cases += [
                        Case(name, seed, one, size) for size in plan.sizes[1:] for one in LAYOUTS
                    ]
            found.append(tuple(cases))
    return found
