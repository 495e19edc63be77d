"""What the reason of an outage says: whether something broke, whether somebody wanted it, of what.

Reasons are free text. Slurm and its helpers write some of them, people the rest; all are read by
the rules below, first what Slurm itself says, then what words say, then the state. What no rule
knows is unclear and stays so: it is never counted as a fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from forestall.slurm.reason_rules import CODES, OWN, PARTS, TROUBLE, WANTED, ReasonRule
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, UNCLEAR

POWER_SAVING: Final = "power_saving"
"""Nature of what is no outage: a node that Slurm sent to sleep and wakes when it is needed."""


@dataclass(frozen=True)
class Reading:
    """What was read: the nature, and a label of what it was about such as ``gpu``."""

    nature: str
    label: str


_NOT_ALONE: Final = frozenset({"system"})
_DOWN: Final = re.compile(r"\bdown\b", re.IGNORECASE)

_POWER: Final = re.compile(r"\bPOWER(?:ED_DOWN|ING_DOWN|ING_UP|_DOWN|_UP|ED_UP)\b|~|%|#$")
_MARKED: Final = re.compile(r"[*~#!%$@^+-]+$")
_BROKEN_STATES: Final = frozenset({"FAIL", "FAILING", "ERROR", "NO_RESPOND", "NOT_RESPONDING"})
_WANTED_STATES: Final = frozenset(
    {
        "MAINT",
        "REBOOT",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
        "REBOOT_CANCELED",
        "RESERVED",
        "PLANNED",
        "FUTURE",
        "UNDRAIN",
    }
)
_BLANK: Final = frozenset({"", "none", "unknown", "n/a", "(null)", "null", "-", "."})
_SERVICES: Final = frozenset({"slurm", "slurmctld", "slurmuser"})
LONGEST: Final = 1000
"""Characters of a reason that are looked at: Slurm keeps 255 at most, and what rules cost grows
faster than a text does."""
BLANK_LABEL: Final = "no_reason"
UNCLEAR_LABEL: Final = "unclear"


@lru_cache(maxsize=65536)
def told(state: str, reason: str, user: str = "") -> Reading:
    """Return what an outage was, by its state, its reason and who set it.

    In this order: what Slurm itself writes (`OWN`); codes of hardware; words of trouble, with the
    part that they are about; words of a wish; a part alone; then, where the reason says nothing,
    the state: one that is not responding (``DOWN*``) or failing is a fault, maintenance and
    reboots are administrative, power saving is none (`POWER_SAVING`), and what Slurm itself put
    DOWN is a fault. The rest is unclear.

    >>> told("DOWN*", "Not responding")
    Reading(nature='fault', label='not_responding')
    >>> told("IDLE+DRAIN", "BIOS update", "root(0)")
    Reading(nature='administrative', label='update')
    """
    text = plain(reason)
    rule = own(text)
    if rule is not None:
        return Reading(rule.nature, rule.label)
    if text:
        found = words(text)
        if found is not None:
            return found
    return _by_state(state, text, user)


def own(text: str) -> ReasonRule | None:
    """Return the rule of Slurm's own reasons that fits, None where none does."""
    return next((rule for rule in OWN if rule.pattern.search(text)), None)


def words(text: str) -> Reading | None:
    """Return what the words of a reason say, None where no rule knows any of them."""
    part = first(PARTS, text)
    code = first(CODES, text)
    if code is not None:  # the memory of a GPU is the GPU's
        return Reading(FAULT, part.label if part and part.label == "gpu" else code.label)
    if TROUBLE.search(text):
        return Reading(FAULT, part.label if part else "other_fault")
    wish = first(WANTED, text)
    if wish is not None:
        return Reading(ADMINISTRATIVE, wish.label)
    if part is not None and (part.label not in _NOT_ALONE or _DOWN.search(text)):
        return Reading(FAULT, part.label)
    return None


def _by_state(state: str, text: str, user: str) -> Reading:
    parts = states(state)
    label = UNCLEAR_LABEL if text else BLANK_LABEL
    if "*" in state or parts & _BROKEN_STATES:
        return Reading(FAULT, "not_responding" if "*" in state else label)
    if parts & _WANTED_STATES:
        return Reading(ADMINISTRATIVE, "reboot" if "REBOOT" in state.upper() else "maintenance")
    if _POWER.search(state.upper()):
        return Reading(POWER_SAVING, POWER_SAVING)
    if "DOWN" in parts and user.partition("(")[0].strip().lower() in _SERVICES:
        return Reading(FAULT, label)
    return Reading(UNCLEAR, label)


def first(rules: tuple[ReasonRule, ...], text: str) -> ReasonRule | None:
    """Return the first rule that fits, None where none does."""
    return next((rule for rule in rules if rule.pattern.search(text)), None)


def states(state: str) -> frozenset[str]:
    """Return the flags of a state: DOWN and DRAIN of ``DOWN*+DRAIN``."""
    return frozenset(_MARKED.sub("", part.strip()) for part in state.upper().split("+")) - {""}


_SIGNED: Final = re.compile(r"\s*\[[^\[\]\s]*@[^\[\]]*\]\s*$")


def plain(reason: str) -> str:
    """Return a reason without who set it when (``[root@2026-01-31T12:00:00]``); "" for none."""
    text = _SIGNED.sub("", reason[:LONGEST]).strip().strip("\"'").strip()
    return "" if text.lower() in _BLANK else text
