"""Live migration with a real QEMU: a counting guest moves, and survives whatever goes wrong.

One guest is booted and moves on from test to test; each number that it counts must come once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from forestall.machines.acting.backend import MoveError, Why
from forestall.machines.adapters.qemu import migration
from forestall.machines.adapters.qemu.migration import (
    MemoryTransfer,
    MigrationProgress,
    hand_over,
    progress,
)
from forestall.machines.adapters.qemu.monitor import Monitor, MonitorError
from forestall.machines.adapters.qemu.process import Run, end, launch
from forestall.vaults.adapters.qemu_guest import MIB, Guest, MachineError
from qemu_machines.guest import (
    APPEND,
    DIES_WITH_TESTS,
    counted,
    images,
    nothing_left_in,
    uptimes,
    wait_for,
    wait_for_count,
    why_not,
)

pytestmark = pytest.mark.slow
SLOW = MemoryTransfer(bandwidth=4 * MIB)
"""About 60 MiB of a small guest are in use: copying them takes some 15 s."""


class House:
    """A guest, the run that has it, and all runs that it had."""

    def __init__(self, folder: Path, guest: Guest) -> None:
        self.folder = folder
        self.guest = guest
        self.had: list[Run] = []
        self._number = itertools.count(1)

    @property
    def at(self) -> Run:
        return self.had[-1]

    def run(self, node: str) -> Run:
        return Run(self.folder / f"{next(self._number):03d}.{node}", "counter", node)

    def boot(self) -> None:
        first = self.run("a")
        launch(first, self.guest, wrapper=DIES_WITH_TESTS)
        self.had.append(first)
        wait_for_count(first.console, 5)

    def target(self, guest: Guest | None = None) -> Run:
        target = self.run("b")
        launch(target, guest or self.guest, incoming=True, wrapper=DIES_WITH_TESTS)
        return target

    def numbers(self) -> list[int]:
        """All numbers that the guest printed so far, wherever it was."""
        return counted(*(run.console for run in self.had))

    def check(self) -> None:
        """The guest counts, and no number was lost or came twice."""
        wait_for_count(self.at.console)
        numbers = self.numbers()
        assert numbers == list(range(len(numbers)))
        assert self.at.status() == "running"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if reason := why_not():
        pytest.skip(reason)
    kernel, initrd = images()
    guest = Guest("counter", str(kernel), str(initrd), append=APPEND)
    deep = tmp_path_factory.mktemp("x" * 120)  # no socket could have a path of this length
    with nothing_left_in(deep):
        one = House(deep, guest)
        one.boot()
        yield one


def failing(
    house: House, transfer: MemoryTransfer, target: Run | None = None, **more: object
) -> MoveError:
    """Try a migration that cannot come off; the guest counts on, and the target is gone."""
    target = target or house.target()
    with pytest.raises(MoveError) as raised:
        hand_over(house.at, target, transfer, **more)  # type: ignore[arg-type]
    assert raised.value.alive
    assert "runs on" in str(raised.value)
    assert not target.alive()
    assert counted(target.console) == []
    house.check()
    return raised.value


def begun(house: House) -> MigrationProgress:
    """Wait until memory flows, and say how far that is."""
    seen: list[MigrationProgress] = []

    def flows() -> bool:
        with house.at.monitor(look=True) as monitor:
            seen.append(progress(monitor))
        return seen[-1].status == "active" and seen[-1].transferred > 2 * MIB

    wait_for("memory flows", flows, 30)
    return seen[-1]


class Meanwhile(threading.Thread):
    """Does something to a migration once it is under way; what goes wrong there is not lost."""

    def __init__(self, house: House, act: object) -> None:
        super().__init__(daemon=True)
        self.house, self.act = house, act
        self.seen: MigrationProgress | None = None
        self.start()

    def run(self) -> None:
        self.seen = begun(self.house)
        self.act()  # type: ignore[operator]


class Tunnel:
    """Passes bytes on to where a target listens, until it is cut or falls silent."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tunnel.sock"
        self._listening = socket.socket(socket.AF_UNIX)
        self._here = here = os.open(folder, os.O_RDONLY)
        self._listening.bind(f"/proc/self/fd/{here}/tunnel.sock")
        self._listening.listen()
        self.uri = f"unix:/proc/{os.getpid()}/fd/{here}/tunnel.sock"
        self.silent = threading.Event()
        self._ends: list[socket.socket] = []

    def __enter__(self) -> Tunnel:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listening.close()
        os.close(self._here)
        self.path.unlink()

    def via(self, uri: str) -> str:
        threading.Thread(target=self._serve, args=(uri.removeprefix("unix:"),), daemon=True).start()
        return self.uri

    def _serve(self, path: str) -> None:
        near, _ = self._listening.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(path)
        self._ends = [near, far]
        threading.Thread(target=self._pass, args=(far, near), daemon=True).start()
        self._pass(near, far)

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if self.silent.is_set():
                    time.sleep(60)
                sink.sendall(data)
        except OSError:
            pass
        self.cut()

    def cut(self) -> None:
        for one in self._ends:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("link", ["unix", "tcp"])
def test_the_counter_goes_on_at_the_other_side(
    house: House, link: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = house.at, house.target()
    moved = hand_over(source, target, MemoryTransfer(link=link))  # type: ignore[arg-type]
    left = counted(source.console)
    house.had.append(target)
    house.check()
    assert not source.alive()
    assert counted(source.console) == left
    assert counted(target.console)[0] == left[-1] + 1
    assert (moved.machine, moved.source, moved.target) == ("counter", source.node, target.node)
    assert 0 < moved.gap <= moved.seconds
    assert moved.reported <= moved.seconds
    assert MIB < moved.transferred < 128 * MIB
    assert moved.rounds >= 1
    clock = [*uptimes(source.console), *uptimes(target.console)]
    assert clock == sorted(clock)  # the guest's own clock does not jump back either
    with capsys.disabled():
        print(  # noqa: T201
            f"\n[{link}] moved in {moved.seconds:.2f} s, stood still {1000 * moved.gap:.0f} ms"
            f" (QEMU says {1000 * moved.reported:.0f} ms), {moved.transferred / MIB:.0f} MiB in"
            f" {moved.rounds} rounds"
        )


def test_a_target_with_other_memory_refuses(house: House) -> None:
    smaller = Guest(**{**house.guest.__dict__, "memory": 96 * MIB})
    error = failing(house, MemoryTransfer(), house.target(smaller))
    assert error.why is Why.REFUSED
    assert error.blames_target
    assert "differs from the source" in str(error)


def test_nobody_listens_at_the_target(house: House) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failing(house, MemoryTransfer(), via=lambda _: f"tcp:127.0.0.1:{port}")
    assert error.why is Why.REFUSED
    assert "refused" in str(error).lower()


def test_a_target_that_does_not_wait_for_a_guest_refuses(house: House) -> None:
    already = house.run("b")
    launch(already, house.guest, wrapper=DIES_WITH_TESTS)
    error = failing(house, MemoryTransfer(), already)
    assert error.why is Why.REFUSED


def test_the_target_is_gone_before_it_begins(house: House) -> None:
    target = house.target()
    end(target)
    assert failing(house, MemoryTransfer(), target).why is Why.REFUSED


def test_the_target_dies_half_way(house: House) -> None:
    target = house.target()
    other = Meanwhile(house, lambda: os.kill(target.pid(), signal.SIGKILL))
    error = failing(house, SLOW, target)
    assert error.why is Why.BROKEN
    assert other.seen is not None
    assert other.seen.remaining > MIB


def test_the_target_hangs(house: House) -> None:
    target = house.target()
    Meanwhile(house, lambda: os.kill(target.pid(), signal.SIGSTOP))
    error = failing(house, MemoryTransfer(bandwidth=4 * MIB, timeout=3), target)
    assert error.why is Why.TIMEOUT
    assert error.blames_target


def test_the_target_dies_with_the_guest_in_its_hands(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All was copied, the source stands still; the target ends before it lets the guest run."""
    target = house.target()
    copied = migration._copied

    def and_then(*given: Any) -> MigrationProgress:
        done = copied(*given)
        assert house.at.status() == "postmigrate"
        os.kill(target.pid(), signal.SIGKILL)
        return done

    monkeypatch.setattr(migration, "_copied", and_then)
    assert failing(house, MemoryTransfer(), target).why is Why.BROKEN


def test_the_source_dies_just_after_its_guest_has_left(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = house.at, house.target()
    asked = migration.progress
    looks = itertools.count()

    def and_dies(monitor: Monitor) -> MigrationProgress:
        seen = asked(monitor)
        if next(looks) and seen.status == "completed" and source.alive():
            end(source, ask=False)
            return asked(monitor)
        return seen

    monkeypatch.setattr(migration, "progress", and_dies)
    hand_over(source, target, MemoryTransfer())
    house.had.append(target)
    house.check()


def test_the_link_is_cut_half_way(house: House) -> None:
    with Tunnel(house.folder) as tunnel:
        Meanwhile(house, tunnel.cut)
        error = failing(house, SLOW, via=tunnel.via)
    assert error.why is Why.BROKEN
    assert not error.blames_target
    assert "link broke" in str(error)


def test_the_link_falls_silent(house: House) -> None:
    with Tunnel(house.folder) as tunnel:
        Meanwhile(house, tunnel.silent.set)
        error = failing(house, MemoryTransfer(bandwidth=4 * MIB, timeout=5), via=tunnel.via)
    assert error.why is Why.TIMEOUT


def test_it_takes_too_long(house: House) -> None:
    error = failing(house, MemoryTransfer(bandwidth=MIB, timeout=1.5))
    assert error.why is Why.TIMEOUT
    assert "MiB sent" in str(error)


def test_someone_cancels_it(house: House) -> None:
    def cancel() -> None:
        with house.at.monitor(look=True) as monitor:
            monitor.ask("migrate_cancel")

    Meanwhile(house, cancel)
    assert failing(house, SLOW).why is Why.CANCELLED


def test_ctrl_c_leaves_the_guest_where_it_was(house: House) -> None:
    target = house.target()
    Meanwhile(house, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        hand_over(house.at, target, SLOW)
    assert not target.alive()
    house.check()


def after_cont(patch: pytest.MonkeyPatch, target: Run, act: Callable[[], object]) -> None:
    """Do something when the target has been told to let the guest run, and has done so a while."""
    ask = Monitor.ask

    def asked(monitor: Monitor, command: str, **more: Any) -> Any:
        answer = ask(monitor, command, **more)
        if command == "cont":
            patch.undo()
            wait_for_count(target.console)
            act()
        return answer

    patch.setattr(Monitor, "ask", asked)


def no_answer() -> NoReturn:
    raise MonitorError("gives no answer")


@pytest.mark.parametrize("act", [lambda: signal.raise_signal(signal.SIGINT), no_answer])
def test_once_the_target_is_told_there_is_only_forward(
    house: House, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    source, target = house.at, house.target()
    after_cont(monkeypatch, target, act)
    if act is no_answer:
        hand_over(source, target, MemoryTransfer())
    else:
        with pytest.raises(KeyboardInterrupt):
            hand_over(source, target, MemoryTransfer())
    assert not source.alive()
    house.had.append(target)
    house.check()


def test_interrupted_before_the_target_hears_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell whether it did; it is told again."""
    source, target = house.at, house.target()
    ask = Monitor.ask

    def asked(monitor: Monitor, command: str, **more: Any) -> Any:
        if command == "cont":
            monkeypatch.undo()
            signal.raise_signal(signal.SIGINT)
        return ask(monitor, command, **more)

    monkeypatch.setattr(Monitor, "ask", asked)
    with pytest.raises(KeyboardInterrupt):
        hand_over(source, target, MemoryTransfer())
    assert not source.alive()
    house.had.append(target)
    house.check()


def test_a_paused_guest_stays_paused(house: House) -> None:
    target = house.target()
    with house.at.monitor() as monitor:
        monitor.ask("stop")
    with pytest.raises(MoveError, match=r"not running at the source \(paused\); it stays as") as no:
        hand_over(house.at, target, MemoryTransfer())
    assert no.value.why is Why.REFUSED
    assert not no.value.blames_target
    assert not target.alive()
    assert house.at.status() == "paused"
    with house.at.monitor() as monitor:
        monitor.ask("cont")
    house.check()


def test_one_that_is_on_its_way_is_left_alone(house: House) -> None:
    first, second = house.target(), house.target()
    began = threading.Event()

    def other() -> None:
        with pytest.raises(MoveError, match="not done after 6 s"):
            hand_over(house.at, first, MemoryTransfer(bandwidth=4 * MIB, timeout=6))
        began.set()

    thread = threading.Thread(target=other)
    thread.start()
    begun(house)
    assert migration.not_ready(house.at) == "it is already migrating"
    assert first.alive()
    assert house.at.status() == "running"
    thread.join()
    assert began.is_set()
    end(second)
    house.check()


MOVER = """
import sys
from pathlib import Path
from forestall.machines.adapters.qemu.migration import MemoryTransfer, hand_over
from forestall.machines.adapters.qemu.process import Run
source, target = (Run(Path(folder), "counter", "x") for folder in sys.argv[1:])
hand_over(source, target, MemoryTransfer(bandwidth=4 << 20))
"""


def test_the_mover_is_killed_half_way(house: House) -> None:
    """Nothing tidies up: the guest runs on all the same, as the link went with the mover."""
    target = house.target()
    words = [sys.executable, "-c", MOVER, str(house.at.folder), str(target.folder)]
    with subprocess.Popen(words) as mover:
        begun(house)
        mover.kill()

    def given_up() -> bool:
        with house.at.monitor() as monitor:
            return progress(monitor).status == "failed"

    wait_for("the source gives up", given_up, 20)
    end(target, ask=False)
    house.check()


def test_it_still_moves_after_all_that(house: House) -> None:
    target = house.target()
    hand_over(house.at, target, MemoryTransfer())
    house.had.append(target)
    house.check()


def test_the_source_dies_half_way(house: House) -> None:
    """Comes last: this guest is lost."""
    target = house.target()
    Meanwhile(house, lambda: os.kill(house.at.pid(), signal.SIGKILL))
    with pytest.raises(MoveError) as raised:
        hand_over(house.at, target, SLOW)
    assert raised.value.why is Why.LOST
    assert not raised.value.alive
    assert "lost" in str(raised.value)
    assert not house.at.alive()
    assert not target.alive()


def test_what_qemu_does_not_take_is_one_line(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    kernel = images().kernel
    run = Run(tmp_path / "run", "odd", "a")
    with pytest.raises(MachineError, match=r"^odd: QEMU does not start on a: unsupported machine"):
        launch(run, Guest("odd", str(kernel), machine="nonsense"))
    assert not run.alive()


def test_a_qemu_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    run = Run(tmp_path / "run", "stuck", "a")
    with nothing_left_in(tmp_path):
        launch(run, Guest("stuck", str(images().kernel)), wrapper=DIES_WITH_TESTS)
        pid = run.pid()
        os.kill(pid, signal.SIGSTOP)
        assert run.status(patience=0.5) == ""
        end(run, grace=0.5)
        assert not run.alive()
        assert not Path(f"/proc/{pid}").exists()
