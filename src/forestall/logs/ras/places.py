"""Locations and their levels: rack, midplane, node card, card, node.

Blue Gene names places from the outside in, pieces parted by dashes:

- Blue Gene/L: ``R02-M1-N0-C:J12-U11`` is rack 02, midplane 1, node card 0, compute card in slot
  J12, chip U11, and the chip is the node; ``I:J18`` instead of ``C:J12`` is an I/O card;
  ``L2`` instead of the node card is a link card, ``S`` a service card.
- Blue Gene/P and Q: ``R1F-M1-N04-J17`` is rack 1F, midplane 1, node board 04, and the compute card
  in slot J17 is the node. ``R1F-M1-N00-U07`` is a link chip of a board, ``R0A-B0-P2`` a power
  module, ``R11-L`` the coolant monitor of a rack. I/O racks begin with Q: ``Q0H-I1-J05`` is I/O
  rack 0H, drawer 1 (it stands at the level of midplanes), I/O card J05.

A place that is coarser than the level asked for stays whole: no one knows which node it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import RasLog

PIECES: Final = {"rack": 1, "midplane": 2, "nodecard": 3, "card": 4}
LEVELS: Final = ("whole", "node", "card", "nodecard", "midplane", "rack", "prefix", "system")
"""From fine to coarse: `whole` is the place as the log has it, `prefix` a name without the digits
at its end (``dn228`` is one of ``dn``), `system` the whole machine."""

SYSTEM: Final = "system"
_BLUE_GENE = re.compile(r"[RQ][0-9][0-9A-Z](?:-.*)?")
_NUMBER = re.compile(r"[0-9]+$")


def is_blue_gene(place: str) -> bool:
    """Return whether a place is named as Blue Gene does."""
    return _BLUE_GENE.fullmatch(place) is not None


def coarsened(place: str, level: str) -> str:
    """Return the part of a place that names it at a level of `LEVELS`.

    >>> [coarsened("R02-M1-N0-C:J12-U11", level) for level in ("rack", "midplane", "nodecard")]
    ['R02', 'R02-M1', 'R02-M1-N0']
    """
    if level == "system":
        return SYSTEM
    if level == "prefix":
        return _NUMBER.sub("", place) or place
    if level == "whole" or not is_blue_gene(place):
        return place
    pieces = place.split("-")
    if level == "node":
        drawer = pieces[1:2] and pieces[1].startswith("I")  # an I/O drawer has no boards within
        card = 3 if drawer else 4
        chips = len(pieces) >= 4 and ":" in pieces[3]
        return "-".join(pieces[: card + 1 if chips else card])
    return "-".join(pieces[: PIECES[level]])


def check_level(level: str, name: str = "level") -> None:
    """Raise ParameterError naming `name` where `level` is none of `LEVELS`."""
    if level not in LEVELS:
        raise ParameterError(name, level, ", ".join(LEVELS))


def at_level(log: RasLog, level: str) -> RasLog:
    """Return the log with its places at a level of `LEVELS`, in sorted order.

    Places that nothing was reported from stay known, at that level too. Raises ParameterError where
    the level is unknown, or one of Blue Gene's and no place is named as Blue Gene does.
    """
    check_level(level)
    if level in PIECES and log.places and not any(map(is_blue_gene, log.places)):
        allowed = f"node, whole, prefix or system: {log.places[0]!r} is not a Blue Gene location"
        raise ParameterError("level", level, allowed)
    return regrouped(log, lambda place: coarsened(place, level))


def regrouped(log: RasLog, name: Callable[[str], str]) -> RasLog:
    """Return the log with its places renamed; those of one name become one, in sorted order."""
    names = [name(place) for place in log.places]
    places = tuple(sorted(set(names)))
    number = {place: k for k, place in enumerate(places)}
    table = np.fromiter((number[one] for one in names), np.int32, len(names))
    return replace(log, place=table[log.place], places=places)
