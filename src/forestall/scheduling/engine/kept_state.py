"""A state of the engine that comes back from outside: no number in it points where nothing is."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.engine.kept import parts
from forestall.core.files.held import Held
from forestall.prediction.models.foreseen_kernels import FAR, FORESEEN, Foreseen
from forestall.prediction.models.hazard.hazard_kernels import HAZARD, Hazard
from forestall.prediction.models.table_kernels import PARTS, HazardTable
from forestall.scheduling.engine.state import DECISION, JOB, TASK, Prediction, State, as_now
from forestall.scheduling.rules.asked_risk_kernels import AskedPredictor
from forestall.scheduling.rules.curved_risk_kernels import Curved
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import queue_kernels as queues
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.planned_risk_kernels import Planned
from forestall.scheduling.rules.search_state import new_scratch
from forestall.scheduling.rules.spare_kernels import TERMS

_FAR: Final = int(FAR)


def taken_up(state: State) -> State:
    """Return a state that was kept, as this version has it, with new room to search in.

    Raises ParameterError where arrays are not of their types and lengths, or where something in
    them points outside; and what Python raises where parts are not what they should be.
    """
    state = as_now(state)
    nodes = len(state.machine.nodes)
    state = state._replace(scratch=new_scratch(nodes))
    held = Held({}, parts(state))
    words, jobs = (nodes + 63) // 64, len(state.jobs)
    _check_machine(held, nodes, words, jobs)
    _check_timeline(held, words)
    _check_queue(held, nodes, jobs)
    rows = len(held.arrays["timeline.rows"])
    held.array("pools", np.uint64, None, words)
    held.hold("pools", len(state.pools) > 0, "at least one")
    held.array("jobs", JOB, None)
    held.column("jobs", "row", -1, rows - 1)
    held.column("jobs", "low", 0, max(words, 0))
    held.column("jobs", "place", -1, max(nodes - 1, 0))
    held.column("jobs", "pool", 0, len(state.pools) - 1)
    held.column("jobs", "size", 0, max(nodes, 1))
    held.column("jobs", "status", 0, 3)
    held.array("at", np.int64, 6)
    held.array("losses", np.float64, 3, 2 + TERMS, TERMS)
    held.array("out.decisions", DECISION, None)
    held.array("out.held", np.int64, 1, least=0, most=len(state.out.decisions))
    held.array("task", TASK, 1)
    held.column("task", "job", -1, max(jobs - 1, 0))
    held.column("task", "node", -1, nodes - 1)
    held.column("task", "failed", -1, nodes - 1)
    units = len(state.near.level)
    held.array("near.units", np.uint64, units, words if units else None)
    held.array("near.level", np.int64, units, rising=True)
    held.array("near.chance", np.float64, units)
    held.array("near.left", np.int64, units)
    held.hold("near.level", not units <= 0 or int(state.near.sort) == 0, "at least one unit")
    _check_prediction(held, "prediction", state.prediction, nodes)
    return state


def beside(held: Held, state: State) -> tuple[int, int, set[int], dict[int, bool]]:
    """Return what a snapshot has beside the state: the present moment, how many jobs there are, the
    jobs for which no node is left, and the nodes that are drained, and whether by us."""
    jobs, nodes = held.whole("jobs", 0, len(state.jobs)), len(state.machine.nodes)
    waiting, drained = held.listed("held"), dict(held.listed("drained"))
    for name, some, below in (("held", waiting, jobs), ("drained", [*drained], nodes)):
        inside = all(type(one) is int and 0 <= one < below for one in some)
        held.hold(name, inside, f"numbers below {below}")
    ours = {node: bool(mine) for node, mine in drained.items()}
    return held.whole("now", -_FAR, _FAR), jobs, set(waiting), ours


def _check_machine(held: Held, nodes: int, words: int, jobs: int) -> None:
    held.array("machine.nodes", machines.NODE, None)
    held.hold("machine.nodes", nodes > 0, "at least one")
    held.array("machine.rows", np.uint64, 3, words)
    held.array("machine.down", np.int64, nodes, least=0, most=nodes - 1)
    held.array("machine.running", np.int64, nodes, least=0, most=max(jobs - 1, 0))
    at = held.array("machine.at", np.int64, 4, least=0, most=max(nodes, words))
    held.hold("machine.at", int(at.max()) <= nodes, f"numbers up to {nodes}")
    held.hold("machine.at", int(at[machines.LOWEST]) <= words, f"a word up to {words}")


def _check_timeline(held: Held, words: int) -> None:
    edges = held.array("timeline.edges", timelines.EDGE, None)
    rows = held.array("timeline.rows", np.uint64, None, words)
    held.column("timeline.edges", "row", -1, len(rows) - 1)
    held.array("timeline.spare", np.int64, len(rows), least=0, most=max(len(rows) - 1, 0))
    at = held.array("timeline.at", np.int64, 3, least=0)
    head, tail, spare = (int(at[k]) for k in (timelines.HEAD, timelines.TAIL, timelines.SPARE))
    inside = head <= tail <= len(edges) and spare <= len(rows)
    held.hold("timeline.at", inside, f"places up to {len(edges)}, rows up to {len(rows)}")


def _check_queue(held: Held, nodes: int, jobs: int) -> None:
    entries = held.array("queue.entries", queues.ENTRY, None)
    count = len(entries)
    held.column("queue.entries", "job", 0, max(jobs - 1, 0))
    held.array("queue.blocks", queues.BLOCK, (count >> queues.SHIFT) + 1)
    releases = held.array("queue.releases", queues.RELEASE, 2 * nodes + 2)
    held.column("queue.releases", "job", -1 - nodes, max(jobs - 1, 0))
    at = held.array("queue.at", np.int64, 5, least=0)
    first, last = int(at[queues.FIRST]), int(at[queues.LAST])
    inside = first <= last <= count and int(at[queues.RELEASES]) <= len(releases)
    inside = inside and int(at[queues.LIVE]) <= count and int(at[queues.FRESH]) <= count
    held.hold("queue.at", inside, f"places up to {count}, releases up to {len(releases)}")


def _check_prediction(held: Held, name: str, prediction: Prediction, nodes: int) -> None:
    """Hold what is predicted to what its kernels rely on."""
    if isinstance(prediction, Planned):
        for part in ("base", "outages"):
            _check_prediction(held, f"{name}.{part}", getattr(prediction, part), nodes)
    elif isinstance(prediction, Foreseen):
        failures = held.array(f"{name}.failures", FORESEEN, None)
        held.column(f"{name}.failures", "node", 0, nodes - 1)
        held.column(f"{name}.failures", "probability", 0, 1)
        times = failures["time"]
        held.hold(f"{name}.failures", bool((times[1:] >= times[:-1]).all()), "in order of time")
        held.hold(f"{name}.failures", bool((failures["until"] >= times).all()), "ends after begins")
        fits = 0 <= prediction.period < _FAR and 0 <= prediction.longest < _FAR
        held.hold(f"{name}.failures", fits, "a period and a longest outage of at least 0")
    elif isinstance(prediction, Curved):
        _check_prediction(held, f"{name}.moments", prediction.moments, nodes)
        held.array(f"{name}.hazard", np.float64, nodes, PARTS, least=0, rising=True)
        for part in ("begin", "span", "passes"):
            held.array(f"{name}.{part}", np.int64, nodes, least=0, most=_FAR)
    elif isinstance(prediction, Hazard):
        held.array(f"{name}.nodes", HAZARD, nodes)
    elif isinstance(prediction, HazardTable):
        times = held.array(f"{name}.times", np.int64, None, rising=True)
        horizons = held.array(f"{name}.horizons", np.float64, None, least=0, rising=True)
        held.hold(f"{name}.horizons", len(horizons) > 1, "0 and at least one horizon")
        held.array(f"{name}.hazard", np.float32, len(times), nodes, len(horizons) - 1)
        held.array(f"{name}.row", np.int64, 1, least=0, most=len(times) - 1)
        held.array(f"{name}.room", np.float64, nodes)
    else:
        held.hold(name, isinstance(prediction, AskedPredictor), "a prediction")
        held.array(f"{name}.risk", np.float64, 1)
        held.array(f"{name}.time", np.int64, 1)
