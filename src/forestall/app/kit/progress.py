"""What long work tells those who wait for it, and what is left when they stop it."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
"""Called with what is being done now, in words."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was kept in words."""


def has_kernels(files: str) -> bool:
    """Return whether the cache has compiled kernels in files of this pattern, or needs none."""
    from forestall._compile import INTERPRETED, cache_folder

    folder = cache_folder()
    return INTERPRETED or (folder is not None and any(folder.rglob(files)))
