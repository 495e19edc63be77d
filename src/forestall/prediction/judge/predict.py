"""Train a predictor, ask it, and say which there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files import budget
from forestall.core.files.documents import json_of
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.nodes import NodeSet
from forestall.core.model.observations import window_of
from forestall.core.model.units import SECONDS, format_duration, parse_duration, parse_time
from forestall.core.show.blocks import Block, Column, Prose, Table
from forestall.core.show.facts import plain
from forestall.core.show.report import Report, Section
from forestall.logs.inputs import chosen_rows
from forestall.logs.metrics.read import read_metrics
from forestall.logs.observed import observed
from forestall.logs.ras.read import read_ras
from forestall.prediction.given.predictor_files import (
    described,
    load_predictor,
    save_predictor,
    spoken,
)

with lazily():
    from forestall.prediction.models import entries, registry

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.core.model.observations import Observations
    from forestall.prediction.models.learner import Learner


EXTRAS = {"learn": "sklearn"}
"""The module by which an extra is known to be there."""


NODE: Final = 100
"""Bytes that a node takes where a predictor is trained, about."""


@dataclass(frozen=True)
class Sources:
    """Which logs to observe: failures, and events and metrics beside them."""

    failures: Path
    values: Mapping[str, Any]
    events: Path | None = None
    metrics: Path | None = None
    nodes: int | None = None
    until: str | None = None

    def read(self, known: Observations | None = None) -> Observations:
        """Return what was observed, up to `until` where it is given; with the numbers of the nodes
        that a predictor knows, see `matched`.

        Raises ParameterError for logs that do not go together, and for fewer nodes than they have.
        """
        log = chosen_rows(self.failures, {**self.values, "failures": self.failures}).read_failures()
        strict = bool(self.values.get("strict", False))
        events = metrics = None
        if self.events is not None:
            events = read_ras(self.events, strict=strict)
        if self.metrics is not None:
            metrics = read_metrics(self.metrics, strict=strict)
        stop = None if self.until is None else moment(self.until, log.origin, "until")
        nodes = self.nodes
        count = max(nodes or 0, log.nodes)
        budget.require(NODE * count, f"observations of {count:,} nodes", count=count, of="nodes")
        if known is not None and known.failures.names is not None and log.names is not None:
            log = matched(log, known, "since")
            nodes = log.nodes  # whose nodes are heard of for the first time was settled
        try:
            seen = observed(log, events, metrics, until=stop, nodes=nodes)
        except ParameterError as error:
            raise ParameterError(error.name, error.value, error.allowed) from None
        if self.nodes is not None and seen.nodes > self.nodes:
            allowed = f"at least as many as the logs have, {seen.nodes}"
            raise ParameterError("nodes", self.nodes, allowed)
        return seen


def moment(text: str, origin: int | None, name: str) -> int:
    """Return the moment that a text says, on a log's clock, s: a date (where the clock has dates),
    seconds (with dates, since 1970), or a duration such as 10d since the log's time 0.

    Raises ParameterError, calling it `name`.
    """
    stripped = text.strip()
    if stripped[-1:].lower() in SECONDS:
        return parse_duration(stripped, name)
    try:
        given = int(stripped)
    except ValueError:
        if origin is None:
            allowed = "seconds, or a duration such as 10d, since time 0: the log has no dates"
            raise ParameterError(name, text, allowed) from None
        given = parse_time(stripped, name)
    return given - origin if origin is not None else given


def listing() -> list[dict[str, Any]]:
    """Return every predictor that learns, with what it needs and whether that is installed."""
    found = []
    for name, entry in entries.LEARNERS.items():
        kind = registry.learner_class(name)
        found.append(
            {
                "name": name,
                "summary": entry.about,
                "needs": sorted(kind.needs),
                "baseline": name in entries.TRIVIAL,
                "extra": kind.extra,
                "installed": kind.extra is None or find_spec(EXTRAS[kind.extra]) is not None,
            }
        )
    return found


def settings_from(given: list[str]) -> dict[str, Any]:
    """Return settings from texts KEY=VALUE; numbers, true, false, null and lists as in JSON."""
    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ParameterError("set", text, "KEY=VALUE")
        try:
            found[key.strip().replace("-", "_")] = json_of(value)
        except ValueError:
            found[key.strip().replace("-", "_")] = value
    return found


def made(name: str, settings: Mapping[str, Any]) -> Learner:
    """Return an untrained predictor; InputError for settings that it does not know or allow."""
    if name not in entries.LEARNERS:
        raise ParameterError("NAME", name, "one of " + ", ".join(entries.LEARNERS))
    try:
        return registry.new_learner(name, **settings)
    except ParameterError as error:
        raise ParameterError(f"set {error.name}", error.value, error.allowed) from None
    except (TypeError, ValueError) as error:  # of a check that expects numbers
        told = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        raise ParameterError("set", told, f"settings of {name} ({error})") from None


def train(
    name: str,
    sources: Sources,
    settings: Mapping[str, Any],
    out: Path,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train a predictor on what was observed, write it to a file, and say what it learnt; `tell`
    hears what is being done."""
    say = tell or (lambda _text: None)
    learner = made(name, settings)
    say(f"reading {sources.failures}")
    past = sources.read()
    for part in sorted(learner.needs - set(past.parts())):
        raise InputError(f"{name} needs {part} ({{{part}}} FILE)")
    say(f"training {name} on {len(past.failures):,} failures of {past.nodes:,} nodes")
    try:
        learner.fit(past)
    except ParameterError as error:
        if error.name not in learner.settings:
            raise
        raise ParameterError(f"set {error.name}", error.value, error.allowed) from None
    save_predictor(learner, out)
    return {**described(learner), "file": str(out), "remarks": remarks_of(past)}


def remarks_of(past: Observations) -> list[dict[str, Any]]:
    """Return what was left out, changed or odd: ``kind, text, action, count``."""
    whole = past.failures.cleaning + past.failures.aside
    for part in (past.events, past.metrics):
        whole += Cleaning() if part is None else part.cleaning
    return whole.told()


@dataclass(frozen=True)
class PredictionQuestion:
    """A question: which nodes, from when (None: now), for how long, and what happened since."""

    nodes: str | None = None
    at: str | None = None
    ahead: str = "24h"
    since: Sources | None = None


def ask(path: Path, asked: PredictionQuestion) -> dict[str, Any]:
    """Return the failure probabilities of nodes over a window, the riskiest first.

    Raises ParameterError where the moment lies before what the predictor knows.
    """
    learner = load_predictor(path)
    if asked.since is not None:
        learner = _informed(learner, asked.since)
    origin = learner.seen.origin
    at = learner.now if asked.at is None else moment(asked.at, origin, "at")
    if at < learner.now:
        allowed = f"no earlier than what the predictor knows of, {spoken(learner.now, origin)}"
        raise ParameterError("at", asked.at, allowed)
    learner.advance(at)
    length = parse_duration(asked.ahead, "ahead")
    if length <= 0:
        raise ParameterError("ahead", asked.ahead, "a duration above 0")
    ranges = NodeSet.parse(f"0-{learner.nodes - 1}" if asked.nodes is None else asked.nodes)
    if not ranges or ranges.ranges[-1][1] > learner.nodes:
        raise ParameterError("nodes", asked.nodes, f"numbers from 0 to {learner.nodes - 1}")
    chosen = ranges.array()
    risk = learner.failure_probability(chosen, at, at + length)
    median = learner.time_to_failure(chosen)
    names = learner.seen.failures.names
    order = np.lexsort((chosen, -risk))
    rows = [
        {
            "node": int(chosen[k]),
            "name": names[chosen[k]] if names is not None and chosen[k] < len(names) else None,
            "failure_probability": float(risk[k]),
            "median_time_to_failure_hours": plain(median[k] / 3600),
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


def answer_report(answer: Mapping[str, Any], top: int) -> Report:
    """Return an answer as a report, with the `top` nodes of most risk."""
    rows = answer["nodes"]
    verdict = (
        f"{answer['predictor']['name']}: within {format_duration(answer['ahead_s'])} from "
        f"{answer['at']}, {answer['expected_failures']:.3g} failures expected on {len(rows):,} "
        f"nodes; probability of at least one: {answer['any_failure_probability']:.3f}"
    )
    named = any(row["name"] is not None for row in rows)
    columns: list[Column] = [
        ("Node", "node", str),
        *([("Name", "name", lambda name: name or "")] if named else []),
        ("Probability of failure", "failure_probability", lambda risk: f"{risk:.6f}"),
        ("Median time to failure", "median_time_to_failure_hours", _spoken_hours),
    ]
    right = (0, len(columns) - 2, len(columns) - 1)
    body: tuple[Block, ...] = (Table.by("nodes", columns, rows[:top], right=right, most=0),)
    if len(rows) > top:
        left = len(rows) - top
        body += (Prose(f"... and {left:,} nodes at lower risk ({{top}} N, {{json}})"),)
    return Report("Prediction", "", (Section("nodes", "", body=body),), (verdict,), closing=())


def _spoken_hours(hours: float | None) -> str:
    return "not foreseen" if hours is None else format_duration(hours * 3600)


def trained_report(told: Mapping[str, Any]) -> Report:
    """Return what a predictor has learnt from as a report."""
    until = spoken(told["trained_until_s"], told["origin_unix_s"])
    rows = [
        ("predictor", f"{told['name']}: {told['summary']}"),
        ("learned from", f"{told['trained_failures']:,} failures of {told['nodes']:,} nodes"),
        ("up to", until),
        *((one["action"], one["text"]) for one in told["remarks"]),
        ("file", told["file"]),
    ]
    records = [{"name": name, "value": value} for name, value in rows]
    table = Table.of("trained", ("", ""), rows, records, right=(), most=0)
    return Report("Trained", "", (Section("trained", "", body=(table,)),), closing=())


def listing_report(rows: Sequence[Mapping[str, Any]]) -> Report:
    """Return every predictor that learns as a report."""
    columns: list[Column] = [
        ("Name", "name", str), ("What it does", "summary", str), ("Needs", "needs", ", ".join),
    ]  # fmt: skip
    if not all(row["installed"] for row in rows):
        columns.append(("", _lacking))
    table = Table.by("predictors", columns, rows, right=(), most=0)
    return Report("Predictors", "", (Section("predictors", "", body=(table,)),), closing=())


def _lacking(row: Mapping[str, Any]) -> str:
    return "" if row["installed"] else f"needs forestall[{row['extra']}]"


def _informed(learner: Learner, since: Sources) -> Learner:
    """Return a predictor that knows of what came later, too."""
    known = learner.seen
    later = since.read(known)
    if (known.origin is None) is not (later.origin is None):
        dates = "without" if known.origin is None else "with"
        raise ParameterError(
            "since", str(since.failures), f"a log {dates} dates, like the one it learned from"
        )
    if known.origin is not None and later.origin is not None:
        later = later.moved(later.origin - known.origin)
    if later.end <= known.end:
        allowed = f"a log that continues after {spoken(known.end, known.origin)}"
        raise ParameterError("since", str(since.failures), allowed)
    if known.metrics is not None and later.metrics is not None:
        mine, theirs = known.metrics.names, later.metrics.names
        if mine != theirs:
            allowed = "the metrics that the predictor knows: " + ", ".join(mine)
            raise ParameterError("metrics", ", ".join(theirs), allowed)
    learner.observe(later)
    return learner


__all__ = [
    "PredictionQuestion", "Sources", "answer_report", "ask", "listing", "listing_report", "made",
    "moment", "remarks_of", "settings_from", "spoken", "train", "trained_report",
]  # fmt: skip


Int = npt.NDArray[np.int64]


def matched(log: Failures, known: Observations, option: str) -> Failures:
    """Return a log whose nodes have the numbers of those that were known by the same names; names
    that are new get new numbers at the end.

    Nodes that are known only from their failures (see `forestall.logs.observed.heard_of`) count
    from the first failure of which the predictor hears, which is left out; later ones stay. Where
    one side has no names, numbers are taken as they stand. Raises ParameterError, naming `option`,
    where no name is known.
    """
    names = known.failures.names
    if names is None or log.names is None:
        return log
    place = {name: k for k, name in enumerate(names)}
    there = sum(name in place for name in log.names)
    if log.names and not there:
        allowed = f"a log of the nodes that the predictor knows, such as {names[0]}"
        raise ParameterError(option, f"{log.source}, with {log.names[0]}", allowed)
    for name in log.names:
        place.setdefault(name, len(place))
    number = np.array([place[name] for name in log.names], dtype=np.int64)
    node = number[log.node]
    order = np.lexsort((node, log.time))
    made = replace(
        log,
        time=log.time[order],
        node=node[order],
        downtime=log.downtime[order],
        detectability=log.detectability[order],
        kind=None if log.kind is None else tuple(log.kind[k] for k in order),
        nodes=max(known.nodes, len(place)),
        names=tuple(place),
        service_start=None,
        service_end=None,
        service_new=None,
    )
    if log.service_start is not None:
        return _with_service(made, log, number, known)
    return made if known.failures.service_start is None else _heard_of(made, known)


def _shift(log: Failures, known: Observations) -> int:
    """Return by how much the log's clock runs ahead of that of what was known, s."""
    both = known.origin is not None and log.origin is not None
    return known.origin - log.origin if both else 0  # type: ignore[operator]


def _with_service(made: Failures, log: Failures, number: Int, known: Observations) -> Failures:
    """Return a renumbered log with the times in service of both; where both tell, the earlier
    begin and the later log's end."""
    assert log.service_start is not None
    assert log.service_end is not None
    assert log.service_new is not None
    shift, old = _shift(log, known), known.failures
    start = np.full(made.nodes, known.begin + shift, dtype=np.int64)
    stop = np.full(made.nodes, window_of(log)[1], dtype=np.int64)
    new = np.zeros(made.nodes, dtype=np.bool_)
    if old.service_start is not None and old.service_end is not None:
        told = len(old.service_start)
        start[:told], stop[:told] = old.service_start + shift, old.service_end + shift
        if old.service_new is not None:
            new[:told] = old.service_new
        fresh = number >= told
        earlier = fresh | (log.service_start < start[number])
    else:
        earlier = np.ones(len(number), dtype=np.bool_)
    start[number[earlier]] = log.service_start[earlier]
    new[number[earlier]] = log.service_new[earlier]
    stop[number] = log.service_end
    return replace(made, service_start=start, service_end=stop, service_new=new)


def _heard_of(made: Failures, known: Observations) -> Failures:
    """Return a renumbered log of which nodes that were not heard of before count from their first
    failure on, which is left out."""
    shift, end = _shift(made, known), window_of(made)[1]
    start = np.full(made.nodes, end, dtype=np.int64)
    since = known.failures.service_start
    assert since is not None
    heard = np.zeros(made.nodes, dtype=np.bool_)
    heard[: len(since)] = since < known.end
    start[: len(since)] = np.where(since < known.end, since + shift, end)
    nodes, first = np.unique(made.node, return_index=True)
    fresh = ~heard[nodes]
    start[nodes[fresh]] = made.time[first[fresh]]
    keep = np.ones(len(made), dtype=np.bool_)
    keep[first[fresh]] = False
    return replace(
        made.take(keep),
        span=made.span,
        service_start=start,
        service_end=np.full(made.nodes, end, dtype=np.int64),
        service_new=np.zeros(made.nodes, dtype=np.bool_),
    )
