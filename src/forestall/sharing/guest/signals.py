"""Signals that end a manager, and its guest with it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from forestall.sharing.guest.manager import Manager


@contextmanager
def stopped_by_signals(manager: Manager) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP stop a manager; one that is ignored (nohup) stays so, and
    in another thread than the main one they are others' matter. Only a second SIGINT is in a hurry:
    where a terminal goes, SIGHUP comes from the kernel and from the shell."""

    def told(number: int, _: object) -> None:
        got = signal.Signals(number)
        manager.stop(f"its manager got {got.name}", hurry=got is signal.SIGINT)

    main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if main else ()
    before = {}
    for number in numbers:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, told)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
