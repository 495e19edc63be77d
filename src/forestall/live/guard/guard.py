"""The guard: whether an intent passes now, waits for a person, or is refused, and why.

A pure function of the intent, a look, what was done lately, the settings and the time. Its rules
stand in one table, `RULES`, in the order in which they are asked; the first that has a word against
an intent decides. Approval by a person lifts no limit: what is approved waits until the limits
allow it, or it expires.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from forestall.core.model.live.intents import ON_JOBS, Action, Intent, Role
from forestall.core.model.units import exact_duration, format_duration, told_moment
from forestall.core.show.words import counted
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.guard.sight import GONE, ClusterSight, NodeSight, standing_in_words

HOUR: Final = 3600
_OUT: Final = (Action.DRAIN, Action.REBOOT)
"""What takes a node out of service."""


class Pass(StrEnum):
    """What the guard says."""

    GO = "go"
    ASK = "ask"
    WAIT = "wait"
    REFUSE = "refuse"
    DROP = "drop"
    EXPIRE = "expire"


@dataclass(frozen=True)
class GuardVerdict:
    """The word of the guard, and why. `GO` and `ASK` (a person) are no word against it."""

    kind: Pass
    why: str = ""


@dataclass(frozen=True)
class Doings:
    """What we did lately, from the ledger.

    Attributes
    ----------
    half_way : intents that were written and are not settled
    written : intents and when they were written, s, whatever came of them: those of the last hour,
        of the longest cool-down, and since the look
    consents : of each open promise that is held, the actions on its job that its owner agreed to
    """

    half_way: tuple[Intent, ...] = ()
    written: tuple[tuple[Intent, int], ...] = ()
    consents: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Case:
    """All that a rule may look at."""

    intent: Intent
    sight: ClusterSight
    doings: Doings
    settings: GuardSettings
    now: int
    approved: bool

    @property
    def role(self) -> RoleSettings:
        """The settings of the intent's role."""
        return self.settings.of(self.intent.role)

    @property
    def node(self) -> NodeSight | None:
        """The node that it is about, where it is about one that is there."""
        is_node = self.intent.role == Role.WARDEN
        return self.sight.nodes.get(self.intent.target) if is_node else None

    def later(self, why: str) -> GuardVerdict:
        """Not now: what a person approved waits, all else is refused and may be decided anew."""
        return GuardVerdict(Pass.WAIT if self.approved else Pass.REFUSE, why)

    def pending(self, *actions: Action) -> list[Intent]:
        """Return the intents whose effect the look may not show yet: Slurm may answer with what it
        showed a while ago."""
        since = self.sight.at - self.settings.settle
        found = {one.id: one for one in self.doings.half_way}
        found |= {one.id: one for one, at in self.doings.written if at >= since}
        return [one for one in found.values() if one.action in actions]


def guard(
    intent: Intent,
    sight: ClusterSight,
    doings: Doings,
    settings: GuardSettings,
    now: int,
    *,
    approved: bool = False,
) -> GuardVerdict:
    """Return whether an intent may be carried out now.

    Parameters
    ----------
    sight : a look that is still fresh at `now`, s since 1970
    doings : what was done, the intents that passed just before this one included
    approved : whether a person agreed to it
    """
    case = _Case(intent, sight, doings, settings, now, approved)
    for rule in RULES:
        verdict = rule(case)
        if verdict is not None:
            return verdict
    return GuardVerdict(Pass.GO)


def limit_on(
    intent: Intent, sight: ClusterSight, doings: Doings, settings: GuardSettings, now: int
) -> str:
    """Return which limit would keep an intent from being carried out now, in words; "" for none. A
    person's word is not asked for, and no promise need stand behind it yet."""
    case = _Case(intent, sight, doings, settings, now, approved=True)
    for rule in (_switched_off, _old_look, _persons, *LIMITS):
        verdict = rule(case)
        if verdict is not None:
            return verdict.why
    return ""


def _expired(case: _Case) -> GuardVerdict | None:
    if case.now >= case.intent.expires:
        ago = format_duration(case.now - case.intent.expires)
        return GuardVerdict(Pass.EXPIRE, f"it expired {ago} ago")
    return None


def _switched_off(case: _Case) -> GuardVerdict | None:
    if case.role.switch == "off":
        return GuardVerdict(Pass.REFUSE, f"the {case.intent.role} is switched off: a proposal only")
    return None


def _old_look(case: _Case) -> GuardVerdict | None:
    """Without a look nothing is done, and nothing is undone: all waits for the next."""
    age = case.now - case.sight.at
    if not case.sight.whole:
        return GuardVerdict(Pass.WAIT, "the last look was cut short")
    if not 0 <= age <= case.settings.fresh:
        most = case.settings.fresh
        return GuardVerdict(Pass.WAIT, f"the last look is {age} s old; at most {most} s are fresh")
    return None


def _persons(case: _Case) -> GuardVerdict | None:
    """What a person did is never undone or touched."""
    why = ""
    node = case.node
    job = case.sight.jobs.get(case.intent.target) if case.intent.action in ON_JOBS else None
    if node is not None:
        why = _persons_node(node, case.intent)
    elif job is not None and job.held:
        why = "a person holds the job"
    elif case.intent.action == Action.RELEASE:
        found = case.sight.reservations.get(case.intent.target)
        if found is not None and not found.as_made:
            why = "a person changed the reservation"
    return GuardVerdict(Pass.REFUSE, why) if why else None


def _persons_node(node: NodeSight, intent: Intent) -> str:
    """Return in what a node is a person's; "": in nothing."""
    if node.is_a_persons:
        return f"a person took the node out of service: {node.reason or 'no reason given'}"
    if node.reserved:
        return "the node is in a reservation that is not ours"
    if node.reason and not node.is_ours:
        return f"the node's reason is not ours: {node.reason}"
    if intent.action in {Action.RESUME, Action.REBOOT} and not node.is_ours:
        return f"forestall did not drain the node; {intent.action} is for those that it did"
    return ""


def _stale(case: _Case) -> GuardVerdict | None:
    now = case.sight.standing(case.intent.action, case.intent.target)
    wanted = GONE if case.intent.action == Action.RESERVE else case.intent.state
    if now != wanted or case.intent.state != wanted:
        was, is_now = standing_in_words(case.intent.state), standing_in_words(now)
        return GuardVerdict(Pass.DROP, f"decided when it was {was}; now it is {is_now}")
    if now == GONE and case.intent.action != Action.RESERVE:
        return GuardVerdict(Pass.DROP, f"{case.intent.target} is not there")
    return None


def _without_consent(case: _Case) -> GuardVerdict | None:
    """Jobs are touched where their owner accepted a promise that says so, nodes reserved where a
    promise is held."""
    intent = case.intent
    if intent.action not in {*ON_JOBS, Action.RESERVE}:
        return None
    consents = case.doings.consents.get(intent.promise)
    if consents is None:
        return GuardVerdict(Pass.REFUSE, f"no open promise {intent.promise or 'is named'} is held")
    if intent.action == Action.RESERVE:
        return None
    job = case.sight.jobs.get(intent.target)
    if job is None or job.promise != intent.promise:
        return GuardVerdict(Pass.REFUSE, f"the job does not carry the promise {intent.promise}")
    if intent.action not in consents:
        return GuardVerdict(Pass.REFUSE, f"the owner did not agree to {intent.action} the job")
    return None


def _unapproved(case: _Case) -> GuardVerdict | None:
    if case.approved:
        return None
    if case.role.switch == "approve":
        return GuardVerdict(Pass.ASK, f"the {case.intent.role} asks for each action")
    if case.intent.action in case.role.approve:
        return GuardVerdict(Pass.ASK, f"{case.intent.action} is asked for each time")
    return None


def _busy_target(case: _Case) -> GuardVerdict | None:
    for one in case.doings.half_way:
        if one.target == case.intent.target and one.id != case.intent.id:
            return case.later(f"{one.action} of it ({one.id}) is not settled")
    return None


def _hours(case: _Case) -> GuardVerdict | None:
    node = case.intent.target if case.node is not None else ""
    for window in case.settings.maintenance:
        if window.hold(case.now, node):
            return case.later(f"maintenance until {told_moment(window.end)}")
    local = datetime.fromtimestamp(case.now, ZoneInfo(case.settings.zone))
    for one in case.settings.quiet:
        if one.hold(local.weekday(), local.hour * 60 + local.minute):
            return case.later(f"quiet hours ({local:%a %H:%M} in {case.settings.zone})")
    return None


def _cool_down(case: _Case) -> GuardVerdict | None:
    intent, wait = case.intent, case.role.cool_down
    for one, at in case.doings.written:
        same = (one.action, one.target) == (intent.action, intent.target)
        if same and at > case.now - wait:
            ago, least = exact_duration(case.now - at), exact_duration(wait)
            return case.later(f"{intent.action} of it {ago} ago; {least} must pass")
    return None


def _per_hour(case: _Case) -> GuardVerdict | None:
    role = case.intent.role
    lately = sum(1 for one, at in case.doings.written if one.role == role and at > case.now - HOUR)
    if lately >= case.role.per_hour:
        done = counted(lately, "action")
        return case.later(f"{done} within an hour; at most {case.role.per_hour} allowed")
    return None


def _at_once(case: _Case) -> GuardVerdict | None:
    """So many nodes and so many percent, of each partition and of all."""
    role, action = case.role, case.intent.action
    if action not in {*_OUT, Action.RESERVE}:
        return None
    for name, members in _groups(case):
        count = _reserved(case, name) if action == Action.RESERVE else len(_out(case, members))
        most, percent = (
            (role.partition_nodes, role.partition_percent) if name else (role.nodes, role.percent)
        )
        allowed = min(most, _share_of(members, percent))
        if count > allowed:
            where = f"partition {name}" if name else "the cluster"
            return case.later(
                f"{counted(count, 'node')} of {where} at once; at most {allowed} allowed "
                f"({counted(most, 'node')} and {percent:g} % of {len(members):,})"
            )
    return None


def _floor(case: _Case) -> GuardVerdict | None:
    """Enough nodes stay in service, whoever took the others out of it."""
    node = case.node
    if case.intent.action not in _OUT or node is None or not node.in_service:
        return None
    going = {one.target for one in case.pending(*_OUT)} | {case.intent.target}
    for name, members in _groups(case):
        left = sum(1 for one in members if case.sight.nodes[one].in_service and one not in going)
        share = len(members) - _share_of(members, 100 - case.settings.floor_percent)
        least = max(case.settings.floor_nodes, share)
        if left < least:
            where = f"partition {name}" if name else "the cluster"
            kept = f"{counted(left, 'node')} of {where} would stay in service"
            return case.later(f"{kept}, {least:,} must")
    return None


def _share_of(members: list[str], percent: float) -> int:
    """Return how many nodes a percentage allows: rounded down, but one at least where it is not
    0 %, so that small clusters can be kept, too."""
    share = math.floor(len(members) * percent / 100 + 1e-9)
    return max(share, 1) if percent > 0 and members else share


def _reboots(case: _Case) -> GuardVerdict | None:
    """Few nodes reboot at once, none that works or that a promise counts on."""
    node = case.node
    if case.intent.action != Action.REBOOT or node is None:
        return None
    if node.busy or node.promised:
        return case.later("the node works" if node.busy else "a promise counts on the node")
    rebooting = {name for name, one in case.sight.nodes.items() if one.rebooting}
    rebooting |= {one.target for one in case.pending(Action.REBOOT)} | {case.intent.target}
    if len(rebooting) > case.settings.reboots:
        most = case.settings.reboots
        many = counted(len(rebooting), "node")
        return case.later(f"{many} would reboot at once; at most {most} allowed")
    return None


def _groups(case: _Case) -> Iterator[tuple[str, list[str]]]:
    """Yield the partitions that an intent is about, with their nodes, and "" with all nodes."""
    known = case.sight.partitions
    node = case.node
    names = node.partitions if node is not None else (case.intent.partition,)
    for name in ("", *(one for one in names if one)):
        yield name, known.get(name, [])


def _out(case: _Case, members: list[str]) -> set[str]:
    """Return the nodes that we took out of service, or are about to, the new one included. Those
    that we lately took out and that the look does not have at all may be there all the same: the
    first look after a restart has none before it that it could fall short of."""
    nodes = case.sight.nodes
    unseen = {one.target for one, _ in case.doings.written
              if one.action in _OUT and one.target not in nodes}  # fmt: skip
    ours = {one for one in members if nodes[one].is_ours and not nodes[one].in_service}
    going = {one.target for one in case.pending(*_OUT, Action.RESUME)}
    return ours | unseen | (going & set(members)) | {case.intent.target}


def _reserved(case: _Case, partition: str) -> int:
    """Return how many nodes our reservations hold, the new one included."""
    held = {
        name: one.size
        for name, one in case.sight.our_reservations()
        if partition in {"", one.partition}
    }
    for one in (*case.pending(Action.RESERVE), case.intent):
        if partition in {"", one.partition}:
            held[one.target] = max(one.size, held.get(one.target, 0))
    return sum(held.values())


LIMITS: Final[tuple[Callable[[_Case], GuardVerdict | None], ...]] = (
    _busy_target, _hours, _cool_down, _per_hour, _at_once, _floor, _reboots,
)  # fmt: skip
"""Limits, which a person's word does not lift."""
RULES: Final = (
    _expired, _switched_off, _old_look, _persons, _stale, _without_consent, _unapproved, *LIMITS,
)  # fmt: skip
"""All rules, in the order in which they are asked. Those before approval decide whether a person is
asked at all."""
