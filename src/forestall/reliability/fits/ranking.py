"""Many families fitted to one sample, side by side and in order."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.show.result import ShownResult
from forestall.reliability.fits.estimate import Fitted, fit_sample
from forestall.reliability.fits.goodness import Goodness, goodness, statistics
from forestall.reliability.fits.redraw import RedrawnGaps
from forestall.reliability.fits.sample import Sample, counted
from forestall.reliability.fits.told import report_of_fits
from forestall.reliability.lifetimes.base import Family
from forestall.reliability.lifetimes.batch import Fittable
from forestall.reliability.lifetimes.registry import FAMILIES, family_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.show.report import Report


RankBy = Literal["aic", "aicc", "bic", "loglik", "ks", "ad"]
RANK_BY: tuple[RankBy, ...] = get_args(RankBy)

WIDTH = 100
RENAMED = (("generalized-pareto", "lomax"),)
"""Families that share laws with as many parameters, the one with the plainer name last."""
ALIKE_LOGLIK, ALIKE = 1e-3, 1e-4
"""Laws of one sample whose log-likelihoods, and whose survival, differ by less are one law."""


@dataclass(frozen=True, eq=False)
class RankedFamily:
    """One family of a ranking.

    Attributes
    ----------
    fitted : the fit
    goodness : its distances from the sample, with p-values where they were asked for
    weight : Akaike's: the share of the evidence that AIC gives this family among those compared
    same_as : name of the simpler family that fitted the very same law, which has the weight of
        both; empty where there is none
    """

    fitted: Fitted
    goodness: Goodness
    weight: float
    same_as: str = ""

    @property
    def name(self) -> str:
        """The family's name."""
        return self.fitted.family.name

    @property
    def unbounded(self) -> bool:
        """Whether the density is without bound at a fitted start of the support. The likelihood
        then grows as that nears the smallest gap, and is no measure beside others."""
        fit = self.fitted
        exact = fit.sample.exact
        for k, kind in enumerate(fit.family.kinds):
            start = fit.lifetime.values[k]
            if kind == "location" and not fit.regular[k] and start > 0:
                least = float(exact.min()) - start
                near, at = fit.pdf(start + np.array([least / 2, least]))
                return bool(near > at)
        return False

    @property
    def counts(self) -> bool:
        """Whether the likelihood is a maximum that may be compared with others': it has one, and it
        was reached."""
        return self.fitted.converged and not self.unbounded

    def key(self, rank_by: RankBy) -> float:
        """Return what is sorted by, the best lowest."""
        if rank_by not in ("ks", "ad") and not self.counts:
            return float("inf")
        if rank_by == "loglik":
            value = -self.fitted.loglik
        elif rank_by in ("ks", "ad"):
            value = getattr(self.goodness, rank_by)
        else:
            value = getattr(self.fitted, rank_by)
        return float(value) if not np.isnan(value) else float("inf")


@dataclass(frozen=True, eq=False)
class Ranking(ShownResult):
    """Families fitted to one sample, the best first.

    Iterating gives the fits in order; `ranking["weibull"]` one of them.

    Attributes
    ----------
    rows : the fits with their distances and weights, in order
    unfitted : by name of the family, why it could not be fitted
    rank_by : what the order is by
    sample : what was fitted to
    """

    rows: tuple[RankedFamily, ...]
    unfitted: dict[str, str]
    rank_by: RankBy
    sample: Sample

    def __repr__(self) -> str:
        names = [row.name for row in self.rows]
        shown = ", ".join(names[:4]) + (f", and {len(names) - 4} more" if len(names) > 4 else "")
        return f"Ranking(by {self.rank_by}: {shown}; {counted(len(self.sample))})"

    @property
    def best(self) -> Fitted:
        """The first of the ranking."""
        return self.rows[0].fitted

    def __len__(self) -> int:
        """Return how many families were fitted."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Fitted]:
        """Iterate over the fits, the best first."""
        return (row.fitted for row in self.rows)

    def __getitem__(self, family: str | Family) -> Fitted:
        """Return the fit of a family; ParameterError says why there is none."""
        name = family_of(family).name
        for row in self.rows:
            if row.name == name:
                return row.fitted
        reason = self.unfitted.get(name, "it was not asked for")
        there = ", ".join(row.name for row in self.rows)
        raise ParameterError("family", name, f"one of {there} ({name}: {reason})")

    def by(self, rank_by: RankBy) -> Ranking:
        """Return the ranking in another order: aic, aicc, bic, loglik, ks or ad."""
        _check_rank_by(rank_by)
        rows = sorted(self.rows, key=lambda row: (row.key(rank_by), row.fitted.aic))
        return replace(self, rows=tuple(rows), rank_by=rank_by)

    def with_p_values(self, draws: int = 999, seed: int = 1) -> Ranking:
        """Return the ranking with p-values of both distances, by parametric bootstrap.

        See `forestall.reliability.fits.goodness.goodness`.
        """
        rows = (replace(row, goodness=goodness(row.fitted, draws, seed)) for row in self.rows)
        return replace(self, rows=tuple(rows))

    @property
    def table(self) -> pl.DataFrame:
        """One row a family in order, those that could not be fitted last with the reason.

        Columns: rank, family, parameters (name and value as text), loglik, aic, aicc, bic, weight,
        ks, ks_p, ad, ad_p, converged, note.
        """
        columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA}
        for rank, row in enumerate(self.rows, 1):
            fit, distance = row.fitted, row.goodness
            own = [note for note in fit.notes if note not in self.sample.notes]
            if row.same_as:
                own.append(f"same law as {row.same_as}")
            values = (
                rank, row.name, _parameters(fit), fit.loglik, fit.aic, fit.aicc, fit.bic,
                row.weight, distance.ks, distance.ks_p, distance.ad, distance.ad_p, fit.converged,
                "; ".join(own),
            )  # fmt: skip
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        for name, reason in self.unfitted.items():
            for column in columns.values():
                column.append(None)
            columns["family"][-1], columns["note"][-1] = name, reason
        kinds: dict[str, Any] = {name: getattr(pl, kind) for name, kind in _SCHEMA.items()}
        return pl.DataFrame(columns, schema=kinds).with_columns(
            pl.col("ks_p", "ad_p").fill_nan(None)
        )

    def _as_report(self) -> Report:
        facts = {"AIC": self.best.aic, "BIC": self.best.bic, "Mean": self.best.mean()}
        rows = self.table.drop("rank", "note").to_dicts()
        title = f"Families by {self.rank_by}, the best first"
        return report_of_fits(title, tuple(self), rows, facts, self.sample.notes)

    def summary(self) -> str:
        """Return the ranking as text of at most 100 columns."""
        sample = self.sample
        lines = [
            f"{len(sample):,} gaps, {sample.failures:,} ended, {len(sample.right):,} censored;"
            f" ranked by {self.rank_by}"
        ]
        lines += [f"note: {note}" for note in sample.notes]
        tested = any(row.goodness.draws for row in self.rows)
        p_head = ("   KS p", "   AD p") if tested else ("", "")
        lines.append(
            f"    {'family':<24}{'loglik':>11}{'AIC':>11}{'BIC - best':>11}{'weight':>8}"
            f"{'KS':>8}{p_head[0]}{'AD':>9}{p_head[1]}"
        )
        least = min((row.key("bic") for row in self.rows if row.counts), default=self.best.bic)
        for rank, row in enumerate(self.rows, 1):
            fit, distance = row.fitted, row.goodness
            p = (f"{p:>7.3f}" if tested else "" for p in (distance.ks_p, distance.ad_p))
            mark = " +" if row.unbounded else "" if fit.converged else " *"
            lines.append(
                f"{rank:>2}  {fit.family.title + mark:<24}{_number(fit.loglik):>11}"
                f"{_number(fit.aic):>11}{_number(fit.bic - least):>11}{row.weight:>8.3f}"
                f"{distance.ks:>8.4f}{next(p)}{_number(distance.ad):>9}{next(p)}"
            )
        if not all(row.fitted.converged for row in self.rows):
            lines.append("* the maximum was not reached, so it does not count in the order")
        if any(row.unbounded for row in self.rows):
            lines.append("+ the likelihood has no bound, so it does not count in the order")
        lines.append(f"best: {self.best.family.title}: {_parameters(self.best)}")
        for row in self.rows:
            if row.same_as:
                lines.append(f"{row.fitted.family.title}: same law as {row.same_as}, counted there")
        for name, reason in self.unfitted.items():
            lines += _wrapped(f"not fitted: {name}: {reason}")
        return "\n".join(lines)


_SCHEMA = {
    "rank": "Int64", "family": "String", "parameters": "String", "loglik": "Float64",
    "aic": "Float64", "aicc": "Float64", "bic": "Float64", "weight": "Float64", "ks": "Float64",
    "ks_p": "Float64", "ad": "Float64", "ad_p": "Float64", "converged": "Boolean",
    "note": "String",
}  # fmt: skip


def fit_all(
    gaps: object,
    *,
    censored: object = None,
    families: Iterable[str | Family] | None = None,
    zeros: str = "auto",
    resolution: float | None = None,
    rank_by: RankBy = "aic",
) -> Ranking:
    """Fit many families to one sample and rank them.

    Every family gets the same sample: with `zeros` "auto" gaps of 0 are left-censored for all, so
    that likelihoods can be compared.

    Parameters
    ----------
    gaps, censored, zeros, resolution : see `Sample.of`
    families : which to fit; default all
    rank_by : aic, aicc, bic, loglik, ks or ad

    Raises ParameterError for gaps that cannot be, and where no family at all can be fitted.
    """
    _check_rank_by(rank_by)
    chosen = [family_of(name) for name in (FAMILIES if families is None else families)]
    sample = Sample.of(gaps, censored, zeros=zeros, resolution=resolution)
    if sample.failures == 0:
        what = f"{counted(len(sample))}, none of which ended"
        raise ParameterError("gaps", what, "at least one that ended with a failure")
    fits: list[Fitted] = []
    unfitted: dict[str, str] = {}
    for family in dict.fromkeys(chosen):
        if not isinstance(family, Fittable):
            unfitted[family.name] = "it cannot be fitted"
            continue
        try:
            fits.append(fit_sample(family, sample))
        except ParameterError as error:
            unfitted[family.name] = f"{error.value}; expected {error.allowed}"
    if not fits:
        first = next(iter(unfitted.values()), "there are none")
        raise ParameterError(
            "families", [f.name for f in chosen], f"one that can be fitted: {first}"
        )
    rows = RedrawnGaps.of(sample)
    ranked = []
    for fit in fits:
        ks, ad = statistics(fit, rows)
        ranked.append(RankedFamily(fit, Goodness(ks, float("nan"), ad, float("nan"), 0), 0.0))
    same = [_same_as(row, ranked) for row in ranked]
    aic = [np.inf if other else row.key("aic") for row, other in zip(ranked, same, strict=True)]
    weights = _weights(np.array(aic)).tolist()
    ranked = [
        replace(row, weight=weight, same_as=other)
        for row, weight, other in zip(ranked, weights, same, strict=True)
    ]
    return Ranking(tuple(ranked), unfitted, rank_by, sample).by(rank_by)


def _same_as(row: RankedFamily, rows: Iterable[RankedFamily]) -> str:
    """Return the name of the simpler family whose law this row's is, empty where there is none: the
    larger family at an edge of the simpler one's, such as a Weibull law with location 0."""
    fit = row.fitted
    for other in rows:
        simpler = other.fitted
        fewer = len(simpler.params) < len(fit.params) or (row.name, other.name) in RENAMED
        if fewer and abs(simpler.loglik - fit.loglik) < ALIKE_LOGLIK:
            times = simpler.quantile(np.array([0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999]))
            if np.abs(simpler.sf(times) - fit.sf(times)).max() < ALIKE:
                return other.name
    return ""


def _weights(aic: Floats) -> Floats:
    """Return Akaike weights, which add up to 1 (Burnham and Anderson, 2nd ed. 2002, 2.9); 0 for
    an AIC of inf."""
    odds: Floats = np.exp(-(aic - aic.min()) / 2) if np.isfinite(aic.min()) else np.ones_like(aic)
    odds /= odds.sum()
    return odds


def _check_rank_by(rank_by: str) -> None:
    if rank_by not in RANK_BY:
        raise ParameterError("rank_by", rank_by, "one of " + ", ".join(RANK_BY))


def _parameters(fit: Fitted) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in fit.params.items())


def _number(value: float) -> str:
    """Return a number in at most 10 characters, two decimals where they fit."""
    text = f"{value:.2f}"
    return text if len(text) <= 10 else f"{value:.4g}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")
