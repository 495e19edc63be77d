"""Fits as rows of text, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any, Final

from forestall.app.kit.study_folder import flat
from forestall.show import words
from forestall.show.blocks import Table

CRITERIA: Final = {
    "aic": "AIC",
    "bic": "BIC",
    "loglik": "log-likelihood",
    "ks": "Kolmogorov-Smirnov",
    "ad": "Anderson-Darling",
}
METHODS: Final = {
    "likelihood": "from the likelihood",
    "wald": "from standard errors",
    "bootstrap": "from a bootstrap",
}
RANKED_HEADS: Final = ("", "Family", "Log-lik.", "AIC", "BIC", "KS", "AD", "Weight", "Parameters")
CHANCE_HEADS: Final = ("Family", "KS", "p", "AD", "p")

Plain = Mapping[str, Any]


def figure(value: object, digits: int = 4) -> str:
    """Return a number with so many digits that count, thousands apart.

    >>> figure(1234.567), figure(0.0123456), figure(2.5), figure(None), figure(3.2e9)
    ('1,235', '0.01235', '2.500', '\N{EN DASH}', '3.2e+09')
    """
    number = words.number(value)
    if number is None:
        return words.NOTHING
    if number == 0:
        return "0"
    if not 1e-4 <= abs(number) < 1e8:
        return f"{number:.{digits}g}"
    places = max(digits - 1 - floor(log10(abs(number))), 0)
    return f"{number:,.{places}f}"


def score(value: object) -> str:
    """Return a likelihood or criterion with one digit after the point, as differences count."""
    number = words.number(value)
    if number is None:
        return words.NOTHING
    return f"{number:,.1f}" if abs(number) < 1e8 else f"{number:.6g}"


def between(ends: Sequence[object] | None, digits: int = 3) -> str:
    """Return an interval as ``0.690 to 0.751``; an end that is not known is a dash."""
    if ends is None or all(words.number(end) is None for end in ends):
        return words.NOTHING
    low, high = (figure(end, digits) for end in ends)
    return f"{low} to {high}"


def chance(p: object) -> str:
    """Return a p-value: three digits, and no false 0."""
    value = words.number(p)
    if value is None:
        return words.NOTHING
    if value < 0.001:
        return "under 0.001"
    return f"{value:.3f}" if value < 0.9995 else "1"


def sample_line(fit: Plain, unit: str = "") -> str:
    """Return what was fitted: gaps, how many ended, how many did not, what became of zeros."""
    parts = [words.counted(fit["gaps"], "gap") + (f" (in {unit})" if unit else "")]
    parts.append(f"{fit['failures']:,} of them ended by a failure")
    if fit["censored"]:
        parts.append(f"{fit['censored']:,} still running when observation ended (censored)")
    if fit["zeros"]:
        parts.append(f"{fit['zeros']:,} of 0")
    return ", ".join(parts)


def parameter_rows(fit: Plain, unit: str = "") -> list[tuple[str, ...]]:
    """Return (parameter, value, interval, standard error) of each parameter and the mean."""
    errors = fit["standard_errors"]
    rows: list[tuple[str, ...]] = [
        (
            _with_unit(name, unit),
            figure(value),
            between(fit["ci"].get(name), 4),
            figure(errors[name]),
        )
        for name, value in fit["params"].items()
    ]
    if "mean" not in fit["params"]:
        mean = "infinite" if fit["mean"] is None else figure(fit["mean"])
        label = f"mean ({unit})" if unit else "mean"
        rows.append((label, mean, between(fit["ci"].get("mean"), 4), ""))
    return rows


def parameter_heads(fit: Plain) -> tuple[str, ...]:
    """Return the heads of `parameter_rows`."""
    return ("", "Value", f"{fit['level']:.0%} interval".replace("%", " %"), "Standard error")


def measure_rows(fit: Plain) -> list[tuple[str, ...]]:
    """Return (measure, value, what it means) of a fit's likelihood and distances."""
    rows: list[tuple[str, ...]] = [
        ("Log-likelihood", figure(fit["loglik"], 7), ""),
        ("AIC, BIC", f"{figure(fit['aic'], 7)}, {figure(fit['bic'], 7)}", "less is better"),
    ]
    for name in ("ks", "ad"):
        means = "0 is a perfect fit"
        if f"{name}_p" in fit:
            means = _verdict(words.number(fit[f"{name}_p"]), fit["draws"])
        rows.append((CRITERIA[name], figure(fit[name]), means))
    return rows


def ranking_tables(families: Iterable[Plain], key: str, caption: str = "") -> tuple[Table, ...]:
    """Return the families that were fitted, best first, and, where there are any, the p-values of
    their fits; `key` begins the tables' names."""
    fitted = [one for one in families if one["why"] is None]
    rows = [
        (
            str(place),
            one["family"],
            score(one["loglik"]),
            score(one["aic"]),
            score(one["bic"]),
            figure(one["ks"], 3),
            figure(one["ad"], 3),
            words.NOTHING if one["same_as"] or one["weight"] is None else f"{one['weight']:.3f}",
            parameters(one["params"]),
        )
        for place, one in enumerate(fitted, 1)
    ]
    told = [{**flat(one), **one["params"]} for one in fitted]
    ranked = Table.of(
        f"{key}_families", RANKED_HEADS, rows, told, right=(0, 2, 3, 4, 5, 6, 7), ranked=True,
        caption=caption,
    )  # fmt: skip
    tested = [one for one in fitted if "ks_p" in one]
    rows_p = [
        (
            one["family"],
            figure(one["ks"], 3),
            chance(one["ks_p"]),
            figure(one["ad"], 3),
            chance(one["ad_p"]),
        )
        for one in tested
    ]
    if not tested:
        return (ranked,)
    records = [{name: one[name] for name in ("family", "ks", "ks_p", "ad", "ad_p")}
               for one in tested]  # fmt: skip
    caption = "p-values of the goodness of fit, right for fitted parameters"
    return ranked, Table.of(f"{key}_chances", CHANCE_HEADS, rows_p, records, ranked=True,
                            caption=caption)  # fmt: skip


def ranking_notes(families: Iterable[Plain]) -> list[str]:
    """Return a line for each reason why families could not be fitted, and for each that stands last
    or without weight for another reason."""
    lines = []
    families = list(families)
    unfitted: dict[str, list[str]] = {}
    for one in families:
        if one["why"] is not None:
            why = one["why"].replace(f"of {one['family']} ", "")
            unfitted.setdefault(why, []).append(one["family"])
    for one in families:
        if one["why"] is not None:
            continue
        if one["same_as"]:
            lines.append(f"note: {one['family']}: same law as {one['same_as']}, counted there")
        if one["unbounded"]:
            lines.append(
                f"note: {one['family']}: its likelihood has no bound, so it does not count"
            )
        elif not one["converged"]:
            lines.append(
                f"note: {one['family']}: the maximum was not reached, so it does not count"
            )
    return lines + [f"not fitted: {', '.join(names)}: {why}" for why, names in unfitted.items()]


def parameters(values: Mapping[str, object], digits: int = 4) -> str:
    """Return parameters in one line: ``shape 0.712, scale 411.2``."""
    named = ((name.replace("_", " "), figure(value, digits)) for name, value in values.items())
    return ", ".join(f"{name} {value}" for name, value in named)


def _with_unit(name: str, unit: str) -> str:
    plain = name.replace("_", " ")
    is_time = name in {"scale", "location", "mean", "shape_scale", "mean_short", "mean_long"}
    return f"{plain} ({unit})" if unit and is_time else plain


def _verdict(p: float | None, draws: int) -> str:
    if p is None or not isfinite(p):
        return "no p-value"
    told = f"p {chance(p)} from {draws:,} draws: "
    if p < 0.05:
        return told + "the gaps are not drawn from this law"
    return told + "nothing speaks against this law"
