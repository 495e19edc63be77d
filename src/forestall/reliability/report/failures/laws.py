"""Laws of the gaps of a failure log: families ranked, Weibull and exponential with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.show.facts import taken
from forestall.core.show.words import percent
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.ranking import fit_all
from forestall.reliability.report.fit.fit import ToldFit, finite, plain_ranking, tell
from forestall.reliability.report.questions import FitQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from forestall.reliability.fits.ranking import Ranking
    from forestall.reliability.history.gaps import Gaps
    from forestall.reliability.history.history import By, History

UNITS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
"""Units that gaps are shown in, s."""
FAR: Final = 3.0
"""A scale so many times as long as the longest gap that was seen is told as unknown."""
COARSE: Final = 0.2
"""From this share of gaps of 0 on, a law of the lengths of the others says little."""
FEWEST: Final = 3
"""Gaps that ended, at least, for a law to be fitted to a part of the log."""


@dataclass(frozen=True)
class Sampled:
    """Gaps of a log in the unit in which they are shown.

    Attributes
    ----------
    gap : float64[n]
    censored : bool[n]
    step : the step of the log's clock in that unit; None where it cannot be told
    """

    gap: npt.NDArray[np.float64]
    censored: npt.NDArray[np.bool_]
    step: float | None = None

    @classmethod
    def of(cls, gaps: Gaps, unit: str, step: int | None = None) -> Sampled:
        """Return the gaps in that unit; `step` of the clock in seconds."""
        told = None if step is None else step / UNITS[unit]
        return cls(gaps.length / UNITS[unit], gaps.censored, told)

    @property
    def resolution(self) -> float | None:
        """What gaps of 0 are shorter than: half the clock's step, as a difference of two readings
        is 0 with the probability that the law has up to there, to first order; None, the shortest
        other gap, where the step is not known."""
        return None if self.step is None else self.step / 2

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
    weibull: ToldFit | None
    exponential: ToldFit | None
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
            "clock_step": self.sampled.step,
            "notes": self.notes(),
            "best": None if self.ranking is None else self.ranking.best.family.name,
            "families": [] if self.ranking is None else plain_ranking(self.ranking),
            "weibull": plain_law(self.weibull, self.sampled),
            "exponential": plain_law(self.exponential, self.sampled),
        }

    def notes(self) -> list[str]:
        """Return what a reader must know before using the laws."""
        share = self.sampled.zeros / max(self.sampled.ended, 1)
        if share < COARSE:
            return []
        whose = "machine's" if self.by == "system" else "nodes'"
        return [
            f"{percent(share)} of the {whose} gaps are 0: the log's clock is too coarse, or too "
            f"many failures are simultaneous, to fit a distribution to the {whose} gaps. Do not "
            "rely on these distributions; look at the bursts instead."
        ]


def laws_of(
    history: History, by: By, unit: str, question: FitQuestion, families: Sequence[str] | None
) -> Laws:
    """Return the laws of gaps; `question` says how intervals and p-values are found."""
    sampled = Sampled.of(history.gaps(by), unit, history.clock_step)
    if sampled.ended < 2:
        why = f"Gaps that ended with a failure: {sampled.ended}, too few to fit a distribution."
        return Laws(by, sampled, None, None, None, why)
    ranking: Ranking | None = None
    why = ""
    try:
        ranking = fit_all(
            sampled.gap,
            censored=sampled.censored,
            families=families,
            resolution=sampled.resolution,
        )
        if question.p_values:
            ranking = ranking.with_p_values(question.draws, question.seed)
    except ParameterError as error:
        why = str(error)
    weibull, _ = told(sampled, "weibull", question)
    exponential, _ = told(sampled, "exponential", question)
    return Laws(by, sampled, ranking, weibull, exponential, why)


def told(sampled: Sampled, family: str, question: FitQuestion) -> tuple[ToldFit | None, str]:
    """Return the fit of one family with its intervals, or None and why there is none."""
    if sampled.ended < FEWEST:
        return None, f"{sampled.ended} gaps ended"
    try:
        # Gaps of 0 are treated alike for all families, so that likelihoods can be compared.
        fitted = fit(
            sampled.gap,
            family,
            censored=sampled.censored,
            zeros="censored",
            resolution=sampled.resolution,
        )
        return tell(fitted, question), ""
    except ParameterError as error:
        return None, str(error)


def plain_law(one: ToldFit | None, sampled: Sampled) -> dict[str, Any] | None:
    """Return parameters with intervals as JSON has them; `beyond`: see `is_beyond`."""
    if one is None:
        return None
    found: dict[str, Any] = finite(
        {
            "params": one.fitted.params,
            "beyond": is_beyond(one, sampled),
            "ci": {name: list(ends) for name, ends in one.ci.items()},
            "mean": one.fitted.mean(),
            **taken(one.fitted, "loglik", "aic"),
            **taken(one, "ks", "ad", "ks_p", "ad_p"),
        }
    )
    return found


def is_beyond(one: ToldFit, sampled: Sampled) -> bool:
    """Return whether the scale of a law lies so far beyond the longest gap that was seen that it is
    not to be relied on, nor is the mean."""
    return bool(one.fitted.params["scale"] > FAR * sampled.gap.max())


def mean_gap(sampled: Sampled) -> float:
    """Return the time in gaps over the failures that ended them; nan without any."""
    return float(sampled.gap.sum()) / sampled.ended if sampled.ended else float("nan")


def weibull_row(sampled: Sampled, one: ToldFit | None, why: str) -> dict[str, Any]:
    """Return shape and scale of a Weibull law with intervals, None where there is none, with why.

    For `beyond` see `is_beyond`.
    """
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
    row["beyond"] = is_beyond(one, sampled)
    found: dict[str, Any] = finite(row)
    return found
