"""What an agent says of its host, as attributes of a machine in HTCondor.

Nothing is said of what is not known: expressions see such an attribute as undefined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from forestall.adapters.condor.classads import Value, lines
from forestall.model.errors import ParameterError

UPDATED: Final = "ForestallUpdated"
HOST: Final = "ForestallHost"
STATE: Final = "ForestallState"
AVAILABLE: Final = "ForestallAvailable"
LOAD: Final = "ForestallLoad"
MTTF: Final = "ForestallMttf"
HOURS: Final = (1, 2, 4, 8)
"""For which times the agent predicts reliability, h."""

STATES: Final = ("S1", "S2", "S3", "S4", "S5")
_GUESTS_MAY_RUN: Final = ("S1", "S2")
_END: Final = "-\n"
"""Ends what belongs together in the words of a program that the startd runs."""


def reliability(hours: int) -> str:
    """Return the name of the attribute for one of `HOURS`.

    >>> reliability(4)
    'ForestallReliability4h'
    """
    return f"ForestallReliability{hours}h"


def attributes(status: Mapping[str, object]) -> dict[str, Value]:
    """Return the attributes for a status of the agent.

    Parameters
    ----------
    status : what status.json of the agent's folder holds: host; time (Unix s) of the last sample;
        state; cpu, the owner's load (share of the machine); reliability, the probability of staying
        available by hours; mttf (s). All but the time may be missing or None.

    Raises ParameterError where a value cannot be one.
    """
    time = status.get("time")
    if not isinstance(time, int | float) or isinstance(time, bool) or not 0 < time < 1e11:
        raise ParameterError("time", time, "Unix seconds of the last sample")
    said: dict[str, Value] = {UPDATED: int(time)}
    host, state = status.get("host"), status.get("state")
    if host is not None:
        if not isinstance(host, str):
            raise ParameterError("host", host, "a name")
        said[HOST] = host
    if state is not None:
        if state not in STATES:
            raise ParameterError("state", state, f"one of {', '.join(STATES)}")
        said[STATE] = str(state)
        said[AVAILABLE] = state in _GUESTS_MAY_RUN
    if (load := _number(status, "cpu", 1.0, "a share of the machine, 0 to 1")) is not None:
        said[LOAD] = load
    for hours, probability in _reliabilities(status.get("reliability")).items():
        said[reliability(hours)] = probability
    if (mttf := _number(status, "mttf", math.inf, "seconds")) is not None:
        said[MTTF] = round(mttf)
    return said


def ad_text(status: Mapping[str, object]) -> str:
    """Return what a program that HTCondor's startd runs has to print for a status.

    Values and errors as in `attributes`.

    >>> print(ad_text({"time": 1700000000, "state": "S2", "reliability": {"4h": 0.75}}), end="")
    ForestallUpdated = 1700000000
    ForestallState = "S2"
    ForestallAvailable = true
    ForestallReliability4h = 0.75
    -
    """
    return lines(attributes(status)) + _END


def _reliabilities(told: object) -> dict[int, float]:
    if told is None:
        return {}
    if not isinstance(told, Mapping):
        raise ParameterError("reliability", told, "a probability for each of 1h, 2h, 4h, 8h")
    names = {hours: f"{hours}h" for hours in HOURS}
    known = {hours: _number(told, name, 1.0, "a probability") for hours, name in names.items()}
    return {hours: value for hours, value in known.items() if value is not None}


def _number(told: Mapping[str, object], name: str, most: float, allowed: str) -> float | None:
    """Return a number to six places; None where there is none, or none that is known."""
    value = told.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ParameterError(name, value, allowed)
    if not math.isfinite(value):
        return None
    if not 0 <= value <= most:
        raise ParameterError(name, value, allowed)
    return round(float(value), 6)
