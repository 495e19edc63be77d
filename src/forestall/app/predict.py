"""Train a predictor, ask it, and say which there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.app.predictor_files import described, load_predictor, save_predictor
from forestall.app.settings import inputs_of
from forestall.model.errors import ParameterError
from forestall.model.nodes import NodeSet
from forestall.model.units import format_duration, parse_duration, parse_time

if TYPE_CHECKING:
    from forestall.model.observations import Observations
    from forestall.predict.learner import Learner

EXTRAS = {"learn": "sklearn"}
"""The module by which an extra is known to be there."""


@dataclass(frozen=True)
class Sources:
    """Which logs to observe: failures, and events and metrics beside them."""

    failures: Path
    values: Mapping[str, Any]
    events: Path | None = None
    metrics: Path | None = None
    nodes: int | None = None
    until: str | None = None

    def read(self) -> Observations:
        """Return what was observed, up to `until` where it is given."""
        from forestall.traces.observed import observed

        log = inputs_of(self.failures, {**self.values, "failures": self.failures}).read_failures()
        strict = bool(self.values.get("strict", False))
        events = metrics = None
        if self.events is not None:
            from forestall.traces.ras.read import read_ras

            events = read_ras(self.events, strict=strict)
        if self.metrics is not None:
            from forestall.traces.metrics.read import read_metrics

            metrics = read_metrics(self.metrics, strict=strict)
        stop = None if self.until is None else moment(self.until, log.origin, "until")
        return observed(log, events, metrics, until=stop, nodes=self.nodes)


def moment(text: str, origin: int | None, name: str) -> int:
    """Return the moment that a date or a number of seconds says, on a log's clock, s."""
    given = parse_time(text, name)
    return given - origin if origin is not None else given


def listing() -> list[dict[str, Any]]:
    """Return every predictor that learns, with what it needs and whether that is installed."""
    from forestall.predict.registry import LEARNERS, TRIVIAL, learner_class

    found = []
    for name in LEARNERS:
        kind = learner_class(name)
        found.append(
            {
                "name": name,
                "summary": kind.summary,
                "needs": sorted(kind.needs),
                "baseline": name in TRIVIAL,
                "extra": kind.extra,
                "installed": kind.extra is None or find_spec(EXTRAS[kind.extra]) is not None,
            }
        )
    return found


def settings_from(given: list[str]) -> dict[str, Any]:
    """Return settings from texts KEY=VALUE; numbers, true, false, null and lists as in JSON."""
    import json

    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ParameterError("--set", text, "KEY=VALUE")
        try:
            found[key.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            found[key.strip().replace("-", "_")] = value
    return found


def made(name: str, settings: Mapping[str, Any]) -> Learner:
    """Return an untrained predictor; ParameterError for settings that it does not know."""
    from forestall.predict.registry import learner_class

    kind = learner_class(name)
    try:
        return kind(**settings)
    except TypeError as error:
        raise ParameterError("--set", dict(settings), f"settings of {name} ({error})") from None


def train(name: str, sources: Sources, settings: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Train a predictor on what was observed, write it to a file, and say what it learnt."""
    learner = made(name, settings)
    learner.fit(sources.read())
    save_predictor(learner, out)
    return {**described(learner), "file": str(out)}


@dataclass(frozen=True)
class Asked:
    """A question: which nodes, from when (None: now), for how long, and what happened since."""

    nodes: str | None = None
    at: str | None = None
    ahead: str = "24h"
    since: Sources | None = None


def ask(path: Path, asked: Asked) -> dict[str, Any]:
    """Return the failure probabilities of nodes over a window, the riskiest first.

    Raises ParameterError where the moment lies before what the predictor knows.
    """
    learner = load_predictor(path)
    if asked.since is not None:
        learner = _informed(learner, asked.since.read())
    origin = learner.seen.origin
    at = learner.now if asked.at is None else moment(asked.at, origin, "at")
    if at < learner.now:
        allowed = f"no earlier than what the predictor knows of, {spoken(learner.now, origin)}"
        raise ParameterError("at", asked.at, allowed)
    learner.advance(at)
    length = parse_duration(asked.ahead, "ahead")
    if length <= 0:
        raise ParameterError("ahead", asked.ahead, "a duration above 0")
    chosen = np.arange(learner.nodes) if asked.nodes is None else NodeSet.parse(asked.nodes).array()
    if len(chosen) == 0 or chosen[-1] >= learner.nodes:
        raise ParameterError("nodes", asked.nodes, f"numbers from 0 to {learner.nodes - 1}")
    risk = learner.failure_probability(chosen, at, at + length)
    median = learner.time_to_failure(chosen)
    names = learner.seen.failures.names
    order = np.lexsort((chosen, -risk))
    rows = [
        {
            "node": int(chosen[k]),
            "name": names[chosen[k]] if names is not None and chosen[k] < len(names) else None,
            "failure_probability": float(risk[k]),
            "median_time_to_failure_hours": _finite(median[k] / 3600),
        }
        for k in order
    ]
    return {
        "predictor": described(learner),
        "at_s": int(at),
        "at": spoken(at, origin),
        "ahead_s": int(length),
        "any_failure_probability": learner.partition_failure_probability(chosen, at, at + length),
        "expected_failures": float(risk.sum()),
        "nodes": rows,
    }


def _informed(learner: Learner, later: Observations) -> Learner:
    """Return a predictor that knows of what came later, too."""
    if learner.seen.origin is not None and later.origin is not None:
        later = later.moved(later.origin - learner.seen.origin)
    if later.end <= learner.seen.end:
        allowed = f"a log that goes on after {spoken(learner.seen.end, learner.seen.origin)}"
        raise ParameterError("failures", later.failures.source, allowed)
    learner.observe(later)
    return learner


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def spoken(time: int, origin: int | None) -> str:
    """Return a moment in words: a date where the clock has one."""
    if origin is None:
        return f"{format_duration(time)} ({time} s)"
    return str(np.datetime64(int(time + origin), "s"))
