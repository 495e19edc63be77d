"""From a predicted failure to a guest that counts on elsewhere: coordinator and QEMU, for real."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forestall.machines.acting.coordinator import Coordinator
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.acting.picture import Need, PlacementPlan
from forestall.machines.adapters.qemu.backend import QemuBackend
from forestall.machines.adapters.qemu.migration import MemoryTransfer
from forestall.vaults.adapters.qemu_guest import MIB, Guest
from qemu_machines.guest import (
    APPEND,
    DIES_WITH_TESTS,
    counted,
    images,
    nothing_left_in,
    processes_in,
    wait_for,
    wait_for_count,
    why_not,
)

pytestmark = pytest.mark.slow
PLAN = PlacementPlan({"a": 1, "b": 1, "c": 1}, lead=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if reason := why_not():
        pytest.skip(reason)
    kernel, initrd = images()
    with nothing_left_in(tmp_path_factory.mktemp("fleet")) as folder:
        backend(folder).add(Guest("counter", str(kernel), str(initrd), append=APPEND), "a")
        coordinator(folder, backend(folder)).started("counter", "a", Need(), "asked for")
        wait_for_count(consoles(folder)[-1], 5)
        yield folder


def backend(folder: Path, transfer: MemoryTransfer | None = None) -> QemuBackend:
    return QemuBackend(folder / "machines", PLAN.nodes, transfer, DIES_WITH_TESTS)


def coordinator(folder: Path, backend: QemuBackend, ahead: float = 0.0) -> Coordinator:
    """A coordinator whose clock is some seconds ahead."""
    return Coordinator(
        PLAN, backend, MachineLedger(folder / "ledger.jsonl"), lambda: time.time() + ahead
    )


def consoles(folder: Path) -> list[Path]:
    return sorted((folder / "machines" / "counter").glob("*/console.log"))


def check(folder: Path) -> None:
    """The guest counts on, no number was lost and none came twice."""
    wait_for_count(consoles(folder)[-1])
    numbers = counted(*consoles(folder))
    assert numbers == list(range(len(numbers)))


def test_the_counter_is_moved_before_its_node_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node fails when it was predicted to: the guest has left by then."""
    fails = time.time() + 100
    early = coordinator(folder, backend(folder))
    early.foresee("a", fails)
    assert early.step() == []
    (source,) = backend(folder).watch()
    in_time = coordinator(folder, backend(folder), ahead=45)
    in_time.foresee("a", fails)
    (outcome,) = in_time.step()
    assert (outcome.what, outcome.node, outcome.target) == ("moved", "a", "b")
    assert outcome.moved is not None
    assert not Path(f"/proc/{source.pid}").exists()
    first, second = consoles(folder)
    assert first.parent.name == "001.a"
    assert second.parent.name == "002.b"
    check(folder)
    assert counted(first)
    assert counted(second)
    entry = next(
        one for one in MachineLedger(folder / "ledger.jsonl").news() if one["what"] == "moved"
    )
    assert 0 < entry["gap"] < entry["seconds"]
    with capsys.disabled():
        print(  # noqa: T201
            f"\npredicted failure: moved in {entry['seconds']:.2f} s, nowhere for"
            f" {1000 * entry['gap']:.0f} ms (QEMU says {1000 * entry['reported']:.0f} ms)"
        )


def test_a_target_dies_and_the_next_one_is_taken(folder: Path) -> None:
    """The link is slow, so the target can be killed half-way; the guest never stops counting."""
    slow = backend(folder, MemoryTransfer(bandwidth=16 * MIB))
    one = coordinator(folder, slow)
    one.foresee("b", time.time())
    migrate = slow.migrate

    def and_kill(machine: str, node: str, *, expected: str | None = None) -> object:
        if node == "a":
            kill_when_there(folder / "machines" / "counter")
        return migrate(machine, node, expected=expected)

    slow.migrate = and_kill  # type: ignore[method-assign, assignment]
    outcomes = one.step()
    assert [(out.what, out.target) for out in outcomes] == [("failed", "a"), ("moved", "c")]
    assert "runs on" in outcomes[0].why
    assert len(processes_in(folder)) == 1
    check(folder)


def kill_when_there(place: Path) -> None:
    """Kill the second QEMU of a machine, from beside, when it is there and has been sent much."""
    import threading

    (source,) = processes_in(place)

    def kill() -> None:
        wait_for("there is a target", lambda: len(processes_in(place)) > 1, 30)
        wait_for("it listens", lambda: any(place.glob("*/incoming.sock")), 30)
        time.sleep(0.5)
        for pid in processes_in(place):
            if pid != source:
                os.kill(pid, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


def test_a_source_that_dies_is_told(folder: Path) -> None:
    (pid,) = processes_in(folder)
    os.kill(pid, signal.SIGKILL)
    wait_for("it is gone", lambda: not processes_in(folder), 20)
    (outcome,) = coordinator(folder, backend(folder)).step()
    assert (outcome.what, outcome.machine, outcome.node) == ("lost", "counter", "c")
