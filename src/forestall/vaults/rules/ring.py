"""After ranks of a parallel program were lost: from which step it goes on, and who takes what.

Each survivor tells which copies it holds. The newest step of which all parts are held by survivors
together is taken; a part is what one rank had saved. Spares take the places of lost ranks as long
as there are any; what nobody takes goes to a survivor that holds a copy.

Source: Hacker and Meglicki, HPDC 2007, Section 7.1: a node and both its neighbours keep its
checkpoint, and a spare goes on from a neighbour's copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class StepKey(NamedTuple):
    """A step that was saved: how often ranks had been lost by then, and its number; in order."""

    epoch: int
    step: int


@dataclass(frozen=True)
class HeldStep:
    """What a survivor holds of a step.

    Attributes
    ----------
    parts : that the step has in all
    held : parts of which it has a whole copy
    owned : parts that it goes on with itself
    """

    parts: int
    held: frozenset[int]
    owned: tuple[int, ...]


@dataclass(frozen=True)
class Survivor:
    """A process that is left.

    Attributes
    ----------
    rank : among those that worked, None for a spare
    steps : what it holds
    complete : whether it ever saw a step that all ranks had saved
    """

    rank: int | None
    steps: Mapping[StepKey, HeldStep] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True)
class RecoveryPlan:
    """How a program goes on.

    Attributes
    ----------
    key : the step, None where none was saved yet, or none is left whole
    parts : of that step
    ranks : of each survivor its rank from now on, None for those that are spares still
    owners, sources : of each part the survivor that goes on with it, and one that holds it
    lost : parts of the newest step that nobody holds, where no step is whole though one was; a
        first step that came to no end is as if it had not begun
    """

    key: StepKey | None
    parts: int
    ranks: tuple[int | None, ...]
    owners: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Ranks that work from now on."""
        return sum(one is not None for one in self.ranks)


def plan_recovery(survivors: Sequence[Survivor], size: int) -> RecoveryPlan:
    """Return how a program of so many ranks goes on; the same for the same survivors in the same
    order. At least one survivor worked, or is a spare."""
    places = _places(survivors, size)
    order = sorted((place, k) for k, place in enumerate(places) if place is not None)
    ranks: list[int | None] = [None] * len(survivors)
    for rank, (_, k) in enumerate(order):
        ranks[k] = rank
    key, parts, lost = _newest(survivors)
    if key is None:
        gone = lost if any(one.complete for one in survivors) else ()
        return RecoveryPlan(None, parts, tuple(ranks), lost=gone)
    working = [k for _, k in order]
    fresh = [k for k in working if survivors[k].rank is None]
    owners = _owners(survivors, key, parts, working, fresh)
    sources = tuple(_source(survivors, key, part, owners[part]) for part in range(parts))
    return RecoveryPlan(key, parts, tuple(ranks), owners, sources)


def share_out(parts: int, size: int) -> tuple[int, ...]:
    """Return of each part the rank that goes on with it, where none has a claim: each rank gets
    parts that follow one another, as evenly as can be."""
    return tuple(part * size // parts if parts > size else part for part in range(parts))


def _places(survivors: Sequence[Survivor], size: int) -> list[int | None]:
    """Return each survivor's place among those that worked; spares take lost ones, in order."""
    there = {one.rank for one in survivors}
    open_ = [rank for rank in range(size) if rank not in there]
    found: list[int | None] = []
    for one in survivors:
        place = one.rank
        if place is None and open_:
            place = open_.pop(0)
        found.append(place)
    return found


def _newest(survivors: Sequence[Survivor]) -> tuple[StepKey | None, int, tuple[int, ...]]:
    """Return the newest step that is whole, with the number of its parts; else which parts of the
    newest step are lost."""
    keys = sorted({key for one in survivors for key in one.steps}, reverse=True)
    first: tuple[int, tuple[int, ...]] = (0, ())
    for key in keys:
        here = [one.steps[key] for one in survivors if key in one.steps]
        held = frozenset().union(*(one.held for one in here))
        parts = here[0].parts
        lost = tuple(part for part in range(parts) if part not in held)
        if not lost:
            return key, parts, ()
        if key == keys[0]:
            first = parts, lost
    return None, *first


def _owners(
    survivors: Sequence[Survivor], key: StepKey, parts: int, working: list[int], fresh: list[int]
) -> tuple[int, ...]:
    """Return who goes on with each part: who did before; else a spare that was taken; else the
    holder with the fewest parts, of these the one behind it on the ring."""
    owner: dict[int, int] = {}
    for k in working:
        for part in survivors[k].steps[key].owned if key in survivors[k].steps else ():
            owner.setdefault(part, k)
    orphans = [part for part in range(parts) if part not in owner]
    count = dict.fromkeys(working, 0)
    for k in owner.values():
        count[k] += 1
    for place, part in enumerate(orphans):
        if fresh:
            chosen = fresh[place * len(fresh) // len(orphans)]
        else:
            holders = [
                k
                for k in working
                if key in survivors[k].steps and part in survivors[k].steps[key].held
            ]
            chosen = min(holders, key=lambda k: (count[k], _behind(survivors[k], part, parts)))
        owner[part] = chosen
        count[chosen] += 1
    return tuple(owner[part] for part in range(parts))


def _behind(one: Survivor, part: int, parts: int) -> int:
    """Return how far a survivor is behind a part on the ring."""
    return ((one.rank or 0) - part) % parts


def _source(survivors: Sequence[Survivor], key: StepKey, part: int, owner: int) -> int:
    """Return a survivor that holds a part: its owner, or the first one."""
    holders = [k for k, one in enumerate(survivors)
               if key in one.steps and part in one.steps[key].held]  # fmt: skip
    return owner if owner in holders else holders[0]
