"""Lifetimes with heavy tails: Pareto, Lomax, generalized Pareto and Burr."""

from __future__ import annotations

from forestall.reliability.lifetimes.batch import Fittable
from forestall.reliability.lifetimes.burr import Burr, Lomax
from forestall.reliability.lifetimes.generalized_pareto import GeneralizedPareto
from forestall.reliability.lifetimes.pareto import Pareto

TAILS: tuple[Fittable, ...] = (Pareto(), Lomax(), GeneralizedPareto(), Burr())
