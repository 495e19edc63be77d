"""What the ledger holds: one class a table, one object a row. Times are s since 1970.

A column is a field: whole numbers, numbers and texts as they are, all else (`Json`) as canonical
JSON. `key` is what makes a row one of its kind: the same row added twice is there once, and another
row with that key is refused. `version` is that of the row's form, for who reads it years later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from forestall.core.model.live.intents import Action, Intent
from forestall.core.model.quotes import DecileRecord

VERSION: Final = 1
"""Of the form of rows that this version of forestall writes."""

Json = Any
"""What JSON can say: it comes back with lists for tuples."""
Named = dict[str, Any]


@dataclass(frozen=True)
class LookMark:
    """What the next start of the controller goes on from (`live.slurm.books`)."""

    accounting: int = 0
    jobs: Mapping[str, int] = field(default_factory=dict)
    background: tuple[float, ...] = ()
    learned: Mapping[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class LedgerRow:
    """A row.

    Attributes
    ----------
    table, key : its table, and the columns that make it one of its kind
    refers : columns that name a row of another table, as ``table.column``
    forms : of columns of JSON the type that they have, as `records.held_to` takes it
    """

    table: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    refers: ClassVar[Mapping[str, str]] = {}
    forms: ClassVar[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class RunRow(LedgerRow):
    """A start of the controller: with its cycles, all that a replay needs.

    `settings` and `snapshot` are those of the engine at that moment; `software` is the version of
    forestall.
    """

    table = "runs"
    key = ("number",)
    forms: ClassVar[Mapping[str, Any]] = {"settings": Named, "snapshot": Named}

    number: int
    at: int
    software: str
    settings: Json
    snapshot: Json


@dataclass(frozen=True)
class CycleRow(LedgerRow):
    """A cycle of a run: the events that the engine was given, and the decisions it answered."""

    table = "cycles"
    key = ("number",)
    refers: ClassVar[Mapping[str, str]] = {"run": "runs.number"}
    forms: ClassVar[Mapping[str, Any]] = {"events": Named, "decisions": list[Named]}

    number: int
    run: int
    at: int
    events: Json
    decisions: Json


@dataclass(frozen=True)
class LookRow(LedgerRow):
    """A look at the cluster, also one that failed.

    `whole` is 1 where all was seen; `mark` says from where accounting is read next; `said` is what
    was wrong.
    """

    table = "looks"
    key = ("number",)
    forms: ClassVar[Mapping[str, Any]] = {"mark": LookMark}

    number: int
    at: int
    whole: int
    nodes: int
    jobs: int
    mark: Json
    said: str


@dataclass(frozen=True)
class PredictionRow(LedgerRow):
    """A prediction that mattered to a decision of a cycle: that `subject` (a node or a job) fails
    in [start, end)."""

    table = "predictions"
    key = ("cycle", "predictor", "subject", "start", "end")
    refers: ClassVar[Mapping[str, str]] = {"cycle": "cycles.number"}

    cycle: int
    at: int
    predictor: str
    subject: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class OfferRow(LedgerRow):
    """One offer of a quote: done by `deadline` with `probability`, until `expires`.

    `question` is what was asked; `before` the probability before correction, `record` how such
    promises were kept when it was made (`forestall.core.model.quotes.DecileRecord`); `held` is 1
    where an engine plans its start, which a reservation holds, 0 where it rests on what became of
    like jobs.
    """

    table = "offers"
    key = ("id",)
    forms: ClassVar[Mapping[str, Any]] = {
        "question": Named,
        "record": DecileRecord,
        "reasons": list[str],
    }

    id: str
    at: int
    expires: int
    asked_by: str
    question: Json
    size: int
    length: int
    start: int
    deadline: int
    before: float
    probability: float
    reasons: Json
    record: Json
    held: int = 1


@dataclass(frozen=True)
class PromiseRow(LedgerRow):
    """An accepted offer.

    `job` is `owner` where its owner submits its job, "" where the controller does; `held` is 1
    where the keeper holds it, 0 where it is only what would have been promised;
    `consents` are the actions on the job that its owner agreed to (`requeue`, `signal`).
    """

    table = "promises"
    key = ("id",)
    refers: ClassVar[Mapping[str, str]] = {"offer": "offers.id"}
    forms: ClassVar[Mapping[str, Any]] = {"consents": list[str]}

    id: str
    at: int
    offer: str
    job: str
    owner: str
    deadline: int
    probability: float
    held: int
    consents: Json


@dataclass(frozen=True)
class OutcomeRow(LedgerRow):
    """What became of a promise: `kept`, `missed` or `void`, and by what cause
    (`forestall.core.model.ledger.CAUSES`); `ended` is when the job ended, -1: never; `job` is
    its number, 0: it was never seen; `why` says in words what the cause does not."""

    table = "outcomes"
    key = ("promise",)
    refers: ClassVar[Mapping[str, str]] = {"promise": "promises.id"}

    promise: str
    at: int
    outcome: str
    cause: str
    ended: int
    job: int = 0
    why: str = ""


@dataclass(frozen=True)
class IntentRow(LedgerRow):
    """An intent (`forestall.core.model.live.intents.Intent`)."""

    table = "intents"
    key = ("id",)
    forms: ClassVar[Mapping[str, Any]] = {"figures": Named}

    id: str
    cycle: int
    role: str
    action: str
    target: str
    size: int
    partition: str
    decided: int
    expires: int
    state: str
    reason: str
    figures: Json
    promise: str

    @classmethod
    def of(cls, intent: Intent) -> Self:
        """Return the row of an intent."""
        told = {**intent.to_json(), "action": str(intent.action)}
        return cls(id=intent.id, role=str(intent.role), **told)

    def intent(self) -> Intent:
        """Return the intent of the row."""
        told = {name: getattr(self, name) for name in Intent.__dataclass_fields__}
        return Intent(**{**told, "action": Action(self.action)})


@dataclass(frozen=True)
class StateRow(LedgerRow):
    """A state that an intent came into (`core.model.live.intents.IntentState`), and why."""

    table = "states"
    key = ("intent", "state")
    refers: ClassVar[Mapping[str, str]] = {"intent": "intents.id"}

    intent: str
    state: str
    at: int
    why: str


@dataclass(frozen=True)
class ApprovalRow(LedgerRow):
    """A person's word on an intent: `approved` 1 or 0, by whom, and why."""

    table = "approvals"
    key = ("intent",)
    refers: ClassVar[Mapping[str, str]] = {"intent": "intents.id"}

    intent: str
    at: int
    who: str
    approved: int
    why: str


ROWS: Final[tuple[type[LedgerRow], ...]] = (
    RunRow, CycleRow, LookRow, PredictionRow, OfferRow, PromiseRow, OutcomeRow, IntentRow, StateRow,
    ApprovalRow,
)  # fmt: skip
"""All kinds of rows, those that others refer to first."""
