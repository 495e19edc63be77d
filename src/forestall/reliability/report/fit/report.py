"""The report on lifetimes fitted to gaps: families beside each other, the best one, a figure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.versions import versions
from forestall.core.model.errors import MissingExtraError, TraceError
from forestall.core.show import closing, words
from forestall.core.show.blocks import Listing, Table
from forestall.core.show.facts import flat
from forestall.core.show.lettering import plain_letters
from forestall.core.show.report import Report, Section
from forestall.core.show.style import has_matplotlib, legend, new_figure, tick_text
from forestall.core.show.svg import save
from forestall.core.show.words import between, chance, figure, parameters, score
from forestall.reliability.fits import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.reliability.report.fit.fit import FitAnswer


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


def report_of(answer: FitAnswer) -> Report:
    """Return the ranking, where there is one, and the fit of the best as a report."""
    plain: Any = answer.plain()
    best = plain if answer.ranking is None else plain["best"]
    ranked = () if answer.ranking is None else (_families(answer, plain["families"]),)
    lines = [f"{one.action}: {one.counted}" for one in answer.cleaning.remarks]
    lines += [f"note: {note}" for note in best["notes"]]
    odd = closing.odd_lines(lines)
    return Report(
        "Times between failures",
        sample_line(best, answer.question.unit),
        (*ranked, _best(answer, best), *((odd,) if lines else ())),
        closing=(closing.made_with(versions()),),
    )


def _families(answer: FitAnswer, families: Iterable[Plain]) -> Section:
    """Return all families beside each other."""
    told = list(families)
    tables = ranking_tables(told, "ranked", apart=True)
    notes = Listing(tuple(ranking_notes(told)))
    title = f"Families, ranked by {CRITERIA[answer.question.rank_by]}"
    return Section("families", title, body=(*tables, *((notes,) if notes.items else ())))


def _best(answer: FitAnswer, best: Plain) -> Section:
    """Return parameters of the best family and how far it is from the sample."""
    unit = answer.question.unit
    values = Table.of("parameters", parameter_heads(best), parameter_rows(best, unit))
    measures = Table.of("measures", ("Measure", "Value", "Meaning"), measure_rows(best), right=())
    title = f"{answer.best.fitted.family.title} (intervals {METHODS[answer.question.ci]})"
    return Section("best", title, body=(values, measures))


def ranking_tables(
    families: Iterable[Plain], key: str, caption: str = "", *, apart: bool = False
) -> tuple[Table, ...]:
    """Return the families that were fitted, best first, and, where there are any, the p-values of
    their fits; `key` begins the tables' names. Parameters stand `apart`, in a table of their own,
    where there are too many of them for a column."""
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
    how: dict[str, Any] = {"right": (0, 2, 3, 4, 5, 6, 7), "ranked": True, "caption": caption}
    ranked: tuple[Table, ...] = (Table.of(f"{key}_families", RANKED_HEADS, rows, told, **how),)
    if apart:
        named = [(row[1], row[-1]) for row in rows]
        given = [{"family": one["family"], **one["params"]} for one in fitted]
        ranked = (
            Table.of(f"{key}_families", RANKED_HEADS[:-1], [row[:-1] for row in rows], told, **how),
            Table.of(f"{key}_parameters", ("Family", "Parameters"), named, given, right=()),
        )
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
        return ranked
    records = [{name: one[name] for name in ("family", "ks", "ks_p", "ad", "ad_p")}
               for one in tested]  # fmt: skip
    caption = "p-values of the goodness of fit, valid for fitted parameters"
    tests = Table.of(f"{key}_chances", CHANCE_HEADS, rows_p, records, ranked=True, caption=caption)
    return *ranked, tests


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
    return ("", "Value", f"{100 * fit['level']:.0f} % interval", "Standard error")


def measure_rows(fit: Plain) -> list[tuple[str, ...]]:
    """Return (measure, value, what it means) of a fit's likelihood and distances."""
    rows: list[tuple[str, ...]] = [
        ("Log-likelihood", figure(fit["loglik"], 7), ""),
        ("AIC, BIC", f"{figure(fit['aic'], 7)}, {figure(fit['bic'], 7)}", "lower is better"),
    ]
    for name in ("ks", "ad"):
        means = "0 is a perfect fit"
        if f"{name}_p" in fit:
            means = _verdict(words.number(fit[f"{name}_p"]), fit["draws"])
        rows.append((CRITERIA[name], figure(fit[name]), means))
    return rows


def _with_unit(name: str, unit: str) -> str:
    plain = name.replace("_", " ")
    is_time = name in {"scale", "location", "mean", "shape_scale", "mean_short", "mean_long"}
    return f"{plain} ({unit})" if unit and is_time else plain


def _verdict(p: float | None, draws: int) -> str:
    if p is None or not isfinite(p):
        return "no p-value"
    told = f"p {chance(p)} from {draws:,} draws: "
    if p < 0.05:
        return told + "the gaps do not follow this distribution"
    return told + "consistent with this distribution"


SUFFIXES: Final = (".png", ".svg", ".pdf")
LAWS: Final = 3
"""Laws of a ranking that are drawn."""


def check_plot(path: Path) -> None:
    """Raise, before any work, where a figure cannot be written there."""
    if not has_matplotlib():
        raise MissingExtraError("drawing figures", "plot")
    if path.suffix not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise TraceError(path, f"has no figure format in its name; expected a name in {allowed}")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise TraceError(path, f"cannot be written: {folder} is not a writable folder")


def narrow_legend(axes: Axes) -> None:
    """Put the legend above the axes in two columns, so that it is no wider than they are."""
    count = len(axes.get_legend_handles_labels()[1])
    legend(axes, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2)
    title = axes.get_title(loc="left")
    lines = -(-count // 2)
    axes.set_title(title, loc="left", pad=8 + 14 * lines, fontsize=10.5, fontweight="bold")


def quieten(figure: Figure) -> None:
    """Leave out the small ticks of log axes, and write the others as plain numbers: both take
    longer to draw than all the rest."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axes in figure.axes:
        for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
            if scale == "log":
                axis.set_minor_locator(NullLocator())
                axis.set_major_formatter(FuncFormatter(tick_text))


def settle(figure: Figure) -> None:
    """Lay the figure out once and for all, so that saving does not draw it a first time for that
    alone."""
    plain_letters(figure)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def draw_fit(answer: FitAnswer, path: Path) -> Path:
    """Draw the fit, with a ranking its best three, into a file; whole or not at all."""
    ranked = [row.fitted for row in answer.ranking.rows[:LAWS]] if answer.ranking else []
    laws: list[Any] = ranked or [answer.best.fitted]
    unit = answer.question.unit or None
    figure = new_figure((11.0, 9.0))
    above, below = figure.subplots(2, 2).tolist()
    plots.plot_pp(laws, above[0])
    plots.plot_qq(laws, above[1], unit=unit)
    plots.plot_survival(laws, below[0], unit=unit)
    plots.plot_hazard(laws, below[1], unit=unit)
    for axes in (*above, *below):
        narrow_legend(axes)
    quieten(figure)
    return save(figure, path)
