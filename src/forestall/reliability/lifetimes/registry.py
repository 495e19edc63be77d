"""The list of families, and laws by name."""

from __future__ import annotations

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Family, Lifetime
from forestall.reliability.lifetimes.batch import Fittable
from forestall.reliability.lifetimes.gamma import GAMMAS
from forestall.reliability.lifetimes.location_scale import LOCATION_SCALES
from forestall.reliability.lifetimes.mixtures import MIXTURES
from forestall.reliability.lifetimes.positive import POSITIVES
from forestall.reliability.lifetimes.tails import TAILS
from forestall.reliability.lifetimes.weibull import WEIBULLS

_GROUPS = (WEIBULLS, GAMMAS, LOCATION_SCALES, POSITIVES, TAILS, MIXTURES)

FAMILIES: dict[str, Fittable] = {family.name: family for group in _GROUPS for family in group}
"""Every family by its name, in the order of tables."""


def family_of(name: str | Family) -> Family:
    """Return the family of that name; ParameterError says which there are."""
    if isinstance(name, Family):
        return name
    known = FAMILIES.get(str(name).lower().replace("_", "-"))
    if known is None:
        raise ParameterError("family", name, "one of " + ", ".join(FAMILIES))
    return known


def lifetime(family: str | Family, **parameters: float) -> Lifetime:
    """Return the distribution of that family with these parameters; ParameterError if they are
    invalid."""
    chosen = family_of(family)
    return Lifetime(chosen, chosen.checked(parameters))
