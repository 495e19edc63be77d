"""The coordinator with a back end that only pretends, and a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.live.backend import Moved, MoveError, Seen, State, Why
from forestall.live.coordinator import Coordinator, Outcome
from forestall.live.ledger import Ledger
from forestall.live.picture import Need, Plan
from forestall.model.errors import ForestallError, ParameterError

START = 1_700_000_000.0
PLAN = Plan({"a": 2, "b": 2, "c": 1}, lead=60, retry=30)


class Pretence:
    """Machines that are where they were put; `fail` says what goes wrong with a move."""

    def __init__(self, **machines: str) -> None:
        self.there = {
            name: Seen(name, node, State.RUNNING, pid=number)
            for number, (name, node) in enumerate(machines.items(), 1)
        }
        self.moves: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], ForestallError | None] = lambda machine, node: None

    def watch(self) -> list[Seen]:
        return [self.there[name] for name in sorted(self.there)]

    def start(self, machine: str, node: str) -> Seen:
        self.there[machine] = Seen(machine, node, State.RUNNING)
        return self.there[machine]

    def stop(self, machine: str) -> None:
        self.becomes(machine, State.STOPPED)

    def migrate(self, machine: str, node: str) -> Moved:
        self.moves.append((machine, node))
        if error := self.fail(machine, node):
            raise error
        source = self.there[machine].node
        self.there[machine] = replace(self.there[machine], node=node)
        return Moved(machine, source, node, 0.5, 0.05, 0.04, 1000, 2)

    def becomes(self, machine: str, state: State) -> None:
        self.there[machine] = replace(self.there[machine], state=state)


class Desk:
    """A coordinator with all that it needs; `now` is turned by hand."""

    def __init__(self, path: Path, **machines: str) -> None:
        self.path = path / "ledger.jsonl"
        self.now = START
        self.backend = Pretence(**machines)
        self.coordinator = self.another()
        for name, node in machines.items():
            self.coordinator.started(name, node, Need(), "asked for")

    def another(self) -> Coordinator:
        return Coordinator(PLAN, self.backend, Ledger(self.path), lambda: self.now)

    def what(self) -> list[tuple[str, str]]:
        entries = Ledger(self.path).news()
        return [(one["what"], one.get("machine", one["node"])) for one in entries]

    def nodes(self) -> dict[str, str]:
        return {seen.machine: seen.node for seen in self.backend.watch()}


def kinds(outcomes: list[Outcome]) -> list[tuple[str, str, str]]:
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
    moved = [one for one in Ledger(desk.path).news() if one["what"] == "moved"]
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
    desk.backend.becomes("w", State.ENDED)
    desk.now += 30
    assert kinds(desk.coordinator.step()) == [("ended", "w", ""), ("moved", "v", "b")]


def test_no_move_to_a_node_that_is_to_be_left_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    for node in ("a", "b", "c"):
        desk.coordinator.foresee(node, START)
    (outcome,) = desk.coordinator.step()
    assert outcome.what == "stays"
    assert outcome.why.endswith("is the best that is left, and no safer")
    assert desk.backend.moves == []


def test_a_target_that_refuses_is_passed_over(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")

    def refuses(machine: str, node: str) -> MoveError | None:
        return MoveError(machine, Why.REFUSED, "no", alive=True) if node == "b" else None

    desk.backend.fail = refuses
    desk.coordinator.foresee("a", START)
    assert kinds(desk.coordinator.step()) == [("failed", "x", "b"), ("moved", "x", "c")]
    assert [what for what, _ in desk.what()] == ["started", "move", "failed", "move", "moved"]


def test_everything_refuses(tmp_path: Path) -> None:
    """Each target is tried once; then there is peace for a while."""
    desk = Desk(tmp_path, x="a")
    desk.backend.fail = lambda machine, node: MoveError(machine, Why.TIMEOUT, "slow", alive=True)
    desk.coordinator.foresee("a", START)
    done = kinds(desk.coordinator.step())
    assert done == [("failed", "x", "b"), ("failed", "x", "c"), ("stays", "x", "")]
    assert desk.coordinator.step() == []
    desk.now += 31
    assert desk.coordinator.step()[0].what == "failed"
    assert desk.nodes() == {"x": "a"}


def test_a_source_that_dies_is_lost_and_said_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")

    def dies(machine: str, node: str) -> MoveError:
        desk.backend.becomes(machine, State.LOST)
        return MoveError(machine, Why.LOST, "QEMU on a ended half-way", alive=False)

    desk.backend.fail = dies
    desk.coordinator.foresee("a", START)
    (failed,) = desk.coordinator.step()
    assert "it is lost" in failed.why
    assert kinds(desk.coordinator.step()) == [("lost", "x", "")]
    assert desk.coordinator.step() == []


def test_a_machine_that_another_command_holds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.backend.fail = lambda machine, node: ForestallError("x: another command is at work on it")
    outcome = desk.coordinator.move("x", "b")
    assert outcome.what == "failed"
    assert "another command" in outcome.why


def test_ends_are_told_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="a")
    desk.backend.becomes("x", State.ENDED)
    desk.backend.becomes("y", State.LOST)
    assert kinds(desk.coordinator.look()) == [("ended", "x", ""), ("lost", "y", "")]
    assert desk.coordinator.look() == []
    assert desk.another().look() == []  # the ledger remembers


def test_without_its_ledger_it_knows_what_it_saw(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="b")
    desk.path.unlink()
    desk.backend.becomes("y", State.LOST)
    fresh = desk.another()
    assert fresh.look() == []  # who knows when y was lost
    desk.backend.becomes("x", State.LOST)
    assert kinds(fresh.look()) == [("lost", "x", "")]


def test_a_machine_that_was_started_again_can_end_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a")
    desk.backend.becomes("x", State.ENDED)
    desk.coordinator.look()
    desk.backend.start("x", "b")
    desk.another().started("x", "b", Need(), "asked for")  # by another command
    assert desk.coordinator.look() == []
    desk.backend.becomes("x", State.ENDED)
    assert kinds(desk.coordinator.look()) == [("ended", "x", "")]


def test_what_a_machine_still_needs(tmp_path: Path) -> None:
    """After 100 of 600 s, 500 s are left: node b, which fails in 550 s, lives long enough for that
    but not for the deadline in 1100 s, and c does."""
    desk = Desk(tmp_path)
    desk.backend.start("x", "a")
    desk.coordinator.started("x", "a", Need(600, int(START) + 1200), "asked for")
    desk.now += 100
    situation = desk.coordinator._situation(int(desk.now))
    assert situation.machines == {"a": {"x": Need(500, int(START) + 1200)}}
    desk.coordinator.foresee("a", desk.now)
    desk.coordinator.foresee("b", desk.now + 550)
    assert kinds(desk.coordinator.step()) == [("moved", "x", "c")]


def test_nodes_fail_and_come_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, x="a", y="b")
    desk.backend.becomes("y", State.LOST)
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
    with pytest.raises(ParameterError, match=r"node: 'c' .*its 1 machines"):
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
    with pytest.raises(ParameterError, match="every node is full"):
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
