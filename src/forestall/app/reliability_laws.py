"""Laws of the gaps of a failure log: families ranked, Weibull and exponential with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.fit import Question, Told, finite, plain_ranking, tell
from forestall.model.errors import ParameterError
from forestall.reliability.fits.estimate import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from forestall.reliability.fits.ranking import Ranking
    from forestall.reliability.gaps import Gaps

UNITS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
"""Units that gaps are shown in, s."""
FAR: Final = 3.0
"""A scale so many times as long as the longest gap that was seen is told as unknown."""
FEWEST: Final = 3
"""Gaps that ended, at least, for a law to be fitted to a part of the log."""


@dataclass(frozen=True)
class Sampled:
    """Gaps of a log in the unit in which they are shown.

    Attributes
    ----------
    gap : float64[n]
    censored : bool[n]
    """

    gap: npt.NDArray[np.float64]
    censored: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, gaps: Gaps, unit: str) -> Sampled:
        """Return the gaps in that unit."""
        return cls(gaps.length / UNITS[unit], gaps.censored)

    @property
    def ended(self) -> int:
        """How many of the gaps ended with a failure."""
        return int(np.count_nonzero(~self.censored))

    @property
    def zeros(self) -> int:
        """How many of those are 0."""
        return int(np.count_nonzero((self.gap == 0) & ~self.censored))


@dataclass(frozen=True)
class Laws:
    """What was fitted to the gaps of nodes or of the whole system.

    Attributes
    ----------
    by : "node" or "system"
    sampled : the gaps
    ranking : all families that were asked for; None where none can be fitted
    weibull, exponential : the two that the literature compares with intervals; None likewise
    why : why something could not be fitted; empty where nothing failed
    """

    by: str
    sampled: Sampled
    ranking: Ranking | None
    weibull: Told | None
    exponential: Told | None
    why: str = ""

    @property
    def resolution(self) -> float | None:
        """What gaps of 0 are taken to be shorter than; None where there are none."""
        if self.ranking is None or not len(self.ranking.sample.left):
            return None
        return float(self.ranking.sample.left[0])

    def plain(self) -> dict[str, Any]:
        """Return the laws as JSON has them."""
        return {
            "gaps": len(self.sampled.gap),
            "ended": self.sampled.ended,
            "censored": len(self.sampled.gap) - self.sampled.ended,
            "zeros": self.sampled.zeros,
            "mean": finite(mean_gap(self.sampled)),
            "why": self.why,
            "resolution": self.resolution,
            "best": None if self.ranking is None else self.ranking.best.family.name,
            "families": [] if self.ranking is None else plain_ranking(self.ranking),
            "weibull": plain_law(self.weibull),
            "exponential": plain_law(self.exponential),
        }


def laws_of(
    gaps: Gaps, by: str, unit: str, question: Question, families: Sequence[str] | None
) -> Laws:
    """Return the laws of gaps; `question` says how intervals and p-values are found."""
    from forestall.reliability.fits.ranking import fit_all

    sampled = Sampled.of(gaps, unit)
    if sampled.ended < 2:
        why = f"Gaps that ended with a failure: {sampled.ended}, too few for a law."
        return Laws(by, sampled, None, None, None, why)
    ranking: Ranking | None = None
    why = ""
    try:
        ranking = fit_all(sampled.gap, censored=sampled.censored, families=families)
        if question.p_values:
            ranking = ranking.with_p_values(question.draws, question.seed)
    except ParameterError as error:
        why = str(error)
    weibull, _ = told(sampled, "weibull", question)
    exponential, _ = told(sampled, "exponential", question)
    return Laws(by, sampled, ranking, weibull, exponential, why)


def told(sampled: Sampled, family: str, question: Question) -> tuple[Told | None, str]:
    """Return the fit of one family with its intervals, or None and why there is none."""
    if sampled.ended < FEWEST:
        return None, f"{sampled.ended} gaps ended"
    try:
        # Gaps of 0 are treated alike for all families, so that likelihoods can be compared.
        fitted = fit(sampled.gap, family, censored=sampled.censored, zeros="censored")
        return tell(fitted, question), ""
    except ParameterError as error:
        return None, str(error)


def plain_law(one: Told | None) -> dict[str, Any] | None:
    """Return parameters with intervals as JSON has them."""
    if one is None:
        return None
    found: dict[str, Any] = finite(
        {
            "params": one.fitted.params,
            "ci": {name: list(ends) for name, ends in one.ci.items()},
            "mean": one.fitted.mean(),
            "loglik": one.fitted.loglik,
            "aic": one.fitted.aic,
            "ks": one.ks,
            "ad": one.ad,
            "ks_p": one.ks_p,
            "ad_p": one.ad_p,
        }
    )
    return found


def mean_gap(sampled: Sampled) -> float:
    """Return the time in gaps over the failures that ended them; nan without any."""
    return float(sampled.gap.sum()) / sampled.ended if sampled.ended else float("nan")


def weibull_row(sampled: Sampled, question: Question) -> dict[str, Any]:
    """Return shape and scale of a Weibull law with intervals, None where there is none, with why.

    `beyond` tells that the scale lies far beyond the longest gap that was seen: then it is not to
    be relied on.
    """
    one, why = told(sampled, "weibull", question)
    row: dict[str, Any] = {
        "gaps": sampled.ended,
        "shape": None,
        "shape_low": None,
        "shape_high": None,
        "scale": None,
        "scale_low": None,
        "scale_high": None,
        "beyond": False,
        "why": why,
    }
    if one is None:
        return row
    for name in ("shape", "scale"):
        row[name] = one.fitted.params[name]
        row[f"{name}_low"], row[f"{name}_high"] = one.ci[name]
    row["beyond"] = bool(row["scale"] > FAR * sampled.gap.max())
    found: dict[str, Any] = finite(row)
    return found
