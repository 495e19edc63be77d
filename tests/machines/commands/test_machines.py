"""`forestall machines`: wrong input without QEMU, and a whole day of a fleet with it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.commands.calls import Called, call
from forestall.machines.fleet.machines import FleetFolder, only_watch
from qemu_machines.guest import (
    APPEND,
    ENDS_SOME_TIME,
    counted,
    images,
    nothing_left_in,
    processes_in,
    wait_for,
    wait_for_count,
    why_not,
)

NODES = "lead = 5\n[nodes]\na = 1\nb = 1\nc = 2\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "fleet.toml").write_text(NODES)
    return tmp_path


class TestWrongInput:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("start", "vm", "--kernel", "no"), "kernel: '"),
            (("start", "../vm", "--kernel", "K"), "machine: '../vm' is not allowed"),
            (("start", "vm", "--kernel", "K", "--node", "z"), "node: 'z' is not allowed"),
            (("start", "vm", "--kernel", "K", "--memory", "much"), "--memory: 'much'"),
            (("start", "vm", "--kernel", "K", "--accel", "a b"), "accel: 'a b'"),
            (("start", "vm", "--kernel", "K", "--qemu", "'"), '--qemu: "\'" is not allowed'),
            (("start", "vm", "--kernel", "K", "--deadline", "x"), "--deadline: 'x'"),
            (("start", "vm", "--kernel", "K", "--runtime", "0"), "--runtime: '0'"),
            (
                ("start", "vm", "--kernel", "K", "--runtime", "2h", "--deadline", "1h"),
                "--deadline: '1h' is not allowed; expected a time that leaves --runtime 2h",
            ),
            (("start", "vm"), "give --kernel FILE, or with hosts --domain FILE"),
            (("migrate", "vm", "--to", "b"), "machine: 'vm' is not allowed"),
            (("migrate", "vm", "--to", "z"), "machine: 'vm' is not allowed"),
            (("stop", "vm"), "machine: 'vm' is not allowed; expected one of the fleet: there is"),
            (("drain", "z"), "node: 'z' is not allowed; expected one of the fleet: a, b, c"),
            (("foresee", "z", "--in", "1h"), "node: 'z' is not allowed"),
            (("foresee", "a"), "one of --at TIME, --in DURATION and --never"),
            (("foresee", "a", "--in", "1h", "--never"), "one of --at TIME"),
            (("foresee", "a", "--at", "soon"), "--at: 'soon' is not allowed"),
            (("foresee", "a", "--at", "99999999999999"), "from 1970 to 4147"),
            (("foresee", "a", "--in", "790000d"), "--in: '790000d' is not allowed"),
            (("foresee", "a", "--at", "tomorrow"), "or seconds since 1970"),
            (("drain", "z", "--undo"), "node: 'z' is not allowed"),
            (("watch", "--every", "0"), "--every: '0' is not allowed"),
            (("watch", "--for", "x"), "--for: 'x' is not allowed"),
        ],
    )
    def test_is_one_line(
        self, fleet: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
    ) -> None:
        kernel = fleet / "kernel"
        kernel.touch()
        given = [str(kernel) if word == "K" else word for word in arguments]
        done = call(capsys, "machines", *given, "--fleet", fleet)
        assert done.code == 2
        assert told in done.err
        assert len(done.err.splitlines()) == 1
        assert not (fleet / "ledger.jsonl").exists()
        assert not (fleet / "machines").exists() or not list((fleet / "machines").iterdir())

    def test_no_fleet(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        done = call(capsys, "machines", "list", "--fleet", tmp_path / "no")
        assert done.code == 2
        assert "fleet.toml: is not there; it needs [nodes]" in done.err

    def test_a_torn_or_spoilt_predictions_file(
        self, fleet: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (fleet / "predictions.csv").write_text("time,node\n12,a\nx,a\n")
        done = call(capsys, "machines", "list", "--fleet", fleet)
        assert done.code == 0
        assert "1970-01-01 00:00:12 (leaving)" in done.out
        assert "predictions.csv:3: time: 'x'" in done.err
        assert len(done.err.splitlines()) == 1

    def test_a_spoilt_ledger(self, fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (fleet / "ledger.jsonl").write_text('{"time": 1, "what": "started"}\n')
        done = call(capsys, "machines", "list", "--fleet", fleet)
        assert done.code == 0
        assert "ledger.jsonl:1: not an entry of a ledger; left out" in done.err

    def test_a_second_watch(self, fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with only_watch(fleet):
            done = call(capsys, "machines", "watch", "--for", "0", "--quiet", "--fleet", fleet)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"forestall: {fleet}: another watch runs on this fleet\n"

    @pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    def test_signals_end_a_command_in_one_line(
        self,
        fleet: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        what: signal.Signals,
    ) -> None:
        before = signal.getsignal(what)
        monkeypatch.setattr(FleetFolder, "drain", lambda self, node: os.kill(os.getpid(), what))
        done = call(capsys, "machines", "drain", "a", "--fleet", fleet)
        assert done.code == 130
        assert done.err == (
            "forestall: interrupted; `forestall machines list` says where each machine runs\n"
        )
        assert signal.getsignal(what) == before

    def test_a_full_disk(
        self, fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x/machine.json")

        monkeypatch.setattr(FleetFolder, "stop", full)
        done = call(capsys, "machines", "stop", "vm", "--fleet", fleet)
        assert (done.code, done.err) == (
            2,
            "forestall: /x/machine.json: No space left on device\n",
        )


def test_an_empty_fleet(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "machines", "list", "--fleet", fleet)
    assert done.code == 0
    assert [line.split()[:4] for line in done.out.splitlines()[1:]] == [
        ["a", "1", "0", "1"], ["b", "1", "0", "1"], ["c", "2", "0", "2"],
    ]  # fmt: skip
    drained = call(capsys, "machines", "drain", "a", "--fleet", fleet)
    assert (drained.code, drained.out) == (0, "a: no machine is on it\n")
    listed = json.loads(call(capsys, "machines", "list", "--fleet", fleet, "--json").out)
    assert [one["leaving"] for one in listed["nodes"]] == [True, False, False]
    assert [one["drained"] for one in listed["nodes"]] == [True, False, False]
    assert "- (drained)" in call(capsys, "machines", "list", "--fleet", fleet).out
    back = call(capsys, "machines", "drain", "a", "--undo", "--fleet", fleet)
    assert (back.code, back.out) == (0, "a: in use again\n")
    listed = json.loads(call(capsys, "machines", "list", "--fleet", fleet, "--json").out)
    assert [one["leaving"] for one in listed["nodes"]] == [False, False, False]


def test_a_spoilt_record_of_a_machine(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told in the list, and stops neither a watch nor other machines."""
    (fleet / "machines" / "vm" / "001.b").mkdir(parents=True)
    (fleet / "machines" / "vm" / "machine.json").write_text("{")
    done = call(capsys, "machines", "list", "--fleet", fleet, "--json")
    assert done.code == 0, done.err
    (told,) = json.loads(done.out)["machines"]
    assert (told["machine"], told["node"], told["state"]) == ("vm", "b", "unknown")
    assert "machine.json: is damaged or was not written by forestall" in told["says"]
    assert call(capsys, "machines", "list", "--fleet", fleet).code == 0
    watched = call(capsys, "machines", "watch", "--for", "0", "--quiet", "--fleet", fleet)
    assert (watched.code, watched.err) == (0, "")
    stopped = call(capsys, "machines", "stop", "vm", "--fleet", fleet)
    assert stopped.code == 2
    assert "machine.json: is damaged or was not written by forestall" in stopped.err


def test_long_names_do_not_cut_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fleet.toml").write_text(f"[nodes]\n{'n' * 64} = 1\n")
    call(capsys, "machines", "foresee", "n" * 64, "--at", "2096-01-01", "--fleet", tmp_path)
    listed = call(capsys, "machines", "list", "--fleet", tmp_path).out
    assert "2096-01-01 00:00:00" in listed
    assert max(len(line) for line in listed.splitlines()) <= 100


def test_foreseeing(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "machines", "foresee", "a", "--at", "2096-01-01", "--fleet", fleet)
    assert done.out == "a: expected to fail at 2096-01-01 00:00:00; machines leave it 5 s before\n"
    listed = call(capsys, "machines", "list", "--fleet", fleet).out
    assert "2096-01-01 00:00:00" in listed
    before = int(time.time())
    soon = call(capsys, "machines", "foresee", "b", "--in", "1h", "--fleet", fleet, "--json")
    assert before + 3600 <= json.loads(soon.out)["foreseen"] <= time.time() + 3600
    never = call(capsys, "machines", "foresee", "a", "--never", "--fleet", fleet)
    assert never.out == "a: no failure is expected\n"
    assert (fleet / "predictions.csv").read_text().endswith(",b\n,a\n")


def test_an_empty_watch_ends(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "machines", "watch", "--for", "0", "--fleet", fleet, "--json")
    assert (done.code, done.out) == (0, "")


# ------------------------------------------------------------------------------- with QEMU


class Day:
    """A fleet with real machines, and calls of the command line on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        wrapper = json.dumps(ENDS_SOME_TIME)
        (folder / "fleet.toml").write_text(f"wrapper = {wrapper}\nretry = 1\n{NODES}")

    def call(self, capsys: pytest.CaptureFixture[str], *words: str) -> Called:
        return call(capsys, "machines", *words, "--fleet", self.folder)

    def start(
        self, capsys: pytest.CaptureFixture[str], name: str, *words: str, append: str = APPEND
    ) -> Called:
        kernel, initrd = images()
        boot = ("--kernel", str(kernel), "--initrd", str(initrd), "--append", append)
        return self.call(capsys, "start", name, *boot, *words)

    def states(self, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
        told = json.loads(self.call(capsys, "list", "--json").out)
        return {one["machine"]: (one["node"], one["state"]) for one in told["machines"]}

    def consoles(self, name: str) -> list[Path]:
        return sorted((self.folder / "machines" / name).glob("*/console.log"))

    def check(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        """It counts on, and no number was lost or came twice."""
        told = json.loads(self.call(capsys, "list", "--json").out)
        (here,) = (one["console"] for one in told["machines"] if one["machine"] == name)
        wait_for_count(Path(here))
        numbers = counted(*self.consoles(name))
        assert numbers == list(range(len(numbers)))

    def watching(self, *words: str) -> subprocess.Popen[str]:
        code = "import sys; from core.commands.calls import main; sys.exit(main(sys.argv[1:]))"
        call = ("machines", "watch", "--fleet", str(self.folder), *words)
        return subprocess.Popen(
            (sys.executable, "-c", code, *call),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    if reason := why_not():
        pytest.skip(reason)
    with nothing_left_in(tmp_path_factory.mktemp("fleet")) as folder:
        yield Day(folder)


@pytest.mark.slow
class TestRealMachines:
    """One day of a fleet, in this order."""

    def test_starting(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        first = day.start(capsys, "vm1", "--node", "a")
        assert first.code == 0, first.err
        assert first.out.startswith("vm1: runs on a (asked for); console: ")
        full = day.start(capsys, "vm2", "--node", "a")
        assert full.code == 1
        assert "a: no room for another machine; it has its 1 already" in full.err
        second = day.start(capsys, "vm2", "--runtime", "1h", append=f"{APPEND} last=40")
        assert second.code == 0
        assert day.states(capsys)["vm1"] == ("a", "running")
        again = day.start(capsys, "vm1", "--node", "b")
        assert again.code == 1
        assert "vm1: already runs on a" in again.err
        wait_for_count(day.consoles("vm1")[0], 3)

    def test_the_list_fits(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        listed = day.call(capsys, "list").out
        assert max(len(line) for line in listed.splitlines()) <= 100
        assert "machines/vm1/001.a/console.log" in listed

    def test_migrating(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        here, _ = day.states(capsys)["vm1"]
        same = day.call(capsys, "migrate", "vm1", "--to", here)
        assert same.code == 2
        done = day.call(capsys, "migrate", "vm1", "--to", "c", "--json")
        assert done.code == 0, done.err
        (told,) = json.loads(done.out)
        assert (told["what"], told["node"], told["target"]) == ("moved", "a", "c")
        assert 0 < told["gap"] < told["seconds"]
        day.check("vm1", capsys)

    def test_a_machine_that_ends(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        wait_for("vm2 ended", lambda: day.states(capsys)["vm2"][1] == "ended")
        assert counted(day.consoles("vm2")[-1])[-1] == 40

    def test_draining(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        """Beside a running watch, which finds nothing left to do."""
        with day.watching("--every", "1s") as watch:
            assert watch.stdout is not None
            watch.stdout.readline()
            done = day.call(capsys, "drain", "c")
            second = day.call(capsys, "watch", "--for", "0")
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(30) == 130
            told = watch.stdout.read()
        assert "vm1" not in told
        assert told.endswith("forestall: stopped watching; the machines run on\n")
        assert done.code == 0, done.err
        assert second.code == 2
        assert "vm1: moved from c to " in done.out
        assert day.states(capsys)["vm1"][0] in {"a", "b"}
        day.check("vm1", capsys)
        assert day.call(capsys, "drain", "c", "--undo").code == 0

    def test_a_watch_moves_it_in_time(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        """Killed and started again in between; a bad line of predictions does not end it."""
        here, _ = day.states(capsys)["vm1"]
        first = day.watching("--every", "1s")
        assert first.stdout is not None
        assert "watching over 3 nodes" in first.stdout.readline()
        first.kill()
        first.wait()
        first.stdout.close()
        with day.watching("--every", "1s") as second:
            assert second.stdout is not None
            second.stdout.readline()
            with (day.folder / "predictions.csv").open("a") as file:
                file.write("soon,a\n")
            assert "predictions.csv:" in second.stdout.readline()
            assert day.call(capsys, "foresee", here, "--in", "3s").code == 0
            line = second.stdout.readline()
            assert f"vm1: moved from {here} to " in line
            second.send_signal(signal.SIGINT)
            assert second.wait(30) == 130
            assert "stopped watching; the machines run on" in second.stdout.read()
        assert day.states(capsys)["vm1"][0] != here
        day.check("vm1", capsys)

    def test_a_move_that_fails(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        """So slow that it takes too long."""
        file = day.folder / "fleet.toml"
        before = file.read_text()
        file.write_text(f"{before}[migration]\nbandwidth = '1M'\ntimeout = 1\n")
        here, _ = day.states(capsys)["vm1"]
        other = "b" if here == "a" else "a"
        done = day.call(capsys, "migrate", "vm1", "--to", other)
        file.write_text(before)
        assert done.code == 1
        assert "\nvm1: not moved (timeout): not done after 1 s" in done.err
        assert done.err.endswith("it runs on where it was\n")
        assert day.states(capsys)["vm1"] == (here, "running")
        day.check("vm1", capsys)

    def test_stopping(self, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
        assert day.call(capsys, "stop", "vm1").out == "vm1: stopped\n"
        assert day.states(capsys)["vm1"][1] == "stopped"
        assert processes_in(day.folder) == []
        gone = day.call(capsys, "migrate", "vm1", "--to", "a")
        assert gone.code == 1
        assert "vm1: is not running (stopped); nothing to move" in gone.err
        whats = [json.loads(line)["what"] for line in (day.folder / "ledger.jsonl").open()]
        assert whats.count("started") == 2
        assert whats.count("moved") == 3
        assert whats.count("failed") >= 1
        assert whats[-1] != "lost"
