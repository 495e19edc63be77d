"""How the modelled cluster is, and how much goes wrong between it and its controller."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from forestall.core.model.errors import ParameterError


@dataclass(frozen=True)
class WorldSettings:
    """How the cluster, its users and its operators are. Times in seconds; means of exponential
    laws; 0 for what never happens.

    Parameters
    ----------
    nodes : how many
    origin : Unix seconds at which the world begins
    load : share of the nodes that users' own jobs keep busy in the long run
    run : mean run time of those
    widest : nodes that the largest of them takes
    failure, repair : mean of one node between failures, and of an outage
    flap : probability that a node which came back fails again within five minutes
    detect : seconds until a dead node is seen to be
    delay : seconds that a job which was queued again waits
    kept : seconds that an ended job stays in the queue
    reboot : seconds that a reboot takes
    stuck : share of reboots after which the node does not come back until it is repaired
    restart : mean between restarts of the controller, `away` its mean absence
    killed : share of restarts that are a kill -9: what was done in the last `unsaved` seconds is
        lost, and numbers of jobs are given anew
    people : mean between acts of operators
    tested : waiting jobs that the scheduler looks at
    books : seconds that accounting keeps
    hole : number of a node, from 1, on which jobs of one node fail two seconds after their start
        until it is rebooted; 0 for none
    limits : mean between changes of what the partition allows: times, nodes, whether it is up
    refuses : whether Slurm refuses jobs that break them (EnforcePartLimits=ALL); else they wait
    expedited : share of users' own jobs with ``--requeue=expedite``
    """

    nodes: int = 16
    origin: int = 1_800_000_000
    load: float = 0.6
    run: float = 3600.0
    widest: int = 8
    failure: float = 5 * 86400.0
    repair: float = 7200.0
    flap: float = 0.1
    detect: int = 10
    delay: int = 120
    kept: int = 300
    reboot: int = 180
    stuck: float = 0.0
    restart: float = 0.0
    away: float = 60.0
    killed: float = 0.3
    unsaved: int = 5
    people: float = 0.0
    tested: int = 500
    books: int = 7 * 86400
    hole: int = 0
    limits: float = 0.0
    refuses: bool = False
    expedited: float = 0.0

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ParameterError("nodes", self.nodes, "at least 1 node")
        for one in fields(self):
            if getattr(self, one.name) < 0:
                raise ParameterError(one.name, getattr(self, one.name), "a number of at least 0")

    @property
    def arrival(self) -> float:
        """Mean seconds between submissions of users' own jobs, 0 for none."""
        mean = (1 + min(self.widest, self.nodes)) / 2
        return mean * self.run / (self.load * self.nodes) if self.load else 0.0


@dataclass(frozen=True)
class Mishaps:
    """Probabilities of what goes wrong with one look, or with one action.

    Parameters
    ----------
    look_late, look_cut, look_doubled, look_fewer, look_stale, look_older : the answer does not
        come; is cut short; has a job twice; lacks a node; is that of the look before; is older
    no_books : accounting does not answer
    lost, unheard, late : the action takes effect and the reply is lost; it is never heard; it takes
        effect after a while
    refused : the controller says no
    killed : the process that acts dies: before it acted, half way, or before it knows
    jump : this machine's clock jumps at a look, by up to `far` seconds either way
    """

    look_late: float = 0.0
    look_cut: float = 0.0
    look_doubled: float = 0.0
    look_fewer: float = 0.0
    look_stale: float = 0.0
    look_older: float = 0.0
    no_books: float = 0.0
    lost: float = 0.0
    unheard: float = 0.0
    late: float = 0.0
    refused: float = 0.0
    killed: float = 0.0
    jump: float = 0.0
    far: int = 90

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value < 0 or (one.name != "far" and value > 1):
                raise ParameterError(one.name, value, "a probability")


CALM: Final = Mishaps()
"""Nothing goes wrong."""

ROUGH: Final = Mishaps(
    look_late=0.03, look_cut=0.03, look_doubled=0.02, look_fewer=0.02, look_stale=0.03,
    look_older=0.02, no_books=0.05, lost=0.05, unheard=0.05, late=0.05, refused=0.03, killed=0.02,
    jump=0.01,
)  # fmt: skip
"""All of it, often enough that some hundred steps meet most."""


def rough(settings: WorldSettings) -> WorldSettings:
    """Return the same cluster with failures, operators who interfere, and a controller that
    restarts: each about once in some hundred minutes."""
    each = 6000.0
    return replace(
        settings,
        failure=each * max(settings.nodes, 1),
        repair=1800.0,
        stuck=0.2,
        flap=0.3,
        restart=each,
        people=each / 4,
    )
