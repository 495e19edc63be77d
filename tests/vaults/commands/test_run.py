"""Programs that outlive their machine, as users run them: with real processes, a real CRIU, and
storage hosts that are gone."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from criu_program import criu
from forestall.core.processes.processes import descendants, look
from forestall.runs.commands.entry import main

STEPS = 400
PENDULUM = """\
import math, os, sys, time
steps, log = int(sys.argv[1]), open(sys.argv[2], "a")
angle, speed, step = 2.0, 0.0, 1e-3
print("begins", flush=True)
for done in range(steps):
    for _ in range(50):
        k1 = -math.sin(angle)
        k2 = -math.sin(angle + step / 2 * speed)
        k3 = -math.sin(angle + step / 2 * (speed + step / 2 * k1))
        angle += step * (speed + step / 6 * (k1 + k2 + k2))
        speed += step / 6 * (k1 + 2 * k2 + 2 * k3 - math.sin(angle))
    log.write(f"{done}\\n"); log.flush()
    time.sleep(0.005)
    while done == steps // 2 and os.path.exists("hold"):
        time.sleep(0.005)
print(angle.hex(), speed.hex(), flush=True)
"""
HEAT = """\
import json, os, signal, sys, time
steps, state = int(sys.argv[1]), sys.argv[2]
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
if os.path.exists(state):
    done, rod = json.load(open(state))
    rod = [float.fromhex(one) for one in rod]
    print("from", done, "of", bool(os.environ.get("FORESTALL_CHECKPOINT")), flush=True)
else:
    done, rod = 0, [1.0] + [0.0] * 40 + [0.25]
while done < steps:
    rod = [rod[0]] + [0.5 * (a + b) for a, b in zip(rod, rod[2:])] + [rod[-1]]
    done += 1
    time.sleep(0.005)
    while done >= steps // 2 and os.path.exists("hold") and not asked:
        time.sleep(0.005)
    if asked:
        asked.clear()
        with open(state + ".new", "w") as file:
            json.dump([done, [one.hex() for one in rod]], file)
        os.replace(state + ".new", state)
print(sum(rod).hex(), flush=True)
sys.exit(5)
"""


def pendulum() -> str:
    """What the program comes to, where nothing is in its way."""
    angle, speed, step = 2.0, 0.0, 1e-3
    for _ in range(50 * STEPS):
        k1 = -math.sin(angle)
        k2 = -math.sin(angle + step / 2 * speed)
        k3 = -math.sin(angle + step / 2 * (speed + step / 2 * k1))
        angle += step * (speed + step / 6 * (k1 + k2 + k2))
        speed += step / 6 * (k1 + 2 * k2 + 2 * k3 - math.sin(angle))
    return f"{angle.hex()} {speed.hex()}"


def heat() -> str:
    rod = [1.0] + [0.0] * 40 + [0.25]
    for _ in range(STEPS):
        rod = [rod[0]] + [0.5 * (a + b) for a, b in zip(rod, rod[2:], strict=False)] + [rod[-1]]
    return sum(rod).hex()


class Site:
    """Storage hosts, and commands that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = [folder / "hosts" / name for name in "abc"]
        self.hold = folder / "hold"
        """Keeps a program that is halfway from its end, however slow the machine is."""

    def words(self, name: str, *more: str) -> list[str]:
        """Return the command up to the program."""
        stores = [word for one in self.stores for word in ("--store", str(one))]
        return ["run", "--name", name, *stores, "--data", "2", "--parity", "1", "--init",
                "--folder", str(self.folder / "runs"), "--checkpoint-interval", "1s",
                *more]  # fmt: skip

    def begin(self, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        kept = {"XDG_STATE_HOME": str(self.folder / "state-home")}
        return subprocess.Popen(
            [*before, sys.executable, "-m", "forestall", *words], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, env=os.environ | kept,
        )  # fmt: skip

    def saved(self, name: str) -> int:
        """Return how many checkpoints there are."""
        there = self.stores[-1] / "manifests"
        return len(list(there.iterdir())) if there.is_dir() else 0

    def until(self, true: Callable[[], bool], running: subprocess.Popen[str]) -> None:
        late = time.monotonic() + 60
        while not true():
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < late
            time.sleep(0.02)

    def program(self, running: subprocess.Popen[str], text: str) -> int:
        """Return the process below a command whose command line has this text."""
        for one in reversed(descendants(running.pid)):
            try:
                line = Path(f"/proc/{one.pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if text.encode() in line and b"forestall" not in line:
                return one.pid
        return 0

    def kill(self, running: subprocess.Popen[str], text: str) -> None:
        """Kill the program below a command."""
        pid = self.program(running, text)
        assert pid > 1
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "pendulum.py").write_text(PENDULUM)
    (tmp_path / "heat.py").write_text(HEAT)
    return Site(tmp_path)


def ended(running: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, said = running.communicate(timeout=90)
    return running.returncode, out, said


def test_a_process_goes_on_elsewhere_to_the_last_bit(site: Site) -> None:
    """CRIU: the worker is killed, a storage host is deleted, and the other machine has neither the
    program's log nor anything of the run, whose folder is another one there."""
    if reason := criu.why_not():
        pytest.skip(reason)
    work = site.folder / "work"
    work.mkdir()
    log = work / "log"
    words = site.words("swing", "--criu", criu.program(), "--", sys.executable,
                       str(site.folder / "pendulum.py"), str(STEPS), str(log))  # fmt: skip
    site.hold.touch()
    running = site.begin(*words)
    site.until(lambda: site.saved("swing") > 0, running)
    site.kill(running, str(log))
    site.hold.unlink()
    code, out, said = ended(running)
    assert (code, out) == (137, "begins\n"), said
    shutil.rmtree(site.stores[0])
    words[words.index("--folder") + 1] = str(site.folder / "elsewhere")
    hidden = " && ".join(
        f"mount -t tmpfs none {one}" for one in (work, site.folder / "runs")
    )  # fmt: skip
    elsewhere = ("unshare", "--mount", "--uts", "sh", "-c",
                 f'hostname elsewhere && {hidden} && "$@"; code=$?; cp {log} {site.folder}/log; '
                 "exit $code", "sh")  # fmt: skip
    code, out, said = ended(site.begin(*words, before=elsewhere))
    assert (code, out.strip()) == (0, pendulum()), said
    assert "continued from checkpoint" in said
    assert (site.folder / "log").read_text() == "".join(f"{k}\n" for k in range(STEPS))


def test_what_was_not_kept_is_said_at_the_end(site: Site) -> None:
    """One of three hosts goes: 2 + 1 pieces have no place. The exit code is the program's own."""
    account = site.folder / "account.json"
    program = (
        'trap "date +%N > new; mv new state" USR1; while [ -e hold ]; do sleep 0.02; done; exit 3'
    )
    words = site.words("heat", "--signal", "USR1", "--files", str(site.folder / "state"),
                       "--account", str(account), "--quiet", "--", "sh", "-c",
                       program)  # fmt: skip
    site.hold.touch()
    running = site.begin(*words)
    site.until((site.stores[0] / "runs" / "heat" / "history").exists, running)
    shutil.rmtree(site.stores[0])
    site.stores[0].write_text("no folder")
    image = site.folder / "runs" / "heat" / "image-1" / "checkpoint" / "image.json"
    site.until(image.exists, running)
    site.hold.unlink()
    code, out, said = ended(running)
    assert (code, out) == (3, ""), said
    made = json.loads(account.read_text())
    assert (made["exit_code"], made["code"]) == (3, None)
    assert made["failed_saves"] >= 1
    assert "failed, no checkpoint reached the vault; the last failure: " in made["shortfalls"][0]
    assert said.splitlines() == [f"heat: not kept: {line}" for line in made["shortfalls"]]


def test_a_program_that_saves_itself_goes_on_elsewhere_to_the_last_bit(site: Site) -> None:
    state = site.folder / "here" / "state"
    state.parent.mkdir()
    told = site.folder / "told.json"
    words = site.words("heat", "--signal", "USR1", "--files", str(state), "--account", str(told),
                       "--", sys.executable, str(site.folder / "heat.py"), str(STEPS),
                       str(state))  # fmt: skip
    site.hold.touch()
    running = site.begin(*words)
    site.until(lambda: site.saved("heat") > 0, running)
    site.kill(running, str(state))
    site.hold.unlink()
    assert ended(running)[:2] == (137, "")
    shutil.rmtree(site.stores[1])
    shutil.rmtree(site.folder / "runs")
    shutil.rmtree(state.parent)
    code, out, said = ended(site.begin(*words))
    first, last = out.split("\n", 1)
    assert (code, last.strip()) == (5, heat()), said
    assert first.startswith("from ")
    assert first.endswith(" of True")
    account = json.loads(told.read_text())
    assert account["starts"] == 2
    assert account["evictions"] == 1
    assert account["code"] is None
    assert account["lost"] > 0


def test_asked_to_end_it_is_saved_and_alone_and_too_little_is_told(site: Site) -> None:
    state = site.folder / "state"
    words = site.words("heat", "--signal", "USR1", "--files", str(state), "--checkpoint-interval",
                       "none", "--lease", "12s", "--", sys.executable,
                       str(site.folder / "heat.py"), "100000", str(state))  # fmt: skip
    running = site.begin(*words)
    site.until(lambda: bool(descendants(running.pid)), running)
    site.until((site.stores[0] / "runs" / "heat" / "history").exists, running)
    time.sleep(0.3)
    other = site.begin(*words[:-5], "--folder", str(site.folder / "other"), *words[-5:])
    code, _, said = ended(other)
    assert (code, said.count("heat runs on")) == (2, 1), said
    running.send_signal(signal.SIGTERM)
    code, _, said = ended(running)
    assert (code, site.saved("heat")) == (75, 1), said

    running = site.begin(*words)
    site.until(lambda: site.program(running, str(state)) > 0, running)
    program = site.program(running, str(state))
    running.kill()
    running.communicate()
    late = time.monotonic() + 10
    while (there := look(program)) is not None and there.alive:
        assert time.monotonic() < late
        time.sleep(0.02)

    for one in site.stores[:2]:
        shutil.rmtree(one / "packs")
    code, out, said = ended(site.begin(*words))
    assert (code, out) == (3, ""), said


def test_exit_codes_and_what_is_wrong(
    site: Site, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, *words: str) -> int:
        return main(site.words(name, "--signal", "USR1", "--files", str(site.folder / "x"), *words))

    assert run("fine", "--", "sh", "-c", "echo here; exit 0") == 0
    assert capfd.readouterr().out == "here\n"
    assert run("fine", "--", "sh", "-c", "echo here; exit 0") == 0
    again = capfd.readouterr()
    assert again.out == ""
    assert again.err.count("it finished before, with code 0, and is not started again") == 1
    assert run("fine", "--", "sh", "-c", "exit 41") == 2
    assert "--name, or start over with --fresh" in capfd.readouterr().err
    assert run("fine", "--fresh", "--", "sh", "-c", "exit 41") == 41
    assert run("fine", "--", "sh", "-c", "kill -TERM $$") == 143
    monkeypatch.setenv("XDG_STATE_HOME", str(site.folder))
    wrong = {
        ("--", "no-such-program"): "no-such-program: No such file or directory",
        (): "a command to run",
        ("--name", "a/b", "--", "true"): "--name: 'a/b'",
        ("--checkpoint-interval", "soon", "--", "true"): "--checkpoint-interval: 'soon'",
        ("--mtbf", "0s", "--", "true"): "--mtbf: '0s'",
        ("--signal", "KILL", "--", "true"): "--signal: 'KILL'",
        ("--save-command", "x", "--", "true"): "nothing: it is saved by signal",
        ("--method", "criu", "--", "true"): "nothing: it is saved by criu",
        ("--agent", "/nowhere", "--", "true"): "/nowhere/status.json",
    }
    for words, told in wrong.items():
        assert run("odd", *words) == 2, words
        said = capfd.readouterr().err.splitlines()
        assert told in said[-1], said
    assert main(["run", "--save-now", "--name", "odd"]) == 2
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(site.words("odd", "--", "true")) == 2
    assert "criu is not installed" in capfd.readouterr().err
