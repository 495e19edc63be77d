"""Learners to files and back: one file each, with a version, that is never executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.__about__ import __version__
from forestall.core._lazy import lazily
from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.files.findings import shown
from forestall.core.files.guard import making
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import format_duration
from forestall.prediction.models.learner import Learner

with lazily():
    from forestall.prediction.models import entries, registry


WHAT: Final = "forestall predictor"
VERSION: Final = 1


def save_predictor(predictor: Learner, path: str | Path) -> None:
    """Write a trained predictor to one file; see `load_predictor`.

    The same predictor gives the same bytes. Raises TraceError if the file cannot be written,
    ParameterError for anything but a trained learner.
    """
    if not isinstance(predictor, Learner):
        raise ParameterError("predictor", predictor, "one of `forestall predict list`")
    values, arrays = predictor.state()
    head = {"name": predictor.name, "forestall": __version__, "state": values}
    write_bundle(path, WHAT, VERSION, head, arrays)


def load_predictor(path: str | Path) -> Learner:
    """Return the predictor that `save_predictor` or `forestall predict train` wrote.

    Raises TraceError where the file is missing, damaged, of a later version or of another kind.
    """
    values, arrays = read_bundle(path, WHAT, VERSION)
    name = values.get("name")
    if not isinstance(name, str) or name not in entries.LEARNERS:
        raise TraceError(path, f"holds the predictor {shown(name)}, which is not known here")
    with making(path, WHAT):
        return registry.learner_class(name).from_state(values["state"], arrays)


def described(predictor: Learner) -> dict[str, Any]:
    """Return what a predictor is and what it was trained on, as JSON can hold it; times in s."""
    seen = predictor.seen
    return {
        "name": predictor.name,
        "summary": predictor.summary,
        "settings": predictor.settings,
        "nodes": predictor.nodes,
        "horizons_s": list(predictor.horizons),
        "trained_failures": predictor.trained,
        "trained_until_s": predictor.trained_until,
        "seen_failures": len(seen.failures),
        "seen_from_s": seen.begin,
        "seen_until_s": seen.end,
        "origin_unix_s": seen.origin,
        "source": seen.failures.source,
    }


def spoken(time: int, origin: int | None) -> str:
    """Return a moment in words: a date where the clock has one."""
    if origin is None:
        return f"{format_duration(time)} ({time} s)"
    return str(np.datetime64(int(time + origin), "s"))
