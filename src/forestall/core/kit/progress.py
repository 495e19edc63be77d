"""What long work tells those who wait for it, and what is left when they stop it."""

from __future__ import annotations

from collections.abc import Callable

from forestall.core._lazy import lazily

with lazily():
    from forestall.core import _compile, _reach

Progress = Callable[[int, int], None]
"""Called with how many of how many steps are done."""

Tell = Callable[[str], None]
"""Called with what is being done now, in words."""


class StepProgress:
    """Tells a progress bar, where there is one, of each step that is done."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        """Count one more step as done."""
        self._done = min(self._done + 1, self._total)
        if self._progress is not None:
            self._progress(self._done, self._total)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was kept in words."""


def has_kernels(module: str, word: bytes = b"") -> bool:
    """Return whether the cache has compiled kernels of this module, with this word in the index of
    one of them, or needs none. An index names the types that a kernel is compiled for."""
    reach = None if _compile.INTERPRETED else _reach.reach()
    return _compile.INTERPRETED or (
        reach is not None
        and any(word in one.read_bytes() for one in reach.folder(module).rglob("*.nbi"))
    )
