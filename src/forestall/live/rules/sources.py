"""The rules one by one: what each finds about the nodes of a look.

A rule takes what is known and yields findings; `forestall.live.rules.rules` makes intents of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from forestall.core.model.units import exact_duration, format_duration
from forestall.core.show.words import counted
from forestall.live.rules.findings import NodeFinding, cause_of
from forestall.live.rules.health import WELL
from forestall.live.rules.memory import NodeMemory
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.outlook import is_ours
from forestall.prediction.watching.foreseen import NodeForecast, parts_of
from forestall.slurm.cluster.nouns import ClusterView


@dataclass(frozen=True)
class RuleKnowledge:
    """All that rules may look at.

    Attributes
    ----------
    outlook : failures that are foreseen
    health : what the site's check says of nodes; None where nobody knows
    odd : nodes whose metrics are improbably high, with the probability of a failure
    lemons : nodes that fail more often than others, with their excess rate in words
    """

    seen: ClusterView
    outlook: Mapping[str, NodeForecast]
    memory: NodeMemory
    settings: RuleSettings
    now: int
    health: Mapping[str, str] | None = None
    odd: Mapping[str, float] = field(default_factory=dict)
    lemons: Mapping[str, str] = field(default_factory=dict)


def risk(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes that a predictor foresees to fail; its probability counts as far as it was right."""
    settings, now = known.settings, known.now
    for name, one in parts_of(known.outlook):
        trust = known.memory.trust(one.by)
        if not is_ours(one) and (found := risk_of(name, one, trust, settings, now)) is not None:
            yield found


def risk_of(
    name: str, one: NodeForecast, trust: float, settings: RuleSettings, now: int
) -> NodeFinding | None:
    """Return what a forecast comes to that is right as far as `trust`; None where that is too
    little, or not soon."""
    end = now + settings.ahead
    at = one.moment(now, end)
    chance = trust * (one.risk(now, end) if one.curve else one.probability)
    if chance < settings.least or not now <= at < end:
        return None
    when = format_duration(settings.ahead if one.curve else at - now)
    words = f"{one.by} foresees a failure within {when}: {100 * chance:.0f} %"
    return NodeFinding("risk", name, chance, at, one.over(now), words)


def health(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes that the site's own check holds to be ill."""
    for name, said in (known.health or {}).items():
        if said.lower() != WELL:
            yield _now(known, "health", name, 1.0, f"the site's check: {said}", cause_of(said))


def eats(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes on which jobs fail at once, one after the other, since they booted and since we drained
    them last."""
    settings = known.settings
    for name, eaten in known.memory.eaten().items():
        node = known.seen.nodes.get(name)
        since = max(
            node.booted or 0 if node is not None else 0, *known.memory.drains.get(name, [0])
        )
        jobs = [one for one in eaten if one.at > since]
        if len({one.job for one in jobs}) >= settings.eats:
            within = format_duration(settings.eats_within)
            failed, quick = counted(len(jobs), "job"), exact_duration(settings.quick)
            words = f"{failed} failed within {quick} of the start, in {within}"
            rate = len(jobs) * 3600 / settings.eats_within
            yield _now(known, "eats", name, 1.0, words)._replace(jobs=rate)


def outlier(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes with metrics that are improbably high."""
    for name, chance in known.odd.items():
        if chance >= known.settings.least:
            words = f"metrics out of the ordinary: fails with {100 * chance:.0f} %"
            yield _now(known, "outlier", name, chance, words)


def lemon(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes that fail more often than chance allows."""
    for name, words in known.lemons.items():
        yield _now(known, "lemon", name, known.settings.least, words)


def repeat(known: RuleKnowledge) -> Iterator[NodeFinding]:
    """Nodes that we took out again and again: a person should look at them."""
    settings = known.settings
    for name, times in known.memory.drains.items():
        if len(times) >= settings.repeats:
            within = format_duration(settings.repeats_within)
            words = f"drained {counted(len(times), 'time')} within {within}: needs a repair"
            yield _now(known, "repeat", name, settings.least, words)


def _now(
    known: RuleKnowledge, rule: str, node: str, chance: float, words: str, cause: str = ""
) -> NodeFinding:
    """Return a finding about what is so now."""
    until = known.now + known.settings.downtime
    return NodeFinding(rule, node, chance, known.now, until, words, cause)


SOURCES: Final[Mapping[str, Callable[[RuleKnowledge], Iterator[NodeFinding]]]] = {
    "risk": risk, "health": health, "eats": eats, "outlier": outlier, "lemon": lemon,
    "repeat": repeat,
}  # fmt: skip
"""By name, in the order of `RULES`."""


def findings(known: RuleKnowledge) -> list[NodeFinding]:
    """Return what all rules find about nodes that are there."""
    found = [one for source in SOURCES.values() for one in source(known)]
    return [one for one in found if one.node in known.seen.nodes]
