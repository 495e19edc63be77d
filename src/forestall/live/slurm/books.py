"""What the controller writes into the ledger and finds there after a restart."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from forestall.__about__ import __version__
from forestall.core.model.errors import LedgerError
from forestall.core.model.faults import LookError
from forestall.core.model.live.intents import Action, IntentState
from forestall.live.ledger.rows import (
    CycleRow,
    IntentRow,
    LookRow,
    OfferRow,
    OutcomeRow,
    PredictionRow,
    PromiseRow,
    RunRow,
    StateRow,
)
from forestall.live.ledger.store import LiveLedger, SettledPromise
from forestall.live.slurm.background import BackgroundRate
from forestall.live.slurm.mind import Mind, PromisedStart, Taken, plain
from forestall.live.slurm.record import PromiseRecord
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterJob, ClusterSnapshot


class LedgerBooks:
    """A controller's side of a ledger.

    `numbers` are those of the jobs of open promises, as last seen, by promise; they stand in each
    look's row, so that a restart knows them. `record` tells how promises were kept,
    `learned` how predictors proved right (`NodeRules.learned`).
    """

    def __init__(self, ledger: LiveLedger) -> None:
        self.ledger = ledger
        self.record = PromiseRecord(ledger)
        self._runs, self._cycles = ledger.count(RunRow), ledger.count(CycleRow)
        self._looks = ledger.count(LookRow)
        last = ledger.one(LookRow, self._looks) if self._looks else None
        mark: Any = {} if last is None else last.mark
        self.mark = int(mark.get("accounting", 0))
        self.numbers: dict[str, int] = {str(k): int(v) for k, v in mark.get("jobs", {}).items()}
        self.background = BackgroundRate(mark.get("background", ()))
        self.learned: dict[str, list[float]] = mark.get("learned", {})

    @property
    def cycle(self) -> int:
        """Number of the next cycle."""
        return self._cycles + 1

    def resumed(self) -> ClusterSnapshot | None:
        """Return what is left of the last look after a restart: from when accounting is read."""
        if not self.mark:
            return None
        return ClusterSnapshot({}, {}, {}, (), 0, 0, None, self.mark)

    def owners(self, promises: Iterable[PromiseRow], named: Iterable[str]) -> dict[str, str]:
        """Return whose promises are: of those that are open, and of closed ones by name."""
        found = {one.id: one.owner for one in promises}
        for name in named:
            if name not in found and (row := self.ledger.one(PromiseRow, name)) is not None:
                found[name] = row.owner
        return found

    def begin(self, mind: Mind, settings: Mapping[str, Any], now: int) -> None:
        """Write that a new engine begins."""
        self.ledger.add(RunRow(self._runs + 1, now, __version__, dict(settings), mind.as_dict()))
        self._runs += 1

    def failed_look(self, error: LookError, now: int) -> None:
        """Write of a look that is worth nothing."""
        row = LookRow(self._looks + 1, now, 0, 0, 0, self._marked(self.mark), str(error))
        self.ledger.add(row)
        self._looks += 1

    def cycle_done(
        self,
        seen: ClusterSnapshot,
        taken: Taken,
        mattered: Mapping[str, NodeForecast],
        outcomes: Sequence[OutcomeRow],
        now: int,
    ) -> None:
        """Write a look, its cycle, the predictions that mattered, and what became of promises: all
        or nothing."""
        told, answered = plain(taken)
        number, said = self._cycles + 1, ", ".join(taken.strange)
        self.background.learn(seen, now)
        mark = self._marked(seen.mark)
        self.ledger.add(
            LookRow(self._looks + 1, now, 1, len(seen.nodes), len(seen.jobs), mark, said),
            CycleRow(number, self._runs, now, told, answered),
            *(
                PredictionRow(number, now, one.by, name, one.at, one.until, one.probability)
                for name, one in sorted(mattered.items())
            ),
            *outcomes,
        )
        self._looks, self._cycles, self.mark = self._looks + 1, number, seen.mark
        self.settled(outcomes)

    def _marked(self, accounting: int) -> dict[str, Any]:
        """Return what the next start of the controller goes on from."""
        mark = {"accounting": accounting, "jobs": self.numbers, "background": self.background.told}
        return {**mark, "learned": self.learned} if self.learned else mark

    def settled(self, outcomes: Iterable[OutcomeRow]) -> None:
        """Let outcomes that were written count."""
        for one in outcomes:
            promise = self.ledger.one(PromiseRow, one.promise)
            offer = None if promise is None else self.ledger.one(OfferRow, promise.offer)
            if promise is not None and offer is not None:
                self.record.add(
                    SettledPromise(promise.probability, offer.before, bool(offer.held), one.outcome)
                )

    def told(self, taken: Taken, now: int) -> None:
        """Write what the engine was told between two looks, as a cycle of its own."""
        told, answered = plain(taken)
        self.ledger.add(CycleRow(self._cycles + 1, self._runs, now, told, answered))
        self._cycles += 1

    def offer_of(self, promise: PromiseRow) -> OfferRow:
        """Return the offer that a promise was."""
        offer = self.ledger.one(OfferRow, promise.offer)
        if offer is None:
            raise LedgerError("ledger", f"there is no offer {promise.offer}")
        return offer

    def start_of(self, promise: PromiseRow) -> PromisedStart:
        """Return when the job of a promise is to start, and what was said of its end."""
        return PromisedStart(self.offer_of(promise).start, promise.deadline, promise.probability)

    def held_start(self, promise: PromiseRow) -> PromisedStart | None:
        """Return `start_of` a promise whose start is held, None of another one: that says when it
        will start by and by."""
        return self.start_of(promise) if self.offer_of(promise).held else None

    def starts(
        self,
        promises: Mapping[str, PromiseRow],
        carried: Mapping[str, ClusterJob],
        known: Container[int],
    ) -> dict[int, PromisedStart]:
        """Return `held_start` of jobs that carry open promises and are not known yet, by number."""
        new = {name: job.id for name, job in carried.items()
               if name in promises and job.id not in known}  # fmt: skip
        starts = {job: self.held_start(promises[name]) for name, job in new.items()}
        return {job: one for job, one in starts.items() if one is not None}

    def closed(self, seen: ClusterSnapshot, promises: Mapping[str, PromiseRow]) -> dict[str, str]:
        """Return what became of the promises that are over whose tags jobs have, in words."""
        names = {job.mark.promise for job in seen.jobs.values()} - {"", *promises}
        rows = [self.ledger.one(OutcomeRow, name) for name in sorted(names)]
        return {row.promise: row.why or row.outcome for row in rows if row is not None}

    def saved(self, promise: str, start: int) -> int:
        """Return when a promise's job, whose run began at `start`, last did a checkpoint that we
        asked for; `start` where it did none."""
        saved = start
        for row in self.ledger.read(IntentRow, promise=promise, action=str(Action.SIGNAL)):
            state = self.ledger.one(StateRow, row.id, str(IntentState.CARRIED_OUT))
            if state is not None:
                saved = max(saved, state.at)
        return saved
