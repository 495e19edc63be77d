"""What a site's jobs have taught, kept in a file over restarts of the controller."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from forestall.core.model.errors import InputError
from forestall.live.slurm.site_book import SiteBook
from forestall.site.book_files import load_book, save_book

EVERY: Final = 3600.0
"""s after which it is written again."""


class KeptBook:
    """A site's book in a file. A file that cannot be read or written is told, and costs no more
    than what it would have taught.

    Parameters
    ----------
    clock : s; it never goes back
    """

    def __init__(
        self,
        path: Path,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._tell, self._clock = path, tell, clock
        self.site = self._read()
        self._written = clock()

    def _read(self) -> SiteBook:
        if not self._path.exists():
            return SiteBook()
        try:
            return SiteBook(load_book(self._path))
        except InputError as error:
            self._tell(f"the site's book starts over: {error}")
            return SiteBook()

    def keep(self, *, now: bool = False) -> None:
        """Write it where it is time to, or `now`; only between two cycles."""
        if not now and self._clock() < self._written + EVERY:
            return
        self._written = self._clock()
        try:
            with self.site.asking:
                save_book(self.site.book, self._path)
        except InputError as error:
            self._tell(f"the site's book is not saved: {error}")
