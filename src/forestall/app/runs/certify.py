"""An independent look at a finished run, whichever model made it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forestall.app.kit.certify.finding import Certificate
from forestall.app.kit.certify.sheet import read_summary
from forestall.app.runs.models import model_in
from forestall.model.errors import TraceError
from forestall.model.spelling import all_named


def certify(folder: str | Path, *, spell: Callable[[str], str] = str) -> Certificate:
    """Check a run's folder by its files alone, with the certifier of the model that the summary
    names; see `app.runs.models`. `spell` writes the names of parameters in what was not checked.

    Returns what was checked and found. Raises TraceError where a file is missing or cannot be read
    as what it should be; one that can be read but tells something impossible fails checks instead.
    """
    place = Path(folder)
    try:
        summary = read_summary(place / "summary.json")
    except TraceError:  # its own certifier says in which words
        summary = {}
    return all_named(model_in(summary).certified(place), spell)
