"""What rules find about nodes, and alarms: findings of one cause are one alarm."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from forestall.core.show.words import counted

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_MOST_CAUSE: Final = 80


class NodeFinding(NamedTuple):
    """What a rule holds against a node.

    Attributes
    ----------
    rule, node : who says it, of which node
    probability : that the node fails, or goes on to fail jobs
    at, until : when, and until when it would be out of service then, s since 1970
    words : why, for people
    cause : findings of one rule and one cause are one alarm
    jobs : jobs that it is expected to cost if nothing is done
    """

    rule: str
    node: str
    probability: float
    at: int
    until: int
    words: str
    cause: str = ""
    jobs: float = 0.0


class NodeAlarm(NamedTuple):
    """Findings of one rule and one cause, the most probable first."""

    rule: str
    cause: str
    findings: tuple[NodeFinding, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that it names."""
        return tuple(one.node for one in self.findings)

    @property
    def words(self) -> str:
        """The alarm in one line."""
        first = self.findings[0]
        more = len(self.findings) - 1
        return f"{first.node}: {first.words}" + (
            f" (and {counted(more, 'more node')})" if more else ""
        )


def cause_of(text: str) -> str:
    """Return a text without the numbers in which reports of one cause differ.

    >>> cause_of("GPU 3 fell off the bus (pid 4711)")
    'GPU # fell off the bus (pid #)'
    """
    return _NUMBER.sub("#", text)[:_MOST_CAUSE]


def alarms_of(findings: Iterable[NodeFinding]) -> list[NodeAlarm]:
    """Return findings as alarms, in the order in which each was first found.

    Findings without a cause stand for themselves.
    """
    groups: dict[tuple[str, str], list[NodeFinding]] = {}
    for one in findings:
        groups.setdefault((one.rule, one.cause or f"node {one.node}"), []).append(one)
    return [
        NodeAlarm(rule, cause, tuple(sorted(some, key=lambda one: (-one.probability, one.node))))
        for (rule, cause), some in groups.items()
    ]
