"""What other limits would have let pass, of the intents that a ledger holds.

The guard is asked again, with the settings given, about each intent in the order in which they were
decided on, and about what passed before under these settings. A ledger has no looks: what people
did, which nodes were in service, and which partition a node is in stay unknown. So a word that
rests on those is left as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from forestall.core.model.live.intents import ON_JOBS, Action, Intent, IntentState, Role
from forestall.live.guard.guard import HOUR, Doings, Pass, guard
from forestall.live.guard.settings import GuardSettings
from forestall.live.guard.sight import GONE, ClusterSight, JobSight, NodeSight, ReservationSight
from forestall.live.ledger.rows import ApprovalRow, IntentRow, OutcomeRow, RunRow, StateRow
from forestall.live.replays.recorded import Recorded

OF_LIMITS: Final = re.compile(
    r"is switched off|maintenance until|quiet hours|must pass"
    r"|within an hour|at once; at most"
)
"""What refusals say that rest on nothing but settings and earlier intents."""
_MARK: Final = "forestall: as recorded [0000000000000000]"


class GuardWord(StrEnum):
    """What becomes of an intent."""

    PASSED = "passed"
    REFUSED = "refused"
    ASKED = "waits for a person"
    LEFT = "dropped or expired"


@dataclass(frozen=True)
class JudgedAgain:
    """An intent: what became of it, what would have, and why."""

    intent: Intent
    at: int
    was: GuardWord
    other: GuardWord
    why: str


@dataclass
class GuardedAgain:
    """All intents of a ledger, judged again. `unknown` are those whose refusal rests on what a
    ledger does not hold; they count as they were."""

    judged: list[JudgedAgain] = field(default_factory=list)
    unknown: int = 0

    @property
    def changed(self) -> list[JudgedAgain]:
        """Return those of which something else would have become; how one was not carried out is
        no matter."""
        return [one for one in self.judged if one.was is not one.other
                and not {one.was, one.other} <= {GuardWord.REFUSED, GuardWord.LEFT}]  # fmt: skip

    def counts(self, role: Role) -> tuple[Counter[GuardWord], Counter[GuardWord]]:
        """Return how often each word was said for intents of a role, and would have been."""
        ours = [one for one in self.judged if one.intent.role == role]
        return Counter(one.was for one in ours), Counter(one.other for one in ours)


@dataclass(frozen=True)
class _Told:
    """What a ledger says of an intent: at which moment the guard had its last word, and which."""

    intent: Intent
    at: int
    word: GuardWord
    why: str
    approved: bool
    failed: bool


@dataclass(frozen=True)
class _Replayed(ClusterSight):
    """What is known of the cluster at an intent: that its target was as it was decided on."""

    wanted: str = ""

    def standing(self, action: Action, target: str) -> str:
        """Return the state of a target, which the intent names."""
        del target
        return GONE if action == Action.RESERVE else self.wanted


def judge_again(recorded: Recorded, settings: GuardSettings) -> GuardedAgain:
    """Ask the guard again about each intent. Raises LedgerError for damage."""
    found = GuardedAgain()
    history = _History(recorded, settings)
    for one in sorted(_told(recorded), key=lambda one: one.at):
        if one.word is GuardWord.LEFT and not one.why:
            found.judged.append(JudgedAgain(one.intent, one.at, one.word, one.word, ""))
            continue
        if one.word is GuardWord.REFUSED and not OF_LIMITS.search(one.why):
            found.unknown += 1
            found.judged.append(JudgedAgain(one.intent, one.at, one.word, one.word, ""))
            continue
        word, why = history.judge(one)
        found.judged.append(JudgedAgain(one.intent, one.at, one.word, word, why))
    return found


def _told(recorded: Recorded) -> Iterable[_Told]:
    """Yield what became of each intent. One that expired while it waited is judged as it was when
    it was decided on; one that was dropped stays dropped, since its target had changed."""
    states: dict[str, list[StateRow]] = {}
    for row in recorded.rows(StateRow):
        states.setdefault(row.intent, []).append(row)
    approved = {row.intent for row in recorded.rows(ApprovalRow) if row.approved}
    for one in recorded.rows(IntentRow):
        with recorded.damage(f"intent {one.id}"):
            intent = one.intent()
        past = {row.state: row for row in states.get(one.id, ())}
        for state, word in (
            (IntentState.WRITTEN, GuardWord.PASSED),
            (IntentState.REFUSED, GuardWord.REFUSED),
        ):
            if str(state) in past:
                row = past[str(state)]
                failed = str(IntentState.FAILED) in past
                yield _Told(intent, row.at, word, row.why, one.id in approved, failed)
                break
        else:
            waits = str(IntentState.DROPPED) not in past
            word = GuardWord.LEFT if not waits or len(past) > 1 else GuardWord.ASKED
            why = "waited" if waits else ""
            yield _Told(intent, intent.decided, word, why, one.id in approved, False)


class _History:
    """What would have been done under other settings, so far."""

    def __init__(self, recorded: Recorded, settings: GuardSettings) -> None:
        self._settings = settings
        self._runs = [(row.at, tuple(map(str, row.snapshot["nodes"])))
                      for row in recorded.rows(RunRow)]  # fmt: skip
        self._consents = {
            one.promise.id: frozenset(map(str, one.promise.consents))
            for one in recorded.promises()
            if one.promise.held
        }
        self._over = {row.promise: row.at for row in recorded.rows(OutcomeRow)}
        self._written: list[tuple[Intent, int]] = []
        self._drained: set[str] = set()
        self._reserved: dict[str, tuple[int, ReservationSight]] = {}
        keeper, warden = settings.keeper, settings.warden
        self._memory = max(HOUR, keeper.cool_down, warden.cool_down, settings.settle)

    def judge(self, told: _Told) -> tuple[GuardWord, str]:
        """Return what the guard would say, and why; what passes counts from then on."""
        intent = told.intent
        doings = Doings((), tuple(self._written), self._consents)
        verdict = guard(
            intent, self._sight(told), doings, self._settings, told.at, approved=told.approved
        )
        if verdict.kind is Pass.GO:
            self._pass(told)
            return GuardWord.PASSED, ""
        asked = verdict.kind in (Pass.ASK, Pass.WAIT)
        return (GuardWord.ASKED if asked else GuardWord.REFUSED), verdict.why

    def _sight(self, told: _Told) -> ClusterSight:
        """Return what is known: our own drains and reservations; all else is in order."""
        intent = told.intent
        names = next((names for at, names in reversed(self._runs) if at <= told.at), ())
        there = (intent.partition,) if intent.partition else ()
        nodes = {name: NodeSight(there) for name in (*names, *_node_of(intent))}
        for name in self._drained | _undone(intent):
            if name in nodes:
                nodes[name] = NodeSight(there, drained=True, reason=_MARK)
        jobs = {intent.target: JobSight("", 0, intent.promise)} if intent.action in ON_JOBS else {}
        held = {name: one for name, (until, one) in self._reserved.items() if until > told.at}
        return _Replayed(told.at, True, nodes, jobs, held, wanted=intent.state)

    def _pass(self, told: _Told) -> None:
        """Let an intent count; one that failed had no effect. Reservations end with their
        promises."""
        intent, at = told.intent, told.at
        least = at - self._memory
        self._written = [*((one, then) for one, then in self._written if then >= least),
                         (intent, at)]  # fmt: skip
        if told.failed:
            return
        if intent.action is Action.DRAIN:
            self._drained.add(intent.target)
        elif intent.action in (Action.RESUME, Action.REBOOT):  # a reboot ends in service
            self._drained.discard(intent.target)
        elif intent.action is Action.RESERVE:
            end = int(sum(intent.figures.get(name, 0.0) for name in ("start", "time")))
            end = min(end, self._over.get(intent.promise, end))
            self._reserved[intent.target] = (end, ReservationSight(intent.size, intent.partition))
        elif intent.action is Action.RELEASE:
            self._reserved.pop(intent.target, None)


def _node_of(intent: Intent) -> tuple[str, ...]:
    return (intent.target,) if intent.role == Role.WARDEN else ()


def _undone(intent: Intent) -> set[str]:
    """Return the node that an intent finds drained by us."""
    return {intent.target} if intent.action in (Action.RESUME, Action.REBOOT) else set()


UNKNOWN: Final = (
    "persons' drains, holds and reservations",
    "nodes out of service, but for those that forestall drained",
    "which nodes are in which partition: limits of partitions count as those of all nodes",
)
"""What of the guard's grounds a ledger does not hold."""
