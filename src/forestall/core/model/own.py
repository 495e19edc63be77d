"""What a user writes in Python to decide instead of a built-in: a policy, a strategy, a
scheduler. Its name is the spelling of its class, ``module:Class``."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

_SPELLING: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_own(name: str) -> bool:
    """Return whether a name spells a class of the user's own: ``module:Class``.

    >>> is_own("mysite.policies:Sjf"), is_own("easy"), is_own("0:1:0.1")
    (True, False, False)
    """
    return _SPELLING.fullmatch(name) is not None


class Own:
    """What decides in the user's own Python."""

    @cached_property
    def name(self) -> str:
        """As results spell it: ``module:Class``, the class that options take."""
        kind = type(self)
        return f"{kind.__module__}:{kind.__qualname__.replace('.<locals>', '')}"
