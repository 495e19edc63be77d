"""Which rules act on nodes, and from when on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting

RULES: Final = ("risk", "health", "eats", "outlier", "lemon", "repeat")
"""All rules, in the order in which their findings are looked at."""

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class RuleSettings(Declared):
    """When nodes are drained, rebooted, brought back, or left out of promises.

    What a rule wants passes the guard, and the switch of the warden decides whether it is done.
    """

    drain: Annotated[tuple[str, ...], Setting("Rules that propose to drain a node")] = (
        "risk",
        "health",
        "eats",
        "outlier",
    )
    reboot: Annotated[
        tuple[str, ...],
        Setting("Rules after whose drain the node is rebooted once it is idle"),
    ] = ("health", "eats", "outlier")
    steer: Annotated[tuple[str, ...], Setting("Rules that keep promises away from a node")] = (
        "health",
        "eats",
        "outlier",
        "lemon",
        "repeat",
    )
    least: Annotated[
        Share, Setting("Least probability of a failure for which a node is drained")
    ] = 0.3
    ahead: Annotated[
        Seconds, Setting("Failures that are foreseen further ahead are left alone", unit="s")
    ] = 86_400
    worth: Annotated[
        Annotated[float, Field(ge=0)],
        Setting("Drain where the work saved is more than this many times the work spent"),
    ] = 1.0
    eats: Annotated[Count, Setting("Jobs that fail at once on a node that eats jobs")] = 3
    eats_within: Annotated[Count, Setting("Within which they fail", unit="s")] = 300
    quick: Annotated[Count, Setting("A job that fails sooner failed at once", unit="s")] = 60
    repeats: Annotated[
        Count, Setting("Drains by us after which a node is left for a person to bring back")
    ] = 3
    repeats_within: Annotated[Count, Setting("Within which they count", unit="s")] = 30 * 86_400
    group: Annotated[
        Count, Setting("An alarm of one cause on more nodes is told to people; none is drained")
    ] = 4
    rest: Annotated[
        Seconds, Setting("Least time that a node stays drained before it comes back", unit="s")
    ] = 900
    life: Annotated[
        Count, Setting("A proposal that nobody agreed to is forgotten after", unit="s")
    ] = 1800
    most: Annotated[Count, Setting("Most nodes that are proposed in a cycle")] = 8
    downtime: Annotated[Count, Setting("An outage is reckoned to last", unit="s")] = 3600

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("drain", "reboot", "steer"):
            for rule in getattr(self, name):
                if rule not in RULES:
                    raise ParameterError(name, rule, "of " + ", ".join(RULES))
