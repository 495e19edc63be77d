"""A guest that is evicted goes on on another host: real processes, a vault, one host after the
other."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.processes.files import GuestFiles, GuestState
from forestall.sharing.api.guest.guest import resume_guest, run_guest
from forestall.sharing.api.guest.outlive import outliving, vault_of, words_of
from forestall.sharing.guest.settings import GuestSettings
from forestall.vaults.api.checkpoints import open_vault
from forestall.vaults.repository import VaultRules
from forestall.vaults.runs import RunHistory, write_history
from sharing.guest.managed import HostFile, wait_for

COUNT = """\
import os, signal, sys, time
state, asked = sys.argv[1], []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
begun = done = int(open(state).read()) if os.path.exists(state) else 0
print("ready", flush=True)
while not (begun and done >= begun + 10):
    done += 1
    time.sleep(0.01)
    if asked:
        asked.clear()
        with open(state + ".new", "w") as file:
            file.write(str(done))
        os.replace(state + ".new", state)
print("counted on", flush=True)
"""
EVICTED = GuestSettings(every=0.05, calm=0.0, hold=0.2, wait=False, checkpoint_timeout=30)


def test_an_evicted_guest_goes_on_on_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    state, program = tmp_path / "state", tmp_path / "count.py"
    program.write_text(COUNT)
    words = [sys.executable, str(program), str(state)]
    stores = " ".join(f"--store {tmp_path / name}" for name in "ab")
    options = (
        f"{stores} --init --data 1 --parity 1 --signal USR1 --files {state} --checkpoint-every none"
    )
    hosts = []
    for name in ("one", "two"):
        hosts.append(HostFile(tmp_path / f"{name}.host"))
        hosts[-1].set(0.1)
    codes: list[int] = []
    manager = threading.Thread(
        target=lambda: codes.append(
            run_guest(
                words,
                EVICTED,
                folder=tmp_path / "one",
                name="count",
                outlive=options,
                eyes=hosts[0],
            )
        )
    )
    manager.start()
    output = GuestFiles(tmp_path / "one", "count").place / "stdout"
    wait_for(lambda: output.exists() and "ready" in output.read_text(), seconds=60)
    hosts[0].set(0.9)
    manager.join(200)
    assert codes == [75]
    record = GuestFiles(tmp_path / "one", "count").read()
    assert record is not None
    if not record.checkpoint:
        pytest.skip("this host is too busy for a guest at lowest priority to be saved in 30 s")
    assert (record.state, record.checkpoint > 0) == (GuestState.ENDED, True), record.why
    state.unlink()
    # its command line is in the vault: there is nothing of it on that host
    code = resume_guest(tmp_path / "two", "count", outlive=options, eyes=hosts[1])
    place = GuestFiles(tmp_path / "two", "count").place
    assert code == 0, (place / "stderr").read_text()
    assert "continued from checkpoint" in (place / "stderr").read_text()
    assert (place / "stdout").read_text().endswith("counted on\n")


def test_the_hook_saves_what_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a keeper does it, but for the priority."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    state, program = tmp_path / "state", tmp_path / "count.py"
    program.write_text(COUNT)
    options = f"--store '{tmp_path}/a' --init --data 1 --parity 0 --signal USR1 --files {state} " \
              "--checkpoint-every none"  # fmt: skip
    words = [sys.executable, str(program), str(state)]
    made = outliving(words, options, "count", tmp_path / "one", GuestSettings())
    running = subprocess.Popen(
        made.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    hook = subprocess.run(["sh", "-c", made.settings.checkpoint], timeout=60, check=False)
    assert hook.returncode == 0
    running.kill()
    running.communicate()
    state.unlink()
    made = outliving(words, options, "count", tmp_path / "two", GuestSettings())
    done = subprocess.run(made.words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ready\ncounted on\n"), done.stderr


def test_a_guest_of_no_vault_cannot_be_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="with --store at least"):
        vault_of("--data 1")
    assert vault_of("--store a --store=b --key k") == (("a", "b"), Path("k"))
    place = tmp_path / "vault"
    with open_vault([str(place)], begin=VaultRules()) as vault:
        write_history(vault, "over", RunHistory(("x",), code=0))
        write_history(vault, "open", RunHistory(("x", "y")))
    assert words_of("open", f"--store {place}") == ("x", "y")
    for name, words in (("over", "has not finished"), ("none", "its vault knows")):
        with pytest.raises(ParameterError, match=words):
            resume_guest(tmp_path, name, outlive=f"--store {place}")


def test_what_is_run_and_what_is_wrong(tmp_path: Path) -> None:
    quick = GuestSettings()
    made = outliving(["x", "y"], "--store /a --folder /b", "n", tmp_path, quick)
    assert made.words[-6:] == ["/a", "--folder", "/b", "--", "x", "y"]
    assert made.settings.checkpoint.startswith("cd /b/n && ")
    with pytest.raises(ParameterError, match="outlive: '\"' is not allowed"):
        outliving(["x"], '"', "n", tmp_path, quick)
    with pytest.raises(ParameterError, match="checkpoint: 'x' is not allowed"):
        outliving(["x"], "--store a", "n", tmp_path, GuestSettings(checkpoint="x"))
    with pytest.raises(ParameterError, match="fresh: True"):
        run_guest(["true"], quick, folder=tmp_path, outlive="--store a", fresh=True)
