"""The log of a run, and its replay through an engine that Python drives one event at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.files.cells import guarded
from forestall.core.files.documents import json_of
from forestall.core.files.guard import within
from forestall.core.kit import log as logs
from forestall.core.kit.checked import checked
from forestall.core.kit.folder import SUMMARY
from forestall.core.kit.log import Column
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.errors import TraceError
from forestall.core.model.events import Event, EventKind
from forestall.core.model.failures import PLANNED, Failures
from forestall.core.model.nodes import NodeSet
from forestall.core.model.units import MAX_SECONDS
from forestall.core.world.failures import expected_downtime
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.own import AskedPolicy, Policy
from forestall.scheduling.hazard import HAZARD_FILE, read_hazard, write_hazard
from forestall.scheduling.learned import TABLE_FILE, read_table, write_table
from forestall.scheduling.maintenance import beside_planned, read_planned
from forestall.scheduling.simulation.checkpoint_costs import pause_of
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, near_of, rules_of

if TYPE_CHECKING:
    from forestall.prediction.models.tabulated import Tabulated
    from forestall.scheduling.engine.state import Prediction
    from forestall.scheduling.simulation.loop_kernels import Log
    from forestall.scheduling.simulation.run import Outcome

Flags = npt.NDArray[np.bool_]
FORESEEN_FILE = "foreseen.csv"


class About(NamedTuple):
    """The job that an event is about; what was asked for where it is submitted; else ""."""

    job: int | str = ""
    size: int | str = ""
    estimate: int | str = ""
    interval: int | str = ""
    user: str = ""
    wanted: float | str = ""


EVENTS = (
    Column("time"),
    Column("event", "kind", logs.word),
    Column("job", "about.job"),
    Column("node", lambda event: event.key if event.kind.about_node else ""),
    Column("until", lambda event: event.until if event.kind is EventKind.NODE_FAILED else ""),
    *(Column(name, f"about.{name}") for name in ("size", "estimate", "interval")),
    Column("decisions"),
)
USER = Column("user", "about.user", guarded)
"""Whose a job is: in the log of a run with a policy in Python, which may go by it."""
WANTED = Column("wanted", "about.wanted", lambda chance: "" if chance == "" else repr(chance))
"""The probability that a job's user took: in the log of a run with users who bargain."""
WORK = Column("work", lambda event: event.until if event.kind is EventKind.CHECKPOINT_LOST else "")
"""Work in the checkpoint that a job falls back to: in the log of a run with a vault."""
DECISIONS = (
    Column("time"),
    Column("decision", "kind", logs.word),
    Column("job", of_jobs=True),
    *(Column(name, written=logs.blank) for name in ("node", "start", "end", "deadline")),
    Column("probability", written=repr),
    Column("nodes", written=str),
    Column("reason", written=logs.word),
    Column("why"),
)
_WORDS = {"kind": DecisionKind, "reason": Reason}
FORESEEN = (Column("time"), Column("node"), Column("downtime"), Column("detectability"))


def write_event_log(
    outcome: Outcome, folder: Path, predictor: Any = None, table: Tabulated | None = None
) -> None:
    """Write `events.csv` (what the engine was told), `decisions.csv` (what it answered) and
    `foreseen.csv` (the failures that its predictor knew of), or `hazard.csv` (what a hazard
    predictor knew of each node when the run began), or `predictions.npz` (the answers of one that
    has learned)."""
    log, ids = outcome.log, outcome.workload.jobs.job.tolist()
    told = logs.records_of(log.events, {"kind": EventKind}, about=_about(outcome))
    columns = EVENTS if _users(outcome) is None else (*EVENTS, USER)
    columns = columns if outcome.bargains is None else (*columns, WANTED)
    columns = columns if outcome.saves is None else (*columns, WORK)
    logs.write_lines(folder / logs.EVENT_LOG, logs.log_lines(columns, told))
    taken = logs.answers_of(Decision, log.events, log.decisions, _WORDS, nodes=_node_sets(log))
    logs.write_lines(folder / logs.DECISION_LOG, logs.log_lines(DECISIONS, taken, ids))
    if table is not None:
        write_table(table, folder / TABLE_FILE)
    elif outcome.parameters.predictor == "hazard":
        write_hazard(predictor, folder / HAZARD_FILE)
    else:
        failures = outcome.failures
        if failures.kind is not None:  # planned outages are in a file of their own
            failures = failures.take(
                np.array([kind != PLANNED for kind in failures.kind], np.bool_)
            )
        known = failures.take(failures.detectability <= outcome.parameters.accuracy)
        rows = logs.records(
            **{name: getattr(known, name).tolist() for name in logs.names_of(FORESEEN)}
        )
        logs.write_lines(folder / FORESEEN_FILE, logs.log_lines(FORESEEN, rows))


def _users(outcome: Outcome) -> tuple[str, ...] | None:
    """Return whose each job is, where a policy was told."""
    return outcome.workload.jobs.user if outcome.parameters.entry.own else None


def _about(outcome: Outcome) -> Iterator[About]:
    """Return what each event is about."""
    given, nobody = outcome.workload, About()
    columns = (given.jobs.job, given.jobs.size, given.estimate, given.interval)
    users = _users(outcome) or ("",) * len(given.jobs)
    wanted = [""] * len(given.jobs) if outcome.bargains is None else outcome.promises.tolist()
    asked = list(map(About, *(column.tolist() for column in columns), users, wanted))
    named = list(map(About, given.jobs.job.tolist()))
    jobs = {
        kind: nobody if kind.about_node or kind is EventKind.PASS else named for kind in EventKind
    }
    jobs[EventKind.SUBMITTED] = asked
    events = outcome.log.events
    for kind, key in zip(events["kind"].tolist(), events["key"].tolist(), strict=True):
        mine = jobs[kind]
        yield mine[key] if isinstance(mine, list) else mine


def _node_sets(log: Log) -> Iterator[NodeSet]:
    """Return the nodes of each decision."""
    ends = np.cumsum(log.decisions["ranges"]).tolist()
    ranges = [(first, stop) for first, stop in log.ranges.tolist()]
    begin = 0
    for end in ends:
        yield NodeSet(tuple(ranges[begin:end]))
        begin = end


# --------------------------------------------------------------------------------------- replay


def replay(folder: Path, policy: Policy | None = None) -> list[str]:
    """Drive an engine from `events.csv` of a run's folder; return the lines of `decisions.csv`
    anew.

    Only the events, the parameters and what the predictor knew go in, and the policy where it was
    in Python. Raises TraceError where the folder has no event log.
    """
    path = folder / logs.EVENT_LOG
    summary = json_of((folder / "summary.json").read_text(encoding="utf-8"))
    if summary.get("own_rules"):
        raise TraceError(
            folder,
            "was made with a predictor or placement rule in Python, which a log cannot contain",
        )
    with within(folder / "summary.json"):
        parameters = checked(Parameters, summary["parameters"])
    events = _events(path, parameters.nodes)
    users: list[str | None] = []
    asked = None if policy is None else AskedPolicy(policy, users)
    period, said = summary.get("repeat_period"), summary.get("predictor")
    if not isinstance(period, int) or not 0 <= period < MAX_SECONDS or not isinstance(said, dict):
        raise TraceError(folder / SUMMARY, "a replay needs its repeat_period and predictor")
    known = (parameters, period, said)
    engine = _engine(folder, known, int(events["time"][0]), asked)
    ids: list[int] = []
    place: dict[int, int] = {}

    def handle(row: dict[str, Any]) -> Iterable[Decision]:
        kind, now = EventKind[row["event"].upper()], row["time"]
        if kind is EventKind.SUBMITTED:
            pause, recovery = pause_of(row["size"], parameters)
            place[row["job"]] = engine.add_job(
                row["size"], row["estimate"], row["interval"], now, len(engine.state.pools) - 1,
                pause=pause, recovery=recovery, failovers=parameters.failovers,
            )  # fmt: skip
            ids.append(row["job"])
            users.append(row.get(USER.name))
            if WANTED.name in row:
                rules = engine.state.rules._replace(wanted=row[WANTED.name])
                engine.state = engine.state._replace(rules=rules)
        key = row["node"] if kind.about_node else place.get(row["job"], 0)
        until = -1 if row["until"] is None else row["until"]
        work = -1 if row.get(WORK.name) is None else row[WORK.name]
        return engine.handle([Event(now, kind, key, until, work)], now)

    taken = logs.driven(path, events.iter_rows(named=True), handle)
    return list(logs.log_lines(DECISIONS, taken, ids))


def _events(path: Path, nodes: int) -> pl.DataFrame:
    """Return what an engine of so many nodes was told; TraceError where it cannot have been."""
    events = logs.read_log(path, logs.names_of(EVENTS))
    kinds = events["event"].cast(pl.String)
    known = kinds.is_in([logs.word(kind) for kind in EventKind]).fill_null(value=False)
    if not known.all():
        line = int((~known).arg_true()[0])
        raise TraceError(
            path, f"{kinds[line]!r} is not an event of a run", line=line + 2, field="event"
        )
    if events.is_empty():
        raise TraceError(path, "holds no events")
    of_node = kinds.is_in([logs.word(kind) for kind in EventKind if kind.about_node]).to_numpy()
    asked = (kinds == logs.word(EventKind.SUBMITTED)).to_numpy()
    of_job = ~of_node & (kinds != logs.word(EventKind.PASS)).to_numpy()
    times, every = (1 - MAX_SECONDS, MAX_SECONDS), np.ones(len(events), dtype=np.bool_)
    for name, bounds, needed in (
        ("time", times, every),
        ("job", (1 - 2**62, 2**62), of_job),
        ("node", (0, nodes), of_node),
        ("until", times, None),
        ("size", (1, nodes + 1), asked),
        ("estimate", (1, MAX_SECONDS), asked),
        ("interval", (0, MAX_SECONDS), asked),
    ):
        logs.whole(events, name, path, bounds=bounds, needed=needed)
    if WORK.name in events.columns:
        lost = (kinds == logs.word(EventKind.CHECKPOINT_LOST)).to_numpy()
        logs.whole(events, WORK.name, path, bounds=(0, MAX_SECONDS), needed=lost)
    if WANTED.name in events.columns:
        logs.share(events.filter(pl.Series(asked)), WANTED.name, path)
    _known_jobs(path, events, of_job, asked)
    return events


def _known_jobs(path: Path, events: pl.DataFrame, of_job: Flags, asked: Flags) -> None:
    """Raise TraceError where time goes back, a job is submitted twice, or is told of before."""
    back = np.flatnonzero(np.diff(events["time"].to_numpy()) < 0)
    if len(back):
        raise TraceError(
            path, "earlier than the event above it", line=int(back[0]) + 3, field="time"
        )
    seen: set[int] = set()
    jobs = events["job"].to_list()
    for row in np.flatnonzero(of_job).tolist():
        if (jobs[row] in seen) == bool(asked[row]):
            what = "is submitted twice" if asked[row] else "was not submitted before"
            raise TraceError(path, f"job {jobs[row]} {what}", line=row + 2, field="job")
        seen.add(jobs[row])


def _foreseen(path: Path, nodes: int) -> Failures:
    """Return the failures that a trace predictor knew of, in order of time and node."""
    log = logs.read_log(path, logs.names_of(FORESEEN))
    every = np.ones(len(log), dtype=np.bool_)
    time = logs.whole(log, "time", path, bounds=(1 - MAX_SECONDS, MAX_SECONDS), needed=every)
    node = logs.whole(log, "node", path, bounds=(0, nodes), needed=every)
    downtime = logs.whole(log, "downtime", path, bounds=(0, MAX_SECONDS), needed=every)
    back = np.flatnonzero(
        (time[1:] < time[:-1]) | ((time[1:] == time[:-1]) & (node[1:] < node[:-1]))
    )
    if len(back):
        raise TraceError(path, "not in order of time and node", line=int(back[0]) + 3, field="time")
    return Failures.build(time, node, downtime, logs.share(log, "detectability", path))


def _engine(
    folder: Path, given: tuple[Parameters, int, Any], start: int, policy: AskedPolicy | None
) -> Engine:
    """Return an engine that knows what that of the run knew when it began; `start` is the first
    event's time, `given` the parameters, the period of repeated failures and what is said of the
    predictor."""
    parameters, period, said = given
    known = Failures.none()
    prediction: Prediction
    if parameters.predictor == "learned":
        table = read_table(folder, parameters.nodes)
        prediction, start = table.arrays(expected_downtime(parameters)), int(table.times[0])
    elif parameters.predictor == "trace":
        known = _foreseen(folder / FORESEEN_FILE, parameters.nodes)
        prediction = foreseen_by(TracePredictor(parameters.accuracy), known, period)
        start = min([start, *known.time[:1].tolist()])
    elif parameters.entry.promises:
        prediction = read_hazard(folder, said, parameters.nodes)
    else:
        prediction = foreseen_by(None, known, period)
    outages = read_planned(folder, parameters.nodes)
    if outages is not None:
        prediction = beside_planned(prediction, outages, parameters)
        start = min([start, *outages.time[:1].tolist()])
    rules, near = rules_of(parameters), near_of(parameters)
    engine = Engine(parameters.nodes, rules, prediction, start, policy=policy, near=near)
    if parameters.spares is not None:
        engine.set_pool(1, NodeSet.of_sorted(np.arange(parameters.ordinary)))
    return engine
