"""What may be done to a cluster; each action has an id, by which its effect is found again.

An action carries the state that it was decided on (how often a job was restarted, whose drain is to
be lifted), so that it can tell its own effect from what others did meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from forestall.core.model.errors import ParameterError
from forestall.core.model.marks import checked_id

RESERVATION_FLAGS: Final = ("FLEX", "REPLACE_DOWN", "PURGE_COMP", "NO_HOLD_JOBS_AFTER")
"""Start early and run over; swap nodes that go down; vanish when the job is done; let jobs that
still wait at the end go on waiting outside."""

TEST_FLAGS: Final = ("MAINT", "IGNORE_JOBS")
"""Take nodes in whatever state they are."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
_FEATURES: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:&|()*=+-]{0,199}")
_SIGNAL: Final = re.compile(r"(?:B:|R:|BR:|RB:)?[A-Z0-9+]{1,12}(?:@\d{1,5})?")
_ALL: Final = frozenset({"all", "nodes", "localhost"})
_REQUEUE: Final = ("no", "yes", "expedite")


@dataclass(frozen=True)
class _Acting:
    id: str

    def __post_init__(self) -> None:
        checked_id(self.id)


@dataclass(frozen=True)
class Submit(_Acting):
    """Submit a batch job that carries our tag.

    Parameters
    ----------
    id : the tag in its comment, such as the quote's id
    script : the whole script, handed over as it is
    nodes, time : how many nodes, and for how many seconds (Slurm takes whole minutes, rounded up)
    since : when this was decided, Unix seconds: from then on accounting is asked whether the job
        was submitted already
    words : what the owner wants in the comment behind the tag
    begin : earliest start, Unix seconds
    requeue : ``no``, ``yes`` or ``expedite`` (Slurm 25.11)
    signal : as ``sbatch --signal`` has it, such as ``B:USR1@300``
    directory : where it runs ("": where the command does)
    user : whose job it is ("": of whom the process runs as)
    tried : whether this may have been sent before: then the queue is asked first whether the job is
        there, of which slurmrestd shows nothing less than the whole
    """

    script: str
    nodes: int
    time: int
    name: str = "forestall"
    since: int = 0
    words: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    features: str = ""
    reservation: str = ""
    excluded: tuple[str, ...] = ()
    begin: int | None = None
    requeue: str = "yes"
    signal: str = ""
    directory: str = ""
    output: str = ""
    user: str = ""
    tried: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("nodes", self.nodes, 1)
        _at_least("time", self.time, 1)
        for place in ("partition", "account", "qos", "reservation", "user"):
            _named(place, getattr(self, place))
        _fits("features", self.features, _FEATURES, "an expression of features")
        _fits("signal", self.signal, _SIGNAL, "a signal such as B:USR1@300")
        _node_names("excluded", self.excluded)
        for place in ("script", "name", "words", "directory", "output"):
            if "\0" in getattr(self, place):
                raise ParameterError(place, "...", "text without NUL")
        if not self.script.startswith("#!"):
            raise ParameterError("script", self.script[:20], "a script that begins with #!")
        if self.requeue not in _REQUEUE:
            raise ParameterError("requeue", self.requeue, ", ".join(_REQUEUE))


@dataclass(frozen=True)
class Reserve(_Acting):
    """Make a reservation that holds a promise; Slurm chooses and re-homes its nodes.

    Parameters
    ----------
    start, time : Unix seconds, and seconds
    nodes : how many
    users, accounts : who may use it; at least one
    """

    start: int
    time: int
    nodes: int
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partition: str = ""
    features: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("nodes", self.nodes, 1)
        _at_least("time", self.time, 1)
        _at_least("start", self.start, 1)
        _named("partition", self.partition)
        _fits("features", self.features, _FEATURES, "an expression of features")
        for place in ("users", "accounts"):
            for name in getattr(self, place):
                _fits(place, name, _NAME, "a name", empty=False)
        if not self.users and not self.accounts:
            raise ParameterError("users", self.users, "a user or an account")


@dataclass(frozen=True)
class ReserveNode(_Acting):
    """Keep a node for a test of ours, whatever state it is in and whoever runs there still.

    Parameters
    ----------
    start, time : Unix seconds, and seconds
    users : who may use it; at least one
    """

    node: str
    start: int
    time: int
    users: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _node_names("node", (self.node,))
        _at_least("time", self.time, 1)
        _at_least("start", self.start, 1)
        if not self.users:
            raise ParameterError("users", self.users, "a user")
        for name in self.users:
            _fits("users", name, _NAME, "a name", empty=False)


@dataclass(frozen=True)
class Unreserve(_Acting):
    """Delete the reservation that the action `of` made."""

    of: str

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id(self.of)


@dataclass(frozen=True)
class _OnJob(_Acting):
    job: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("job", self.job, 1)


@dataclass(frozen=True)
class Requeue(_OnJob):
    """Queue a running job again; `restarts` is how often that had been done when it was decided.
    With `excluded` it starts elsewhere: it is held until it avoids these nodes, too, however soon
    Slurm would start it."""

    restarts: int
    excluded: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _node_names("excluded", self.excluded)


@dataclass(frozen=True)
class StartNow(_OnJob):
    """Let a job that was queued again start at once, not after Slurm's two minutes."""


@dataclass(frozen=True)
class Hold(_OnJob):
    """Hold a waiting job back."""


@dataclass(frozen=True)
class Release(_OnJob):
    """Let go a job that the action `of` held back; never one that somebody else holds."""

    of: str

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id(self.of)


@dataclass(frozen=True)
class SignalJob(_OnJob):
    """Send a running job's batch script a signal, such as ``USR1`` for a checkpoint."""

    signal: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _fits("signal", self.signal, re.compile(r"[A-Z0-9+]{1,12}"), "a signal", empty=False)


@dataclass(frozen=True)
class Exclude(_OnJob):
    """Keep a waiting job away from nodes, besides those that it avoids already."""

    nodes: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nodes:
            raise ParameterError("nodes", self.nodes, "at least one node")
        _node_names("nodes", self.nodes)


@dataclass(frozen=True)
class _OnNode(_Acting):
    node: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _node_names("node", (self.node,))


@dataclass(frozen=True)
class DrainNode(_OnNode):
    """Let no further job start on a node; the reason is ``forestall: WORDS [ID]``."""

    words: str


@dataclass(frozen=True)
class ResumeNode(_OnNode):
    """Bring back a node that the action `of` drained; never one that somebody else took out."""

    of: str

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id(self.of)


@dataclass(frozen=True)
class RebootNode(_OnNode):
    """Reboot a node that the action `of` drained, once it is idle; then it returns to service.

    boot : when it had booted before, Unix seconds; 0 where that is not known
    """

    of: str
    words: str
    boot: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id(self.of)


OnJob: TypeAlias = Requeue | StartNow | Hold | Release | SignalJob | Exclude
OnNode: TypeAlias = DrainNode | ResumeNode | RebootNode
Action: TypeAlias = Submit | Reserve | ReserveNode | Unreserve | OnJob | OnNode


@dataclass(frozen=True)
class ActionResult:
    """What an action came to.

    Attributes
    ----------
    id : the action's
    already : whether it had taken effect before, so that nothing was done now
    job : number of the job that was submitted or acted on, 0 without one
    """

    id: str
    already: bool
    job: int = 0


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(name, value, f"a whole number of at least {least}")


def _fits(
    name: str, value: str, pattern: re.Pattern[str], allowed: str, *, empty: bool = True
) -> None:
    if not (empty and not value) and pattern.fullmatch(value) is None:
        raise ParameterError(name, value, allowed)


def _named(place: str, value: str) -> None:
    _fits(place, value, _NAME, "a name of letters, digits, and _ . + -")


def _node_names(place: str, names: tuple[str, ...]) -> None:
    for name in names:
        _fits(place, name, _NAME, "the name of one node", empty=False)
        if name.lower() in _ALL:  # Slurm takes these for all nodes
            raise ParameterError(place, name, "the name of one node")
