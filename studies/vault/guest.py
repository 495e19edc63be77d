"""A guest on one host: runs in its network namespace as `python -m studies.vault.guest`, told what
to do by one line of JSON, and telling what it did by lines of JSON."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import forestall as fs
from studies.vault.programs import PROGRAMS
from studies.vault.programs.program import Program


def tell(**told: Any) -> None:
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def state_of(size: int, seed: int) -> bytes:
    """Return the memory of a process as these are: numbers that change smoothly, whole numbers in
    order, noise, and zeros, a quarter each."""
    rng, part = np.random.default_rng(seed), size // 4 // 8
    smooth = np.cumsum(rng.normal(0, 1e-3, part))
    rising = np.cumsum(rng.integers(0, 100, part))
    noise = rng.bytes(8 * part)
    return smooth.tobytes() + rising.tobytes() + noise + bytes(size - 24 * part)


def warmed(folder: Path) -> None:
    """Save and restore a byte on this host's disk: all that is loaded once is loaded then."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "byte").write_bytes(b"1")
    vault = fs.vault.open([str(folder / "store")])
    vault.restore(vault.save(folder / "one", data=1, parity=0, init=True)["id"], folder / "back")


def stored(given: dict[str, Any]) -> None:
    """Save and restore a state of each size, and a next version of which a tenth has changed."""
    folder = Path(given["folder"])
    for size in given["sizes"]:
        state = bytearray(state_of(size, given["seed"]))
        for version in range(given.get("versions", 1)):
            if version:
                rng = np.random.default_rng([given["seed"], version])
                # A tenth is written anew, in stretches of 64 KiB.
                for at in rng.choice(size // 65536, max(size // 655360, 1), replace=False):
                    state[at * 65536 : (at + 1) * 65536] = rng.bytes(65536)
            _once(given, folder, bytes(state), version)


def _once(given: dict[str, Any], folder: Path, state: bytes, version: int) -> None:
    """Save and restore one state, and tell how long both took."""
    source, back = folder / "state", folder / "back"
    source.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(back, ignore_errors=True)
    (source / "memory").write_bytes(state)
    vault = fs.vault.open(given["stores"])
    label = f"{given['label']}-{len(state)}"
    begun = time.monotonic()
    made = vault.save(source, label=label, init=True, **given["coding"])
    saved = time.monotonic()
    same, wrong = True, ""
    if given.get("restore", True):
        try:
            vault.restore(made["id"], back)
            same = next(back.rglob("memory")).read_bytes() == state
        except fs.errors.InputError as error:
            same, wrong = False, str(error)
    over = time.monotonic()
    tell(bytes=len(state), version=version, save=saved - begun, restore=over - saved,
         same=same, wrong=wrong, stored=made["stored"], id=made["id"])  # fmt: skip


def fetched(given: dict[str, Any]) -> None:
    """Restore a checkpoint, and tell how long that took, or why it cannot be."""
    back = Path(given["folder"]) / "back"
    shutil.rmtree(back, ignore_errors=True)
    begun, wrong = time.monotonic(), ""
    try:
        fs.vault.open(given["stores"]).restore(given["id"], back)
    except fs.errors.InputError as error:
        wrong = str(error)
    state = state_of(given["sizes"][-1], given["seed"])
    same = not wrong and next(back.rglob("memory")).read_bytes() == state
    tell(bytes=len(state), restore=time.monotonic() - begun, same=same, wrong=wrong)


def worked(given: dict[str, Any]) -> None:
    """Run a program from its newest checkpoint on, and save it after each interval of work."""
    program: Program = PROGRAMS[given["program"]](given["size"], given["steps"])
    folder = Path(given["folder"])
    vault = fs.vault.open(given["stores"])
    tell(event="begun")
    resumed = _resumed(program, vault, folder / "back", given["label"])
    tell(event="resumed", done=program.done, seconds=resumed)
    since = time.monotonic()
    while program.done < 1:
        _step(program, given["pace"])
        if time.monotonic() - since < given["interval"] or program.done >= 1:
            continue
        begun = time.monotonic()
        _saved(program, vault, folder / "state", given)
        since = time.monotonic()
        tell(event="saved", done=program.done, seconds=since - begun)
    tell(event="done", answer=program.answer())


def _step(program: Program, pace: float) -> None:
    """Do a step, which takes so many seconds at least: others on the machine that all hosts of the
    study share then matter less."""
    begun = time.monotonic()
    program.step()
    time.sleep(max(begun + pace - time.monotonic(), 0.0))


def _resumed(program: Program, vault: Any, back: Path, label: str) -> float:
    """Go on from the newest checkpoint that can be had; return the seconds that took."""
    begun = time.monotonic()
    try:
        known = [one["id"] for one in vault.list(label)]
    except fs.errors.InputError:
        known = []
    for name in reversed(known[-2:]):
        shutil.rmtree(back, ignore_errors=True)
        try:
            vault.restore(name, back)
        except fs.errors.InputError as error:
            tell(event="lost", id=name, said=str(error))
            continue
        program.load(next(back.rglob("at")).parent)
        break
    return time.monotonic() - begun


def _saved(program: Program, vault: Any, state: Path, given: dict[str, Any]) -> None:
    """Save a program; one that cannot be saved now goes on without."""
    state.mkdir(parents=True, exist_ok=True)
    program.save(state)
    try:
        vault.save(state, label=given["label"], init=True, **given["coding"])
    except fs.errors.InputError as error:
        tell(event="unsaved", said=str(error))


if __name__ == "__main__":
    told = json.loads(sys.stdin.readline())
    warmed(Path(told["folder"]) / "warm")
    {"store": stored, "fetch": fetched, "work": worked}[told["do"]](told)
