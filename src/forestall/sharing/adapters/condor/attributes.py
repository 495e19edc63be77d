"""What an agent says of its host, as attributes of a machine in HTCondor.

Nothing is said of what is not known: expressions see such an attribute as undefined.

Attributes are written as HTCondor reads them from what a program prints, one a line. That is the
older way to write ClassAds: in a string only ``\\"`` is an escape, any other backslash is one.
(HTCondor's manual, "ClassAd syntax" and "Startd cron".)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from forestall.core.model.errors import ParameterError

Value = bool | int | float | str

UPDATED: Final = "ForestallUpdated"
HOST: Final = "ForestallHost"
STATE: Final = "ForestallState"
AVAILABLE: Final = "ForestallAvailable"
LOAD: Final = "ForestallLoad"
MTTF: Final = "ForestallMttf"
SPEED: Final = "ForestallSpeed"
VAULT: Final = "ForestallVaultBandwidth"
VAULT_HOSTS: Final = "ForestallVaultHosts"
FOLDER: Final = "ForestallFolder"
HOURS: Final = (1, 2, 4, 8, 16, 24)
"""For which times the agent predicts reliability and load, h."""

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


def expected_load(hours: int) -> str:
    """Return the name of the attribute of the mean load over one of `HOURS`.

    >>> expected_load(4)
    'ForestallLoad4h'
    """
    return f"ForestallLoad{hours}h"


def attributes(status: Mapping[str, object]) -> dict[str, Value]:
    """Return the attributes for a status of the agent.

    Parameters
    ----------
    status : what status.json of the agent's folder holds: host; time (Unix s) of the last sample;
        state; cpu, the owner's load (share of the machine); reliability, the probability of staying
        available by hours; expected_load, the owner's mean load by hours; mttf (s); speed, against
        a host of speed 1; vault_bandwidth (B/s to a storage host, the median) and vault_hosts (that
        were measured). All but the time may be missing or None.

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
    for hours, probability in _by_hours(status, "reliability", "a probability").items():
        said[reliability(hours)] = probability
    for hours, mean in _by_hours(status, "expected_load", "a share of the machine").items():
        said[expected_load(hours)] = mean
    if (mttf := _number(status, "mttf", math.inf, "seconds")) is not None:
        said[MTTF] = round(mttf)
    if (speed := _number(status, "speed", 1e6, "a speed; 1 is that of an average host")) is not (
        None
    ):
        said[SPEED] = speed
    if (rate := _number(status, "vault_bandwidth", 1e15, "B/s")) is not None:
        said[VAULT] = rate
        said[VAULT_HOSTS] = round(_number(status, "vault_hosts", 1e6, "a number of hosts") or 0)
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


def _by_hours(status: Mapping[str, object], name: str, kind: str) -> dict[int, float]:
    """Return shares from 0 to 1 by hours, those that are known."""
    told = status.get(name)
    if told is None:
        return {}
    if not isinstance(told, Mapping):
        names = ", ".join(f"{hours}h" for hours in HOURS)
        raise ParameterError(name, told, f"{kind} for each of {names}")
    names_of = {hours: f"{hours}h" for hours in HOURS}
    known = {hours: _number(told, one, 1.0, kind) for hours, one in names_of.items()}
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


def literal(value: Value) -> str:
    r"""Return a value as a ClassAd literal; in strings, control characters become spaces.

    A backslash before a quotation mark and one at the end would be taken for an escape: there it
    becomes a slash. Numbers have to be finite.

    >>> print(literal(True), literal(2), literal(0.5), literal('a "b"'))
    true 2 0.5 "a \"b\""
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    assert math.isfinite(value)
    return repr(value)


def _string(text: str) -> str:
    plain = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text)
    plain = plain.encode("utf-8", "replace").decode()  # half of a pair has no bytes
    told = [
        "/" if c == "\\" and plain[k + 1 : k + 2] in {"", '"'} else c for k, c in enumerate(plain)
    ]
    return '"{}"'.format("".join(told).replace('"', '\\"'))


def lines(attributes: Mapping[str, Value]) -> str:
    """Return attributes as text, one a line.

    >>> print(lines({"Cores": 4, "State": "S1"}), end="")
    Cores = 4
    State = "S1"
    """
    return "".join(f"{name} = {literal(value)}\n" for name, value in attributes.items())
