"""Whether an engine's arrays hold one more event, asked from Python."""

from __future__ import annotations

from forestall._compile import entry
from forestall.engine.promise.state import has_room


@entry
def room(state):
    """Return whether any one event surely fits into the arrays."""
    return has_room(state)
