"""The rows of commands that go on until they are ended, run something of the user's, or add to what
is there.

A word before a command such as NAME=VALUE is set in its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from faults.commands import fleet
from vaults.api.agent_samples import agent_folder

VAULT = "--store T/a --store T/b --store T/c --data 2 --parity 1 --init"


def _state(folder: Path) -> None:
    (folder / "state").write_bytes(bytes(range(256)) * 40)


def _samples(folder: Path) -> None:
    agent_folder(folder / "n1")


@dataclass(frozen=True)
class Lasting:
    """A command that keeps files of its own while it goes on.

    Attributes
    ----------
    words : how it is called; T is the folder that it writes to
    until : it gets SIGTERM when it has printed this; empty: it ends by itself
    full : its exit code where a disk is full at last: 1 where it went on and says what it lost, 0
        where SQLite makes sure of its files
    prints : whether it tells something that must not be lost, so that it ends where it cannot
    here : whether it needs the current folder
    told : whether it tells of itself on standard error
    given : writes what stands in T before
    """

    words: str
    until: str = ""
    full: int = 2
    prints: bool = False
    here: bool = False
    told: bool = False
    given: Callable[[Path], object] = lambda _: None


LASTING: Mapping[str, Lasting] = {
    "agent": Lasting("agent --folder T/agent --for 2s --period 1s --no-listen", full=1),
    "guest run": Lasting(
        "guest run --name one --folder T/guest --no-cgroup --th1 1 --th2 1 --every 1s --calm 1s -q"
        " -- true",
        here=True,
    ),
    "run": Lasting(
        f"run --name r {VAULT} --files T/made --signal USR1 --folder T/run --account T/account"
        " -- touch T/made",
        here=True, told=True,
    ),
    "storage serve": Lasting(
        "storage serve T/stored --port 0", "Serving", prints=True,
    ),
    "storage watch": Lasting("storage watch --store T/a --every 1s --for 1s", full=0, prints=True),
    "checkpoint save": Lasting(f"checkpoint save T/state {VAULT}", prints=True, given=_state),
    "storage import": Lasting(
        "XDG_STATE_HOME=T/home FORESTALL_STORAGE_TOKEN=fst_x storage import T/n1"
        " --store forestall://n1.example.org:9140",
        full=0, prints=True, given=_samples,
    ),
    "machines watch": Lasting(
        "machines watch --fleet T/ --for 1s", prints=True, full=0, given=fleet,
    ),
    "serve": Lasting(
        "serve --simulated --ledger sqlite:///T/l.db --port 0", "http://", prints=True, told=True,
    ),
}  # fmt: skip
