"""Lifetimes fitted to a table of gaps: what was asked, what was found, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.show.facts import taken
from forestall.logs.gaps import read_gaps
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.ranking import fit_all
from forestall.reliability.report.questions import FitQuestion

if TYPE_CHECKING:
    from forestall.reliability.fits.estimate import Fitted
    from forestall.reliability.fits.ranking import Ranking
    from forestall.reliability.fits.sample import Sample

Interval = tuple[float, float]


@dataclass(frozen=True)
class ToldFit:
    """A fitted law with its intervals and its distances from the sample.

    Attributes
    ----------
    fitted : the fit
    ci : confidence interval of each parameter and of the mean
    ks, ad : distances of Kolmogorov-Smirnov and Anderson-Darling
    ks_p, ad_p : their p-values, None where none were asked for
    notes : what a reader should know, a line each
    """

    fitted: Fitted
    ci: Mapping[str, Interval]
    ks: float
    ad: float
    ks_p: float | None = None
    ad_p: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FitAnswer:
    """What a table of gaps gave: the fit of one family, or of the best of all with the ranking."""

    question: FitQuestion
    sample: Sample
    best: ToldFit
    ranking: Ranking | None
    cleaning: Cleaning

    def plain(self) -> dict[str, Any]:
        """Return everything as JSON has it: no NaN, no infinity."""
        one = plain_fit(self.best, self.question, self.cleaning)
        if self.ranking is None:
            return one
        return {
            "ranked_by": self.question.rank_by,
            "best": one,
            "families": plain_ranking(self.ranking),
        }


def fit_file(path: Path, question: FitQuestion, *, strict: bool = False) -> FitAnswer:
    """Fit what was asked for to a CSV of gaps.

    Raises TraceError for a file that cannot be used, or to whose gaps no law can be fitted.
    """
    gaps = read_gaps(path, strict=strict)
    if question.resolution is None:
        question = replace(question, resolution=gaps.resolution)
    try:
        return fit_gaps(gaps.gap, gaps.censored, question, gaps.cleaning)
    except ParameterError as error:
        if error.name not in ("gaps", "censored"):
            raise
        raise TraceError(path, str(error)) from None


def fit_gaps(
    gaps: object, censored: object, question: FitQuestion, cleaning: Cleaning | None = None
) -> FitAnswer:
    """Fit what was asked for to gaps in one unit of time; see `fit_file`."""
    ranking: Ranking | None = None
    how: dict[str, Any] = {"zeros": question.zeros, "resolution": question.resolution}
    if question.family is not None:
        fitted = fit(gaps, question.family, censored=censored, **how)
    else:
        ranking = fit_all(gaps, censored=censored, rank_by=question.rank_by, **how)
        if question.p_values:
            ranking = ranking.with_p_values(question.draws, question.seed)
        fitted = ranking.best
    told = tell(fitted, question)
    return FitAnswer(question, fitted.sample, told, ranking, cleaning or Cleaning())


def tell(fitted: Fitted, question: FitQuestion) -> ToldFit:
    """Return a fit with intervals and distances as the question wants them."""
    ci = fitted.ci(question.level, question.ci, question.draws, question.seed)
    found = fitted.goodness(question.draws if question.p_values else 0, question.seed)
    ks_p, ad_p = (found.ks_p, found.ad_p) if question.p_values else (None, None)
    notes = dict.fromkeys((*fitted.notes, *getattr(ci, "notes", ()), *found.notes))
    return ToldFit(fitted, ci, found.ks, found.ad, ks_p, ad_p, tuple(notes))


def plain_fit(told: ToldFit, question: FitQuestion, cleaning: Cleaning) -> dict[str, Any]:
    """Return a fit as JSON has it."""
    fitted = told.fitted
    sample = fitted.sample
    distances: dict[str, Any] = {"ks": told.ks, "ad": told.ad}
    if question.p_values:
        distances |= {"ks_p": told.ks_p, "ad_p": told.ad_p, "draws": question.draws}
    values = {
        "family": fitted.family.name,
        "params": fitted.params,
        "loglik": fitted.loglik,
        "ci": {name: list(ends) for name, ends in told.ci.items()},
        "level": question.level,
        "ci_method": question.ci,
        "standard_errors": fitted.standard_errors(),
        "mean": fitted.mean(),
        **taken(fitted, "aic", "aicc", "bic"),
        **distances,
        "gaps": len(sample),
        "failures": sample.failures,
        "censored": len(sample.right),
        "zeros": sample.zeros,
        "converged": fitted.converged,
        "notes": list(told.notes),
        "left_out": left_out(cleaning),
    }
    found: dict[str, Any] = finite(values)
    return found


def plain_ranking(ranking: Ranking) -> list[dict[str, Any]]:
    """Return the families as JSON has them, best first, those that could not be fitted last."""
    rows: list[dict[str, Any]] = []
    for row in ranking.rows:
        fitted, distance = row.fitted, row.goodness
        one: dict[str, Any] = {
            "family": fitted.family.name,
            **taken(fitted, "params", "loglik", "aic", "aicc", "bic"),
            **taken(distance, "ks", "ad"),
            "weight": row.weight,
            "same_as": row.same_as or None,
            "converged": fitted.converged,
            "unbounded": row.unbounded,
            "why": None,
        }
        if distance.draws:
            one |= {"ks_p": distance.ks_p, "ad_p": distance.ad_p}
        rows.append(finite(one))
    measures = ("params", "loglik", "aic", "aicc", "bic", "ks", "ad", "weight", "same_as")
    blank = dict.fromkeys(measures)
    return rows + [
        {"family": name, **blank, "converged": False, "unbounded": False, "why": why}
        for name, why in ranking.unfitted.items()
    ]


def left_out(cleaning: Cleaning) -> dict[str, int]:
    """Return the rows that were left out, counted by kind."""
    gone = tuple(remark for remark in cleaning.remarks if remark.action == "left out")
    return Cleaning(gone).counts()


def finite(value: Any) -> Any:
    """Return the value as JSON can hold it: None for what is no finite number, NumPy's own types
    as Python's."""
    if isinstance(value, Mapping):
        return {str(name): finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
