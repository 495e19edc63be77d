"""Confidence intervals for the parameters of a fit, and for the mean of the law.

- likelihood: all values whose profile likelihood is within half a cut of the maximum, found on
  each side by constrained refits. The cut is n log(1 + t^2 / (n - p)) with Student's t of n - p
  degrees of freedom, n failures and p parameters: chi2(1) for large n, and wider for small n,
  where chi2(1) covers too little in every family. (With one degree more it would be exact for the
  mean of normal logarithms.) The mean is made a parameter in place of the scale, so it has its
  profile too. Where the profile never falls so far, the end is open and said to be 0 or inf. For
  the exponential the exact chi-square interval takes its place where it is right: nothing censored,
  or observation ended with the last of a planned number of failures (Epstein and Sobel, J. Am.
  Stat. Assoc. 48, 1953).
- wald: estimate plus and minus standard errors, in unconstrained coordinates (so that scales stay
  positive), for the mean on its logarithm; normal quantiles, as most tools have them.
- bootstrap: errors of redrawn and refitted samples in their own standard errors; see `bootstrap`.

Where there is none (a lower end of the support, a curvature that is no maximum's, a mean that is
infinite), the ends are nan and a note says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, ndtri, stdtrit

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.bootstrap import bootstrap
from forestall.reliability.fits.curvature import STEP, in_unit, slope_of_log_mean, spread, value_at
from forestall.reliability.fits.newton import EDGES, constrained, maximise, unconstrained
from forestall.reliability.fits.redraw import Fit
from forestall.reliability.lifetimes.base import Kind
from forestall.reliability.lifetimes.batch import Batch, Derivatives, Fittable

Method = Literal["likelihood", "wald", "bootstrap"]
METHODS: tuple[Method, ...] = get_args(Method)
Ends = tuple[float, float]
Places = npt.NDArray[np.intp]

MEAN = "mean"
NONE: Ends = (float("nan"), float("nan"))

_TOLERANCE = 1e-7  # of the root of the deviance: a ten-millionth of a standard error
_TRIALS = 60
_BOLD = 2.0  # the furthest first trial, in logarithms and logits
_STEPS = 30  # of each refit, which starts close to its maximum


class Intervals(dict[str, Ends]):
    """Lower and upper ends by name of the parameter, and of the mean as `mean`.

    Attributes
    ----------
    level, method : what was asked for
    notes : why an end is nan or open, and what took the method's place, a line each
    """

    def __init__(self, level: float, method: Method) -> None:
        super().__init__()
        self.level = level
        self.method = method
        self.notes: tuple[str, ...] = ()

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes += (text,)


def confidence_intervals(
    fitted: Fit,
    level: float = 0.95,
    method: Method = "likelihood",
    draws: int = 999,
    seed: int = 1,
) -> Intervals:
    """Return the confidence intervals of a fit's parameters and of its mean, in the gaps' unit.

    A family with a parameter of that name has one entry `mean`, the parameter's.

    Parameters
    ----------
    level : such as 0.95
    method : likelihood, wald or bootstrap
    draws, seed : of the bootstrap

    Raises ParameterError for a level outside (0, 1), an unknown method, and fewer than 1 draws.
    """
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")
    if method not in METHODS:
        raise ParameterError("method", method, "one of " + ", ".join(METHODS))
    if draws < 1:
        raise ParameterError("draws", draws, "a whole number of at least 1")
    answer = Intervals(level, method)
    names = fitted.family.parameters
    answer.update(dict.fromkeys((*names, MEAN), NONE))
    if not fitted.converged:
        answer.note("the likelihood has no maximum that was reached; no interval")
        return answer
    with np.errstate(all="ignore"):
        if method == "bootstrap":
            named, mean, notes = bootstrap(fitted, level, draws, seed)
            answer.update({MEAN: mean} | named)
            for note in notes:
                answer.note(note)
        elif method == "wald":
            _by_curvature(answer, fitted)
        elif not _exactly(answer, fitted):
            _by_likelihood(answer, fitted)
    for name, regular in zip(names, fitted.regular, strict=True):
        if not regular:
            answer[name] = NONE
            answer.note(f"{name}: large-sample theory does not hold for it here; no interval")
    if not np.isfinite(fitted.lifetime.mean()) and MEAN not in names:
        answer[MEAN] = NONE
        answer.note("mean: infinite or undefined for the fitted law; no interval")
    return answer


# Exact -------------------------------------------------------------------------------------------


def _exactly(answer: Intervals, fitted: Fit) -> bool:
    """Fill in the exact interval of the exponential's scale, where there is one."""
    sample = fitted.sample
    if fitted.family.name != "exponential" or len(sample.left):
        return False
    if len(sample.right) and not (sample.right == sample.exact.max()).all():
        return False
    failures = len(sample.exact)
    total = failures * fitted.lifetime.values[0]  # time on test
    tail = (1 - answer.level) / 2
    ends = (
        2 * total / float(chdtri(2 * failures, tail)),
        2 * total / float(chdtri(2 * failures, 1 - tail)),
    )
    answer.update({fitted.family.parameters[0]: ends, MEAN: ends})
    answer.note("exact chi-square interval")
    return True


# By likelihood -----------------------------------------------------------------------------------


class _WithMean:
    """A family with its mean in place of its scale, as far as `maximise` needs one.

    Every law of the family is one with a set scale, rescaled to some mean: that mean and the other
    parameters are the coordinates.
    """

    def __init__(self, family: Fittable, place: int, scale: float) -> None:
        self.family, self.place, self.scale = family, place, scale
        self.parameters = family.parameters
        kinds: list[Kind] = list(family.kinds)
        kinds[place] = "scale"
        self.kinds = tuple(kinds)
        self.edge = {k: v for k, v in family.edge.items() if k != family.parameters[place]}

    def parameters_of(self, theta: Floats) -> Floats:
        """Return the family's parameters, float64[..., p]."""
        own = np.array(theta)
        own[..., self.place] = self.scale
        mean = self.family.mean(*np.moveaxis(own, -1, 0))
        return self.family.rescaled(own, theta[..., self.place] / mean)

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        """Return float64[B], the log-likelihood of each sample."""
        return self.family.loglik(batch, self.parameters_of(theta))

    def derivatives(self, batch: Batch, u: Floats) -> Derivatives | None:
        """Return log-likelihood, gradient and Hessian by the chain rule, where the family can."""
        middle, slope, bend = self._map(u)
        found = self.family.derivatives(batch, middle)
        if found is None:
            return None
        value, gradient, hessian = found
        turned = np.einsum("bip,bij,bjq->bpq", slope, hessian, slope)
        turned += np.einsum("bi,bipq->bpq", gradient, bend)
        return value, np.einsum("bi,bip->bp", gradient, slope), turned

    def _map(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the family's coordinates float64[B, p], and their first and second derivatives
        float64[B, p, p] and float64[B, p, p, p] in ours, by central differences."""
        p = u.shape[1]
        step = STEP * np.eye(p)
        moves = [np.zeros(p), *step, *-step]
        pairs = [(j, k) for j in range(p) for k in range(j)]
        moves += [sign * (step[j] + step[k]) for j, k in pairs for sign in (1, -1)]
        place = u + np.array(moves)[:, None, :]
        as_family = cast("Fittable", self)
        at = unconstrained(self.family, self.parameters_of(constrained(as_family, place)))
        middle, up, down = at[0], at[1 : 1 + p], at[1 + p : 1 + 2 * p]
        slope = np.moveaxis((up - down) / (2 * STEP), 0, -1)
        bend = np.empty((*middle.shape, p, p))
        for k in range(p):
            bend[..., k, k] = (up[k] - 2 * middle + down[k]) / STEP**2
        for i, (j, k) in enumerate(pairs):
            both = at[1 + 2 * p + 2 * i] + at[2 + 2 * p + 2 * i]
            rest = up[j] + down[j] + up[k] + down[k] - 2 * middle
            bend[..., j, k] = bend[..., k, j] = (both - rest) / (2 * STEP**2)
        return middle, slope, bend


def _by_likelihood(answer: Intervals, fitted: Fit) -> None:
    family, theta, regular = fitted.family, fitted.scaled, fitted.regular
    free = np.flatnonzero(regular)
    covariance = spread(family, fitted.sample.batch, theta[None, :], regular)[0]
    for k, ends in zip(
        free, _profile(fitted, family, theta, free, covariance, answer.level), strict=True
    ):
        answer[family.parameters[k]] = in_unit(fitted, int(k), ends)
    mean = float(family.mean(*theta))
    if MEAN in family.parameters or not np.isfinite(mean):
        return
    if len(free) == 1:  # the mean is a function of the one parameter
        answer[MEAN] = _image(fitted, int(free[0]), answer[family.parameters[free[0]]])
        return
    place = next((k for k in free if family.kinds[k] in ("scale", "logscale")), None)
    known = [k for k in np.flatnonzero(~regular) if family.kinds[k] in ("scale", "location")]
    if place is None or theta[known].any():  # what is taken as known would be rescaled too
        answer[MEAN] = _mean_by_delta(fitted, covariance, answer.level)
        answer.note("mean: by the delta method, as a parameter has no profile")
        return
    view = cast("Fittable", _WithMean(family, int(place), float(theta[place])))
    turned = np.array(theta)
    turned[place] = mean
    covariance = spread(view, fitted.sample.batch, turned[None, :], regular)[0]
    ends = _profile(fitted, view, turned, np.array([place]), covariance, answer.level)[0]
    with np.errstate(over="ignore"):
        low, high = (float(end * fitted.sample.scale) for end in ends)
    answer[MEAN] = (low, high)
    if not np.isfinite(high):
        answer.note("mean: no upper end; an infinite mean is not ruled out")


@dataclass(eq=False)
class _Search:
    """Ends being looked for, one a row: how far out it still is inside, and no longer is."""

    inside: Floats
    outside: Floats
    inside_gap: Floats
    outside_gap: Floats
    limit: Floats
    side: Floats

    def next(self, distance: Floats, gap: Floats, cut: float) -> Floats:
        """Take in the `gap` (root of the deviance less its cut) at `distance`, return the next.

        That root is nearly linear in the distance: by proportion from the centre as long as there
        is no point outside; by the chord once there is one, kept off the ends of the bracket.
        """
        within = gap < 0
        # Twice on the same side: the other end's weight is halved, or it might stay for ever.
        again = np.where(within, -1.0, 1.0) == self.side
        self.outside_gap[within & again] /= 2
        self.inside_gap[~within & again] /= 2
        self.side = np.where(within, -1.0, 1.0)
        self.inside[within], self.inside_gap[within] = distance[within], gap[within]
        self.outside[~within], self.outside_gap[~within] = distance[~within], gap[~within]
        growth = np.clip(cut / np.maximum(gap + cut, 1e-3 * cut), 1.02, 4.0)
        outward = np.minimum(distance * growth, self.limit)
        width = self.outside - self.inside
        share = -self.inside_gap / (self.outside_gap - self.inside_gap)
        share = np.where(np.isfinite(self.outside_gap), share, 0.5)
        # A chord that lands on the end it came from would creep.
        share = np.clip(share, 0.02, 0.98)
        between = self.inside + share * np.where(np.isfinite(width), width, 0.0)
        return np.where(np.isfinite(self.outside), between, outward)


class _Refits:
    """Constrained maxima, one a row: a parameter held at some distance from its estimate, the
    others refitted, each time from where they were last."""

    def __init__(
        self, fitted: Fit, family: Fittable, theta: Floats, place: Places, side: Floats
    ) -> None:
        batch = fitted.sample.batch
        rows = np.arange(len(place))
        self.family, self.place = family, place
        self.centre = unconstrained(family, theta)
        self.top = float(family.loglik(batch, theta[None, :])[0])
        self.batch = batch.rows(np.zeros(len(place), dtype=np.intp))
        self.free = np.tile(fitted.regular, (len(place), 1))
        self.free[rows, place] = False
        self.last = np.tile(self.centre, (len(place), 1))
        self.drift = np.zeros_like(self.last)  # by how much each coordinate moves per distance
        self.drift[rows, place] = side

    def aim(self, covariance: Floats, error: Floats, side: Floats) -> None:
        """Let the others move at first as their covariance with what is held says."""
        with np.errstate(invalid="ignore", divide="ignore"):
            lean = side[:, None] * covariance[self.place] / error[:, None] ** 2
        self.drift = np.where(np.isfinite(lean) & self.free, lean, self.drift)

    def gaps(self, here: Places, distance: Floats, cut: float) -> tuple[Floats, Bools, Bools]:
        """Return for rows `here` the root of the deviance less `cut`, inf where there is none;
        whether another parameter stopped at its edge; and whether the refit was lost outside."""
        family, batch = self.family, self.batch.rows(here)
        ahead = self.centre + distance[:, None] * self.drift[here]
        still = self.last[here]  # what was free stays: the line may lead off the family
        held = np.arange(len(here)), self.place[here]
        still[held] = ahead[held]
        start = _better(family, batch, constrained(family, ahead), constrained(family, still))
        found = maximise(family, batch, start, free=self.free[here], limit=_STEPS)
        deviance = 2 * (self.top - found.loglik)
        gap = np.where(np.isfinite(deviance), np.sqrt(np.maximum(deviance, 0)) - cut, np.inf)
        edged: Bools = np.any(found.edge, axis=1)
        lost = (gap > 0) & (~found.converged | edged)
        if not isinstance(family, _WithMean):  # whose mean may be infinite: no end of the support
            lost &= np.isfinite(gap)
        gap[lost] = np.inf
        reached = unconstrained(family, found.theta)
        fine = np.isfinite(reached).all(axis=1) & np.isfinite(gap)
        self.last[here[fine]] = reached[fine]
        self.drift[here[fine]] = (reached[fine] - self.centre) / distance[fine, None]
        return gap, edged, lost


def _profile(
    fitted: Fit, family: Fittable, theta: Floats, places: Places, covariance: Floats, level: float
) -> list[Ends]:
    """Return the ends of the profile-likelihood interval of each of the parameters at `places`.

    Parameters
    ----------
    theta : float64[p], the maximum, in the units of the sample's batch, as the ends are
    covariance : float64[p, p], covariance of the coordinates; nan where there is none
    """
    cut = deviance_cut(fitted, level)
    place, side = np.repeat(places, 2), np.tile([-1.0, 1.0], len(places))
    refits = _Refits(fitted, family, theta, place, side)
    error = np.sqrt(np.diag(covariance))[place]
    error = np.where(np.isfinite(error) & (error > 0), error, 0.1)
    refits.aim(covariance, error, side)
    centre = refits.centre
    limit = np.maximum(_limits(family, error, centre, place, side), 0.0)
    bold = np.array([_BOLD if kind != "location" else np.inf for kind in family.kinds])[place]
    distance = np.minimum(np.minimum(cut * error, bold), limit)
    search = _Search(
        np.zeros_like(error), np.full_like(error, np.inf), np.full_like(error, -cut),
        np.full_like(error, np.inf), limit, np.zeros_like(error),
    )  # fmt: skip
    done = limit <= 0
    distance[done] = np.inf
    met, blocked, edged = (np.zeros_like(done) for _ in range(3))
    for _ in range(_TRIALS):
        here = np.flatnonzero(~done)
        if not len(here):
            break
        gap = np.full(len(place), -cut)
        gap[here], edged[here], lost = refits.gaps(here, distance[here], cut)
        blocked[here[lost]] = True
        further = search.next(distance, gap, cut)
        open_end = ~done & (distance >= limit) & (gap < 0)
        met |= ~done & ~edged & (np.abs(gap) <= _TOLERANCE * cut)
        narrow = np.zeros_like(done)
        narrow[here] = np.abs(further - distance)[here] <= 1e-9 * distance[here]
        done |= met | narrow | open_end
        distance = np.where(open_end, np.inf, np.where(done, distance, further))
    # Where the refits leave the family (another parameter at its edge, a mean becoming infinite),
    # nothing was found that is too unlikely.
    distance[np.isinf(search.outside_gap) & blocked & ~met] = np.inf
    ends = [
        value_at(family, int(k), float(centre[k] + s * d))
        for k, s, d in zip(place, side, distance, strict=True)
    ]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _better(family: Fittable, batch: Batch, first: Floats, second: Floats) -> Floats:
    """Return for each row whichever parameters are likelier."""
    better = family.loglik(batch, first) >= family.loglik(batch, second)  # False for nan
    return np.where(better[:, None], first, second)


def _limits(family: Fittable, error: Floats, centre: Floats, place: Places, side: Floats) -> Floats:
    """Return how far out an end may lie before it counts as open."""
    edges = [
        family.edge.get(name, EDGES[kind])
        for name, kind in zip(family.parameters, family.kinds, strict=True)
    ]
    edge = np.array(edges)[place]
    return np.where(np.isfinite(edge), edge - side * centre[place], 1e4 * np.maximum(error, 1.0))


def _image(fitted: Fit, k: int, ends: Ends) -> Ends:
    """Return the means at the ends of the one parameter that is not known."""
    theta = np.tile(fitted.lifetime.values, (2, 1))
    theta[:, k] = ends
    means = fitted.family.mean(*theta.T)
    open_ends = [0.0 if end == 0 else np.inf for end in ends]
    means = np.where(np.isnan(means), open_ends, means)
    return float(means.min()), float(means.max())


def deviance_cut(fitted: Fit, level: float) -> float:
    """Return the root of the deviance at the ends of a likelihood interval; see the module."""
    failures = float(fitted.sample.failures)
    freedom = max(1.0, failures - len(fitted.family.parameters))
    reach = float(stdtrit(freedom, (1 + level) / 2))
    return float(np.sqrt(failures * np.log1p(reach**2 / freedom)))


# By curvature ------------------------------------------------------------------------------------


def _by_curvature(answer: Intervals, fitted: Fit) -> None:
    family, theta = fitted.family, fitted.scaled
    covariance = spread(family, fitted.sample.batch, theta[None, :], fitted.regular)[0]
    if np.isnan(covariance).any():
        answer.note("the curvature of the likelihood is not that of a maximum; no interval")
        return
    reach = float(ndtri((1 + answer.level) / 2)) * np.sqrt(np.diag(covariance))
    centre = unconstrained(family, theta)
    for k, name in enumerate(family.parameters):
        low, high = (value_at(family, k, float(centre[k] + s * reach[k])) for s in (-1, 1))
        answer[name] = in_unit(fitted, k, (low, high))
    if MEAN not in family.parameters:
        answer[MEAN] = _mean_by_delta(fitted, covariance, answer.level)


def _mean_by_delta(fitted: Fit, covariance: Floats, level: float) -> Ends:
    """Return the mean times and over exp(z standard errors of its logarithm)."""
    u = unconstrained(fitted.family, fitted.scaled)[None, :]
    slope = slope_of_log_mean(fitted.family, u, fitted.regular)[0]
    reach = float(ndtri((1 + level) / 2)) * float(np.sqrt(slope @ covariance @ slope))
    mean = fitted.lifetime.mean()
    return mean * float(np.exp(-reach)), mean * float(np.exp(reach))
