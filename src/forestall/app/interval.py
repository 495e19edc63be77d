"""How often to checkpoint, for a command: options read as text, the answer as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forestall.model.errors import ParameterError
from forestall.model.units import parse_duration
from forestall.reliability.ageing import carried
from forestall.reliability.checkpoints import CheckpointInterval, checkpoint_interval
from forestall.reliability.completion import (
    MOST_SEGMENTS,
    CompletionTime,
    completion_of,
)

HOPELESS = 1e-6
"""At no higher efficiency than this, checkpoints are as good as never finished."""
PROMISES = (0.5, 0.9, 0.99)
POINTS = 2048
"""Of the grid of completion times: enough for the digits that are printed."""


@dataclass(frozen=True)
class Answer:
    """The best interval, what it is compared with and, for a job of given length, its promises.

    Attributes
    ----------
    found : intervals, in seconds
    shape : of a node's life
    job : the law of its time; None without a work length, or where it has too many checkpoints
    deadlines : seconds by which the job has ended with each probability of `PROMISES`; inf where
        it never does
    """

    found: CheckpointInterval
    shape: float
    job: CompletionTime | None
    deadlines: tuple[float, ...]

    @property
    def approximate(self) -> bool:
        """Whether the promises are an approximation of unknown error."""
        return self.job is not None and math.isnan(self.job.error)

    @property
    def hopeless(self) -> bool:
        """Whether no interval helps: practically no checkpoint is ever finished."""
        return self.found.efficiency < HOPELESS

    @property
    def unsaved(self) -> bool:
        """Whether the job does best without a checkpoint."""
        plan = self.found.plan
        return plan is not None and plan.segments == 1

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; None for what does not exist or has no bound."""
        found = self.found
        told: dict[str, Any] = {
            "young_s": found.young,
            "daly_first_s": _plain(found.daly_first),
            "daly_s": found.daly,
            "optimal_s": found.optimal,
            "mttf_s": found.mttf,
            "nodes": found.system.nodes,
            "shape": self.shape,
            "assumes": found.assumes,
        }
        for what in ("efficiency", "overhead", "loss"):
            told[what] = {one.name: _plain(getattr(one, what)) for one in found.choices}
        if self.job is not None:
            told["completion"] = {
                "mean_s": _plain(self.job.mean()),
                "unhindered_s": self.job.unhindered,
                "promises": [
                    {"probability": p, "deadline_s": _plain(t)}
                    for p, t in zip(PROMISES, self.deadlines, strict=True)
                ],
                "error": _plain(self.job.error),
                "method": self.job.method,
            }
        return told


def answer(
    mttf: str,
    cost: str,
    *,
    shape: float = 1.0,
    nodes: int = 1,
    ages: str = "steady",
    restart: str = "0",
    downtime: str = "0",
    work: str | None = None,
) -> Answer:
    """Return the answer to ``forestall interval``; ParameterError names the option."""
    if nodes < 1:
        raise ParameterError("--nodes", nodes, "a whole number of at least 1")
    if not (math.isfinite(shape) and 0.05 <= shape <= 100):
        raise ParameterError("--shape", shape, "a number from 0.05 to 100")
    times = {
        "--mttf": mttf,
        "--checkpoint-cost": cost,
        **({} if work is None else {"--work": work}),
    }
    told = {name: parse_duration(text, name) for name, text in times.items()}
    for name, value in told.items():
        if value == 0:
            raise ParameterError(name, times[name], "a duration of at least 1s")
    pauses = parse_duration(restart, "--restart"), parse_duration(downtime, "--downtime")
    old = ages if ages in ("new", "steady") else _age(ages)
    try:
        found = checkpoint_interval(
            told["--mttf"],
            told["--checkpoint-cost"],
            shape=shape,
            nodes=nodes,
            ages=old,
            restart=pauses[0],
            downtime=pauses[1],
            work=told.get("--work"),
        )
    except ParameterError as error:
        if error.name == "cost":
            raise ParameterError("--checkpoint-cost", cost, error.allowed) from None
        raise ParameterError(f"--{error.name}", error.value, error.allowed) from None
    memory = found.system.rate is None and not carried(found.system)
    if found.plan is None or (memory and found.plan.segments > MOST_SEGMENTS):
        return Answer(found, shape, None, ())
    job = completion_of(found.plan, found.system, points=POINTS)
    return Answer(found, shape, job, tuple(np.asarray(job.quantile(PROMISES)).tolist()))


def _age(text: str) -> float:
    try:
        return float(parse_duration(text, "--ages"))
    except ParameterError:
        allowed = "new, steady, or how long the nodes have been in use, such as 90d"
        raise ParameterError("--ages", text, allowed) from None


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
