"""What a live controller tells people, and what they may ask of it: terminal, API and page alike.

Times are whole seconds since 1970, durations seconds, probabilities from 0 to 1. Who asks sees what
is theirs: a user their own jobs, promises and names of jobs, an operator all. Of others' jobs a
user sees that there is one, its nodes and its times, and nothing else.

Source: page "Live", Quote and dialogue, Three roles, Acting on nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

SeenRole = Literal["user", "operator"]
CONSENTS: Final = ("exclude", "requeue", "signal", "start")
"""All that may be done with the job of a promise, where its owner agrees."""


class Viewer(NamedTuple):
    """Who asks: their name in Slurm, and whether they operate the cluster."""

    name: str
    role: SeenRole

    @property
    def operates(self) -> bool:
        """Whether they see and decide what is everybody's."""
        return self.role == "operator"


@dataclass(frozen=True)
class ClusterTold:
    """The cluster now.

    Attributes
    ----------
    now, looked : the controller's clock, and when the cluster was last seen, None: never
    said : why the last look was worth nothing, "" where it was a look
    nodes, up, busy : counts of nodes; `up`: in service
    waiting, running : counts of jobs, each task of an array as one
    promises_open, proposals_open : counts
    cycle : number of the last cycle, `cycle_s` how long it took
    roles : the switch of each role: ``{"advisor": "on", "keeper": "off", "warden": "approve"}``
    simulated : whether the cluster is a model
    speed : seconds of the cluster's clock that pass in a second just now; 1 for a real one
    fresh : s; on an older look nothing is promised or done
    waiting_at_least : whether more jobs wait, since Slurm cut the lists of tasks of an array
    """

    now: int
    looked: int | None
    said: str
    nodes: int
    up: int
    busy: int
    waiting: int
    running: int
    promises_open: int
    proposals_open: int
    cycle: int
    cycle_s: float
    roles: dict[str, str]
    simulated: bool
    speed: float = 1.0
    fresh: int = 60
    waiting_at_least: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether what is known of the cluster is too old to act on, or nothing is known."""
        return self.looked is None or self.now - self.looked > self.fresh


@dataclass(frozen=True)
class NodeTold:
    """A node now.

    Attributes
    ----------
    state : Slurm's own word, with its flags: ``IDLE``, ``MIXED+DRAIN``
    reason : that Slurm has for it, as it stands there; only operators are told
    in_service : whether jobs may start on it
    reliability : that it does not fail within 24 h, None where nobody predicts
    by : who predicts, "" nobody
    jobs : numbers of the jobs on it that the viewer may see
    free_at : when its last job ends by its limit, None where none runs
    """

    name: str
    state: str
    reason: str
    in_service: bool
    partitions: tuple[str, ...]
    reliability: float | None
    by: str
    jobs: tuple[int, ...]
    free_at: int | None


@dataclass(frozen=True)
class JobTold:
    """A job that waits or runs. Of others' jobs `user`, `name` and `promise` are "" for a user.

    `start`, `end` : when it began or is planned to begin, and when it ends at the latest; None
    where nobody knows
    remark : why a job with a promise's tag carries no promise, "" else
    """

    id: int
    user: str
    name: str
    partition: str
    state: str
    why: str
    nodes: int
    on: tuple[str, ...]
    submit: int | None
    start: int | None
    end: int | None
    promise: str
    remark: str = ""


@dataclass(frozen=True)
class RecordTold:
    """What became of promises like one: `made` are settled ones with a probability in [low, high),
    of which `kept` were kept; `words` says it."""

    low: float
    high: float
    made: int
    kept: int
    words: str


@dataclass(frozen=True)
class OfferTold:
    """One of the offers of a quote; `held`: whether its start would be held by a reservation."""

    id: str
    start: int
    deadline: int
    probability: float
    held: bool
    expires: int
    record: RecordTold
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class QuoteTold:
    """The answer to a question.

    Attributes
    ----------
    now : the moment of the answer
    offers : of which none is better, the nearest deadline first; at most 7
    by : where a deadline was named: the best offer that ends by then, None where there is none
    said : in words why there are none, "" where there are
    """

    now: int
    offers: tuple[OfferTold, ...]
    by: OfferTold | None = None
    said: str = ""


FEATURES: Final = r"([A-Za-z0-9_][A-Za-z0-9_.:=-]*([&|][A-Za-z0-9_][A-Za-z0-9_.:=-]*)*)?"
"""What features of nodes can be asked for, as a regular expression; "" for none. Of what else Slurm
allows, such as counts and brackets, nobody here could promise anything."""


@dataclass(frozen=True)
class QuoteQuestion:
    """A job somebody thinks of: nodes, and s that it runs at most. Where a deadline `by` is named,
    its probability is asked for, and the nearest deadlines with `probability` at least. `features`
    that its nodes must have: names with ``&`` or ``|`` between them (sbatch's --constraint)."""

    nodes: int
    time: int
    by: int | None = None
    probability: float = 0.9
    partition: str = ""
    name: str = ""
    features: str = ""


@dataclass(frozen=True)
class JobOrder:
    """The job that an offer is taken for: its script ("": its owner submits it), its name and
    partition, words of its owner for its comment, what its owner agrees to (of `CONSENTS`),
    where its output goes, whether an offer `below` the wanted probability is taken, and which
    options of `sbatch` it `asks` with, by long names, where there is no script."""

    script: str = ""
    name: str = "forestall"
    partition: str = ""
    words: str = ""
    consents: tuple[str, ...] = CONSENTS
    output: str = ""
    below: bool = False
    asks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ActTold:
    """Something that was done, or proposed, for a promise or to a node: when it came into its last
    state, and that state in words."""

    at: int
    action: str
    target: str
    state: str
    reason: str


@dataclass(frozen=True)
class PromiseTold:
    """A promise.

    Attributes
    ----------
    at, deadline, probability : when it was made, and what was said
    held : whether the keeper holds it; else it is only what would have been promised
    job : the job's number in Slurm, None where it is not known
    nodes, length, start : what was quoted
    outcome : ``open``, ``kept``, ``missed`` or ``void``; `cause` of a miss or a void one; `why` in
        words, where there is more to say
    ended : when its job ended, None where it has not
    likely : the probability that it is kept, as known now; None where nobody knows
    likely_end : when its job ends at the latest, as planned now
    done : what was done for it, oldest first
    reserved : whether a reservation holds its start
    submit : options with which its owner's sbatch submits its job, by `submit_by`; none where the
        controller submits it or it is there
    stopped : whether its partition keeps its job from starting; `why` says in what way
    """

    id: str
    owner: str
    at: int
    deadline: int
    probability: float
    held: bool
    job: int | None
    nodes: int
    length: int
    start: int
    outcome: str
    cause: str
    ended: int | None
    likely: float | None
    likely_end: int | None
    done: tuple[ActTold, ...]
    why: str = ""
    reserved: bool = False
    submit: tuple[str, ...] = ()
    submit_by: int | None = None
    stopped: bool = False


@dataclass(frozen=True)
class ProposalTold:
    """Something that the controller would do, or does.

    Attributes
    ----------
    role, action, target : who would do what to which node or job
    state : of its intent; ``proposed`` waits for approval
    reason, figures : why, in words and numbers: expected costs in node-seconds
    decided, expires : s since 1970
    why : the last state's own words
    """

    id: str
    role: str
    action: str
    target: str
    state: str
    reason: str
    figures: dict[str, float]
    promise: str
    decided: int
    expires: int
    why: str


@dataclass(frozen=True)
class DecileTold:
    """How well the word was kept among promises with a probability in [low, high): `said` is their
    mean probability; [least, most] is the 95 % interval of the share that is kept (Wilson)."""

    low: float
    high: float
    made: int
    kept: int
    void: int
    said: float
    least: float
    most: float


@dataclass(frozen=True)
class PredictorTold:
    """A predictor's record: failures that it foresaw with weight, and what came.

    Attributes
    ----------
    told : predictions that mattered to a decision and whose window is over; `came`: in how many of
        them the node failed
    said : mean probability of those
    brier : mean square error of the probabilities; lower is better
    """

    name: str
    told: int
    came: int
    said: float
    brier: float


@dataclass(frozen=True)
class CostTold:
    """What a kind of action cost and saved, node-seconds against doing nothing.

    Attributes
    ----------
    proposed, done : how many were proposed, and how many of these took effect
    spent : what those that took effect cost, as far as it is known
    saved : what they were expected to save
    judged : those of which it is known whether the failure came because of which they were done
    came : of how many of these it was seen
    expected : what those judged were expected to save
    realised : what they saved: only of failures that were seen
    least, most : 95 % interval of that, by the count of failures that it rests on
    """

    role: str
    action: str
    proposed: int
    done: int
    spent: float
    saved: float
    judged: int = 0
    came: int = 0
    expected: float = 0.0
    realised: float = 0.0
    least: float = 0.0
    most: float = 0.0


class Desk(Protocol):
    """A live controller as people meet it. Any thread may call it.

    All methods raise InputError with words for people where something is not there or cannot be,
    and LedgerError where the books cannot be written.
    """

    def cluster(self, viewer: Viewer) -> ClusterTold:
        """Return the cluster in numbers."""

    def nodes(self, viewer: Viewer) -> list[NodeTold]:
        """Return all nodes, by name."""

    def jobs(self, viewer: Viewer) -> list[JobTold]:
        """Return the jobs that wait or run, by number."""

    def quote(self, viewer: Viewer, question: QuoteQuestion) -> QuoteTold:
        """Answer a question; nothing is promised by it."""

    def accept(self, viewer: Viewer, offer: str, order: JobOrder) -> PromiseTold:
        """Make an offer a promise and submit its job; again with the same offer: once. A job
        without a script is submitted by its owner. Also raises WriteError where Slurm refuses."""

    def submitted(self, viewer: Viewer, name: str, number: int) -> PromiseTold:
        """Take note that the owner of a promise submitted its job, with its number in Slurm."""

    def withdraw(self, viewer: Viewer, name: str) -> PromiseTold:
        """Give a promise back whose job its owner has not submitted."""

    def promises(self, viewer: Viewer, *, ended: bool = True, most: int = 500) -> list[PromiseTold]:
        """Return promises, the newest first; those that are over only where `ended`."""

    def promise(self, viewer: Viewer, name: str) -> PromiseTold:
        """Return one promise, by its id or a beginning of it that is nobody else's."""

    def proposals(self, viewer: Viewer, *, most: int = 500) -> list[ProposalTold]:
        """Return what is proposed, and what was done lately, the newest first; operators only."""

    def decide(self, viewer: Viewer, proposal: str, approved: bool, why: str) -> ProposalTold:
        """Approve or reject a proposal; operators only."""

    def calibration(self, viewer: Viewer) -> list[DecileTold]:
        """Return how well the word was kept, by deciles of what was said."""

    def predictors(self, viewer: Viewer) -> list[PredictorTold]:
        """Return the predictors' records."""

    def costs(self, viewer: Viewer) -> list[CostTold]:
        """Return what actions cost and saved; operators only."""
