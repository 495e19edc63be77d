"""The driver with a real program and storage hosts that fail: what it says, and what is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError
from forestall.core.processes.processes import descendants
from forestall.vaults import keys
from forestall.vaults.acting import driver as module
from forestall.vaults.acting.calls import ask
from forestall.vaults.acting.driver import UNFINISHED, Driver
from forestall.vaults.acting.held import HeldProgram, RunError
from forestall.vaults.acting.plan import RunPlan, RunRules, Surroundings
from forestall.vaults.acting.upload import ImageSaving, KeptNewest
from forestall.vaults.acting.ways import ProgramStart, SelfSaving
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.rules.moments import learned
from forestall.vaults.runs import RunHistory, Sign, read_history
from forestall.vaults.saving import SaveSettings, save
from vaults.hosts_that_fail import hosts

PROGRAM = 'trap "date +%N > new; mv new state" USR1; while :; do sleep 0.02; done'
Saw = Callable[[str], None]


class Runs:
    """Runs of one program, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.hosts = folder, hosts(3)
        self.vault = Vault.open(self.hosts, begin=VaultRules())
        self.said: list[str] = []
        self.place = "runs"
        settings = SaveSettings(label="run:job")
        saving = ImageSaving("run:job", lambda vault, path, tell: save(
            vault, [path], settings, tell=tell))  # fmt: skip
        self.rules = RunRules(saving, every=0.1, life=0.9, patience=0.5)
        self.words = ("sh", "-c", PROGRAM)
        self.leaving: Callable[[], str] = lambda: ""

    def run(self, saw: Saw = lambda line: None, **rules: object) -> int:
        def say(line: str) -> None:
            self.said.append(line)
            saw(line)

        start = ProgramStart(self.words, self.folder, {})
        way = SelfSaving((self.folder / "state",), signal.SIGUSR1, timeout=20)
        plan = RunPlan("job", start, self.folder / self.place / "job")
        around = Surroundings(lambda history: learned(history.evictions, history.ran), say)
        around.leaving = self.leaving
        self.driver = Driver(self.vault, plan, way, replace(self.rules, **rules), around)  # type: ignore[arg-type]
        return self.driver.run()

    def stop_after(self, count: int, text: str = "is in the vault") -> Saw:
        """End the run when it has said this so often."""

        def saw(line: str) -> None:
            nonlocal count
            count -= text in line
            if not count:
                count -= 1
                os.kill(os.getpid(), signal.SIGTERM)

        return saw


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setattr(module, "AGAIN", 0.05)
    monkeypatch.chdir(tmp_path)
    return Runs(tmp_path)


def test_storage_hosts_that_are_away_are_waited_for(runs: Runs) -> None:
    stop = runs.stop_after(1)

    def saw(line: str) -> None:
        if "saved:" in line and len(runs.vault.names()) == 0 and "not in" not in str(runs.said):
            for one in runs.hosts:
                one.away = True
        if "not in the vault" in line:
            for one in runs.hosts:
                one.away = False
        stop(line)

    assert runs.run(saw, life=30.0) == UNFINISHED
    assert any("Connection refused" in line for line in runs.said)
    assert len(runs.vault.names()) >= 1
    assert not list((runs.folder / "runs" / "job").glob("image-*"))


def test_a_program_leaves_a_host_that_is_about_to_be_taken(runs: Runs) -> None:
    runs.leaving = lambda: "its owner needs it" if runs.vault.names() else ""
    assert runs.run() == UNFINISHED
    assert runs.said[-2].startswith("job: checkpoint")
    assert runs.said[-1] == "job: left, saved: the same command continues it"
    assert "job: leaves this host: its owner needs it" in runs.said
    runs.leaving = lambda: ""
    assert runs.run(runs.stop_after(1, "continued from")) == UNFINISHED


def test_a_program_that_cannot_be_saved_does_not_leave(runs: Runs) -> None:
    runs.words = ("sh", "-c", "trap '' USR1; sleep 1.2")
    runs.leaving = lambda: "its owner needs it"
    assert runs.run(every=float("inf")) == 0
    assert sum("leaves this host" in line for line in runs.said) >= 1
    assert runs.said[-1] == "job: ended with code 0"


def test_where_the_newest_is_lost_the_one_before_it_is_taken(runs: Runs) -> None:
    assert runs.run(runs.stop_after(2)) == UNFINISHED
    newest = runs.vault.names()[-1]
    for host in runs.hosts:
        for key in [one for one in host.objects if one.startswith(f"{keys.PACKS}{newest}")]:
            del host.objects[key]
    runs.said.clear()
    assert runs.run(runs.stop_after(1, "continued from")) == UNFINISHED
    assert f"checkpoint {newest} cannot be recovered" in runs.said[0]
    assert "continued from checkpoint" in runs.said[1]
    assert f"checkpoint {newest} cannot be recovered" in runs.driver.shortfalls[0]


@pytest.mark.parametrize("left", [1, 0])
def test_checkpoints_of_which_nothing_is_left(runs: Runs, left: int) -> None:
    """Not even their manifests: an older one is taken, and told; never the beginning."""
    assert runs.run(runs.stop_after(2)) == UNFINISHED
    newest = runs.driver.history.last
    for host in runs.hosts:
        for key in [one for one in host.objects if one.startswith("manifests/")]:
            if not left or newest in key:
                del host.objects[key]
    told = f"checkpoint {newest}, the newest, is on no storage host that answers"
    runs.said.clear()
    if left:
        assert runs.run(runs.stop_after(1, "continued from")) == UNFINISHED
        assert runs.driver.shortfalls[0] == told
    else:
        with pytest.raises(LostError, match=f"{told}; --fresh starts"):
            runs.run()
    assert runs.said[0] == f"job: {told}"


def others() -> set[int]:
    """What other tests of this process have begun, which may still be there."""
    return {one.pid for one in descendants(os.getpid())}


def test_who_was_taken_over_ends_its_program(runs: Runs) -> None:
    def saw(line: str) -> None:
        if "is in the vault" in line:
            for host in runs.hosts:
                for key in [one for one in host.objects if "/lease-" in one]:
                    del host.objects[key]

    before = others()
    with pytest.raises(RunError, match="job was taken over by another host"):
        runs.run(saw)
    assert not [one for one in descendants(os.getpid()) if one.alive and one.pid not in before]


def test_room_that_is_too_small_is_taken_only_at_the_end(runs: Runs) -> None:
    assert runs.run(runs.stop_after(1, "may take"), local=0) == UNFINISHED
    assert any("not saved: its image takes" in line for line in runs.said)
    assert len(runs.vault.names()) == 1


def test_another_program_of_that_name(runs: Runs) -> None:
    assert runs.run(runs.stop_after(1)) == UNFINISHED
    runs.words = ("sh", "-c", "exit 3")
    with pytest.raises(InputError, match="job is another program: 'sh -c trap"):
        runs.run()
    assert runs.run(fresh=True) == 3
    runs.words = ("sh", "-c", "exit 0")
    assert runs.run(fresh=True) == 0
    assert runs.vault.names() == []


def test_a_program_that_never_saves_itself(runs: Runs) -> None:
    runs.words = ("sh", "-c", "sleep 1")  # the signal would end it
    assert runs.run() == 0
    assert runs.vault.names() == []


def test_only_the_newest_checkpoints_stay(runs: Runs) -> None:
    assert runs.run(runs.stop_after(4), keep=2) == UNFINISHED
    assert len(runs.vault.names()) == 2


def test_the_newest_is_known_where_clocks_differ(runs: Runs) -> None:
    """A machine whose clock is a day behind goes on, and is gone on from."""
    assert runs.run(runs.stop_after(1)) == UNFINISHED
    ahead = set(runs.vault.names())
    runs.vault.clock = lambda: time.time() - 86_400
    assert runs.run(runs.stop_after(1), keep=9) == UNFINISHED
    newest = sorted(set(runs.vault.names()) - ahead)[-1]
    runs.vault.clock = time.time
    runs.said.clear()
    assert runs.run(runs.stop_after(1, "continued from")) == UNFINISHED
    assert f"continued from checkpoint {newest}" in runs.said[0]


def test_an_image_that_did_not_reach_the_vault_is_gone_on_from_here(runs: Runs) -> None:
    assert runs.run(runs.stop_after(1)) == UNFINISHED

    def saw(line: str) -> None:
        if "saved:" in line:
            for one in runs.hosts:
                one.away = True
            os.kill(os.getpid(), signal.SIGTERM)

    assert runs.run(saw, life=30.0) == 128 + signal.SIGTERM
    for one in runs.hosts:
        one.away = False
    there, before = (runs.folder / "runs" / "job"), runs.vault.names()
    assert len(list(there.glob("image-*"))) == 2
    runs.said.clear()
    for host in runs.hosts:  # what the second could not remove
        for key in [one for one in host.objects if "/lease-" in one]:
            del host.objects[key]
    assert runs.run(runs.stop_after(1)) == UNFINISHED
    assert "continued from an image on this host" in runs.said[0]
    assert len(runs.vault.names()) > len(before)
    runs.said.clear()
    (there / "image-0" / "checkpoint").mkdir(parents=True)
    assert runs.run(runs.stop_after(1, "continued from")) == UNFINISHED
    assert "continued from checkpoint" in runs.said[0]


@pytest.mark.parametrize("died", [False, True])
def test_a_program_that_finished_is_not_begun_again(runs: Runs, died: bool) -> None:
    """Neither where its driver was killed just then, nor where somebody starts it once more."""
    runs.words = ("sh", "-c", "echo again >> again")
    assert runs.run() == 0
    if died:
        sign = Sign(host="far", place="far", held=True, life=0.1)
        runs.vault.put_told(f"{keys.RUNS}job/lease-other", asdict(sign))
    for folder in ("runs", "elsewhere"):
        runs.place = folder
        assert runs.run() == 0
        assert "finished before, with code 0, and is not started again" in runs.said[-1]
    assert (runs.folder / "again").read_text() == "again\n"
    assert read_history(runs.vault, "job").starts == 1
    assert runs.run(fresh=True) == 0
    assert (runs.folder / "again").read_text() == "again\n" * 2
    runs.words = ("sh", "-c", "exit 0")
    with pytest.raises(InputError, match=r"job is another program: 'sh -c echo.*which finished"):
        runs.run()


@pytest.mark.parametrize(
    ("program", "ends", "history"),
    [
        ("sleep 0.4; exit 0", 0, RunHistory(starts=1, code=0)),
        ("sleep 0.4; exit 3", 3, RunHistory(starts=1)),
        ("sleep 0.4; kill -KILL $$", 137, RunHistory(starts=1, evictions=1)),
    ],
)
def test_what_became_of_a_run_is_written_down(
    runs: Runs, program: str, ends: int, history: RunHistory
) -> None:
    runs.words = ("sh", "-c", program)
    assert runs.run(every=float("inf")) == ends
    found = read_history(runs.vault, "job")
    assert found == runs.driver.history
    assert found.ran >= 0.4
    assert replace(found, ran=0.0, written=0) == replace(history, words=runs.words)
    assert not runs.driver.shortfalls


def test_a_save_and_an_eviction_are_written_down(runs: Runs) -> None:
    assert runs.run(runs.stop_after(2)) == UNFINISHED
    first = read_history(runs.vault, "job")
    assert (first.starts, first.saves, first.code) == (1, len(runs.driver._made), None)
    assert first.last == runs.vault.names()[-1]
    assert runs.run(runs.stop_after(1)) == UNFINISHED
    found = read_history(runs.vault, "job")
    assert (found.starts, found.evictions) == (2, 0)
    assert found.saves > first.saves
    assert found.ran > first.ran


@pytest.mark.parametrize("away", [1, 3])
def test_a_run_that_could_not_save_says_so_at_its_end(runs: Runs, away: int) -> None:
    """One of three hosts away: a checkpoint of 2 + 1 pieces is not made. All away: its end is not
    written down either, and what there was to go on from stays."""
    settings = SaveSettings(label="run:job", code=Code(2, 1))
    saving = ImageSaving("run:job", lambda vault, path, tell: save(
        vault, [path], settings, tell=tell))  # fmt: skip
    runs.words = ("sh", "-c", f"{PROGRAM.replace('while :', 'for k in $(seq 50)')}; exit 0")

    def saw(line: str) -> None:
        if "saved:" in line:
            for one in runs.hosts[:away]:
                one.away = True

    assert runs.run(saw, saving=saving, life=30.0) == 0
    driver = runs.driver
    assert driver.failed_saves >= 1
    assert "failed, no checkpoint reached the vault" in driver.shortfalls[0]
    assert "Connection refused" in driver.shortfalls[0]
    assert any("its history was not written" in one for one in driver.shortfalls) == (away == 3)
    for one in runs.hosts:
        one.away = False
    assert read_history(runs.vault, "job").code == (None if away == 3 else 0)


def test_which_go() -> None:
    keeping = KeptNewest(2, ("b", "a"))
    assert keeping.outdated(["x", "a", "0", "b", "y"], "0") == ["x", "y", "b"]
    assert keeping.outdated(["a", "0"], "0") == []


def test_asking_where_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no longer runs here"):
        ask(tmp_path, 5.0, lambda: False)
    with pytest.raises(RunError, match="was not saved in"):
        ask(tmp_path, 0.1, lambda: True)


def test_nothing_is_left_of_a_held_program(tmp_path: Path) -> None:
    """What the program started, sessions of their own too, ends with the holder."""
    tree = "setsid sh -c 'sleep 100 & sleep 100' & sleep 100"
    before = others()
    with HeldProgram() as held:
        held.start(["sh", "-c", tree], tmp_path, {})
        late = time.monotonic() + 20
        while len(found := [one for one in descendants(os.getpid()) if one.pid not in before]) < 5:
            assert time.monotonic() < late
            time.sleep(0.01)
    while any(os.path.exists(f"/proc/{one.pid}") for one in found):
        assert time.monotonic() < late
        time.sleep(0.01)


def test_a_holder_that_is_killed_is_noticed(tmp_path: Path) -> None:
    with HeldProgram() as held:
        held.start([sys.executable, "-c", "import time; time.sleep(100)"], tmp_path, {})
        program = held.pid
        os.kill(held._process.pid, signal.SIGKILL)
        held.wait(20)
        assert (held.gone, held.code) == (True, 137)
        late = time.monotonic() + 20
        while os.path.exists(f"/proc/{program}"):
            assert time.monotonic() < late
            time.sleep(0.01)
