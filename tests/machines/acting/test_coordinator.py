"""The coordinator with a back end that only pretends, and a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.core.model.errors import ForestallError, ParameterError
from forestall.machines.acting.backend import MachineState, Moved, MoveError, SeenMachine, Why
from forestall.machines.acting.coordinator import Coordinator, MachineOutcome
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.acting.picture import Need, PlacementPlan

START = 1_700_000_000.0
PLAN = PlacementPlan({"a": 2, "b": 2, "c": 1}, lead=60, retry=30)


class Pretence:
    """Machines that are where they were put; `fail` says what goes wrong with a move."""

    def __init__(self, **machines: str) -> None:
        self.there = {
            name: SeenMachine(name, node, MachineState.RUNNING, pid=number)
            for number, (name, node) in enumerate(machines.items(), 1)
        }
        self.moves: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], BaseException | None] = lambda machine, node: None

    def watch(self) -> list[SeenMachine]:
        return [self.there[name] for name in sorted(self.there)]

    def start(self, machine: str, node: str) -> SeenMachine:
        self.there[machine] = SeenMachine(machine, node, MachineState.RUNNING)
        return self.there[machine]

    def stop(self, machine: str) -> None:
        self.becomes(machine, MachineState.STOPPED)

    def migrate(self, machine: str, node: str, *, expected: str | None = None) -> Moved:
        self.moves.append((machine, node))
        if error := self.fail(machine, node):
            raise error
        assert expected == self.there[machine].node
        source = self.there[machine].node
        self.there[machine] = replace(self.there[machine], node=node)
        return Moved(machine, source, node, 0.5, 0.05, 0.04, 1000, 2)

    def becomes(self, machine: str, state: MachineState) -> None:
        self.there[machine] = replace(self.there[machine], state=state)


def refused(machine: str) -> MoveError:
    return MoveError(machine, Why.REFUSED, "no", alive=True, blames_target=True)


class Desk:
    """A coordinator with all that it needs; `now` is turned by hand."""

    def __init__(self, path: Path, plan: PlacementPlan = PLAN, **machines: str) -> None:
        self.plan = plan
        self.path = path / "ledger.jsonl"
        self.now = START
        self.backend = Pretence(**machines)
        self.coordinator = self.another()
        for name, node in machines.items():
            self.coordinator.started(name, node, Need(), "asked for")

    def another(self) -> Coordinator:
        return Coordinator(self.plan, self.backend, MachineLedger(self.path), lambda: self.now)

    def what(self) -> list[tuple[str, str]]:
        entries = MachineLedger(self.path).news()
        return [(one["what"], one.get("machine", one["node"])) for one in entries]

    def nodes(self) -> dict[str, str]:
        return {seen.machine: seen.node for seen in self.backend.watch()}


def kinds(outcomes: list[MachineOutcome]) -> list[tuple[str, str, str]]:
    return [(one.what, one.machine, one.target) for one in outcomes]


def test_machines_leave_lead_seconds_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="a", z="b")
    desk.coordinator.foresee("a", START + 100)
    assert desk.coordinator.step() == []
    desk.now = START + 39.9
    assert desk.coordinator.step() == []
    desk.now = START + 40
    done = desk.coordinator.step()
    assert kinds(done) == [("moved", "x", "b"), ("moved", "y", "c")]
    assert done[0].why == "a is predicted to fail at 2023-11-14 22:15:00"
    assert done[0].moved is not None
    assert desk.nodes() == {"x": "b", "y": "c", "z": "b"}
    assert desk.coordinator.step() == []
    moved = [one for one in MachineLedger(desk.path).news() if one["what"] == "moved"]
    assert moved[0] == {
        "time": START + 40, "what": "moved", "machine": "x", "node": "a", "target": "b",
        "seconds": 0.5, "gap": 0.05, "reported": 0.04, "bytes": 1000, "rounds": 2,
    }  # fmt: skip
    assert desk.what()[3:] == [("move", "x"), ("moved", "x"), ("move", "y"), ("moved", "y")]


def test_a_prediction_that_is_taken_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.coordinator.foresee("a", START)
    desk.coordinator.foresee("a", None)
    assert desk.coordinator.step() == []


def test_nowhere_to_go(tmp_path: Path) -> None:
    """It stays, is tried again later, and moves as soon as there is room."""
    desk = Desk(tmp_path, v="a", w="b", x="b", y="c")
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("stays", "v", "")]
    assert desk.coordinator.step() == []
    desk.now += 30
    (stays,) = desk.coordinator.step()
    assert stays.why == "no other node has room"
    desk.backend.becomes("w", MachineState.ENDED)
    desk.now += 30
    assert kinds(desk.coordinator.step()) == [("ended", "w", ""), ("moved", "v", "b")]


def test_no_move_to_a_node_that_is_to_be_left_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    for node in ("a", "b", "c"):
        desk.coordinator.foresee(node, START)
    (outcome,) = desk.coordinator.step()
    assert outcome.what == "stays"
    assert outcome.why == (
        "nowhere to go: b is predicted to fail at 2023-11-14 22:13:20, "
        "c is predicted to fail at 2023-11-14 22:13:20"
    )
    assert desk.backend.moves == []


def test_a_target_that_refuses_is_passed_over(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")

    def refuses(machine: str, node: str) -> MoveError | None:
        return refused(machine) if node == "b" else None

    desk.backend.fail = refuses
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("failed", "x", "b"), ("moved", "x", "c")]
    assert [what for what, _ in desk.what()] == ["started", "move", "failed", "move", "moved"]


def test_everything_refuses(tmp_path: Path) -> None:
    """Each target is tried once; then there is peace for a while."""
    desk = Desk(tmp_path, x="a")
    desk.backend.fail = lambda machine, node: refused(machine)
    desk.coordinator.foresee("a", START)
    done = kinds(desk.coordinator.step())
    assert done == [("failed", "x", "b"), ("failed", "x", "c"), ("stays", "x", "")]
    assert desk.what()[-1] == ("stays", "x")
    assert MachineLedger(desk.path).news()[-1]["why"] == (
        "nowhere to go: b has just refused it, c has just refused it"
    )
    assert desk.coordinator.step() == []
    desk.now += 31
    assert desk.coordinator.step()[0].what == "failed"
    assert desk.nodes() == {"x": "a"}


def test_a_source_that_dies_is_lost_and_said_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")

    def dies(machine: str, node: str) -> MoveError:
        desk.backend.becomes(machine, MachineState.LOST)
        return MoveError(machine, Why.LOST, "QEMU on a ended midway", alive=False)

    desk.backend.fail = dies
    desk.coordinator.foresee("a", START)
    (failed,) = desk.coordinator.step()
    assert "it is lost" in failed.why
    assert kinds(desk.coordinator.step()) == [("lost", "x", "")]
    assert desk.coordinator.step() == []


def test_a_machine_that_another_command_holds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.backend.fail = lambda machine, node: ForestallError("x: another command is working on it")
    outcome = desk.coordinator.move("x", "b")
    assert outcome.what == "failed"
    assert "another command" in outcome.why


def test_ends_are_told_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="a")
    desk.backend.becomes("x", MachineState.ENDED)
    desk.backend.becomes("y", MachineState.LOST)
    assert kinds(desk.coordinator.look()) == [("ended", "x", ""), ("lost", "y", "")]
    assert desk.coordinator.look() == []
    assert desk.another().look() == []  # the ledger remembers


def test_without_its_ledger_it_knows_what_it_saw(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="b")
    desk.path.unlink()
    desk.backend.becomes("y", MachineState.LOST)
    fresh = desk.another()
    assert fresh.look() == []  # who knows when y was lost
    desk.backend.becomes("x", MachineState.LOST)
    assert kinds(fresh.look()) == [("lost", "x", "")]


def test_a_machine_that_was_started_again_can_end_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.backend.becomes("x", MachineState.ENDED)
    desk.coordinator.look()
    desk.backend.start("x", "b")
    desk.another().started("x", "b", Need(), "asked for")  # by another command
    assert desk.coordinator.look() == []
    desk.backend.becomes("x", MachineState.ENDED)
    assert kinds(desk.coordinator.look()) == [("ended", "x", "")]


def test_what_a_machine_still_needs(tmp_path: Path) -> None:
    """After 100 of 600 s, 500 s are left: node b, which fails in 550 s, lives long enough for that
    but not for the deadline in 1100 s, and c does."""
    desk = Desk(tmp_path)
    desk.backend.start("x", "a")
    desk.coordinator.started("x", "a", Need(600, int(START) + 1200), "asked for")
    desk.now += 100
    situation = desk.coordinator._situation(int(desk.now), desk.backend.watch(), set())
    assert situation.machines == {"a": {"x": Need(500, int(START) + 1200)}}
    desk.coordinator.foresee("a", desk.now)
    desk.coordinator.foresee("b", desk.now + 550)
    assert kinds(desk.coordinator.step()) == [("moved", "x", "c")]


def test_nodes_fail_and_come_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="b")
    desk.backend.becomes("y", MachineState.LOST)
    assert kinds(desk.coordinator.node_failed("b")) == [("lost", "y", "")]
    later = desk.another()
    with pytest.raises(ParameterError, match=r"node: 'b' .*has not failed"):
        later.move("x", "b")
    later.foresee("a", START)
    assert kinds(later.step()) == [("moved", "x", "c")]
    later.node_recovered("b")
    assert later.move("x", "b").what == "moved"


def test_rooms_are_never_oversold(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="c")
    with pytest.raises(ForestallError, match=r"c: no room for another machine; it has its 1"):
        desk.coordinator.move("x", "c")
    assert desk.backend.moves == []


def test_where_a_new_machine_starts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.coordinator.foresee("a", START + 3600)
    desk.coordinator.foresee("b", START + 7200)
    node, why = desk.coordinator.choose("new", Need(3600, int(START) + 7200))
    assert (node, why) == (
        "b", "it has the capacity, and no failure is foreseen before the deadline",
    )  # fmt: skip
    for name, where in {"p": "a", "q": "b", "r": "b", "s": "c"}.items():
        desk.backend.start(name, where)
    with pytest.raises(ForestallError, match="new: no node has room"):
        desk.coordinator.choose("new", Need())


def test_unknown_nodes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    with pytest.raises(ParameterError, match=r"node: 'z' .*one of the fleet: a, b, c"):
        desk.coordinator.foresee("z", START)
    with pytest.raises(ParameterError, match=r"node: 'z'"):
        desk.coordinator.node_failed("z")


def test_one_node_at_a_time(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="c")
    desk.coordinator.foresee("a", START)
    desk.coordinator.foresee("c", START)
    assert kinds(desk.coordinator.step(only="a")) == [("moved", "x", "b")]
    assert desk.nodes()["y"] == "c"


# ------------------------------------------------------------------------ which nodes are offered

EIGHT = PlacementPlan(dict.fromkeys("abcdef", 4), lead=60, retry=30)


@pytest.mark.parametrize("strategy", ["best-fit", "first-fit", "random"])
def test_a_healthy_node_is_taken_before_failing_ones(tmp_path: Path, strategy: str) -> None:
    """No node outlives the deadline; the failing ones are emptier and come first by number."""
    desk = Desk(tmp_path, replace(EIGHT, strategy=strategy), v="a", w="f")
    for node, hours in {"a": 0, "b": 0, "c": 3, "d": 4, "e": 5, "f": 6}.items():
        desk.coordinator.foresee(node, START + 5 + 3600 * hours)
    (outcome,) = desk.coordinator.step()
    assert outcome.what == "moved"
    assert outcome.target in {"c", "d", "e", "f"}
    assert desk.coordinator.choose("new", Need())[0] in {"c", "d", "e", "f"}


def test_two_failing_nodes_and_a_third(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a", w="b")
    desk.coordinator.foresee("a", START + 10)
    desk.coordinator.foresee("b", START + 20)
    desk.coordinator.foresee("c", START + 36_000)
    done = kinds(desk.coordinator.step())
    assert done == [("moved", "v", "c"), ("stays", "w", "")]  # c has room for one
    desk.backend.becomes("v", MachineState.ENDED)
    desk.now += 11
    assert kinds(desk.coordinator.step())[-1] == ("moved", "w", "c")


def test_a_failing_node_is_better_than_none_for_a_new_machine(tmp_path: Path) -> None:
    desk = Desk(tmp_path, p="b", q="b", r="c")
    desk.coordinator.foresee("a", START)
    assert desk.coordinator.choose("new", Need())[0] == "a"
    desk.coordinator.drain("a")
    with pytest.raises(ForestallError, match="new: no node has room; a is drained"):
        desk.coordinator.choose("new", Need())


def test_drained_nodes(tmp_path: Path) -> None:
    """They are left, and nothing comes there that was not asked for by name."""
    desk = Desk(tmp_path, x="a", y="c")
    desk.coordinator.drain("a")
    (moved,) = desk.coordinator.step()
    assert (moved.what, moved.target, moved.why) == ("moved", "b", "a is drained")
    desk.coordinator.foresee("b", START)
    (stays,) = desk.coordinator.step()
    assert stays.why == "nowhere to go: a is drained"
    assert desk.coordinator.asked("a") == "asked for, though a is drained"
    assert desk.coordinator.move("x", "a").why == "asked for, though a is drained"
    desk.coordinator.drain("a", drained=False)
    assert kinds(desk.coordinator.step()) == []
    assert desk.coordinator.asked("a") == "asked for"


# ------------------------------------------------------------------------ who is to blame


@pytest.mark.parametrize(
    "state", [MachineState.PAUSED, MachineState.UNKNOWN, MachineState.BROKEN, MachineState.MOVING]
)
def test_a_guest_that_does_not_run_closes_no_node(tmp_path: Path, state: MachineState) -> None:
    desk = Desk(tmp_path, v="b", w="c")
    desk.backend.becomes("v", state)
    desk.coordinator.foresee("b", START)
    desk.coordinator.foresee("c", START)
    stays, moved = desk.coordinator.step()
    assert (stays.machine, stays.why) == ("v", f"its guest is not running ({state})")
    assert kinds([moved]) == [("moved", "w", "a")]
    assert desk.backend.moves == [("w", "a")]
    assert desk.coordinator.step() == []


def test_refusals_are_between_two(tmp_path: Path) -> None:
    """Node b does not take v, and takes w."""
    desk = Desk(tmp_path, v="a", w="a", y="c")
    desk.backend.fail = lambda machine, node: refused("v") if machine == "v" else None
    desk.coordinator.foresee("a", START)
    done = kinds(desk.coordinator.step())
    assert done == [("failed", "v", "b"), ("moved", "w", "b"), ("stays", "v", "")]


def test_a_fault_of_the_source_is_tried_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a")
    error = MoveError("v", Why.CANCELLED, "by someone", alive=True)
    desk.backend.fail = lambda machine, node: error
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("failed", "v", "b")]
    desk.backend.fail = lambda machine, node: None
    desk.now += 31
    assert kinds(desk.coordinator.step()) == [("moved", "v", "b")]  # which was not to blame


@pytest.mark.parametrize(
    "refusal",
    [ForestallError("v: busy"), MoveError("v", Why.REFUSED, "it is on c", alive=True)],
)
def test_a_machine_that_another_command_has_moved(tmp_path: Path, refusal: ForestallError) -> None:
    desk = Desk(tmp_path, v="a")

    def moved_meanwhile(machine: str, node: str) -> ForestallError:
        desk.backend.there[machine] = replace(desk.backend.there[machine], node="c")
        return refusal

    desk.backend.fail = moved_meanwhile
    desk.coordinator.foresee("a", START)
    (outcome,) = desk.coordinator.step()
    assert (outcome.what, outcome.node, outcome.target) == ("elsewhere", "a", "c")
    assert outcome.why == "has moved already"
    assert desk.coordinator.step() == []


def test_an_interrupted_move_is_closed_in_the_ledger(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a")
    desk.backend.fail = lambda machine, node: KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk.coordinator.move("v", "b")
    last = MachineLedger(desk.path).news()[-1]
    assert (last["what"], last["kind"]) == ("failed", "interrupted")


def test_what_does_not_run_is_neither_moved_nor_stopped(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a")
    desk.backend.becomes("v", MachineState.LOST)
    outcome = desk.coordinator.move("v", "b")
    assert (outcome.what, outcome.why) == ("failed", "v: is not running (lost); nothing to move")
    desk.coordinator.stop("v")
    assert desk.backend.there["v"].state == MachineState.LOST
    assert [what for what, _ in desk.what()] == ["started", "lost"]


# ------------------------------------------------------------------------ when it tries again


def test_tries_are_spread_over_the_time_that_is_left(tmp_path: Path) -> None:
    """12 s before the failure the next try comes after 4 s, not after `retry` (30 s)."""
    desk = Desk(tmp_path, x="a")
    desk.backend.fail = lambda machine, node: refused(machine)
    desk.coordinator.foresee("a", START + 12)
    assert len(desk.coordinator.step()) == 3
    desk.backend.fail = lambda machine, node: None
    desk.now += 3.9
    assert desk.coordinator.step() == []
    desk.now += 0.1
    assert kinds(desk.coordinator.step()) == [("moved", "x", "b")]


def test_a_machine_that_moved_does_not_rest(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a")
    desk.backend.fail = lambda machine, node: refused(machine) if node == "b" else None
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("failed", "v", "b"), ("moved", "v", "c")]
    desk.backend.fail = lambda machine, node: None
    desk.coordinator.foresee("c", START)
    desk.coordinator.foresee("a", None)
    desk.now += 5
    assert kinds(desk.coordinator.step()) == [("moved", "v", "a")]


def test_a_newcomer_does_not_wake_those_that_rest(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a", w="b", x="b", y="c")
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("stays", "v", "")]
    desk.backend.start("z", "a")
    assert kinds(desk.coordinator.step()) == [("stays", "z", "")]


# ------------------------------------------------------------------------ what must not stop it


def test_a_ledger_that_cannot_be_written_stops_no_move(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a", w="a")
    desk.path.unlink()
    desk.path.mkdir()
    desk.coordinator.foresee("a", START)
    assert [one.what for one in desk.coordinator.step()] == ["moved", "moved"]
    assert any("cannot be written: Is a directory" in one for one in desk.coordinator.troubles())
    desk.backend.becomes("v", MachineState.LOST)
    assert kinds(desk.coordinator.look()) == [("lost", "v", "")]
    assert desk.coordinator.look() == []


def test_a_node_over_its_capacity_does_not_stop_the_others(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="b", x="c", y="c")
    desk.coordinator.foresee("b", START)
    assert kinds(desk.coordinator.step()) == [("moved", "v", "a")]
    desk.coordinator.foresee("b", None)
    desk.coordinator.foresee("c", START)
    done = kinds(desk.coordinator.step())
    assert [what for what, _, _ in done] == ["moved", "moved"]


def test_spoilt_lines_of_the_ledger_are_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, v="a")
    with desk.path.open("a") as file:
        file.write('{"time": 1, "what": "lost"}\n')
    later = desk.another()
    assert later.troubles() == [f"{desk.path}:2: not an entry of a ledger; left out"]
    assert later.look() == []
