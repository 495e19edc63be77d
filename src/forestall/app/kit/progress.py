"""What long work tells those who wait for it, and what is left when they stop it."""

from __future__ import annotations

from collections.abc import Callable

from forestall._lazy import lazily

with lazily():
    from forestall import _compile, _kept

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


def has_kernels(files: str, word: bytes = b"") -> bool:
    """Return whether the cache has compiled kernels in files of this pattern, with this word in
    one of them, or needs none. An index (`.nbi`) names the types that kernels are compiled for."""
    folder = _kept.cache_folder()
    return _compile.INTERPRETED or (
        folder is not None and any(word in one.read_bytes() for one in folder.rglob(files))
    )
