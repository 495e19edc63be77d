"""Fit a family to gaps by maximum likelihood, with censoring, zeros and ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.core.show.result import ShownResult
from forestall.reliability.fits.goodness import goodness
from forestall.reliability.fits.intervals import confidence_intervals
from forestall.reliability.fits.newton import information, slopes
from forestall.reliability.fits.plots import (
    plot_hazard,
    plot_pp,
    plot_qq,
    plot_survival,
    probabilities,
)
from forestall.reliability.fits.sample import Sample, counted
from forestall.reliability.fits.solve import solve
from forestall.reliability.fits.told import report_of_fits
from forestall.reliability.lifetimes.base import Family, Lifetime
from forestall.reliability.lifetimes.batch import Fittable
from forestall.reliability.lifetimes.registry import family_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.show.report import Report
    from forestall.reliability.fits.goodness import Goodness


@dataclass(frozen=True, eq=False)
class Fitted(ShownResult):
    """A law fitted to a sample by maximum likelihood.

    Attributes
    ----------
    lifetime : the law, in the unit of the gaps
    sample : what it was fitted to
    loglik : the log-likelihood at its maximum: log densities of exact gaps, log survival of the
        right-censored, log cdf of the left-censored, in the unit of the gaps
    converged : whether the maximum was reached; where not, `notes` say what was
    notes : what a reader should know of the sample and of the fit, a line each
    scaled : float64[p], the parameters in the units of `sample.batch`: times over `sample.scale`
    """

    lifetime: Lifetime
    sample: Sample
    loglik: float
    converged: bool
    notes: tuple[str, ...]
    scaled: Floats

    def __repr__(self) -> str:
        law = self.lifetime
        return f"Fitted({law.family.name!r}, {law.listed()}; {counted(len(self.sample))})"

    @property
    def family(self) -> Fittable:
        """The family."""
        return _fittable(self.lifetime.family)

    @property
    def params(self) -> dict[str, float]:
        """The parameters by name, in the unit of the gaps."""
        return self.lifetime.params

    def pdf(self, t: npt.ArrayLike) -> Floats:
        """Return the density at `t`, 1 / time."""
        return self.lifetime.pdf(t)

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to have failed by `t`."""
        return self.lifetime.cdf(t)

    def sf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to last longer than `t`."""
        return self.lifetime.sf(t)

    def hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the hazard rate at age `t`, 1 / time."""
        return self.lifetime.hazard(t)

    def cumulative_hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the hazard added up from 0 to `t`."""
        return self.lifetime.cumulative_hazard(t)

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed."""
        return self.lifetime.quantile(p)

    def mean(self) -> float:
        """Return the mean time to failure."""
        return self.lifetime.mean()

    def variance(self) -> float:
        """Return the variance of the time to failure."""
        return self.lifetime.variance()

    @property
    def aic(self) -> float:
        """Akaike's information criterion, 2 p - 2 loglik."""
        return 2 * len(self.params) - 2 * self.loglik

    @property
    def aicc(self) -> float:
        """`aic` corrected for small samples; inf where there are too few observations for it."""
        n, p = len(self.sample), len(self.params)
        return self.aic + 2 * p * (p + 1) / (n - p - 1) if n > p + 1 else float("inf")

    @property
    def bic(self) -> float:
        """Schwarz's criterion, p log n - 2 loglik, with n the number of observations."""
        return len(self.params) * float(np.log(len(self.sample))) - 2 * self.loglik

    @cached_property
    def regular(self) -> Bools:
        """bool[p], which parameters the usual large-sample theory holds for: those that have a
        standard error. The others (a lower end of the support) are taken as known for the rest."""
        odd = self.family.irregular(self.sample.batch, self.scaled)
        return np.array([name not in odd for name in self.family.parameters])

    def covariance(self) -> Floats:
        """Return float64[p, p], the covariance of the estimates as named, in the gaps' unit.

        The inverse of the observed information in unconstrained coordinates, carried over by the
        delta method. nan for parameters that are not `regular`, and throughout where the curvature
        of the likelihood is not that of a maximum.
        """
        free = self.regular
        answer = np.full((len(free), len(free)), np.nan)
        slope = self._slope[free]
        with np.errstate(over="ignore", under="ignore"):
            answer[np.ix_(free, free)] = self._inverse * slope[:, None] * slope[None, :]
        return answer

    @cached_property
    def _inverse(self) -> Floats:
        """The inverse of the observed information about regular parameters, in coordinates."""
        free = self.regular
        if not self.converged:
            return np.full((int(free.sum()),) * 2, np.nan)
        found = information(self.family, self.sample.batch, self.scaled[None, :])[0]
        curvature = found[np.ix_(free, free)]
        nothing = np.full(curvature.shape, np.nan)
        if len(curvature) == 0 or not np.isfinite(curvature).all():
            return nothing
        size = np.sqrt(np.abs(np.diag(curvature))) + 1e-150  # a location is in any unit
        values, vectors = np.linalg.eigh(curvature / np.outer(size, size))
        if values[0] <= 1e-10:
            return nothing
        inverse: Floats = (vectors / values) @ vectors.T / np.outer(size, size)
        return inverse

    @cached_property
    def _slope(self) -> Floats:
        """float64[p], d parameter / d coordinate, in the unit of the gaps."""
        slope = slopes(self.family, np.array(self.lifetime.values))
        places = [kind == "location" for kind in self.family.kinds]
        return np.where(places, self.sample.scale, slope)

    def standard_errors(self) -> dict[str, float]:
        """Return the standard error of each parameter; nan where there is none."""
        family, free = self.family, self.regular
        errors = np.full(len(free), np.nan)
        with np.errstate(over="ignore", under="ignore"):
            errors[free] = np.sqrt(np.diag(self._inverse)) * self._slope[free]
        return dict(zip(family.parameters, errors.tolist(), strict=True))

    def ci(
        self,
        level: float = 0.95,
        method: Literal["likelihood", "wald", "bootstrap"] = "likelihood",
        draws: int = 999,
        seed: int = 1,
    ) -> dict[str, tuple[float, float]]:
        """Return the confidence interval of each parameter, and of the mean as `mean`.

        See `forestall.reliability.fits.intervals.confidence_intervals`.
        """
        return confidence_intervals(self, level, method, draws, seed)

    def goodness(self, draws: int = 999, seed: int = 1) -> Goodness:
        """Return how far the law is from the sample, with p-values right for fitted parameters.

        See `forestall.reliability.fits.goodness.goodness`.
        """
        return goodness(self, draws, seed)

    def probabilities(self) -> tuple[Floats, Floats]:
        """Return empirical (Kaplan-Meier) and fitted probabilities of the exact gaps, for P-P."""
        return probabilities(self)

    def plot_pp(self, axes: Any = None) -> Any:
        """Draw fitted against empirical probabilities; return the Matplotlib axes."""
        return plot_pp(self, axes)

    def plot_qq(self, axes: Any = None) -> Any:
        """Draw empirical against fitted quantiles; return the Matplotlib axes."""
        return plot_qq(self, axes)

    def plot_hazard(self, axes: Any = None) -> Any:
        """Draw the hazard rate over age; return the Matplotlib axes."""
        return plot_hazard(self, axes)

    def plot_survival(self, axes: Any = None) -> Any:
        """Draw survival beside Kaplan-Meier; return the Matplotlib axes."""
        return plot_survival(self, axes)

    @property
    def table(self) -> pl.DataFrame:
        """One row a parameter: `parameter`, `value`, `standard_error`."""
        return pl.DataFrame(
            {
                "parameter": list(self.params),
                "value": list(self.params.values()),
                "standard_error": list(self.standard_errors().values()),
            }
        )

    def _as_report(self) -> Report:
        facts = {"AIC": self.aic, "BIC": self.bic, "Mean": self.mean()}
        return report_of_fits(self.family.title, (self,), self.table.to_dicts(), facts, self.notes)

    def summary(self) -> str:
        """Return the fit as text: parameters, standard errors, likelihood, criteria, notes."""
        sample = self.sample
        known = f"{len(sample):,} gaps, {sample.failures:,} ended, {len(sample.right):,} censored"
        lines = [f"{self.family.title}: {known}"]
        width = max(map(len, self.params))
        for name, error in self.standard_errors().items():
            tail = f"standard error {error:.4g}" if np.isfinite(error) else "no standard error"
            lines.append(f"  {name:<{width}}  {self.params[name]:>13.6g}  {tail}")
        lines.append(f"  {'mean':<{width}}  {self.mean():>13.6g}")
        lines.append(f"loglik {self.loglik:.6g}  AIC {self.aic:.6g}  BIC {self.bic:.6g}")
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def fit(
    gaps: object,
    family: str | Family = "weibull",
    *,
    censored: object = None,
    zeros: str = "auto",
    resolution: float | None = None,
) -> Fitted:
    """Fit a family of lifetimes to gaps by maximum likelihood.

    Parameters
    ----------
    gaps : numbers >= 0 in any unit of time, a column, a table with `gap` and perhaps `censored`, or
        a `Sample`; see `Sample.of`
    family : a name of `registry.FAMILIES`
    censored : for each gap whether it was still open when observation ended
    zeros, resolution : what becomes of gaps of 0; see `Sample.of`

    Raises
    ------
    ParameterError
        for gaps that cannot be, and where the likelihood has no maximum: no gap ended, or all that
        ended are equal and the family could put all probability on that time

    >>> fitted = fit([12.0, 40.0, 7.0, 90.0, 33.0], "weibull", censored=[0, 0, 0, 1, 0])
    >>> {name: round(value, 3) for name, value in fitted.params.items()}
    {'shape': 0.997, 'scale': 45.488}
    """
    chosen = _fittable(family_of(family))
    sample = Sample.of(gaps, censored, zeros=zeros, resolution=resolution, family=chosen)
    return fit_sample(chosen, sample)


def fit_sample(family: Fittable, sample: Sample, start: Floats | None = None) -> Fitted:
    """Fit a family to a checked sample; `start` float64[p] is in the sample's own unit."""
    _must_have_maximum(family, sample)
    batch, factor = sample.batch, sample.scale
    first = None if start is None else family.rescaled(start, 1 / factor)[None, :]
    solution = solve(family, batch, first)
    scaled = solution.theta[0]
    with np.errstate(over="ignore", under="ignore"):
        values = family.rescaled(scaled, factor)
    loglik = float(solution.loglik[0]) - len(sample.exact) * sample.log_scale
    if not (np.isfinite(loglik) and np.isfinite(values).all()):
        what = f"{counted(len(sample))} from {sample.shortest:g} to {sample.longest:g}"
        raise ParameterError("gaps", what, f"gaps to which {family.name} can be fitted")
    edges = [name for name, at in zip(family.parameters, solution.edge[0], strict=True) if at]
    notes = family.remarks(batch, scaled)
    if edges and not notes:
        what = " and ".join(edges)
        notes = (f"the likelihood still rises as {what} goes on: no maximum in {family.name}",)
    elif not (edges or solution.converged[0]):
        notes += ("the ascent of the likelihood did not converge",)
    notes = sample.notes + notes
    done = bool(solution.converged[0]) and not edges
    return Fitted(Lifetime(family, tuple(values.tolist())), sample, loglik, done, notes, scaled)


def _fittable(family: Family) -> Fittable:
    """Return the family as one that can be fitted."""
    assert isinstance(family, Fittable), f"{family.name} offers no starting value"
    return family


def _must_have_maximum(family: Fittable, sample: Sample) -> None:
    """Raise ParameterError where the likelihood is known to have no maximum."""
    exact, right, left = sample.exact, sample.right, sample.left
    count = counted(len(sample))
    if sample.failures == 0:
        raise ParameterError(
            "gaps",
            f"{count}, none of which ended",
            f"at least one failure; all that is known is {float(right.sum()):g} without one",
        )
    if len(exact) == 0 and (len(right) == 0 or len(family.parameters) > 1):
        raise ParameterError("gaps", f"{count}, none above 0 that ended", "at least one such")
    if len(family.parameters) == 1 or exact.min() < exact.max():
        return
    value = float(exact[0])
    if (len(right) == 0 or right.max() <= value) and (len(left) == 0 or left.min() >= value):
        raise ParameterError(
            "gaps",
            f"{count}, every failure after the same time ({value:g})",
            f"at least two different times: the likelihood of {family.name} grows without bound "
            "around a single one (exponential and rayleigh can be fitted)",
        )
