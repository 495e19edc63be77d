"""Rules that propose what to do with nodes: drain, reboot, bring back, keep promises away.

A rule never acts: it yields intents, which pass the guard and the switch of the warden. The reason
of a drain begins with the rule's name, by which the node is found again after a restart; nodes that
no rule took out are never touched.

Source: page "Live", Acting on nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from forestall.core.model.live.intents import Action, Intent
from forestall.core.model.marks import REASON, mark_of_reason
from forestall.live.guard.sight import ClusterSight, NodeSight
from forestall.live.ledger.rows import IntentRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.findings import NodeAlarm, NodeFinding, alarms_of
from forestall.live.rules.health import HealthLines
from forestall.live.rules.memory import NodeMemory
from forestall.live.rules.settings import RULES, RuleSettings
from forestall.live.rules.sources import RuleKnowledge, findings
from forestall.live.rules.worth import DrainWorth, NodeStakes
from forestall.live.slurm.outlook import STEERED
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterNode, ClusterSnapshot, ClusterView

AT_ONCE: Final = ("eats", "health")
"""Rules whose drains need not be worth their node-seconds: the node does harm as it is."""
REBOOT_TIME: Final = 90
"""s that a reboot takes. Source: page "Assessment", Measures."""
STEERS: Final = 600
"""Forecasts that keep promises away are told to the engine anew after so many seconds."""
_RULE: Final = re.compile(re.escape(REASON) + r"([a-z]+): ")

Odd = Callable[[ClusterView, int], Mapping[str, float]]
"""Tells which nodes have metrics that are improbably high, and how probable a failure is."""


def rule_of(reason: str) -> str:
    """Return the rule by which a node with this reason was taken out, "" where none did.

    >>> rule_of("forestall: health: the site's check: no /scratch [d1] : reboot issued")
    'health'
    >>> rule_of("health: no /scratch"), rule_of("forestall: by hand [d1]")
    ('', '')
    """
    found = _RULE.match(reason) if mark_of_reason(reason) else None
    return found[1] if found and found[1] in RULES else ""


class ActingRules:
    """All rules over one cluster; asked once a cycle.

    Parameters
    ----------
    settings : which rules act, and from when on
    ledger : from which earlier drains are known
    health : what the site's check says; None: the site has none
    odd : tells of nodes with odd metrics (`forestall.prediction.watching.forecasts`)
    lemons : nodes that fail more often than chance allows, and why, in words
    tested : nodes return by way of a test job: those that work still wait

    `alarms` are those of the last cycle, those of many nodes at once included: such an alarm drains
    nobody, since its cause is none of the nodes'.
    """

    def __init__(
        self,
        settings: RuleSettings,
        ledger: LiveLedger,
        *,
        health: HealthLines | None = None,
        odd: Odd | None = None,
        lemons: Mapping[str, str] | None = None,
        tested: bool = False,
    ) -> None:
        self.settings = settings
        self.memory = NodeMemory(settings)
        self.alarms: tuple[NodeAlarm, ...] = ()
        self._ledger, self._health, self._odd = ledger, health, odd
        self._lemons, self._tested = dict(lemons or {}), tested
        self._found: list[NodeFinding] = []
        self._until: dict[str, int] = {}

    def intents(
        self,
        seen: ClusterSnapshot,
        sight: ClusterSight,
        outlook: Mapping[str, NodeForecast],
        now: int,
    ) -> Iterator[Intent]:
        """Yield what should be done with nodes: those that come back first, then the drains that
        save most; at most `settings.most` of each.

        Parameters
        ----------
        seen, sight : the look, and the same as the guard sees it
        outlook : failures of nodes that are foreseen, by the node's name
        now : s since 1970
        """
        self.memory.look(seen, outlook, now)
        self.memory.read(self._ledger, now)
        health = None if self._health is None else self._health.lines(now)
        odd = {} if self._odd is None else self._odd(seen, now)
        known = RuleKnowledge(
            seen, outlook, self.memory, self.settings, now, health, odd, self._lemons
        )  # fmt: skip
        self._found = findings(known)
        self.alarms = tuple(alarms_of(self._found))
        stakes = NodeStakes.of(seen, now)
        yield from self._returns(known, sight, stakes)
        yield from self._drains(sight, stakes, now)

    def learned(self) -> dict[str, list[float]]:
        """Return of each predictor the sum of what it said, and how many failures came."""
        return self.memory.learned()

    def take_over(self, learned: Mapping[str, Iterable[float]]) -> None:
        """Go on from what `learned` returned before a restart."""
        self.memory.take_over(learned)

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return forecasts that keep promises away from nodes that a rule found something about
        in the last cycle; see `forestall.live.slurm.outlook.NodeForecasts`."""
        at = (now // STEERS + 1) * STEERS
        until = at + self.settings.downtime
        return {
            one.node: NodeForecast(at, until, one.probability, f"{STEERED}{one.rule}")
            for one in reversed(self._found)
            if one.rule in self.settings.steer and one.node in seen.nodes
        }

    # ------------------------------------------------------------------------------- drains

    def _drains(self, sight: ClusterSight, stakes: NodeStakes, now: int) -> Iterator[Intent]:
        """Yield drains, those that cannot wait first, then those that save most."""
        wanted: dict[str, tuple[tuple[bool, float], NodeFinding, DrainWorth]] = {}
        for alarm in self.alarms:
            if alarm.rule not in self.settings.drain or len(alarm.findings) > self.settings.group:
                continue
            for one in alarm.findings:
                node = sight.nodes.get(one.node)
                if node is None or not _free_to_drain(node):
                    continue
                worth = stakes.of_drain(one, self.settings.rest)
                net = worth.saved - self.settings.worth * worth.spent
                if one.rule in AT_ONCE or net > 0:
                    rank = (one.rule not in AT_ONCE, -net)
                    if one.node not in wanted or rank < wanted[one.node][0]:
                        wanted[one.node] = rank, one, worth
        ranked = sorted(wanted.values(), key=lambda item: (item[0], item[1].node))
        for _, one, worth in ranked[: self.settings.most]:
            numbers = {
                "probability": one.probability, "fails at": float(one.at),
                "until": float(one.until), "busy": round(stakes.busy, 4),
                "loss": round(stakes.busy * stakes.loss, 1), **_figures(worth),
            }  # fmt: skip
            yield self._intend(
                Action.DRAIN, one.node, f"{one.rule}: {one.words}", sight, now, numbers
            )

    # ------------------------------------------------------------------------------- returns

    def _returns(
        self, known: RuleKnowledge, sight: ClusterSight, stakes: NodeStakes
    ) -> Iterator[Intent]:
        """Yield reboots and returns of nodes that a rule drained."""
        ill = {one.node for one in self._found if one.rule in self.settings.drain}
        count = 0
        for name, node in sight.nodes.items():
            rule = rule_of(node.reason) if node.is_ours and node.drained else ""
            if not rule or node.down or node.rebooting or count >= self.settings.most:
                continue
            one = known.seen.nodes[name]
            if self._left_to_people(name):
                continue
            if rule in self.settings.reboot and (one.booted or 0) <= (one.set_at or 0):
                if not (node.busy or node.promised):
                    count += 1
                    yield self._reboot(rule, name, sight, stakes)
            elif self._tested and node.busy:
                continue
            elif name not in ill and self._may_return(known, one, node, rule):
                count += 1
                reason = f"{rule}: {self._why_back(known)}"
                yield self._intend(Action.RESUME, name, reason, sight, known.now, {})

    def _left_to_people(self, name: str) -> bool:
        """Whether a node was drained so often that a person should look at it."""
        return len(self.memory.drains.get(name, ())) >= self.settings.repeats

    def _may_return(
        self, known: RuleKnowledge, one: ClusterNode, node: NodeSight, rule: str
    ) -> bool:
        """Whether a node has rested, what was foreseen is over, and the site's check says that it
        is well."""
        since = max(one.set_at or 0, one.booted or 0)
        failed = (one.booted or 0) > (one.set_at or 0)
        until = 0
        if rule == "risk" and not failed:
            until = self._foreseen_until(mark_of_reason(node.reason))
        if known.now < max(since + self.settings.rest, until):
            return False
        return self._health is None or (known.health is not None and one.name in known.health)

    def _foreseen_until(self, intent: str) -> int:
        """Return until when the failure lasts because of which a node was drained, s; 0 where
        nobody knows."""
        if intent not in self._until:
            row = self._ledger.one(IntentRow, intent)
            self._until[intent] = 0 if row is None else int(row.figures.get("until", 0))
        return self._until[intent]

    def _why_back(self, known: RuleKnowledge) -> str:
        return "it has rested" if known.health is None else "the site's check says that it is well"

    def _reboot(self, rule: str, name: str, sight: ClusterSight, stakes: NodeStakes) -> Intent:
        reason = f"{rule}: reboot while it is idle"
        spent = {"spent": round(stakes.busy * REBOOT_TIME, 1)}
        return self._intend(Action.REBOOT, name, reason, sight, stakes.now, spent)

    def _intend(
        self,
        action: Action,
        name: str,
        reason: str,
        sight: ClusterSight,
        now: int,
        numbers: Mapping[str, float],
    ) -> Intent:
        """Return an intent that is decided on now."""
        told = "".join(sign if sign.isprintable() else " " for sign in reason)
        state = sight.standing(action, name)
        return Intent(action, name, now, now + self.settings.life, state, told, dict(numbers))


def _free_to_drain(node: NodeSight) -> bool:
    """Whether nobody took a node out, reserved it or gave it a reason."""
    return node.in_service and not node.reason and not node.reserved


def _figures(worth: DrainWorth) -> dict[str, float]:
    return {
        "spent": round(worth.spent, 1), "saved": round(worth.saved, 1),
        "jobs": round(worth.jobs, 3), "free": float(worth.free),
    }  # fmt: skip
