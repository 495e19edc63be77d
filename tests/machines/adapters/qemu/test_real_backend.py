"""The back end with a real QEMU: what it finds, what it does, and what killed commands leave."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.machines.acting.backend import MachineState, MoveError, Why
from forestall.machines.adapters.qemu import backend as module
from forestall.machines.adapters.qemu import migration
from forestall.machines.adapters.qemu.backend import QemuBackend
from forestall.machines.adapters.qemu.monitor import Monitor
from forestall.machines.adapters.qemu.process import Run
from forestall.vaults.adapters.qemu_guest import Guest, MachineError
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


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QemuBackend]:
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("machines")
    kernel, initrd = images()
    with nothing_left_in(folder):
        one = QemuBackend(folder, ("a", "b", "c"), wrapper=DIES_WITH_TESTS)
        one.add(Guest("counter", str(kernel), str(initrd), append=APPEND), "a")
        wait_for_count(console(one), 3)
        yield one


def console(fleet: QemuBackend) -> Path:
    return Path(fleet.look("counter").console)


def numbers(fleet: QemuBackend) -> list[int]:
    runs = sorted(console(fleet).parents[1].glob("[0-9]*"))
    return counted(*(run / "console.log" for run in runs))


def check(fleet: QemuBackend, node: str) -> None:
    """The machine is on this node, in one process, and counts without a gap."""
    (seen,) = fleet.watch()
    assert (seen.machine, seen.node, seen.state) == ("counter", node, MachineState.RUNNING)
    assert processes_in(Path(seen.console).parents[2]) == [seen.pid]
    wait_for_count(Path(seen.console))
    so_far = numbers(fleet)
    assert so_far == list(range(len(so_far)))


def killed(*_: Any, **__: Any) -> NoReturn:
    """Stands for SIGKILL: nothing is tidied up after it."""
    raise KeyboardInterrupt


def test_it_moves(fleet: QemuBackend) -> None:
    before = console(fleet)
    moved = fleet.migrate("counter", "b")
    assert (moved.source, moved.target) == ("a", "b")
    check(fleet, "b")
    assert counted(console(fleet))[0] == counted(before)[-1] + 1


def test_killed_while_memory_flows(fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migration, "settle", lambda *_: False)
        patch.setattr(migration, "_copied", killed)
        with pytest.raises(KeyboardInterrupt):
            fleet.migrate("counter", "c")
    assert len(processes_in(console(fleet).parents[1])) == 1  # the look has tidied up
    check(fleet, "b")


def test_killed_with_the_guest_between_both(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migration, "settle", lambda *_: False)
        stop_at_cont(patch)
        with pytest.raises(KeyboardInterrupt):
            fleet.migrate("counter", "c")
    check(fleet, "b")


def test_killed_before_it_was_written_down(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migration, "end", killed)
        with pytest.raises(KeyboardInterrupt):
            fleet.migrate("counter", "c")
    check(fleet, "c")


def test_killed_and_then_the_source_dies(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target has all of the guest, and nobody else has: it goes on there."""
    source = fleet.look("counter").pid
    with monkeypatch.context() as patch:
        patch.setattr(migration, "settle", lambda *_: False)
        stop_at_cont(patch)
        with pytest.raises(KeyboardInterrupt):
            fleet.migrate("counter", "a")
    os.kill(source, signal.SIGKILL)
    check(fleet, "a")


def stop_at_cont(patch: pytest.MonkeyPatch) -> None:
    ask = Monitor.ask

    def asked(monitor: Monitor, command: str, **more: Any) -> Any:
        return killed() if command == "cont" else ask(monitor, command, **more)

    patch.setattr(Monitor, "ask", asked)


def test_a_target_that_cannot_be_started(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> NoReturn:
        raise MachineError("counter", "no memory")

    with monkeypatch.context() as patch:
        patch.setattr(module, "launch", fails)
        with pytest.raises(MoveError, match="no memory; it runs on") as raised:
            fleet.migrate("counter", "b")
    assert raised.value.why is Why.REFUSED
    check(fleet, "a")


def test_two_commands_at_once(fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    with fleet._locked("counter"):
        monkeypatch.setattr(fleet, "_locked", lambda name: QemuBackend._locked(fleet, name, 0.1))
        with pytest.raises(MachineError, match="another command is working on it"):
            fleet.migrate("counter", "b")
        monkeypatch.undo()
        assert fleet.look("counter").state is MachineState.RUNNING  # a look does not wait


def test_what_cannot_be(fleet: QemuBackend, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="node: 'a' is not allowed; expected another node"):
        fleet.migrate("counter", "a")
    with pytest.raises(ParameterError, match=r"node: 'z' .*one of the fleet: a, b, c"):
        fleet.migrate("counter", "z")
    with pytest.raises(ParameterError, match=r"machine: 'other' .*one of the fleet: counter"):
        fleet.migrate("other", "b")
    with pytest.raises(MachineError, match="counter: already runs on a"):
        fleet.add(fleet.guest("counter"), "b")
    with pytest.raises(ParameterError, match=r"node: '\.\./x'"):
        QemuBackend(tmp_path, ("../x",))


def test_it_is_elsewhere_by_now(fleet: QemuBackend) -> None:
    before = numbers_of_runs(fleet)
    with pytest.raises(MoveError, match="it is not on c, but on a; nothing was started") as raised:
        fleet.migrate("counter", "b", expected="c")
    assert raised.value.why is Why.REFUSED
    assert raised.value.alive
    assert not raised.value.blames_target
    assert numbers_of_runs(fleet) == before
    fleet.migrate("counter", "b", expected="a")
    fleet.migrate("counter", "a", expected="b")
    check(fleet, "a")


def numbers_of_runs(fleet: QemuBackend) -> list[str]:
    return sorted(path.name for path in console(fleet).parents[1].glob("[0-9]*"))


def test_a_paused_guest_is_refused_before_anything_is_begun(fleet: QemuBackend) -> None:
    before = numbers_of_runs(fleet)
    source = fleet._current(fleet._record("counter"))
    with source.monitor() as monitor:
        monitor.ask("stop")
    with pytest.raises(MoveError, match=r"not running at the source \(paused\)") as raised:
        fleet.migrate("counter", "b")
    assert not raised.value.blames_target
    assert fleet.look("counter").state is MachineState.PAUSED
    assert numbers_of_runs(fleet) == before
    with source.monitor() as monitor:
        monitor.ask("cont")
    check(fleet, "a")


def test_a_qemu_that_hangs_is_unknown(fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []
    status = Run.status

    def asked(run: Run, seconds: float) -> str:
        patience.append(seconds)
        return status(run, min(seconds, 0.3))

    monkeypatch.setattr(Run, "status", asked)
    monkeypatch.setattr(migration, "_SILENT", 0.3)
    pid = fleet.look("counter").pid
    os.kill(pid, signal.SIGSTOP)
    try:
        patience.clear()
        assert fleet.look("counter").state is MachineState.UNKNOWN
        assert fleet.look("counter").state is MachineState.UNKNOWN
        assert patience == [module._LOOK, module._SHORT]  # one question each, the second one short
        with pytest.raises(MoveError, match=r"gives no answer.*; nothing was started") as raised:
            fleet.migrate("counter", "b")
        assert raised.value.alive
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for("it answers", lambda: fleet.look("counter").state is MachineState.RUNNING, 20)
    check(fleet, "a")


def test_a_silent_target_that_may_run_is_not_killed(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its mover was killed after it had told the target, which hangs now; later it goes on."""
    with monkeypatch.context() as patch:
        patch.setattr(migration, "end", lambda *_, **__: None)
        fleet.migrate("counter", "b")
    runs = fleet._runs("counter")
    target = next(run for run in runs if run.node == "b")
    os.kill(target.pid(), signal.SIGSTOP)
    try:
        monkeypatch.setattr(module, "_LOOK", 0.3)
        assert fleet.look("counter").state in {MachineState.MOVING, MachineState.UNKNOWN}
        assert [run.node for run in fleet._runs("counter")] == ["a", "b"]
    finally:
        os.kill(target.pid(), signal.SIGCONT)
    wait_for("it answers", lambda: fleet.look("counter").node == "b", 20)
    check(fleet, "b")
    fleet.migrate("counter", "a")


def test_a_guest_that_panicked_is_broken(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in ("internal-error", "guest-panicked", "io-error"):
        with monkeypatch.context() as patch:
            patch.setattr(Run, "status", lambda *_, word=word: word)
            seen = fleet.look("counter")
        assert (seen.state, seen.says) == (MachineState.BROKEN, word)
        assert seen.state.alive


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "machines").write_text("a file")
    fleet = QemuBackend(tmp_path / "machines", ("a",))
    with pytest.raises(MachineError, match=r"^vm: \S+ cannot be written: Not a directory$"):
        fleet.add(Guest("vm", __file__), "a")


def test_a_move_that_came_off_is_told_though_it_cannot_be_written_down(
    fleet: QemuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> NoReturn:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert fleet.migrate("counter", "c").target == "c"
        assert fleet.look("counter").node == "c"
        with pytest.raises(MachineError, match="cannot be written: No space left on device"):
            fleet._write(fleet._record("counter"))
    check(fleet, "c")
    fleet.migrate("counter", "a")


def test_a_guest_whose_process_is_killed_is_lost(fleet: QemuBackend) -> None:
    os.kill(fleet.look("counter").pid, signal.SIGKILL)
    wait_for("it is gone", lambda: fleet.look("counter").pid == 0, 20)
    assert fleet.look("counter").state is MachineState.LOST
    with pytest.raises(MachineError, match=r"counter: is not running \(lost\)"):
        fleet.migrate("counter", "b")
    fleet.stop("counter")
    assert fleet.look("counter").state is MachineState.LOST


def test_a_guest_that_switches_off_has_ended(fleet: QemuBackend) -> None:
    guest = Guest(**{**fleet.guest("counter").__dict__, "append": f"{APPEND} last=3"})
    fleet.add(guest, "b")
    wait_for("it ended", lambda: fleet.look("counter").state is MachineState.ENDED)
    assert counted(console(fleet)) == [0, 1, 2, 3]
    assert processes_in(console(fleet).parents[1]) == []
    fleet.stop("counter")
    assert fleet.look("counter").state is MachineState.ENDED


def test_a_machine_that_cannot_be_started_is_none(fleet: QemuBackend) -> None:
    """A new one is forgotten, an earlier one stays as it was."""
    before = fleet.look("counter")
    for name in ("odd", "counter"):
        odd = Guest(**{**fleet.guest("counter").__dict__, "name": name, "machine": "nonsense"})
        with pytest.raises(MachineError, match="QEMU does not start on b: unsupported machine"):
            fleet.add(odd, "b")
    assert fleet.watch() == [before]
    assert fleet.guest("counter").machine == "q35"


def test_stopping(fleet: QemuBackend) -> None:
    fleet.start("counter", "c")
    assert fleet.look("counter").state is MachineState.RUNNING
    fleet.stop("counter")
    assert fleet.look("counter").state is MachineState.STOPPED
    assert processes_in(console(fleet).parents[1]) == []
    fleet.stop("counter")


def test_a_record_that_was_spoilt(tmp_path: Path) -> None:
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / "machine.json").write_text("{}")
    with pytest.raises(TraceError, match=r"machine\.json: is damaged or was not written"):
        QemuBackend(tmp_path, ("a",)).watch()
