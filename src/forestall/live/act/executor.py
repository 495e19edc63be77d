"""From intents to deeds: written ahead in the ledger, sent at most once, confirmed by looking.

    proposed -> (approved) -> written -> carried out -> confirmed

Whatever dies or fails in between, the ledger says how far an intent came. "Written" is on the disk
before anything is sent, and comes once. So an intent that is found half-way is never sent again:
its effect is looked up, and where there is none after `settle` seconds it has failed; if it is
still wanted it is decided on anew, with another id, and passes the guard anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Final

from forestall.core.model.errors import ForestallError, InputError
from forestall.core.model.live.intents import HALF_WAY, WAITING, Intent, IntentState, Role
from forestall.live.act.actor import Actor, Effect, NotCarriedOutError
from forestall.live.guard.guard import HOUR, Doings, Pass, guard, limit_on
from forestall.live.guard.settings import GuardSettings
from forestall.live.guard.sight import ClusterSight
from forestall.live.ledger.rows import ApprovalRow, IntentRow, StateRow
from forestall.live.ledger.store import LiveLedger

_ENDS: Final[Mapping[Pass, IntentState]] = {
    Pass.REFUSE: IntentState.REFUSED,
    Pass.DROP: IntentState.DROPPED,
    Pass.EXPIRE: IntentState.EXPIRED,
}


@dataclass(frozen=True)
class StateChange:
    """An intent that came into another state, and why."""

    intent: Intent
    state: IntentState
    why: str


@dataclass
class _Open:
    """An intent on its way: its state, and since when it has it."""

    intent: Intent
    state: IntentState
    at: int


class Executor:
    """Carries out intents within what the guard allows, and books what came of them.

    It is the only one that writes states of intents to its ledger. After an error of the ledger
    (LedgerError) it reads anew how far everything came, and goes on from there. Any threads may
    call it; one at a time is answered, so that a word on an intent waits while others are sent.

    Parameters
    ----------
    actors : by role; an intent of a role without one is refused
    clock : the time, s since 1970
    """

    def __init__(
        self,
        ledger: LiveLedger,
        actors: Mapping[Role, Actor],
        settings: GuardSettings,
        clock: Callable[[], int],
    ) -> None:
        self.settings = settings
        self._ledger, self._actors, self._clock = ledger, actors, clock
        self._open: dict[str, _Open] | None = None
        self._written: list[tuple[Intent, int]] = []
        self._refused: dict[tuple[str, str], tuple[str, int]] = {}
        self._one = RLock()

    def propose(self, intents: Iterable[Intent]) -> list[Intent]:
        """Take intents in, and return those that were.

        Passed over are those that are known already, those like one that is not settled (the same
        action on the same target), and those like one that was refused less than `again` seconds
        ago in the same state: a cycle may propose what the last one did.
        """
        with self._one:
            self._load()
            return [intent for intent in intents if self._take_in(intent)]

    def _take_in(self, intent: Intent) -> bool:
        """Book an intent as proposed, unless it is to be passed over."""
        now, like = self._clock(), (intent.action, intent.target)
        if any((one.intent.action, one.intent.target) == like for one in self._known.values()):
            return False
        state, until = self._refused.get(like, ("", 0))
        if (state == intent.state and 0 <= until - now <= self.settings.again) or (
            self._ledger.one(IntentRow, intent.id) is not None
        ):
            return False
        proposed = StateRow(intent.id, str(IntentState.PROPOSED), now, intent.reason)
        self._add(IntentRow.of(intent), proposed)
        self._known[intent.id] = _Open(intent, IntentState.PROPOSED, now)
        return True

    def limit_on(self, intent: Intent, sight: ClusterSight) -> str:
        """Return which limit would keep an intent like this from being carried out now, in words;
        "" for none. What is being carried out meanwhile is not waited for."""
        if intent.role not in self._actors:
            return f"there is no {intent.role} here"
        known = list((self._open or {}).values())
        half_way = tuple(one.intent for one in known if one.state in HALF_WAY)
        doings = Doings(half_way, tuple(self._written))
        return limit_on(intent, sight, doings, self.settings, self._clock())

    def waiting(self) -> list[tuple[Intent, IntentState]]:
        """Return the intents that wait for a person, a limit or a look, oldest first."""
        with self._one:
            self._load()
            return [(one.intent, one.state) for one in self._known.values() if one.state in WAITING]

    def half_way(self) -> list[Intent]:
        """Return the intents that were sent, or were about to be, and whose effect is not seen."""
        with self._one:
            self._load()
            return [one.intent for one in self._known.values() if one.state in HALF_WAY]

    def approve(self, name: str, who: str, why: str = "") -> None:
        """A person agrees to an intent. Raises InputError where it does not wait for that."""
        with self._one:
            self._judge(name, who, why, IntentState.APPROVED)

    def reject(self, name: str, who: str, why: str = "") -> None:
        """A person refuses an intent. Raises InputError where it does not wait any more."""
        with self._one:
            self._judge(name, who, why, IntentState.REFUSED)

    def step(self, sight: ClusterSight) -> list[StateChange]:
        """Settle what is half-way, then carry out what the guard lets pass; return what moved.

        `sight` is the newest look. Raises LedgerError; what was not booked then is found again.
        """
        with self._one:
            return self._step(sight)

    def _step(self, sight: ClusterSight) -> list[StateChange]:
        self._load()
        moved = [one for item in self._among(HALF_WAY) for one in self._settle(item)]
        consents = {
            one.id: frozenset(map(str, one.consents))
            for one in self._ledger.open_promises()
            if one.held
        }
        for item in self._among(WAITING):
            moved += self._try(item, sight, consents)
        self._forget()
        return moved

    @property
    def _known(self) -> dict[str, _Open]:
        assert self._open is not None, "loaded first"
        return self._open

    def _among(self, states: tuple[IntentState, ...]) -> list[_Open]:
        return [one for one in self._known.values() if one.state in states]

    def _judge(self, name: str, who: str, why: str, state: IntentState) -> None:
        """Book the word of a person."""
        self._load()
        item = self._known.get(name)
        wanted = (IntentState.PROPOSED,) if state == IntentState.APPROVED else WAITING
        now = self._clock()
        if item is None or item.state not in wanted or now >= item.intent.expires:
            raise InputError(f"proposal {name} does not await a decision")
        if item.state == IntentState.PROPOSED:
            word = ApprovalRow(name, now, who, int(state == IntentState.APPROVED), why)
            self._move(item, state, f"by {who}" + (f": {why}" if why else ""), word)
        else:
            self._move(item, state, f"approval taken back by {who}" + (f": {why}" if why else ""))

    def _try(
        self, item: _Open, sight: ClusterSight, consents: Mapping[str, frozenset[str]]
    ) -> list[StateChange]:
        """Ask the guard for one intent, and carry it out where it may be."""
        now = self._clock()
        intent, approved = item.intent, item.state == IntentState.APPROVED
        doings = Doings(tuple(self.half_way()), tuple(self._written), consents)
        verdict = guard(intent, sight, doings, self.settings, now, approved=approved)
        if verdict.kind in _ENDS:
            return [self._move(item, _ENDS[verdict.kind], verdict.why)]
        if verdict.kind != Pass.GO:
            return []
        actor = self._actors.get(intent.role)
        if actor is None:
            return [self._move(item, IntentState.REFUSED, f"there is no {intent.role} here")]
        moved = [self._move(item, IntentState.WRITTEN, intent.reason, at=now)]
        self._written.append((intent, now))
        try:
            actor.carry_out(intent)
        except NotCarriedOutError as error:
            return [*moved, self._move(item, IntentState.FAILED, str(error))]
        except (OSError, ForestallError):
            return moved  # nobody knows; its effect is looked up from the next step on
        return [*moved, self._move(item, IntentState.CARRIED_OUT, "as the reply says")]

    def _settle(self, item: _Open) -> list[StateChange]:
        """Look up the effect of an intent that is half-way."""
        actor = self._actors.get(item.intent.role)
        try:
            effect = Effect.UNKNOWN if actor is None else actor.effect_of(item.intent)
        except (OSError, ForestallError):
            effect = Effect.UNKNOWN
        if effect == Effect.DONE:
            moved = []
            if item.state == IntentState.WRITTEN:
                moved = [self._move(item, IntentState.CARRIED_OUT, "its effect was found")]
            return [*moved, self._move(item, IntentState.CONFIRMED, "its effect was seen")]
        age = self._clock() - item.at
        if effect == Effect.NOT_DONE and age >= self.settings.settle:
            return [self._move(item, IntentState.FAILED, f"no effect after {age} s")]
        return []

    def _move(
        self,
        item: _Open,
        state: IntentState,
        why: str,
        *words: ApprovalRow,
        at: int | None = None,
    ) -> StateChange:
        """Book a new state of an intent; only then it is in it."""
        now = self._clock() if at is None else at
        why = "".join(one if one.isprintable() else " " for one in why)  # of other programs, too
        self._add(*words, StateRow(item.intent.id, str(state), now, why))
        item.state, item.at = state, now
        if state == IntentState.REFUSED:
            like = (item.intent.action, item.intent.target)
            self._refused[like] = (item.intent.state, now + self.settings.again)
        if state not in (*WAITING, *HALF_WAY):
            del self._known[item.intent.id]
        return StateChange(item.intent, state, why)

    def _add(self, *rows: IntentRow | StateRow | ApprovalRow) -> None:
        try:
            self._ledger.add(*rows)
        except BaseException:
            self._open = None  # it may be there or not: read anew
            raise

    def _load(self) -> None:
        """Read from the ledger what is open and what was done lately, where that is not known."""
        if self._open is None:
            found = self._ledger.latest_states(*WAITING, *HALF_WAY)
            self._written = [
                (row.intent(), state.at)
                for row, state in self._ledger.written_since(self._clock() - self._memory())
            ]
            self._open = {
                row.id: _Open(row.intent(), IntentState(state.state), state.at)
                for row, state in found
            }

    def _memory(self) -> int:
        """Return for how long what was written matters to the guard, s."""
        settings = self.settings
        return max(HOUR, settings.keeper.cool_down, settings.warden.cool_down, settings.fresh)

    def _forget(self) -> None:
        """Forget what was written too long ago to matter."""
        now = self._clock()
        least = now - self._memory()
        self._refused = {like: one for like, one in self._refused.items() if one[1] >= now}
        self._written = [one for one in self._written if one[1] >= least]
