"""The second: a process that does nothing but wait for the keeper's end, and then ends what the
keeper cannot end any more."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from forestall.live.guest.body import Body
from forestall.live.guest.files import GuestState, changed
from forestall.live.guest.plan import Plan
from forestall.live.guest.processes import look, name_self
from forestall.model.errors import ForestallError

GONE: Final = "its keeper was killed"
_OVER: Final = b"over"


class Second:
    """A child of the keeper, at the other end of a pipe.

    Parameters
    ----------
    plan, body : of the guest
    close : closes, in the child, what only the keeper may hold open
    """

    def __init__(self, plan: Plan, body: Body, close: Callable[[], None]) -> None:
        hear, self._tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._tell)
                close()
                _stand_by(hear, plan, body)
            finally:
                os._exit(0)
        os.close(hear)

    def told(self, first: int) -> None:
        """Tell it the number of the guest's first process."""
        with suppress(OSError):
            os.write(self._tell, f"{first}\n".encode())

    def dismiss(self) -> None:
        """Let it go: nothing is left to end."""
        with suppress(OSError):
            os.write(self._tell, _OVER)
        os.close(self._tell)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def lost(self) -> None:
        """Close its pipe: it is gone itself."""
        os.close(self._tell)


def _stand_by(hear: int, plan: Plan, body: Body) -> None:
    """Wait for the keeper's end."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    name_self("forestall-sweep")
    heard, first = b"", None
    while chunk := os.read(hear, 4096):
        heard += chunk
        if heard.endswith(b"\n"):
            first = look(int(heard.split(b"\n")[-2])) or first
    if not heard.endswith(_OVER):
        body.root = 0
        body.kill(first)
        cleared(plan, body)


def cleared(plan: Plan, body: Body) -> None:
    """Remove what stands for a running guest; where nobody manages it, write down that it ended."""
    if body.group is not None:
        body.group.remove()
    with suppress(OSError):
        (plan.files.place.parent / f"{plan.id}.json").unlink()
    with suppress(ForestallError, OSError):
        record = plan.files.read()
        if record is not None and record.id == plan.id and not record.managed():
            plan.files.log(GuestState.ENDED, GONE)
            plan.files.write(changed(record, state=GuestState.ENDED, why=GONE))
