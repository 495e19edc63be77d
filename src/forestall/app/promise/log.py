"""The log of a run, and its replay through an engine that Python drives one event at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.app.kit.log import csv_lines, read_log, write_lines
from forestall.app.promise.hazard import HAZARD_FILE, read_hazard, write_hazard
from forestall.app.promise.learned import TABLE_FILE, read_table, write_table
from forestall.engine.promise.engine import Engine
from forestall.engine.promise.own import AskedPolicy, Policy
from forestall.model.decisions import Decision, DecisionKind, Reason
from forestall.model.errors import ParameterError, TraceError
from forestall.model.events import Event, EventKind
from forestall.model.failures import Failures
from forestall.model.nodes import NodeSet
from forestall.predict.trace import TracePredictor
from forestall.simulate.kit.failures import expected_downtime
from forestall.simulate.promise.parameters import Parameters
from forestall.simulate.promise.prepare import foreseen_by, rules_of

if TYPE_CHECKING:
    from forestall.engine.promise.state import Prediction
    from forestall.predict.tabulated import Tabulated
    from forestall.simulate.promise.run import Outcome

EVENTS = ("time", "event", "job", "node", "until", "size", "estimate", "interval", "decisions")
DECISIONS = (
    "time",
    "decision",
    "job",
    "node",
    "start",
    "end",
    "deadline",
    "probability",
    "nodes",
    "reason",
    "why",
)


def write_event_log(
    outcome: Outcome, folder: Path, predictor: Any = None, table: Tabulated | None = None
) -> None:
    """Write `events.csv` (what the engine was told), `decisions.csv` (what it answered) and
    `foreseen.csv` (the failures that its predictor knew of), or `hazard.csv` (what a hazard
    predictor knew of each node when the run began), or `predictions.npz` (the answers of one that
    has learnt)."""
    write_lines(folder / "events.csv", _event_lines(outcome))
    write_lines(
        folder / "decisions.csv", decision_lines(_decisions(outcome), outcome.workload.jobs.job)
    )
    if table is not None:
        write_table(table, folder / TABLE_FILE)
        return
    if outcome.parameters.predictor == "hazard":
        write_hazard(predictor, folder / HAZARD_FILE)
        return
    failures = outcome.failures
    known = failures.take(failures.detectability <= outcome.parameters.accuracy)
    rows = zip(
        known.time.tolist(),
        known.node.tolist(),
        known.downtime.tolist(),
        known.detectability.tolist(),
        strict=True,
    )
    header = ("time", "node", "downtime", "detectability")
    write_lines(folder / "foreseen.csv", csv_lines(header, rows))


def _event_lines(outcome: Outcome) -> Iterator[str]:
    ids = outcome.workload.jobs.job.tolist()
    users = outcome.workload.jobs.user if outcome.parameters.entry.in_python else None
    size = outcome.workload.jobs.size.tolist()
    estimate, interval = outcome.workload.estimate.tolist(), outcome.workload.interval.tolist()

    def rows() -> Iterator[tuple[Any, ...]]:
        for event in outcome.log.events:
            kind, key = EventKind(int(event["kind"])), int(event["key"])
            job: Any = "" if kind.about_node or kind is EventKind.PASS else ids[key]
            node: Any = key if kind.about_node else ""
            until = int(event["until"]) if kind is EventKind.NODE_FAILED else ""
            new = kind is EventKind.SUBMITTED
            asked = (size[key], estimate[key], interval[key]) if new else ("", "", "")
            counted = int(event["decisions"])
            row = (int(event["time"]), kind.name.lower(), job, node, until, *asked, counted)
            yield row if users is None else (*row, users[key] if new else "")

    return csv_lines(EVENTS if users is None else (*EVENTS, "user"), rows())


def _decisions(outcome: Outcome) -> Iterator[Decision]:
    log, place, used = outcome.log, 0, 0
    fields = (
        "job",
        "node",
        "start",
        "end",
        "deadline",
        "count",
        "at",
        "left_out",
        "left_out_at",
    )
    for event in log.events:
        for record in log.decisions[place : place + int(event["decisions"])]:
            count = int(record["ranges"])
            ranges = log.ranges[used : used + count].tolist()
            used += count
            yield Decision(
                time=int(event["time"]),
                kind=DecisionKind(int(record["kind"])),
                reason=Reason(int(record["reason"])),
                probability=float(record["probability"]),
                nodes=NodeSet(tuple((int(a), int(b)) for a, b in ranges)),
                **{name: int(record[name]) for name in fields},
            )
        place += int(event["decisions"])


def decision_lines(decisions: Iterator[Decision], ids: Any) -> Iterator[str]:
    """Return the lines of `decisions.csv`."""

    def blank(value: int) -> int | str:
        return "" if value < 0 else value

    def rows() -> Iterator[tuple[Any, ...]]:
        for d in decisions:
            yield (
                d.time,
                d.kind.name.lower(),
                int(ids[d.job]),
                blank(d.node),
                blank(d.start),
                blank(d.end),
                blank(d.deadline),
                repr(d.probability),
                str(d.nodes),
                d.reason.name.lower(),
                d.why,
            )

    return csv_lines(DECISIONS, rows())


def _check_policy(folder: Path, parameters: Parameters, policy: Policy | None) -> None:
    """Raise TraceError where the policy of a run was in Python and is not given, and ParameterError
    where another one is."""
    made, in_python = parameters.policy, parameters.entry.in_python
    if policy is None and in_python:
        raise TraceError(
            folder, f"was made with the policy {made} in Python, which a log cannot hold: give it"
        )
    if policy is not None and policy.name != made:
        allowed = made if in_python else f"none, for a run with the policy {made}"
        raise ParameterError("policy", policy.name, allowed)


def replay(folder: Path, policy: Policy | None = None) -> list[str]:
    """Drive an engine from `events.csv` of a run's folder; return the lines of `decisions.csv`
    anew.

    Only the events, the parameters and what the predictor knew go in, and the policy where it was
    in Python. Raises TraceError where the folder has no event log, and ParameterError where it is
    not that policy, or that is missing.
    """
    events = read_log(folder / "events.csv")
    summary = json.loads((folder / "summary.json").read_text())
    if summary.get("own_rules"):
        raise TraceError(
            folder, "was made with a predictor or placement rule in Python, which a log cannot hold"
        )
    parameters, period = Parameters(**summary["parameters"]), int(summary["repeat_period"])
    _check_policy(folder, parameters, policy)
    known, start = Failures.none(), int(events["time"][0])
    prediction: Prediction
    if parameters.predictor == "learned":
        table = read_table(folder)
        prediction, start = table.arrays(expected_downtime(parameters)), int(table.times[0])
    elif parameters.predictor == "trace":
        log = read_log(folder / "foreseen.csv")
        known = Failures.build(log["time"], log["node"], log["downtime"], log["detectability"])
        prediction = foreseen_by(TracePredictor(parameters.accuracy), known, period)
        start = min([start, *known.time[:1].tolist()])
    elif parameters.entry.promises:
        prediction = read_hazard(folder, summary["predictor"])
    else:
        prediction = foreseen_by(None, known, period)
    users: list[str | None] = []
    asked = None if policy is None else AskedPolicy(policy, users)
    engine = Engine(parameters.nodes, rules_of(parameters), prediction, start, policy=asked)
    ids: list[int] = []
    place: dict[int, int] = {}

    def decide() -> Iterator[Decision]:
        for row in events.iter_rows(named=True):
            kind, now = EventKind[row["event"].upper()], row["time"]
            if kind is EventKind.SUBMITTED:
                place[row["job"]] = engine.add_job(
                    row["size"], row["estimate"], row["interval"], now
                )
                ids.append(row["job"])
                users.append(row.get("user"))
            key = row["node"] if kind.about_node else place.get(row["job"], 0)
            until = -1 if row["until"] is None else row["until"]
            yield from engine.handle([Event(now, kind, key, until)], now)

    return list(decision_lines(decide(), ids))
