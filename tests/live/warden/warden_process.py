"""A warden in a process of its own, with an actor that writes what it does to a file.

Called with: socket, journal, what goes wrong ("" or "die before", "die after", "slow"), user ids.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from forestall.core.model.live.intents import Intent
from forestall.live.act.actor import Effect
from forestall.live.guard.settings import RoleSettings
from forestall.live.warden.server import Warden, WardenSettings


class FileActor:
    """Its cluster is a file: a line for each deed."""

    def __init__(self, journal: Path, wrong: str) -> None:
        self.journal, self.wrong = journal, wrong

    def carry_out(self, intent: Intent) -> None:
        if self.wrong == "die before":
            os.kill(os.getpid(), signal.SIGKILL)
        with self.journal.open("a") as file:
            file.write(json.dumps([intent.action, intent.target, intent.id]) + "\n")
        if self.wrong == "die after":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.wrong == "slow":
            time.sleep(2)

    def effect_of(self, intent: Intent) -> Effect:
        if self.wrong == "blind":
            raise OSError("slurmctld does not answer")
        done = self.journal.exists() and intent.id in self.journal.read_text()
        return Effect.DONE if done else Effect.NOT_DONE


def say(line: bytes) -> None:
    os.write(1, line)


def main() -> None:
    path, journal, wrong, *users = sys.argv[1:]
    settings = WardenSettings(
        Path(path), frozenset(map(int, users)), RoleSettings("on", per_hour=3)
    )
    warden = Warden(settings, FileActor(Path(journal), wrong), lambda: 1000)
    signal.signal(signal.SIGTERM, lambda *_: warden.stop())
    warden.serve(lambda: say(b"ready\n"))


if __name__ == "__main__":
    main()
