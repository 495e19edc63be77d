"""Nodes that are too busy for too long, and which of their machines should go elsewhere.

Source: Fu and Xu, ARES 2009, Section 2: the load manager balances load, too. The rule is ours: a
node above `limit` for longer than `hold` gives one machine away, and is then watched anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from forestall.machines.rules.sizes import Candidate


@dataclass(frozen=True)
class OverloadRule:
    """When a node is overloaded.

    Attributes
    ----------
    limit : share of its processors in use above which a node is too busy, 0 to 1
    hold : s for which it has to be
    """

    limit: float = 0.9
    hold: int = 300


class OverloadWatch:
    """Remembers since when nodes are above the limit.

    >>> watch = OverloadWatch(OverloadRule(limit=0.8, hold=60))
    >>> [watch.see("a", load, now) for load, now in ((0.9, 0), (0.95, 59), (0.9, 60), (0.2, 70))]
    [False, False, True, False]
    """

    def __init__(self, rule: OverloadRule) -> None:
        self._rule = rule
        self._since: dict[str, float] = {}

    def see(self, node: str, load: float, now: float) -> bool:
        """Take in a node's load; return whether it has been above the limit for long enough."""
        if load <= self._rule.limit:
            self._since.pop(node, None)
            return False
        # A clock may be set back.
        self._since[node] = since = min(self._since.get(node, now), now)
        return now - since >= self._rule.hold

    def since(self, node: str) -> float | None:
        """Return since when a node is above the limit, s; None where it is not."""
        return self._since.get(node)

    def forget(self, node: str) -> None:
        """Begin anew with a node: it gave a machine away, or it does not answer."""
        self._since.pop(node, None)


def relieving(used: Mapping[str, float], processors: float, limit: float) -> str | None:
    """Return the machine that should leave a node; None where its only machine would be idle.

    That is the least busy machine without which the node is within the limit; where one alone does
    not suffice, the busiest. Ties go by name.

    Parameters
    ----------
    used : processors that each machine of the node uses
    processors : of the node
    limit : share of them

    >>> relieving({"a": 2.0, "b": 0.5, "c": 1.0}, 3, 0.9)
    'c'
    """
    busy = {name: use for name, use in used.items() if use > 0}
    if not busy:
        return None
    excess = sum(busy.values()) - limit * processors
    enough = [name for name, use in busy.items() if use >= excess]
    if enough:
        return min(enough, key=lambda name: (busy[name], name))
    return min(busy, key=lambda name: (-busy[name], name))


def relieved(
    candidates: Iterable[Candidate],
    used: Mapping[str, float],
    processors: Mapping[str, float],
    more: float,
    limit: float,
) -> list[Candidate]:
    """Return the nodes that stay within the limit with a machine that uses `more` processors: what
    is moved for a node's overload overloads no other.

    Parameters: processors in use and in all, by node; a share of them.
    """
    return [
        one for one in candidates if used.get(one.node, 0.0) + more <= limit * processors[one.node]
    ]
