"""Choices of storage hosts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forestall.core.show.quantities import duration, percent


def in_words(choice: Mapping[str, Any]) -> str:
    """Return what a choice costs and is worth."""
    return (
        f"storing takes {duration(choice['cost'])} and is expected to save "
        f"{duration(choice['benefit'])} of work; enough of them are up with "
        f"{percent(choice['available'])} probability when this machine fails"
    )
