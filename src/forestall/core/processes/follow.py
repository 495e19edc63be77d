"""What a guest prints, shown as it comes to whoever started it.

The guest writes into files of its own, and these are read: whatever becomes of the terminal, or
however slow it is, the guest and its manager do not wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PAUSE: Final = 0.2
"""s between two looks for more."""
_CHUNK: Final = 65_536

Writer = Callable[[bytes], None]


@contextmanager
def followed(
    places: Sequence[tuple[Path, Writer]], starts: Sequence[int] = ()
) -> Iterator[None]:  # fmt: skip
    """Hand on what is added to files meanwhile, each to its writer: from the byte in `starts` on,
    else from where each ends now.

    A writer that raises OSError gets no more. At the end everything that the files hold by then is
    handed on.
    """
    if not places:
        yield
        return
    over = threading.Event()
    begun = [(path, starts[k] if k < len(starts) else _size(path), writer)
             for k, (path, writer) in enumerate(places)]  # fmt: skip
    thread = threading.Thread(target=_follow, args=(begun, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _follow(places: list[tuple[Path, int, Writer]], over: threading.Event) -> None:
    while places:
        last = over.wait(PAUSE)
        places = [
            (path, seen, writer)
            for path, start, writer in places
            if (seen := _handed_on(path, start, writer)) is not None
        ]
        if last:
            return


def _handed_on(path: Path, start: int, writer: Writer) -> int | None:
    """Hand on what a file holds after `start`; returns its end, None where nobody takes it."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            while chunk := file.read(_CHUNK):
                try:
                    writer(chunk)
                except (OSError, ValueError):
                    return None
                start += len(chunk)
    except OSError:
        pass  # not there yet, or not any more
    return start


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
