"""What all engines are held to: legal changes only, and snapshots that are copies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from forestall.core.engine.contract import Transitions, Watch, check_key, whole
from forestall.core.engine.growth import longer
from forestall.core.engine.kept import parts
from forestall.core.model.errors import ParameterError
from forestall.core.model.events import EventKind
from forestall.machines.engine import engine as virtual
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.scheduling.engine import engine as promise
from forestall.scheduling.engine.state import new_state
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import rules_of
from forestall.sharing.engine import engine as cycle

TABLES = {
    "promise": (promise.JOBS, promise.NODES),
    "virtual": (virtual.JOBS, virtual.NODES),
    "cycle": (cycle.JOBS,),
}


@pytest.mark.parametrize("model", TABLES)
def test_tables_name_states_that_are(model: str) -> None:
    for table in TABLES[model]:
        changes = {change for legal in table.legal.values() for change in legal}
        assert {state for change in changes for state in change} == set(table.states)


@pytest.mark.parametrize("model", TABLES)
def test_what_is_done_stays_done(model: str) -> None:
    for legal in TABLES[model][0].legal.values():
        assert not [change for change in legal if change[0] == "DONE" != change[1]]


@pytest.mark.parametrize("kind", list(EventKind))
def test_only_what_the_table_names_passes(kind: EventKind) -> None:
    table = promise.JOBS
    for before, after in product(range(4), repeat=2):
        states = np.array([3, before])
        watch = Watch((table,), lambda now=states: (now,))  # type: ignore[misc]
        states[1] = after
        change = table.states[before], table.states[after]
        if before == after or change in table.legal.get(kind, set()):
            watch.after(kind, 5)
        else:
            with pytest.raises(AssertionError, match=f"job 1 must not go from {change[0]} to"):
                watch.after(kind, 5)


def test_the_history_is_told() -> None:
    states = np.zeros(1, dtype=np.int64)
    watch = Watch((promise.JOBS,), lambda: (states,))
    for kind, time, state in ((EventKind.SUBMITTED, 1, 1), (EventKind.START_DUE, 7, 2)):
        states[0] = state
        watch.after(kind, time)
    states[0] = 0
    with pytest.raises(AssertionError) as said:
        watch.after(EventKind.PASS, 9)
    assert str(said.value) == (
        "job 0 must not go from RUNNING to NEW with PASS; it was NEW, then WAITING at 1 s "
        "(SUBMITTED), then RUNNING at 7 s (START_DUE), then NEW at 9 s (PASS)"
    )


def test_what_is_new_begins_as_it_is() -> None:
    held = [np.array([1])]
    watch = Watch((Transitions("job", ("A", "B"), {}),), lambda: (held[0],))
    held[0] = np.array([1, 1, 0])
    watch.after(EventKind.PASS, 0)


def test_a_snapshot_is_a_copy_of_everything() -> None:
    rules = rules_of(Parameters(nodes=3))
    state = new_state(2, 3, rules, Foreseen(np.zeros(1, FORESEEN), 0, 0), 0)
    before = parts(state)
    assert before["rules.placement"] == rules.placement
    assert {"jobs", "machine.rows", "timeline.edges", "prediction.failures"} <= set(before)
    state.jobs["status"][1] = 2
    state.machine.rows[0] = 1
    assert before["jobs"]["status"].tolist() == [0, 0]
    assert not before["machine.rows"][0].any()
    assert parts(state)["jobs"]["status"].tolist() == [0, 2]


def test_events_that_cannot_be() -> None:
    check_key(2, 3, "node")
    for key in (-1, 3):
        with pytest.raises(ParameterError, match="a node from 0 to 2"):
            check_key(key, 3, "node")


def test_arrays_grow_in_their_first_direction() -> None:
    table = np.arange(6).reshape(3, 2)
    assert longer(table, 3) is table
    grown = longer(table, 4)
    assert grown.shape == (6, 2)
    assert grown[:3].tolist() == table.tolist()
    assert not grown[3:].any()
    assert longer(np.zeros(2), 9, -1).tolist() == [0, 0, *[-1] * 7]


def test_figures_of_a_record_in_plain_numbers() -> None:
    record = np.array([(7, 0.5)], dtype=[("a", "i8"), ("b", "f8")])[0]
    figures = whole(record, ("a",))
    assert figures == {"a": 7}
    assert type(figures["a"]) is int
